"""A field that only the handling decides (or that cannot be known) stands in a state: the outcome could be read off it."""

from __future__ import annotations

from tasks.leaks._plant import with_field
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, Parts, Row

HIDDEN = ("post_hoc", "never")


def run(data: LeakInput) -> list[Finding]:
    found = Found("outcome_field")
    fields = data.code_book.fields
    hidden = {name for name, rule in fields.items() if rule.known_at in HIDDEN}
    shown = {name.rsplit(".", 1)[1] for name, rule in fields.items() if rule.known_at not in HIDDEN}
    # A nested key gives the outcome away as a field does; a name that some system may show is no evidence by itself.
    telling = {name.rsplit(".", 1)[1] for name in hidden} - shown

    def bad(row: Row) -> dict[tuple[str, str], None]:
        """(path, what is wrong with it)."""
        seen: dict[tuple[str, str], None] = {}
        for leaf in row.leaves:
            name = f"{leaf.system}.{leaf.kind}.{leaf.field}"
            if name in hidden:
                seen[leaf.path, f"{name} is {fields[name].known_at}"] = None
            elif leaf.inner and leaf.key in telling:
                seen[leaf.path, f"the key {leaf.key} is decided by the handling"] = None
        return seen

    parts = Parts(data, bad)
    for task in data.tasks:
        for part in parts.of(task):
            for path, detail in part:
                found.add(path, detail, [task.task_id])
    return found.findings()


def planted(data: LeakInput) -> LeakInput:
    name = next(n for n, rule in sorted(data.code_book.fields.items()) if rule.known_at == "post_hoc")
    system, kind, field = name.split(".")
    return with_field(data, 0, system, kind, field, "solved")


LEAK = Leak("outcome_field", run, planted)
