"""A field that the code book does not name stands in a state: nobody has said what it is or when it is known."""

from __future__ import annotations

from tasks.leaks._plant import with_field
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import MESSAGES, Found, state_leaves


def run(data: LeakInput) -> list[Finding]:
    found = Found("unknown_field")
    known = set(data.code_book.fields)
    for task in data.tasks:
        seen = set()
        for leaf in state_leaves(data, task):
            name = f"{leaf.system}.{leaf.kind}.{leaf.field}"
            if name not in known and name not in seen and leaf.field != MESSAGES:
                seen.add(name)
                found.add(f"state/{leaf.system}/{leaf.kind}/{leaf.field}", f"{name} is not in the code book", [task.task_id])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    leaf = next(state_leaves(data, data.tasks[0]))
    return with_field(data, 0, leaf.system, leaf.kind, "internal_flag", 1)


LEAK = Leak("unknown_field", run, planted)
