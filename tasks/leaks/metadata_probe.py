"""What no decision may depend on tells the outcome class: ids, order in the set, hour and weekday, lengths of the request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._probe import probe_workflows
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import TOKEN, must_instant, words


def run(data: LeakInput) -> list[Finding]:
    order = {task.task_id: number for number, task in enumerate(data.tasks)}
    return probe_workflows(data, "metadata_probe", "metadata", lambda tasks: features(tasks, order))


def features(tasks: Sequence[TaskSpec], order: dict[str, int]) -> Any:
    """(tasks, features) scaled to mean 0 and spread 1; a feature that never varies is dropped."""
    import numpy as np

    rows = []
    for task in tasks:
        at = must_instant(task.started_at, f"{task.task_id}.started_at")
        text = task.opening.text
        row = [order[task.task_id], at.hour, at.minute, at.second, len(task.opening.subject), len(text), len(words(text))]
        row += [len(TOKEN.findall(text)), text.count("\n"), len(task.state), len(task.provenance), len(task.grades)]
        row += [int(at.weekday() == day) for day in range(7)]
        for name in (task.task_id, task.opening.record.record_id, task.opening.requester_id):
            digits = [int(c, 16) for c in name if c in "0123456789ABCDEFabcdef"][-3:]
            row += [digits[-1] if digits else 0, digits[-1] % 2 if digits else 0, digits[-3] if len(digits) > 2 else 0, len(name)]
        rows.append(row)
    table = np.array(rows, dtype=float)
    spread = table.std(axis=0)
    kept = spread > 0
    return (table[:, kept] - table[:, kept].mean(axis=0)) / spread[kept]


def planted(data: LeakInput) -> LeakInput:
    by_class = sorted(data.tasks, key=lambda task: (data.answers[task.task_id].outcome_class, task.task_id))
    return replace(data, tasks=tuple(by_class))


LEAK = Leak("metadata_probe", run, planted, statistical=True)
