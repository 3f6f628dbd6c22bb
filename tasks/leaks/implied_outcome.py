"""The wording of the request tells the outcome class of its workflow: TF-IDF, logistic regression, out of fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._probe import probe_workflows
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import words


def run(data: LeakInput) -> list[Finding]:
    return probe_workflows(data, "implied_outcome", "opening", features)


def features(tasks: Sequence[TaskSpec]) -> Any:
    """(tasks, terms) TF-IDF of words and pairs of words, ids as their types."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [" ".join(words(f"{task.opening.subject} {task.opening.text}")) for task in tasks]
    return TfidfVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=r"\S+").fit_transform(texts)


def planted(data: LeakInput) -> LeakInput:
    def hinted(task: TaskSpec) -> TaskSpec:
        hint = "as agreed with your colleague" if data.answers[task.task_id].outcome_class == "grant" else "whenever it suits you"
        return task.model_copy(update={"opening": task.opening.model_copy(update={"text": f"{task.opening.text} {hint}"})})

    return replace(data, tasks=tuple(hinted(task) for task in data.tasks))


LEAK = Leak("implied_outcome", run, planted, statistical=True)
