"""Can a simple model tell the outcome class from what must not tell it? Folds are by organisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._chance import FEWEST, Group, alpha_of, testable
from tasks.leaks._types import Finding, LeakInput

FOLDS = 5
PERMUTATIONS = 19_999
MARGIN = 0.10
"""Balanced accuracy above chance from which a telling is worth acting on."""
NORMAL_95 = 1.96

Features = Callable[[Sequence[TaskSpec]], Any]
"""Tasks -> array or sparse matrix (tasks, features); fitted on no outcome."""


def probe_workflows(data: LeakInput, check: str, path: str, features: Features) -> list[Finding]:
    """One finding for each workflow that can be tested, with its numbers; "not applicable" where none can."""
    groups = testable(data)
    if not groups:
        return [Finding(check, "not_applicable", path, f"no workflow has two classes of {FEWEST} tasks in two groups")]
    return [_probed(data, check, path, features, group, alpha_of(groups)) for group in groups]


def _probed(data: LeakInput, check: str, path: str, features: Features, group: Group, alpha: float) -> Finding:
    tasks = group.tasks
    accuracy, spread, chance, p = telling(features(tasks), group.classes, [task.organisation for task in tasks], data.seed)
    bad = accuracy >= chance + MARGIN and p <= alpha
    detail = f"{group.workflow}: balanced accuracy {accuracy:.2f}, chance {chance:.2f}, p {p:.5f}, {len(tasks)} tasks"
    numbers = {
        "accuracy": round(accuracy, 4),
        "low": round(max(0.0, accuracy - NORMAL_95 * spread), 4),
        "high": round(min(1.0, accuracy + NORMAL_95 * spread), 4),
        "chance": round(chance, 4),
        "margin": MARGIN,
        "p": p,
        "alpha": alpha,
        "tasks": len(tasks),
    }
    return Finding(check, "failed" if bad else "passed", f"{path}/{group.workflow}", detail, numbers=numbers)


def telling(features: Any, classes: Sequence[str], groups: Sequence[str], seed: int) -> tuple[float, float, float, float]:
    """(balanced accuracy out of fold, its standard error, chance, p): p is the share of shuffled outcomes that the same guesses
    fit as well."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold

    names = sorted(set(classes))
    y = np.array([names.index(c) for c in classes])
    guesses = np.full(len(y), int(np.bincount(y).argmax()))
    folds = GroupKFold(n_splits=min(FOLDS, len(set(groups))))
    for train, test in folds.split(features, y, groups):
        if len(set(y[train])) < 2:
            continue
        model = LogisticRegression(class_weight="balanced", max_iter=200, tol=1e-3)
        guesses[test] = model.fit(features[train], y[train]).predict(features[test])
    sizes, guessed = np.bincount(y, minlength=len(names)), np.bincount(guesses, minlength=len(names))
    recalls = np.array([(guesses[y == k] == k).mean() for k in range(len(names))])
    accuracy = float(recalls.mean())
    spread = float(np.sqrt((recalls * (1 - recalls) / sizes).sum()) / len(names))
    shuffled = _shuffled(sizes, guessed, np.random.default_rng(seed))
    p = (1 + int((shuffled >= accuracy - 1e-9).sum())) / (1 + PERMUTATIONS)
    return accuracy, spread, 1.0 / len(names), p


def _shuffled(sizes: Any, guessed: Any, generator: Any) -> Any:
    """(PERMUTATIONS,) balanced accuracy of the same guesses under shuffled outcomes.

    A shuffle deals each class its tasks without replacement; only how many of them had which guess matters, so these counts are
    drawn directly (hypergeometric) and no outcome is moved.
    """
    import numpy as np

    left = np.tile(guessed, (PERMUTATIONS, 1))
    total = np.zeros(PERMUTATIONS)
    for k, size in enumerate(sizes):
        wanted = np.full(PERMUTATIONS, size)
        for g in range(len(guessed)):
            rest = left[:, g + 1 :].sum(axis=1)
            drawn = generator.hypergeometric(left[:, g], rest, wanted)
            wanted = wanted - drawn
            left[:, g] -= drawn
            if g == k:
                total += drawn / size
    return total / len(sizes)
