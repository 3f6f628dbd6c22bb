"""Two tasks show exactly the same and have different outcomes: no agent can be right in both."""

from __future__ import annotations

from schemas.files import canonical_json
from schemas.task import Answer, TaskSpec
from tasks.leaks._types import Finding, Leak, LeakInput


def run(data: LeakInput) -> list[Finding]:
    groups: dict[str, list[TaskSpec]] = {}
    for task in data.tasks:
        if task.task_id in data.answers:
            groups.setdefault(_shown(task), []).append(task)
    findings = []
    for tasks in groups.values():
        if len(tasks) > 1 and len({_outcome(data.answers[t.task_id]) for t in tasks}) > 1:
            ids = tuple(sorted(t.task_id for t in tasks))
            findings.append(Finding("conflicting_outcome", "failed", "task", f"{len(ids)} equal tasks, different outcomes", ids))
    return findings


def _shown(task: TaskSpec) -> str:
    return canonical_json(
        [task.workflow, task.opening.model_dump(exclude={"received_at"}), task.state, task.policies, task.requester.model_dump()]
    )


def _outcome(answer: Answer) -> str:
    outcome = answer.outcome
    changes = [c.model_dump(exclude={"before"}) for c in outcome.changes]
    return canonical_json([outcome.code, outcome.about, changes, outcome.answer])


def planted(data: LeakInput) -> LeakInput:
    from dataclasses import replace

    first = data.tasks[0]
    twin = first.model_copy(update={"task_id": f"{first.task_id}-twin"})
    given = data.answers[first.task_id]
    other = next(
        c for c, about in sorted(data.code_book.outcomes.items()) if c != given.outcome.code and about.workflow == first.workflow
    )
    answer = given.model_copy(update={"task_id": twin.task_id, "outcome": given.outcome.model_copy(update={"code": other})})
    return replace(data, tasks=(*data.tasks, twin), answers={**data.answers, twin.task_id: answer})


LEAK = Leak("conflicting_outcome", run, planted)
