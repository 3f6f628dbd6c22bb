"""How often checks by probability may cry wolf, and exact tests of "this tells the outcome class" by shuffled outcomes.

One task set may raise a false alarm with probability FAMILY, over all statistical checks together: that is set beforehand and
shared out evenly over their tests (Bonferroni) and over the workflows tested. Inside one test many features may be looked at:
the shuffled outcomes are judged by their own best feature (Westfall and Young), which needs no further sharing out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._types import LeakInput

FAMILY = 0.01
"""Probability of any false alarm of the statistical checks on a clean task set: 0.2 expected over 20 sets."""
TESTS = 8
"""encoded_outcome (by ids of its own, by shared ones), implied_outcome (by probe, by phrase), key_presence, metadata_probe (by
probe, by form, by what goes with the task)."""
FEWEST = 15
"""Tasks of the second largest class from which a workflow can be tested."""
SHUFFLES = 19_999
CHUNK = 1000
CLEAR = 3.0
"""Standard normal deviation below which the best feature is no evidence at any alpha that is shared out: nothing is shuffled."""
RARE = 5
"""Values of fewer tasks than this are one value."""


@dataclass(frozen=True, slots=True)
class Group:
    """The tasks of one workflow that can be tested."""

    workflow: str
    tasks: list[TaskSpec]
    classes: list[str]


def testable(data: LeakInput) -> list[Group]:
    """Workflows with two classes of at least FEWEST tasks, in two organisations or more."""
    found = []
    for workflow in sorted({task.workflow for task in data.tasks}):
        tasks = [task for task in data.tasks if task.workflow == workflow and task.task_id in data.answers]
        classes = [data.answers[task.task_id].outcome_class for task in tasks]
        counts = sorted((classes.count(c) for c in set(classes)), reverse=True)
        if len(counts) > 1 and counts[1] >= FEWEST and len({task.organisation for task in tasks}) >= 2:
            found.append(Group(workflow, tasks, classes))
    return found


def alpha_of(groups: Sequence[Group]) -> float:
    """Level of one test in one workflow."""
    return FAMILY / TESTS / max(1, len(groups))


@dataclass(frozen=True, slots=True)
class Told:
    """The feature that tells most."""

    feature: str
    strength: float
    """Cramer's V in [0, 1]."""
    p: float
    """Share of shuffled outcomes whose best feature tells as much; 1 where the best is no evidence without shuffling."""


def best_feature(features: Mapping[str, Sequence[Any]], classes: Sequence[str], strata: Sequence[Any], seed: int) -> Told | None:
    """The feature whose values go most with the classes, outcomes being shuffled within strata; None where none varies."""
    import numpy as np

    names = sorted(set(classes))
    y = np.array([names.index(c) for c in classes])
    columns: list[list[float]] = []
    starts: list[int] = []
    kept: list[str] = []
    for name, values in sorted(features.items()):
        coded = _coded(values)
        if len(set(coded)) > 1:
            starts.append(len(columns))
            kept.append(name)
            columns += [[float(c == v) for c in coded] for v in sorted(set(coded))]
    if not kept:
        return None
    table = np.array(columns, dtype=np.float32).T
    widths = np.diff([*starts, table.shape[1]])
    share = np.bincount(y, minlength=len(names)) / len(y)
    freedom = (widths - 1) * (len(names) - 1)
    held = table.sum(axis=0)

    def deviations(truth: Any) -> tuple[Any, Any]:
        """(chi-squared, its normal deviation by Wilson and Hilferty) of each feature, for each row of `truth` (rows, tasks)."""
        chi = np.zeros((len(truth), table.shape[1]), dtype=np.float32)
        for k, part in enumerate(share):
            expected = held * part
            chi += ((truth == k).astype(np.float32) @ table - expected) ** 2 / expected
        total = np.add.reduceat(chi, starts, axis=1)
        wide = 2.0 / (9.0 * freedom)
        return total, (np.cbrt(total / freedom) - (1.0 - wide)) / np.sqrt(wide)

    chi, z = deviations(y[None, :])
    best = int(z[0].argmax())
    strength = float(np.sqrt(chi[0, best] / (len(y) * min(widths[best] - 1, len(names) - 1))))
    if z[0, best] < CLEAR:
        return Told(kept[best], strength, 1.0)
    keys = {value: n for n, value in enumerate(sorted(set(map(str, strata))))}
    stratum = np.array([keys[str(value)] for value in strata])
    base = np.argsort(stratum, kind="stable")
    generator = np.random.default_rng(seed)
    as_good = 0
    for start in range(0, SHUFFLES, CHUNK):
        rows = min(CHUNK, SHUFFLES - start)
        order = np.argsort(generator.random((rows, len(y))) + stratum, axis=1)
        shuffled = np.empty((rows, len(y)), dtype=y.dtype)
        shuffled[:, base] = y[order]
        as_good += int((deviations(shuffled)[1].max(axis=1) >= z[0, best] - 1e-4).sum())
        if start == 0 and as_good > rows / 20:
            return Told(kept[best], strength, (1 + as_good) / (1 + rows))
    return Told(kept[best], strength, (1 + as_good) / (1 + SHUFFLES))


def _coded(values: Sequence[Any]) -> list[str]:
    texts = [str(value) for value in values]
    counts: dict[str, int] = {}
    for text in texts:
        counts[text] = counts.get(text, 0) + 1
    return [text if counts[text] >= RARE else "(rare)" for text in texts]


def binned(numbers: Sequence[float], bins: int) -> list[int]:
    """Each number's bin among `bins` of equal size, by rank."""
    order = sorted(range(len(numbers)), key=lambda i: numbers[i])
    found = [0] * len(numbers)
    for rank, index in enumerate(order):
        found[index] = rank * bins // len(numbers)
    return found
