"""A declared counter in the state counts more rows than the state holds: it was read off after the cut."""

from __future__ import annotations

import re
from collections import Counter

from tasks.leaks._plant import with_field
from tasks.leaks._states import Column, Look, Parts, Row, once, rows_of
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found

Key = tuple[str, str]


def run(data: LeakInput) -> list[Finding]:
    if not data.aggregates:
        return [Finding("aggregate_future", "not_applicable", detail="no counter is declared")]
    found = Found("aggregate_future")
    counted: dict[str, list[tuple[str, str]]] = {}
    for name, (kind, field) in sorted(data.aggregates.items()):
        counted.setdefault(kind, []).append((name, field))

    def members(column: Column) -> Look[Key] | None:
        """(counter, id of the record that counts this row)."""
        names = [name for name, field in counted.get(f"{column.system}.{column.kind}", ()) if field == column.field]
        return (lambda value: [(n, str(value)) for n in names if isinstance(value, str | int)]) if names else None

    def counters(column: Column) -> Look[tuple[str, int]] | None:
        """(counter, what the row says)."""
        name = f"{column.system}.{column.kind}.{column.field}"
        return (lambda v: [] if (n := _number(v)) is None else [(name, n)]) if name in data.aggregates else None

    @once
    def sizes(part: list[tuple[Row, Key]]) -> Counter[Key]:
        return Counter(key for _, key in dict.fromkeys(part))

    held, shown = Parts(data, members), Parts(data, counters)
    for task in data.tasks:
        rows: Counter[Key] = Counter()
        for part in held.of(task):
            rows.update(sizes(part))
        for said in shown.of(task):
            for row, (name, number) in said:
                if number > rows[name, row.record_id]:
                    found.add(f"state/{name.replace('.', '/')}", "counts more rows than stood there at the cut", [task.task_id])
    return found.findings()


def _number(value: object) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return int(value)
    runs = re.findall(r"\d+", str(value))
    return int(runs[0]) if len(runs) == 1 else None


def planted(data: LeakInput) -> LeakInput:
    name, (kind, _) = sorted(data.aggregates.items())[0]
    system, of, field = name.split(".")
    rows = sum(f"{row.system}.{row.kind}" == kind for digest in data.tasks[0].state for row in rows_of(data.content, digest))
    return with_field(data, 0, system, of, field, rows + 3)


LEAK = Leak("aggregate_future", run, planted)
