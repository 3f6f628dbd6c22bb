"""An identifier that the records first hold after the cut stands in the opening or the state."""

from __future__ import annotations

from datetime import datetime

from tasks.leaks._plant import with_text
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import TOKEN, Found, bare, must_instant, prompt_texts, state_leaves


def run(data: LeakInput) -> list[Finding]:
    found = Found("late_identifier")
    first = {name: must_instant(at, f"first_seen of {name}") for name, at in data.first_seen.items()}
    if not first:
        raise ValueError("nobody says when identifiers were first seen")
    for task in data.tasks:
        cut = must_instant(task.started_at, f"{task.task_id}.started_at")
        late = {name for name in (task.opening.requester_id, task.opening.record.record_id) if _late(first, name, cut)}
        for name in late:
            found.add("opening", f"{_kind(name)} first seen after the cut", [task.task_id])
        for path, text in prompt_texts(task):
            for name in TOKEN.findall(text):
                if _late(first, name, cut):
                    found.add(path, f"{_kind(name)} first seen after the cut", [task.task_id])
        for leaf in state_leaves(data, task):
            names = [leaf.record_id]
            if isinstance(leaf.value, str):
                names += [leaf.value] if leaf.value in first else TOKEN.findall(leaf.value)
            for name in names:
                if _late(first, name, cut):
                    found.add(leaf.path, f"{_kind(name)} first seen after the cut", [task.task_id])
    return found.findings()


def _late(first: dict[str, datetime], name: str, cut: datetime) -> bool:
    at = first.get(name) or first.get(bare(name))
    return at is not None and at > cut


def _kind(name: str) -> str:
    """The type of a token ("ORDER_1A2B3C4D" -> "ORDER"); an id that is no token is not repeated."""
    return name.split("_", maxsplit=1)[0] if TOKEN.fullmatch(name) else "an identifier"


def planted(data: LeakInput) -> LeakInput:
    index = min(range(len(data.tasks)), key=lambda i: data.tasks[i].started_at)
    cut = data.tasks[index].started_at
    name = max(data.first_seen, key=lambda n: data.first_seen[n])
    if data.first_seen[name] <= cut:
        raise ValueError("no identifier is first seen after this cut")
    return with_text(data, index, lambda text: f"{text} See {name}.")


LEAK = Leak("late_identifier", run, planted)
