"""A field that the code book does not name stands in a state: nobody has said what it is or when it is known."""

from __future__ import annotations

from tasks.leaks._plant import with_field
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import MESSAGES, Found, Parts, Row, state_leaves


def run(data: LeakInput) -> list[Finding]:
    found = Found("unknown_field")
    known = set(data.code_book.fields)

    def unknown(row: Row) -> dict[str, None]:
        names = {leaf.field for leaf in row.leaves if leaf.field != MESSAGES}
        return {f"{row.system}/{row.kind}/{name}": None for name in names if f"{row.system}.{row.kind}.{name}" not in known}

    parts = Parts(data, unknown)
    for task in data.tasks:
        for part in parts.of(task):
            for name in part:
                found.add(f"state/{name}", f"{name.replace('/', '.')} is not in the code book", [task.task_id])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    leaf = next(state_leaves(data, data.tasks[0]))
    return with_field(data, 0, leaf.system, leaf.kind, "internal_flag", 1)


LEAK = Leak("unknown_field", run, planted)
