"""The ledger of star_v1 against an independent count of the same archives.

    python -m benchmarks.star_funnel ../shared/real/star      (after make ingest deid build-tasks SPEC=... EXPORT=...)

Runs the folder's own `funnel.py` and prints, per step, what it drops and what the ledger drops. The tasks must be at least 90% of
its strict count and never more: more would mean leaking, or not filtering. Exit code 1 if a bound is missed.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

from schemas.paths import taskset_dir
from tasks.ledger import read_ledger

STEPS = ("all", "complete", "single", "transactional", "has_query", "three_turns", "grounded", "definite", "strict")
REASONS = (
    "not_complete",
    "several_tasks",
    "out_of_scope",
    "no_query",
    "few_turns",
    "ungrounded",
    "no_definite_answer",
    "trivial",
)
"""Reason in the ledger of each step after the first."""
NEAR = 0.05
"""How far a step's count may be off, as a share of what entered it: our clean records hold pseudonyms and spoken turns only."""


def counted(folder: Path) -> dict[str, int]:
    """What funnel.py counts, by step."""
    archives = [str(folder / name) for name in ("dialogues.tar.gz", "policies_and_apis.tar.gz")]
    done = subprocess.run([sys.executable, str(folder / "funnel.py"), *archives], capture_output=True, text=True, check=True)
    found: dict[str, int] = ast.literal_eval(done.stdout.splitlines()[0])
    return found


def main(folder: Path) -> int:
    peer = counted(folder)
    rows = read_ledger(taskset_dir("star_v1") / "ledger.parquet")
    ours = Counter(row.reason for row in rows)
    bad = 0
    print(f"{'step':<22}{'funnel.py':>10}{'ledger':>10}")
    print(f"{'candidates':<22}{peer['all']:>10}{len(rows):>10}")
    left = len(rows)
    for before, after, reason in zip(STEPS, STEPS[1:], REASONS, strict=False):
        lost = peer[before] - peer[after]
        off = abs(lost - ours[reason]) > NEAR * left
        bad += off
        print(f"{'- ' + reason:<22}{lost:>10}{ours[reason]:>10}{'   MISS' if off else ''}")
        left -= ours[reason]
    for reason, count in sorted(ours.items()):
        if reason not in (*REASONS, "kept"):
            print(f"{'- ' + reason:<22}{'':>10}{count:>10}")
    kept, strict = ours["kept"], peer["strict"]
    share = kept / strict
    met = 0.9 <= share <= 1.0
    print(f"{'tasks':<22}{strict:>10}{kept:>10}   {share:.3f} of the strict count, target 0.90 to 1.00{'' if met else '   MISS'}")
    return 0 if met and not bad and len(rows) == peer["all"] else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/real/star")))
