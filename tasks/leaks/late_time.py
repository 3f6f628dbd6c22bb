"""A time after the cut stands in something shown, in any format, nested or in a text.

Fields that the code book calls planned may lie ahead, and so may the days that people speak of in their own words: in a text a
bare day counts only behind a word of handling ("resolved 12.03.2025"), a stamp with a time of day always.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from tasks.leaks._plant import with_field
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, Leaf, fact_texts, instant, must_instant, prompt_texts, state_leaves, times_in

HANDLED = re.compile(
    r"(?:resolved|closed|solved|refunded|cancelled|granted|refused|denied|updated|handled|decided|completed|credited|restored|"
    r"modified|approved|paid)(?:_at|_on)?\W*(?:on|at|by|the)?\W*$",
    re.IGNORECASE,
)
PROSE = 40
"""Characters from which a value of a state is a text that somebody wrote, and not a stamp."""


def run(data: LeakInput) -> list[Finding]:
    found = Found("late_time")
    planned = {name for name, rule in data.code_book.fields.items() if rule.planned_future}
    times = {name for name, rule in data.code_book.fields.items() if rule.type in ("time", "date")}
    for task in data.tasks:
        cut = must_instant(task.started_at, f"{task.task_id}.started_at")
        for leaf in state_leaves(data, task):
            name = f"{leaf.system}.{leaf.kind}.{leaf.field}"
            if name not in planned and _late(leaf, cut, is_time=name in times):
                found.add(leaf.path, "a time after the cut", [task.task_id])
        for path, text in (*prompt_texts(task), *fact_texts(task)):
            # The requester's answers are later words by nature; what they may not hold are stamps of the handling.
            stamps = [t for t in times_in(text) if t.after(cut)]
            opening = path.startswith("opening")
            if any((t.clock and opening) or HANDLED.search(text[max(0, t.start - 24) : t.start]) for t in stamps):
                found.add(path, "a time after the cut", [task.task_id])
    return found.findings()


def _late(leaf: Leaf, cut: datetime, *, is_time: bool) -> bool:
    value = leaf.value
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int | float):
        return any(t.after(cut) for t in times_in(str(value)))
    if not isinstance(value, str) or len(value) < 8:
        return False
    if is_time or len(value) < PROSE:
        whole = instant(value.strip())
        if whole is not None:
            return whole > cut
    if len(value) < PROSE:
        return any(t.after(cut) for t in times_in(value))
    return any(t.after(cut) and (t.clock or HANDLED.search(value[max(0, t.start - 24) : t.start])) for t in times_in(value))


def planted(data: LeakInput) -> LeakInput:
    task = data.tasks[0]
    leaf = next(state_leaves(data, task))
    later = must_instant(task.started_at, "started_at") + timedelta(days=2)
    return with_field(data, 0, leaf.system, leaf.kind, leaf.field, {"log": [{"note": f"done {later:%d/%m/%Y %H:%M}"}]})


LEAK = Leak("late_time", run, planted)
