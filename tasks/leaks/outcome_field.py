"""A field that only the handling decides (or that cannot be known) stands in something shown: the outcome could be read off it.

Its name counts however it is spelled, as a nested key, in JSON inside a text, and before a value in a text ("result code: x").
"""

from __future__ import annotations

import re

from tasks.leaks._literals import parts_of, plain
from tasks.leaks._plant import with_field
from tasks.leaks._states import Column, Look, Parts
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, fact_texts, prompt_texts

HIDDEN = ("post_hoc", "never")
BETWEEN = (":", "=", "->")


def run(data: LeakInput) -> list[Finding]:
    found = Found("outcome_field")
    fields = data.code_book.fields
    hidden = {name for name, rule in fields.items() if rule.known_at in HIDDEN}
    shown = {plain(name.rsplit(".", 1)[1]) for name, rule in fields.items() if rule.known_at not in HIDDEN}
    # A nested key gives the outcome away as a field does; a name that some system may show is no evidence by itself.
    names = {name.rsplit(".", 1)[1] for name in hidden}
    telling = {plain(name) for name in names} - shown
    said = _before_value({name for name in names if plain(name) in telling and len(parts_of(name)) > 1})

    def names_field(text: str) -> bool:
        # Without what stands between a key and its value, which few texts have, none is named.
        return said is not None and any(map(text.__contains__, BETWEEN)) and said.search(text) is not None

    def bad(column: Column) -> Look[tuple[str, str]] | None:
        """(path, what is wrong with it)."""
        seen = []
        for field in column.fields:
            name, path = f"{column.system}.{column.kind}.{field}", f"{column.path}/{field}"
            if name in hidden:
                seen.append((path, f"{name} is {fields[name].known_at}"))
            elif name not in fields and plain(field) in telling:
                seen.append((path, f"the field {field} is decided by the handling"))
        if column.inner and any(plain(key) in telling for key in column.inner.split("/")):
            seen.append((column.path, f"the key {column.key} is decided by the handling"))
        if said is None or column.sort != "text":
            return (lambda _: seen) if seen else None
        named = (column.path, "a text names a field that is decided by the handling")
        return lambda text: [*seen, named] if names_field(text) else seen

    parts = Parts(data, bad)
    for task in data.tasks:
        for part in parts.of(task):
            for path, detail in {what for _, what in part}:
                found.add(path, detail, [task.task_id])
        for path, text in (*prompt_texts(task), *fact_texts(task)):
            if names_field(text):
                found.add(path, "a text names a field that is decided by the handling", [task.task_id])
    return found.findings()


def _before_value(names: set[str]) -> re.Pattern[str] | None:
    """A name of several words, as a key before its value ("resolution_code=", "Resolution code:")."""
    forms = [r"[\W_]?".join(map(re.escape, parts_of(name))) for name in sorted(names)]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(forms)})[\"'\]]*\s*(?:[:=]|->|=>)\s*\S", re.IGNORECASE) if forms else None


def planted(data: LeakInput) -> LeakInput:
    name = next(n for n, rule in sorted(data.code_book.fields.items()) if rule.known_at == "post_hoc")
    system, kind, field = name.split(".")
    return with_field(data, 0, system, kind, field, "solved")


LEAK = Leak("outcome_field", run, planted)
