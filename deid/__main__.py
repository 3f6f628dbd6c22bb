"""`python -m deid --spec tasks/specs/X.toml`: data/records/<supplier> -> data/clean/<supplier>; `python -m deid
resolve`: the way back."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pipeline.cli import run_command
from schemas.errors import PrivacyError
from schemas.paths import clean_dir, vault_file
from schemas.spec import load_spec

EPILOG = """\
The token key comes from the variable that the spec names (tokens.key_env, by default RECORDGYM_TOKEN_KEY); make one, once,
and keep it: export RECORDGYM_TOKEN_KEY=$(openssl rand -hex 32). For the sample only, a key file is made on first use under
RECORDGYM_HOME (~/.recordgym). The vault lies there too: without it and the key, tokens have no way back.
Rows that are not understood, and odd rows in which the leak scan finds an identifier, go to quarantine.parquet with a reason;
if it finds many, or one outside the rows, nothing is published.
A second run is a no-op.

examples:
  python -m deid --spec tasks/specs/helpdesk_v1.toml
  python -m deid resolve --spec tasks/specs/helpdesk_v1.toml PERSON_9F3A21BC
  python -m deid resolve --spec tasks/specs/helpdesk_v1.toml R0123456789abcdef
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m deid",
        description="Replaces identities by keyed tokens, the same everywhere; moves all times by whole weeks.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--spec", type=Path, required=True, help="the task set's TOML (names supplier, token scope, key variable)")
    made.add_argument("--workers", type=int, default=0, help="processes (default: one per processor)")
    made.add_argument("--quiet", action="store_true", help="no progress")
    return made


def resolve_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m deid resolve", description="What a token or source reference stands for. Needs the token key."
    )
    made.add_argument("--spec", type=Path, required=True)
    made.add_argument("what", metavar="TOKEN|REF", help="PERSON_9F3A21BC, or a source_pos such as R0123456789abcdef")
    return made


def resolve(arguments: list[str]) -> int:
    """Prints the originals of a token (one a line) or FILE:POSITION of a reference."""
    from deid.tokens import load_key
    from deid.vault import Vault

    chosen = resolve_parser().parse_args(arguments)
    spec = load_spec(chosen.spec)
    vault = Vault(vault_file(spec.supplier), load_key(spec, create=False))
    place = vault.place(chosen.what)
    lines = [f"{place[0]}:{place[1]}"] if place else vault.originals(chosen.what)
    if not lines:
        raise PrivacyError(f"the vault of {spec.supplier} does not know {chosen.what}")
    print("\n".join(lines))
    return 0


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] == ["resolve"]:
        return resolve(arguments[1:])
    from deid.run import review_file, run

    chosen = parser().parse_args(arguments)
    spec = load_spec(chosen.spec)
    manifest, ran = run(spec, workers=chosen.workers, quiet=chosen.quiet)
    counts = manifest.counts
    if not chosen.quiet:
        state = "done" if ran else "nothing to do"
        print(
            f"deid {spec.supplier}: {state}: {counts['rows_in']} rows in, {counts['rows_out']} out, "
            f"{counts['rows_quarantined']} quarantined; "
            f"{counts['persons']} persons from {counts['person_records']} records, {counts['review_pairs']} pairs to review"
        )
        for name, number in sorted(counts.items()):
            if name.startswith("quarantined."):
                print(f"  {number:>8}  {name.removeprefix('quarantined.')}")
        print(f"  pseudonymised, not anonymous: {clean_dir(spec.supplier)}")
        print(f"  vault {vault_file(spec.supplier)}; pairs to review {review_file(spec.supplier)}")
    return 0


if __name__ == "__main__":
    run_command(main)
