"""A declared group (organisation, customer, thread, parent, caller, wizard) stands on both sides of a hold-out by groups."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.leaks._plant import some, with_task
from tasks.leaks._types import Finding, Leak, LeakInput

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
    return findings


def planted(data: LeakInput) -> LeakInput:
    held = next(i for i, t in enumerate(data.tasks) if t.slice in BY_GROUP)
    seen = data.tasks[some(data, held_out=False)].organisation
    return with_task(data, held, lambda task: task.model_copy(update={"organisation": seen}))


LEAK = Leak("group_overlap", run, planted)
