"""How often checks by probability may cry wolf, and exact tests of "this tells the outcome class" by shuffled outcomes.

One task set may raise a false alarm with probability FAMILY, over all statistical checks together: that is set beforehand and
shared out evenly over their tests (Bonferroni) and over the workflows tested. Inside one test many features may be looked at:
the shuffled outcomes are judged by their own best feature (Westfall and Young), which needs no further sharing out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._types import LeakInput
from tasks.leaks._walk import must_instant

FAMILY = 0.01
"""Probability of any false alarm of the statistical checks on a clean task set: 0.2 expected over 20 sets."""
TESTS = 11
"""encoded_outcome (by ids of its own, by shared ones), implied_outcome (by probe, by pure phrase, by phrase, by answers),
key_presence, metadata_probe (by probe, by form, by what goes with the task, by who asks)."""
FEWEST = 10
"""Tasks of the second largest class from which a workflow can be tested: the tests are exact, and ten against ten that are told
apart come about by chance once in 185,000 shuffles."""
SHUFFLES = 19_999
ENOUGH = 20
"""Shuffles that tell as much, from which the rest is not drawn: p is far above any alpha that is shared out."""
CHUNK = 1000
TRIED = 400
"""Shuffles from which each feature's own mean and spread are told: what chi-squared comes to in a table of many small cells."""
CLEAR = 2.5
"""Deviation below which the best feature is no evidence at any alpha that is shared out: no more is shuffled."""
LEAST = 1e-3
"""Spread of a feature that no shuffle moves, so that rounding is no evidence."""
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


def periods(data: LeakInput, tasks: Sequence[TaskSpec]) -> list[int]:
    """Turns of policies (a version comes into force or goes out of it) before each task: what may follow from the day."""
    turns = sorted(must_instant(at, name) for name, times in data.policy_times.items() for at in times if at is not None)
    return [bisect_right(turns, must_instant(task.started_at, f"{task.task_id}.started_at")) for task in tasks]


@dataclass(frozen=True, slots=True)
class Told:
    """The feature that tells most."""

    feature: str
    strength: float
    """Cramer's V in [0, 1]."""
    p: float
    """Share of shuffled outcomes whose best feature tells as much; far above any alpha where the best is no evidence without
    shuffling, or not all shuffles were drawn."""
    beyond: float = 0.0
    """Cramer's V in [0, 1] beyond what as many values tell by chance (Bergsma's correction)."""


def best_feature(
    features: Mapping[str, Sequence[Any]], classes: Sequence[str], strata: Sequence[Any], seed: int, *, rare: int = RARE
) -> Told | None:
    """The feature whose values go most with the classes, outcomes being shuffled within strata; None where none varies.

    Values of fewer than `rare` tasks are one value.
    """
    import numpy as np

    names = sorted(set(classes))
    y = np.array([names.index(c) for c in classes])
    columns: list[list[float]] = []
    starts: list[int] = []
    kept: list[str] = []
    for name, values in sorted(features.items()):
        coded = _coded(values, rare)
        if len(set(coded)) > 1:
            starts.append(len(columns))
            kept.append(name)
            columns += [[float(c == v) for c in coded] for v in sorted(set(coded))]
    if not kept:
        return None
    table = np.array(columns, dtype=np.float32).T
    widths = np.diff([*starts, table.shape[1]])
    share = np.bincount(y, minlength=len(names)) / len(y)
    held = table.sum(axis=0)

    def chi_of(truth: Any) -> Any:
        """(rows, features) chi-squared for each row of `truth` (rows, tasks)."""
        chi = np.zeros((len(truth), table.shape[1]), dtype=np.float32)
        for k, part in enumerate(share):
            expected = held * part
            chi += ((truth == k).astype(np.float32) @ table - expected) ** 2 / expected
        return np.add.reduceat(chi, starts, axis=1)

    # Drawn apart from the shuffles that are counted, so that what a feature is measured by depends on no outcome.
    tried = np.cbrt(chi_of(next(_shuffles(y, strata, seed + 1, TRIED, TRIED))))
    middle, spread = tried.mean(axis=0), np.maximum(tried.std(axis=0), LEAST)

    def deviations(truth: Any) -> Any:
        return (np.cbrt(chi_of(truth)) - middle) / spread

    z = deviations(y[None, :])[0]
    best = int(z.argmax())
    phi = float(chi_of(y[None, :])[0, best]) / len(y)
    strength = (phi / min(widths[best] - 1, len(names) - 1)) ** 0.5
    p = 1.0 if z[best] < CLEAR else _share(lambda truth: deviations(truth).max(axis=1), float(z[best]), y, strata, seed)
    return Told(kept[best], strength, p, _beyond(phi, int(widths[best]), len(names), len(y)))


