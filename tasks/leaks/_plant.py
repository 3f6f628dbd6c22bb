"""Puts a leak into a clean task set, for the test that its check finds it. Contents stay addressed by their digest."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

from schemas.files import sha256_json
from schemas.task import TaskSpec
from tasks.leaks._types import LeakInput


def with_content(data: LeakInput, value: Any) -> tuple[LeakInput, str]:
    """A task set whose contents hold `value` too, and its digest."""
    digest, before = sha256_json(value), data.content
    return replace(data, content=lambda wanted: value if wanted == digest else before(wanted)), digest


def with_task(data: LeakInput, index: int, change: Callable[[TaskSpec], TaskSpec]) -> LeakInput:
    """A task set in which one task is changed."""
    tasks = list(data.tasks)
    tasks[index] = change(tasks[index])
    return replace(data, tasks=tuple(tasks))


def with_text(data: LeakInput, index: int, change: Callable[[str], str]) -> LeakInput:
    """A task set in which one opening's text is changed."""

    def changed(task: TaskSpec) -> TaskSpec:
        return task.model_copy(update={"opening": task.opening.model_copy(update={"text": change(task.opening.text)})})

    return with_task(data, index, changed)


def with_field(data: LeakInput, index: int, system: str, kind: str, field: str, value: Any) -> LeakInput:
    """A task set in which the first record of a kind in one task's state has one more field (or another value)."""
    task = data.tasks[index]
    state = list(task.state)
    for position, digest in enumerate(task.state):
        part = data.content(digest)
        rows = part.get(system, {}).get(kind, {})
        if rows:
            copy = deepcopy(part)
            copy[system][kind][min(rows)][field] = value
            data, state[position] = with_content(data, copy)
            return with_task(data, index, lambda t: t.model_copy(update={"state": tuple(state)}))
    raise ValueError(f"the task has no {system}.{kind} to plant in")


def some(data: LeakInput, *, held_out: bool) -> int:
    """Index of the first task of a side."""
    for index, task in enumerate(data.tasks):
        if data.held_out(task) == held_out:
            return index
    raise ValueError("no task on that side")
