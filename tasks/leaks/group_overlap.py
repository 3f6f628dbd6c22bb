"""A declared group (organisation, customer, thread, parent, caller, wizard) stands on both sides of a hold-out by groups, or the
state of a training task shows a held-out case itself."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.task import TaskSpec
from tasks.leaks._plant import some, with_task
from tasks.leaks._states import Column, Look, Parts
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found

BY_GROUP = ("unseen_organisations", "both")
"""Slices that promise members never seen in training; the time slice holds later cases of seen members by definition."""
CASE_GROUPS = ("thread", "parent")
"""Groups of one case: never on both sides of any slice."""


def run(data: LeakInput) -> list[Finding]:
    groups: dict[str, Mapping[str, str]] = {"organisation": {task.task_id: task.organisation for task in data.tasks}}
    groups.update(data.groups)
    findings = []
    for name, member in sorted(groups.items()):
        train = {member[t.task_id] for t in data.tasks if not data.held_out(t) and member.get(t.task_id)}
        crossing = sorted(
            task.task_id
            for task in data.tasks
            if data.held_out(task) and (task.slice in BY_GROUP or name in CASE_GROUPS) and member.get(task.task_id) in train
        )
        if crossing:
            waived = data.waived_groups.get(name, "")
            detail = f"{len(crossing)} held-out tasks share a {name} with training"
            findings.append(
                Finding("group_overlap", "waived" if waived else "failed", f"groups/{name}", detail, tuple(crossing), waived)
            )
    found = Found("group_overlap")
    cases = {_case(task): task.task_id for task in data.tasks if data.held_out(task)}

    def held_out(column: Column) -> Look[str] | None:
        def of(record_id: str) -> list[str]:
            case = cases.get((column.system, column.kind, record_id))
            return [] if case is None else [case]

        return of if column.sort == "id" else None

    shown = Parts(data, held_out)
    for task in data.tasks:
        if not data.held_out(task):
            for part in shown.of(task):
                for _, case in part:
                    if case != task.task_id:
                        found.add("groups/case", f"a training task shows the held-out case {case}", [task.task_id])
    return findings + found.findings()


def _case(task: TaskSpec) -> tuple[str, str, str]:
    """The record of the task's own case."""
    record = task.opening.record
    return record.system, record.kind, record.record_id


def planted(data: LeakInput) -> LeakInput:
    held = next(i for i, t in enumerate(data.tasks) if t.slice in BY_GROUP)
    seen = data.tasks[some(data, held_out=False)].organisation
    return with_task(data, held, lambda task: task.model_copy(update={"organisation": seen}))


LEAK = Leak("group_overlap", run, planted)
