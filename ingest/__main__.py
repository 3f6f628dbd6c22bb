"""`python -m ingest`: an export becomes canonical records."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pipeline.cli import run_command
from pipeline.engines import ENGINES

EPILOG = """\
Reads what the spec's [[sources]] and [policies] declare and writes data/records/<supplier>/ (identifiable: it stays there):
  events/<system>.parquet  every create, change, message, link and delete, with its times in UTC and its place in the export
  records.parquet          when each record was opened and closed, and its outcome code
  links.parquet            which record points to which, and since when
  policies.parquet         numbered clauses with the instants between which each is in force
  quarantine.parquet       rows that could not be read: file, place, field, reason (never their text)
  findings.json            what was left out on purpose, and what is odd; counts of each file
Rows in = out + quarantined + repeated. A finished run is a no-op; a killed one continues. The next stage, python -m deid,
needs a token key (the variable tokens.key_env of the spec): it must be there before this one starts, except for the sample.

No spec yet? `python -m ingest draft EXPORT` looks at an export and writes a first one; see python -m ingest draft --help.

examples:
  python -m ingest --spec tasks/specs/helpdesk_v1.toml
  python -m ingest --spec tasks/specs/star_v1.toml --export ../shared/real/star
"""


def main() -> int:
    if sys.argv[1:2] == ["draft"]:
        from ingest.draft.command import main as draft

        return draft(sys.argv[2:])
    parser = argparse.ArgumentParser(
        prog="python -m ingest", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--spec", type=Path, required=True, help="TOML of the task set, e.g. tasks/specs/helpdesk_v1.toml")
    parser.add_argument("--export", type=Path, default=None, help="export folder (default: the spec's)")
    parser.add_argument("--workers", type=int, default=0, help="processes (default 0: one a processor)")
    parser.add_argument("--engine", choices=ENGINES, default="pool", help="where shards run (default: pool)")
    parser.add_argument("--quiet", action="store_true", help="no progress and no table")
    arguments = parser.parse_args()
    from ingest.run import ingest, summary
    from pipeline.keys import given_key
    from schemas.spec import load_spec

    given_key(load_spec(arguments.spec))  # deid needs it: asked for now, and not when minutes have been spent
    manifest, ran, out = ingest(
        arguments.spec, arguments.export, workers=arguments.workers, engine=arguments.engine, quiet=arguments.quiet
    )
    if not arguments.quiet:
        print(summary(manifest, out))
        print(f"{'written to' if ran else 'already finished:'} {out}")
    return 0


if __name__ == "__main__":
    run_command(main)
