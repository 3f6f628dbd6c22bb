"""A number of a sequence that was given out only after the cut stands in something shown: a later record, or a count of them.

Looked at: fields and ids whose numbers follow time in the records, wherever they are nested, and "ticket no. 4711" in a text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from tasks.leaks._plant import with_field
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import TOKEN, Found, Parts, Row, fact_texts, must_instant, prompt_texts

_CALLED = "|".join(
    rf"(?<={mark})" for mark in (r"[#№]", r"\bno ", r"\bnr ", r"\bno\.", r"\bnr\.", r"\bno\. ", r"\bnr\. ", r"\bnumber ")
)
_NUMBER = re.compile(rf"(?:{_CALLED}|(?<![\w.,:/-])(?=\d{{5}}))0*(\d{{3,15}})(?!\w|[.,:/-]\d)", re.IGNORECASE)
"""A number that is called one, or of five digits and more, standing alone."""
SPREAD = 3
"""A number this many times the greatest ever given out belongs to no such sequence."""


def run(data: LeakInput) -> list[Finding]:
    if not data.sequences:
        return [Finding("late_sequence", "not_applicable", detail="no field's numbers follow time")]
    found = Found("late_sequence")
    reached = {}
    for name, pairs in data.sequences.items():
        ordered = sorted((must_instant(at, f"sequence {name}"), number) for at, number in pairs)
        reached[name] = ([at for at, _ in ordered], list(accumulate((number for _, number in ordered), max)))
    given = {name: {number for _, number in pairs} for name, pairs in data.sequences.items()}
    spoken = {name: _spoken(name) for name in reached}

    def numbers(row: Row) -> dict[tuple[str, str], int]:
        """(path, sequence) -> the greatest number of that sequence in this row."""
        held: dict[tuple[str, str], int] = {}
        ids = f"{row.system}.{row.kind}"
        said = [(f"state/{row.system}/{row.kind}", ids, n) for n in _numbers(row.record_id)] if ids in reached else []
        for leaf in row.leaves:
            name = f"{ids}.{leaf.field}"
            if name in reached:
                said += [(leaf.path, name, n) for n in _numbers(leaf.value)]
            elif isinstance(leaf.value, str):
                said += [(leaf.path, s, int(m[1])) for s, pattern in spoken.items() for m in pattern.finditer(leaf.value)]
            if leaf.inner and f"{ids}.{leaf.key}" in reached:
                said += [(leaf.path, f"{ids}.{leaf.key}", n) for n in _numbers(leaf.value)]
        for path, name, number in said:
            if number <= SPREAD * reached[name][1][-1]:
                held[path, name] = max(held.get((path, name), 0), number)
        return held

    parts = Parts(data, numbers, max)
    for task in data.tasks:
        cut = must_instant(task.started_at, f"{task.task_id}.started_at")
        limit = {}
        for name, (times, tops) in reached.items():
            place = bisect_right(times, cut)
            limit[name] = tops[place - 1] if place else -1
        for part in parts.of(task):
            for (path, name), number in part.items():
                if number > limit[name]:
                    found.add(path, f"a number of {name} from after the cut", [task.task_id])
        for path, text in (*prompt_texts(task), *fact_texts(task)):
            for number in map(int, _NUMBER.findall(text)):
                if any(number > limit[name] and number in given[name] for name in limit):
                    found.add(path, "a number that a sequence gave out after the cut", [task.task_id])
            for name, pattern in spoken.items():
                if any(limit[name] < int(m[1]) <= SPREAD * reached[name][1][-1] for m in pattern.finditer(text)):
                    found.add(path, f"a number of {name} from after the cut", [task.task_id])
    return found.findings()


def _numbers(value: object) -> list[int]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int | float):
        return [int(value)]
    return [int(run) for run in re.findall(r"\d+", TOKEN.sub(" ", str(value))) if len(run) <= 15]


def _spoken(name: str) -> re.Pattern[str]:
    """A number behind the name of its kind or field: "ticket #4711", "order no. 12", "invoice_no: 3"."""
    last = re.escape(name.rsplit(".", 1)[-1]).replace("_", r"[\s_-]?")
    return re.compile(
        rf"(?<![^\W_]){last}s?(?:[\s_-]?(?:no|nr|number|num|id))?[\s.:=#\"'_-]{{0,4}}(\d{{1,15}})(?!\d|[.,:/-]\d)", re.IGNORECASE
    )


def planted(data: LeakInput) -> LeakInput:
    name = next(n for n in sorted(data.sequences) if n.count(".") == 2)
    system, kind, field = name.split(".")
    index = min(range(len(data.tasks)), key=lambda i: data.tasks[i].started_at)
    return with_field(data, index, system, kind, field, max(number for _, number in data.sequences[name]))


LEAK = Leak("late_sequence", run, planted)
