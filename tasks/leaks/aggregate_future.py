"""A declared counter in the state counts more rows than the state holds: it was read off after the cut."""

from __future__ import annotations

import re
from collections import Counter

from tasks.leaks._plant import with_field
from tasks.leaks._states import Parts, Row, rows_of
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

    def members(row: Row) -> dict[Key, int]:
        """(counter, id of the record that counts this row) -> 1."""
        ones: dict[Key, int] = {}
        for name, field in counted.get(f"{row.system}.{row.kind}", ()):
            for leaf in row.leaves:
                if leaf.field == field and isinstance(leaf.value, str | int):
                    ones[name, str(leaf.value)] = 1
        return ones

    def counters(row: Row) -> dict[Key, int]:
        """(counter, record) -> what the row says."""
        said: dict[Key, int] = {}
        for leaf in row.leaves:
            name = f"{leaf.system}.{leaf.kind}.{leaf.field}"
            if name in data.aggregates and (number := _number(leaf.value)) is not None:
                said[name, row.record_id] = max(number, said.get((name, row.record_id), 0))
        return said

    held, shown = Parts(data, members, int.__add__), Parts(data, counters, max)
    for task in data.tasks:
        rows: Counter[Key] = Counter()
        for part in held.of(task):
            rows.update(part)
        for part in shown.of(task):
            for key, number in part.items():
                if number > rows[key]:
                    found.add(f"state/{key[0].replace('.', '/')}", "counts more rows than stood there at the cut", [task.task_id])
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
