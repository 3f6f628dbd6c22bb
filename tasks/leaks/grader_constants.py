"""What only the grader may know (answers, bounds, required steps) stands in a file or a content that agents are shown from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tasks.leaks._literals import plain
from tasks.leaks._plant import with_content, with_task
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, Parts, Row

_JSON_KEY = re.compile(r'\\?"([\w .-]{3,40})\\?"\s*:')
KEYS = frozenset(
    (
        "outcome",
        "outcome_class",
        "outcome_code",
        "expected",
        "reference_path",
        "bounds",
        "g_min",
        "g_max",
        "derived_from",
        "required_by",
        "solution",
    )
)
OPEN_FILES = ("tasks.jsonl", "splits.json")
"""Ends of the names of files that an agent's side may read."""


def run(data: LeakInput) -> list[Finding]:
    found = Found("grader_constants")
    shown = {name.rsplit(".", 1)[1] for name, rule in data.code_book.fields.items() if rule.known_at not in ("post_hoc", "never")}
    keys = {plain(key) for key in KEYS - shown}
    workflows: dict[str, set[str]] = {}
    for code, about in data.code_book.outcomes.items():
        workflows.setdefault(about.workflow, set()).add(code)

    def telling(row: Row) -> dict[str, None]:
        names = {*row.fields, *(key for leaf in row.leaves if leaf.inner for key in leaf.inner.split("/"))}
        return {name: None for name in names if plain(name) in keys}

    parts = Parts(data, telling)
    held: dict[str, set[str]] = {}
    for task in data.tasks:
        digests = list(task.policies)
        for system in task.systems:
            digests += [
                v.removeprefix("content:") for _, v in _pairs(system.config) if isinstance(v, str) and v.startswith("content:")
            ]
            for name in {key for key, _ in _pairs(system.config) if plain(key) in keys}:
                found.add(f"systems/{system.name}/config/{name}", "a key of the grader's", [task.task_id])
            listed = {v for _, v in _pairs(system.config) if isinstance(v, str)} & set(data.code_book.outcomes)
            own = listed & workflows.get(task.workflow, set())
            # A tool that lists every code tells nothing; one that lists the right one alone does.
            if len(own) == 1 and len(workflows[task.workflow]) > 1:
                found.add(f"systems/{system.name}/config", "lists one outcome code of the workflow alone", [task.task_id])
        for name in {name for part in parts.of(task) for name in part}:
            found.add(f"content/{name}", "a key of the grader's", [task.task_id])
        for digest in digests:
            if digest not in held:
                held[digest] = {key for key, _ in _pairs(data.content(digest)) if plain(key) in keys}
            for name in held[digest]:
                found.add(f"content/{name}", "a key of the grader's", [task.task_id])
    for file, text in sorted(data.files.items()):
        if file.endswith(OPEN_FILES):
            for name in sorted({m[1] for m in _JSON_KEY.finditer(text) if plain(m[1]) in keys}):
                found.add(f"{file}/{name}", "a key of the grader's", [])
    return found.findings()


def _pairs(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """(nearest key, scalar or container) of everything in a JSON value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name), None
            yield from _pairs(inner, str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _pairs(inner, key)
    else:
        yield key, value


def planted(data: LeakInput) -> LeakInput:
    task = data.tasks[0]
    part = {**data.content(task.state[-1]), "hints": {"case": {task.task_id: {"required_by": ["rule"]}}}}
    data, digest = with_content(data, part)
    return with_task(data, 0, lambda t: t.model_copy(update={"state": (*t.state[:-1], digest)}))


LEAK = Leak("grader_constants", run, planted)
