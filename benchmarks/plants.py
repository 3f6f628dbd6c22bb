"""Planted leaks: how many kinds the leak checks find, and how often they cry wolf.

    python -m benchmarks.plants [--seeds N] [--only TEXT] [--built NAME ...] [--requests N]

Plants each kind of `tests/plants` into clean sets of suppliers that the sample knows nothing of, and prints one line a kind. A
kind that must be found each time is planted into each set that has a place for it; a kind that tells by probability into one set
a seed. Found: a failed finding that the clean set did not have names a planted task or place; a leak that only a check of another
kind tells is found, and listed as such. `--built` also plants the first group into built task sets (in the data folder of the
environment). Then counts what the checks say of the clean sets themselves. Exit code 1 if a target is missed: all of the first
group, 95% of the second, no false alarm by evidence and at most one by probability.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

from schemas.spec import load_spec
from tasks.leaks import LeakInput
from tests.plants import Plant, catalogue
from tests.plants._edit import subset
from tests.plants._judge import Clean, Judged, checks, clean, failures, judge
from tests.plants.built import load
from tests.plants.suppliers import facilities, trackers

SPECS = Path(__file__).resolve().parents[1] / "tasks" / "specs"
SUPPLIERS = ("facilities", "trackers")
BUILT_TASKS = 250
"""Tasks of a built set that the first group is planted into."""
SHARE = 0.95
FALSE_ALARMS = 1


def supplier(name: str, seed: int, requests: int, folder: Path | None = None) -> LeakInput:
    return facilities.make(seed, requests) if name == "facilities" else trackers.make(seed, requests, folder)


def always(plants: list[Plant], sets: dict[str, Clean]) -> Iterator[tuple[Plant, dict[str, Judged | None]]]:
    """Each kind in each set that has a place for it."""
    for plant in plants:
        yield plant, {name: judge(before, plant, 1) for name, before in sets.items()}


def sampled(plants: list[Plant], seeds: int, requests: int) -> Iterator[tuple[Plant, Judged]]:
    """Each kind in one clean set a seed, the suppliers in turn."""
    for seed in range(1, seeds + 1):
        name = SUPPLIERS[seed % len(SUPPLIERS)]
        before = clean(supplier(name, seed, requests))
        for plant in plants:
            judged = judge(before, plant, seed)
            if judged is not None:
                yield plant, judged


def built(name: str) -> LeakInput:
    data = load(load_spec(SPECS / f"{name}.toml"))
    kept = Random(1).sample([t.task_id for t in data.tasks], min(BUILT_TASKS, len(data.tasks)))
    return subset(data, kept)


def always_table(plants: list[Plant], sets: dict[str, Clean]) -> bool:
    print(f"{'must be found each time':<26}{'kind of section 8':<28}", *(f"{name:<20}" for name in sets))
    totals: Counter[str] = Counter()
    for plant, judged in always(plants, sets):
        verdicts = {name: j for name, j in judged.items() if j is not None}
        worst = "nowhere" if not verdicts else max((j.verdict for j in verdicts.values()), key=_badness)
        totals[worst] += 1
        cells = (f"{_cell(verdicts.get(name)):<20}" for name in sets)
        print(f"{plant.name:<26}{plant.section:<28}", *cells, plant.words if worst != "found" else "", flush=True)
    print(f"kinds: {len(plants)}, {dict(totals)}; target: none missed, none without a place")
    return not totals["missed"] and not totals["nowhere"]


def _badness(verdict: str) -> int:
    return ("found", "by another check", "missed").index(verdict)


def _cell(judged: Judged | None) -> str:
    if judged is None:
        return "-"
    return judged.verdict if judged.verdict != "by another check" else f"by {judged.told_by[0]}"


def sampled_table(plants: list[Plant], seeds: int, requests: int) -> bool:
    told: dict[str, list[Judged]] = defaultdict(list)
    for plant, judged in sampled(plants, seeds, requests):
        told[plant.name].append(judged)
    print(f"\n{'tells by probability':<26}{'kind of section 8':<28}{'found':>8}{'by other':>10}{'missed':>8}")
    totals: Counter[str] = Counter()
    below = 0
    for plant in plants:
        counts = Counter(j.verdict for j in told[plant.name])
        totals += counts
        low = counts["missed"] > (1 - SHARE) * counts.total() + 1e-9
        below += low
        row = f"{counts['found']:>8}{counts['by another check']:>10}{counts['missed']:>8}"
        print(f"{plant.name:<26}{plant.section:<28}{row}  {plant.words if low else ''}")
    share = 1 - totals["missed"] / max(1, totals.total())
    print(f"kinds: {len(plants)}, {below} below {SHARE:.0%}; of all plantings {share:.1%} found; target: {SHARE:.0%}")
    return share >= SHARE


def alarms_table(seeds: int, requests: int) -> bool:
    """What the checks say of clean sets."""
    statistical = {name for name, check in checks().items() if check.statistical}
    found: Counter[str] = Counter()
    kinds: Counter[bool] = Counter()
    for seed in range(1, seeds + 1):
        for name in SUPPLIERS:
            data = supplier(name, seed, requests)
            start = time.process_time()
            before = clean(data)
            spent = time.process_time() - start
            for finding in failures(before.findings):
                found[f"{name}: {finding.check} {finding.path}"] += 1
                kinds[finding.check in statistical] += 1
            print(f"clean {name} {seed}: {len(data.tasks)} tasks, {1000 * spent / len(data.tasks):.2f} CPU ms a task", flush=True)
    for place, count in sorted(found.items()):
        print(f"  {place}: {count}")
    evidence, probability = f"{kinds[False]} by evidence (target 0)", f"{kinds[True]} by probability (target <= {FALSE_ALARMS})"
    print(f"false alarms on {2 * seeds} clean sets: {evidence}, {probability}")
    return kinds[False] == 0 and kinds[True] <= FALSE_ALARMS


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plants", description="how many kinds of planted leaks are found")
    parser.add_argument("--seeds", type=int, default=20, help="clean sets for the kinds that tell by probability")
    parser.add_argument("--requests", type=int, default=560, help="requests of a clean set (about nine in ten become tasks)")
    parser.add_argument("--only", default="", help="only kinds whose name or section holds this")
    parser.add_argument("--built", nargs="*", default=[], help="built task sets to plant into as well")
    parser.add_argument("--parts", default="always,sampled,alarms", help="what to run")
    given = parser.parse_args(arguments)
    plants = [p for p in catalogue().values() if given.only in p.name or given.only in p.section]
    good = []
    with tempfile.TemporaryDirectory() as place:
        if "always" in given.parts:
            sets = {name: clean(supplier(name, 1, given.requests, Path(place))) for name in SUPPLIERS}
            sets.update({name: clean(built(name)) for name in given.built})
            good.append(always_table([p for p in plants if not p.statistical], sets))
        if "sampled" in given.parts:
            good.append(sampled_table([p for p in plants if p.statistical], given.seeds, given.requests))
        if "alarms" in given.parts:
            good.append(alarms_table(given.seeds, given.requests))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