def best_phrase(held: Any, classes: Sequence[str], strata: Sequence[Any], seed: int) -> tuple[int, float, float] | None:
    """(column, Cramer's V, p) of the phrase that goes most with the classes, as `best_feature`.

    `held`: (tasks, phrases) 1.0 where the task holds the phrase; None where there is no phrase that some hold and some do not.
    """
    import numpy as np

    names = sorted(set(classes))
    y = np.array([names.index(c) for c in classes])
    total = held.sum(axis=0)
    columns = np.flatnonzero((total > 0) & (total < len(y)))
    if not len(columns) or len(names) < 2:
        return None
    table, total = held[:, columns].astype(np.float32), total[columns]
    share = np.bincount(y, minlength=len(names)) / len(y)
    rest = len(y) / (len(y) - total)  # what the tasks without the phrase add to chi-squared

    def chi_of(truth: Any) -> Any:
        """(rows, phrases) chi-squared for each row of `truth` (rows, tasks)."""
        chi = np.zeros((len(truth), len(columns)), dtype=np.float32)
        for k, part in enumerate(share):
            chi += ((truth == k).astype(np.float32) @ table - total * part) ** 2 / (total * part)
        return chi * rest

    chi = chi_of(y[None, :])[0]
    best = int(chi.argmax())
    strength = float(chi[best] / len(y)) ** 0.5
    tried = chi_of(next(_shuffles(y, strata, seed + 1, TRIED, TRIED))).max(axis=1)
    clear = (tried >= chi[best]).sum() <= ENOUGH
    p = _share(lambda truth: chi_of(truth).max(axis=1), float(chi[best]), y, strata, seed) if clear else 1.0
    return int(columns[best]), strength, p


def _beyond(phi: float, values: int, classes: int, tasks: int) -> float:
    """Cramer's V corrected for bias (Bergsma 2013): 0 is expected where nothing is told, however many values there are."""
    left = max(0.0, phi - (values - 1) * (classes - 1) / (tasks - 1))
    least = min(n - (n - 1) ** 2 / (tasks - 1) for n in (values, classes)) - 1
    return min(1.0, (left / least) ** 0.5) if least > 0 else 0.0


def _shuffles(y: Any, strata: Sequence[Any], seed: int, total: int, chunk: int) -> Iterator[Any]:
    """(rows, tasks) outcomes shuffled within strata, `total` rows in pieces of at most `chunk`."""
    import numpy as np

    keys = {value: n for n, value in enumerate(sorted(set(map(str, strata))))}
    stratum = np.array([keys[str(value)] for value in strata])
    base = np.argsort(stratum, kind="stable")
    generator = np.random.default_rng(seed)
    for start in range(0, total, chunk):
        rows = min(chunk, total - start)
        order = np.argsort(generator.random((rows, len(y))) + stratum, axis=1)
        shuffled = np.empty((rows, len(y)), dtype=y.dtype)
        shuffled[:, base] = y[order]
        yield shuffled


def _share(best: Callable[[Any], Any], found: float, y: Any, strata: Sequence[Any], seed: int) -> float:
    """Share of shuffled outcomes of which `best` says at least as much as was found."""
    as_good = done = 0
    for shuffled in _shuffles(y, strata, seed, SHUFFLES, CHUNK):
        as_good += int((best(shuffled) >= found - 1e-4).sum())
        done += len(shuffled)
        if as_good > ENOUGH:
            break
    return (1 + as_good) / (1 + done)


def _coded(values: Sequence[Any], rare: int) -> list[str]:
    texts = [str(value) for value in values]
    counts = Counter(texts)
    seldom = {text for text, count in counts.items() if count < rare}
    # What fewer than `rare` tasks share in all is no value either: so few tell nothing, and their chi-squared jumps.
    few = sum(counts[text] for text in seldom) < rare
    instead = max(sorted(counts), key=counts.__getitem__) if few else "(rare)"
    return [instead if text in seldom else text for text in texts]


def binned(numbers: Sequence[float], bins: int) -> list[int]:
    """Each number's bin among `bins` of equal size, by rank."""
    order = sorted(range(len(numbers)), key=lambda i: numbers[i])
    found = [0] * len(numbers)
    for rank, index in enumerate(order):
        found[index] = rank * bins // len(numbers)
    return found
