"""The wording of the request tells the outcome class of its workflow: by a probe (TF-IDF, logistic regression, out of fold), and
by single phrases that stand in requests of one class only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._chance import Group, alpha_of, testable
from tasks.leaks._probe import probe_workflows
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import words

LONGEST = 3
"""Words of the longest phrase."""
PURE = 0.95
"""Share of one class among the requests with a phrase from which the phrase tells it."""
FEWEST = 8
"""Requests, and ORGANISATIONS among them, that hold the phrase: what one person writes is a habit."""
ORGANISATIONS = 3


def run(data: LeakInput) -> list[Finding]:
    groups = testable(data)
    found = probe_workflows(data, "implied_outcome", "opening", features)
    return found + [one for group in groups if (one := phrase(group, alpha_of(groups))) is not None]


def features(tasks: Sequence[TaskSpec]) -> Any:
    """(tasks, terms) TF-IDF of words and pairs of words, ids as their types."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=r"\S+").fit_transform(texts(tasks))


def texts(tasks: Sequence[TaskSpec]) -> list[str]:
    return [" ".join(words(f"{task.opening.subject} {task.opening.text}")) for task in tasks]


def phrase(group: Group, alpha: float) -> Finding | None:
    """A finding where phrases stand in requests of one class only, beyond chance over all phrases and classes (Bonferroni)."""
    import numpy as np
    from scipy.stats import hypergeom
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(ngram_range=(1, LONGEST), min_df=FEWEST, token_pattern=r"\S+", binary=True, dtype=np.float64)
    try:
        held = counter.fit_transform(texts(group.tasks)).tocsc()
    except ValueError:  # no phrase stands in FEWEST requests
        return None
    classes = sorted(set(group.classes))
    members = np.array([[c == k for c in group.classes] for k in classes], dtype=np.float64)
    total = np.asarray(held.sum(axis=0)).ravel()
    of_class = np.asarray((held.T @ members.T).T)
    sizes = members.sum(axis=1)
    p = hypergeom.sf(of_class - 1, len(group.tasks), sizes[:, None], total[None, :])
    level = alpha / p.size
    telling = np.argwhere((p <= level) & (of_class >= PURE * total))
    organisations = np.array([task.organisation for task in group.tasks])
    spread = [(k, n) for k, n in telling if len(set(organisations[held[:, n].indices])) >= ORGANISATIONS]
    if not spread:
        return None
    k, n = min(spread, key=lambda kn: p[kn[0], kn[1]])
    covered = int(np.asarray(held[:, [n for _, n in spread]].sum(axis=1) > 0).sum())
    detail = (
        f"{group.workflow}: {len(spread)} of {len(total)} phrases of one class only, in {covered} of {len(group.tasks)} tasks; "
        f"the clearest in {int(of_class[k, n])} of {int(total[n])}, class {classes[k]}"
    )
    numbers = {"p": float(p[k, n]), "alpha": float(level), "tasks": len(group.tasks)}
    return Finding("implied_outcome", "failed", f"opening/phrase/{group.workflow}", detail, numbers=numbers)


def planted(data: LeakInput) -> LeakInput:
    def hinted(task: TaskSpec) -> TaskSpec:
        hint = "as agreed with your colleague" if data.answers[task.task_id].outcome_class == "grant" else "whenever it suits you"
        return task.model_copy(update={"opening": task.opening.model_copy(update={"text": f"{task.opening.text} {hint}"})})

    return replace(data, tasks=tuple(hinted(task) for task in data.tasks))


LEAK = Leak("implied_outcome", run, planted, statistical=True)
