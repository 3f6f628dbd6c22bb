"""Can a simple model tell the outcome class from what must not tell it? Folds are by organisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._types import Finding, LeakInput

FOLDS = 5
PERMUTATIONS = 4999
ALPHA = 0.01
"""Of the whole check: shared out over the workflows tested (Bonferroni)."""
MARGIN = 0.10
"""Balanced accuracy above chance from which a telling is worth acting on."""
FEWEST = 15
"""Tasks of the smaller class from which a workflow can be tested."""

Features = Callable[[Sequence[TaskSpec]], Any]
"""Tasks -> array or sparse matrix (tasks, features); fitted on no outcome."""


def probe_workflows(data: LeakInput, check: str, path: str, features: Features) -> list[Finding]:
    """One finding for each workflow whose outcome class the features tell; "not applicable" where no workflow can be tested."""
    eligible = []
    for workflow in sorted({task.workflow for task in data.tasks}):
        tasks = [task for task in data.tasks if task.workflow == workflow and task.task_id in data.answers]
        classes = [data.answers[task.task_id].outcome_class for task in tasks]
        counts = sorted((classes.count(c) for c in set(classes)), reverse=True)
        groups = {task.organisation for task in tasks}
        if len(counts) > 1 and counts[1] >= FEWEST and len(groups) >= 2:
            eligible.append((workflow, tasks, classes))
    if not eligible:
        return [Finding(check, "not_applicable", path, f"no workflow has two classes of {FEWEST} tasks in two groups")]
    findings = []
    for workflow, tasks, classes in eligible:
        accuracy, chance, p = telling(features(tasks), classes, [task.organisation for task in tasks], data.seed)
        if accuracy >= chance + MARGIN and p <= ALPHA / len(eligible):
            detail = f"{workflow}: balanced accuracy {accuracy:.2f}, chance {chance:.2f}, p {p:.4f}, {len(tasks)} tasks"
            findings.append(Finding(check, "failed", f"{path}/{workflow}", detail))
    return findings


def telling(features: Any, classes: Sequence[str], groups: Sequence[str], seed: int) -> tuple[float, float, float]:
    """(balanced accuracy out of fold, chance, p): p is the share of shuffled outcomes that the same guesses fit as well."""
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
        model = LogisticRegression(class_weight="balanced", max_iter=1000)
        guesses[test] = model.fit(features[train], y[train]).predict(features[test])
    hits = np.equal.outer(np.arange(len(names)), guesses).astype(float)
    weight = 1.0 / np.bincount(y, minlength=len(names))

    def balanced(truth: Any) -> Any:
        """Mean recall over classes of each row of `truth` (rows, tasks)."""
        right = hits[truth, np.arange(len(y))] * weight[truth]
        return right.sum(axis=-1) / len(names)

    generator = np.random.default_rng(seed)
    shuffled = generator.permuted(np.tile(y, (PERMUTATIONS, 1)), axis=1)
    accuracy = float(balanced(y))
    p = (1 + int((balanced(shuffled) >= accuracy - 1e-12).sum())) / (1 + PERMUTATIONS)
    return accuracy, 1.0 / len(names), p
