"""A time after the cut stands in something shown, in any format, nested or in a text.

Fields that the code book calls planned may lie ahead, and so may the days that people speak of in their own words: in a text a
bare day counts only behind a word of handling ("resolved 12.03.2025"), a stamp with a time of day always.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from tasks.leaks._plant import with_field
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import (
    Found,
    Leaf,
    Parts,
    Row,
    Time,
    fact_texts,
    instant,
    must_instant,
    prompt_texts,
    state_leaves,
    times_in,
)

HANDLED = re.compile(
    r"(?:resolved|closed|solved|refunded|cancelled|granted|refused|denied|updated|handled|decided|completed|credited|restored|"
    r"modified|approved|paid)(?:_at|_on)?\W*(?:on|at|by|the)?\W*$",
    re.IGNORECASE,
)
PROSE = 40
"""Characters from which a value of a state is a text that somebody wrote, and not a stamp."""


def run(data: LeakInput) -> list[Finding]:
    found = Found("late_time")
    fields = data.code_book.fields
    planned = {name for name, rule in fields.items() if rule.planned_future}
    stamps = {name for name, rule in fields.items() if rule.type in ("time", "date")}

    def times(row: Row) -> dict[tuple[str, Time | None], datetime]:
        """(path, None) -> its latest plain time; (path, time) for each time that could be read in two ways."""
        held: dict[tuple[str, Time | None], datetime] = {}
        for leaf in row.leaves:
            name = f"{leaf.system}.{leaf.kind}.{leaf.field}"
            for time in () if name in planned else _times(leaf, is_stamp=name in stamps):
                key = (leaf.path, time if len(set(time.readings)) > 1 else None)
                held[key] = max(held.get(key, time.readings[0]), time.readings[0])
        return held

    parts = Parts(data, times, max)
    for task in data.tasks:
        cut = must_instant(task.started_at, f"{task.task_id}.started_at")
        for part in parts.of(task):
            for (path, unclear), at in part.items():
                if at > cut if unclear is None else unclear.after(cut):
                    found.add(path, "a time after the cut", [task.task_id])
        for path, text in (*prompt_texts(task), *fact_texts(task)):
            # The requester's answers are later words by nature; what they may not hold are stamps of the handling.
            opening = path.startswith("opening")
            if any((t.clock and opening) or _handled(text, t) for t in times_in(text) if t.after(cut)):
                found.add(path, "a time after the cut", [task.task_id])
    return found.findings()


def _times(leaf: Leaf, *, is_stamp: bool) -> list[Time]:
    """The times that a value of a state says: all of a stamp or short value, of a text those that are stamps themselves."""
    value = leaf.value
    if isinstance(value, bool) or value is None:
        return []
    text = str(value)
    if len(text) < 8:
        return []
    if isinstance(value, str) and (is_stamp or len(text) < PROSE):
        whole = instant(text.strip())
        if whole is not None:
            return [Time((whole,), 0, clock=True)]
    return [t for t in times_in(text) if len(text) < PROSE or t.clock or _handled(text, t)]


def _handled(text: str, time: Time) -> bool:
    """True where the word before the time says that the case was handled then."""
    return HANDLED.search(text[max(0, time.start - 24) : time.start]) is not None


def planted(data: LeakInput) -> LeakInput:
    task = data.tasks[0]
    leaf = next(state_leaves(data, task))
    later = must_instant(task.started_at, "started_at") + timedelta(days=2)
    return with_field(data, 0, leaf.system, leaf.kind, leaf.field, {"log": [{"note": f"done {later:%d/%m/%Y %H:%M}"}]})


LEAK = Leak("late_time", run, planted)
