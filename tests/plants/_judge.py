"""Whether the checks tell a planted leak, and whether it is their own kind of check that does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from schemas.plugins import load_plugins
from tasks.leaks import Finding, LeakInput, run_check
from tasks.leaks._types import Leak
from tests.plants._planted import SECTIONS, Plant, Planted, UnplantableError

Verdict = Literal["found", "by another check", "missed"]
TELLING = ("failed",)
FEW = 10
"""Tasks of a leak, at most, that only checks by evidence can tell."""
SUSPECT = ("failed", "suspect")


@dataclass(frozen=True, slots=True)
class Clean:
    """A set before planting, with what the checks say of it."""

    data: LeakInput
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    plant: Plant
    verdict: Verdict
    told_by: tuple[str, ...]
    """Checks that tell it."""
    could_not_run: tuple[str, ...] = ()


def checks() -> dict[str, Leak]:
    return load_plugins("tasks.leaks", "LEAK", Leak)


def findings_of(data: LeakInput, only: Iterable[str] | None = None) -> tuple[Finding, ...]:
    """What each check says; waivers play no part: a planted leak has none."""
    return tuple(f for name, check in checks().items() if only is None or name in only for f in run_check(check, data))


def clean(data: LeakInput) -> Clean:
    return Clean(data, findings_of(data))


def failures(findings: Iterable[Finding]) -> list[Finding]:
    return [f for f in findings if f.verdict in TELLING]


def _known(findings: Iterable[Finding], verdicts: Sequence[str]) -> tuple[set[tuple[str, str]], dict[tuple[str, str], set[str]]]:
    """Check and path of findings on the set as a whole, and per check and path the tasks of the others."""
    whole: set[tuple[str, str]] = set()
    tasks: dict[tuple[str, str], set[str]] = defaultdict(set)
    for finding in findings:
        if finding.verdict in verdicts:
            tasks[finding.check, finding.path] |= set(finding.task_ids)
            if not finding.task_ids:
                whole.add((finding.check, finding.path))
    return whole, tasks


def new_findings(before: Clean, after: Iterable[Finding], verdicts: Sequence[str] = TELLING) -> list[Finding]:
    """Findings that the clean set did not have: another place, or other tasks at that place."""
    whole, tasks = _known(before.findings, verdicts)
    found = []
    for finding in after:
        if finding.verdict not in verdicts:
            continue
        key = (finding.check, finding.path)
        there = set(finding.task_ids) - tasks.get(key, set())
        if there or (not finding.task_ids and key not in whole):
            found.append(finding)
    return found


def tells(finding: Finding, before: Clean, planted: Planted) -> bool:
    """True if the finding names a planted task or place (or the leak is of the set as a whole)."""
    if not planted.tasks and not planted.where:
        return True
    if set(finding.task_ids) & set(planted.tasks):
        return True
    path = finding.path.casefold()
    return any(name.casefold() in path for name in (*planted.where, *planted.tasks))


def plant_into(before: Clean, plant: Plant, seed: int) -> Planted | None:
    """The planted set; None where the clean set has no place for this leak."""
    try:
        return plant.make(before.data, Random(f"{plant.name}/{seed}"))
    except UnplantableError:
        return None


def judge(before: Clean, plant: Plant, seed: int, *, own_only: bool = False) -> Judged | None:
    """None where the clean set has no place for this leak. The checks of the leak's own kind are asked first; the others only
    where those do not tell it, and not with `own_only`."""
    planted = plant_into(before, plant, seed)
    if planted is None:
        return None
    own = [name for name in checks() if name in SECTIONS[plant.section]]
    # A leak of a few tasks is nothing that a probability over the set could tell.
    few = 0 < len(planted.tasks) <= FEW
    others = [name for name, check in checks().items() if name not in own and not (few and check.statistical)]
    broken: list[str] = []
    for names, verdict in ((own, "found"), ([] if own_only else others, "by another check")):
        after = findings_of(planted.data, names)
        broken += [f.check for f in after if f.verdict == "could_not_run"]
        verdicts = SUSPECT if plant.suspect else TELLING
        told = [f for f in new_findings(before, after, verdicts) if tells(f, before, planted)]
        if told:
            return Judged(plant, verdict, tuple(dict.fromkeys(f.check for f in told)), tuple(broken))  # type: ignore[arg-type]
    was_broken = {f.check for f in before.findings if f.verdict == "could_not_run"}
    return Judged(plant, "missed", (), tuple(b for b in broken if b not in was_broken))
