"""A field, or a whole kind of record, that the code book does not name stands in a state: nobody has said what it is or when it
is known."""

from __future__ import annotations

from tasks.leaks._plant import with_field
from tasks.leaks._states import Column, Look, Parts, state_leaves
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import MESSAGES, Found


def run(data: LeakInput) -> list[Finding]:
    found = Found("unknown_field")
    known = set(data.code_book.fields)
    kinds = {name.rsplit(".", 1)[0] for name in known}

    def unknown(column: Column) -> Look[str] | None:
        here = f"{column.system}/{column.kind}"
        names = [f"{here}/{f}" for f in column.fields if f != MESSAGES and f"{column.system}.{column.kind}.{f}" not in known]
        if column.sort == "id" and not column.fields and f"{column.system}.{column.kind}" not in kinds:
            names = [here]
        return (lambda _: names) if names else None

    parts = Parts(data, unknown)
    for task in data.tasks:
        own = task.opening.record
        for part in parts.of(task):
            for name in {name for _, name in part}:
                if name != f"{own.system}/{own.kind}":
                    found.add(f"state/{name}", f"{name.replace('/', '.')} is not in the code book", [task.task_id])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    leaf = next(state_leaves(data, data.tasks[0]))
    return with_field(data, 0, leaf.system, leaf.kind, "internal_flag", 1)


LEAK = Leak("unknown_field", run, planted)
