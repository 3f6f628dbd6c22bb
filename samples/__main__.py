"""Makes the synthetic supplier: its export and, apart from it, its truth.

    python -m samples                         2,000 tickets into data/raw/sample, their truth into data/truth/sample
    python -m samples --tickets 300 --seed 7 --out my/export --truth my/truth

The export is what `python -m ingest --spec tasks/specs/helpdesk_v1.toml` reads. Tests and benchmarks read the truth,
no stage does. samples/README.md says what is written and how often each kind of mess is planted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pipeline.cli import run_command
from samples.publish import make_sample
from samples.settings import MAX_TICKETS, MIN_TICKETS, Settings
from schemas.errors import StageError
from schemas.paths import data_dir, raw_dir


def main() -> None:
    """Reads the command line, writes the sample unless it is there already, and says what there is."""
    parser = argparse.ArgumentParser(
        prog="python -m samples", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=None, help="folder of the export (default data/raw/sample)")
    parser.add_argument("--truth", type=Path, default=None, help="folder of the truth (default data/truth/sample)")
    parser.add_argument(
        "--tickets", type=int, default=2000, help=f"number of tickets, {MIN_TICKETS} to {MAX_TICKETS} (default 2000)"
    )
    parser.add_argument("--seed", type=int, default=1, help="another seed is another supplier (default 1)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    args = parser.parse_args()
    if not MIN_TICKETS <= args.tickets <= MAX_TICKETS:
        raise StageError(f"--tickets {args.tickets} is not in {MIN_TICKETS} to {MAX_TICKETS}")
    out, truth = args.out or raw_dir("sample"), args.truth or data_dir() / "truth" / "sample"
    counts, made = make_sample(Settings(tickets=args.tickets, seed=args.seed), out, truth, quiet=args.quiet)
    said = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items())
    print(f"samples: {'made' if made else 'already there'}: {said}", file=sys.stderr)
    print(out)


if __name__ == "__main__":
    run_command(main)
