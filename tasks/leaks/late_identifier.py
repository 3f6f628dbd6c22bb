"""An identifier that the records first hold after the cut stands in the opening or the state."""

from __future__ import annotations

from datetime import datetime

from tasks.leaks._plant import with_text
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import TOKEN, Found, Parts, Row, bare, must_instant, prompt_texts


def run(data: LeakInput) -> list[Finding]:
    found = Found("late_identifier")
    first = {name: must_instant(at, f"first_seen of {name}") for name, at in data.first_seen.items()}
    if not first:
        raise ValueError("nobody says when identifiers were first seen")

    def latest(row: Row) -> dict[str, tuple[datetime, str]]:
        """Path -> (latest first sight, identifier) of the identifiers in this row."""
        held: dict[str, tuple[datetime, str]] = {}
        at = _seen(first, row.record_id)
        if at is not None:
            held[f"state/{row.system}/{row.kind}"] = (at, row.record_id)
        for leaf in row.leaves:
            names = [leaf.value] if leaf.value in first else TOKEN.findall(leaf.value) if isinstance(leaf.value, str) else []
            for name in names:
                at = _seen(first, name)
                if at is not None and (leaf.path not in held or at > held[leaf.path][0]):
                    held[leaf.path] = (at, name)
        return held

    parts = Parts(data, latest, max)
    for task in data.tasks:
        cut = must_instant(task.started_at, f"{task.task_id}.started_at")
        named = [("opening", name) for name in (task.opening.requester_id, task.opening.record.record_id)]
        named += [(path, name) for path, text in prompt_texts(task) for name in TOKEN.findall(text)]
        late = {(path, name) for path, name in named if (at := _seen(first, name)) is not None and at > cut}
        late |= {(path, name) for part in parts.of(task) for path, (at, name) in part.items() if at > cut}
        for path, name in late:
            found.add(path, f"{_kind(name)} first seen after the cut", [task.task_id])
    return found.findings()


def _seen(first: dict[str, datetime], name: str) -> datetime | None:
    return first.get(name) or first.get(bare(name))


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
