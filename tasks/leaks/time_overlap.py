"""A training case was still open at the embargo before the time boundary, or a time-held-out task starts before the boundary."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, must_instant

BY_TIME = ("unseen_months", "both")


def run(data: LeakInput) -> list[Finding]:
    timed = [task for task in data.tasks if task.slice in BY_TIME]
    if not timed:
        return [Finding("time_overlap", "not_applicable", detail="nothing is held out by time")]
    if data.boundary is None:
        raise ValueError("tasks are held out by time and nobody says where the boundary is")
    boundary = must_instant(data.boundary, "boundary")
    found = Found("time_overlap")
    for task in timed:
        if must_instant(task.started_at, f"{task.task_id}.started_at") < boundary:
            found.add("slice", "held out by time, but starts before the boundary", [task.task_id])
    for task in data.tasks:
        if data.held_out(task):
            continue
        if task.workflow not in data.embargo_s:
            raise ValueError(f"workflow {task.workflow} has no embargo")
        closed = data.closed_at.get(task.task_id)
        if closed is None:
            found.add("closed_at", "nobody says when the training case was closed", [task.task_id])
            continue
        if must_instant(closed, f"{task.task_id}.closed_at") >= boundary:
            found.add("closed_at", "training case not closed before the boundary", [task.task_id])
        embargo = timedelta(seconds=data.embargo_s[task.workflow])
        if must_instant(task.started_at, f"{task.task_id}.started_at") > boundary - embargo:
            found.add("started_at", "training case started inside the embargo", [task.task_id])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    if data.boundary is None:
        raise ValueError("nothing is held out by time")
    task_id = next(task.task_id for task in data.tasks if not data.held_out(task))
    later = must_instant(data.boundary, "boundary") + timedelta(days=1)
    return replace(data, closed_at={**data.closed_at, task_id: later.isoformat()})


LEAK = Leak("time_overlap", run, planted)
