"""A field, or a whole kind of record, that the code book does not name stands in a state: nobody has said what it is or when it
is known."""

from __future__ import annotations

from tasks.leaks._plant import with_field
from tasks.leaks._states import Parts, Row, state_leaves
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import MESSAGES, Found


def run(data: LeakInput) -> list[Finding]:
    found = Found("unknown_field")
    known = set(data.code_book.fields)
    kinds = {name.rsplit(".", 1)[0] for name in known}

    def unknown(row: Row) -> dict[str, None]:
        names = [f for f in row.fields if f != MESSAGES and f"{row.system}.{row.kind}.{f}" not in known]
        here = f"{row.system}/{row.kind}"
        whole = {here: None} if not row.fields and f"{row.system}.{row.kind}" not in kinds else {}
        return {**whole, **{f"{here}/{name}": None for name in names}}

    parts = Parts(data, unknown)
    for task in data.tasks:
        own = task.opening.record
        for part in parts.of(task):
            for name in part:
                if name != f"{own.system}/{own.kind}":
                    found.add(f"state/{name}", f"{name.replace('/', '.')} is not in the code book", [task.task_id])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    leaf = next(state_leaves(data, data.tasks[0]))
    return with_field(data, 0, leaf.system, leaf.kind, "internal_flag", 1)


LEAK = Leak("unknown_field", run, planted)
