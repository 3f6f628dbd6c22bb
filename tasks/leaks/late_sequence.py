"""A number of a sequence that was given out only after the cut stands in something shown: a later record, or a count of them.

Looked at: fields and ids whose numbers follow time in the records, wherever they are nested; in a text, "ticket no. 4711", and a
number written as the records write it ("INC0004711").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from tasks.leaks._plant import with_field
from tasks.leaks._states import TEXTS, Column, Look, Parts, Row, once, rows_of
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import TOKEN, Found, fact_texts, must_instant, prompt_texts

_CALLED = "|".join(
    rf"(?<={mark})" for mark in (r"[#№]", r"\bno ", r"\bnr ", r"\bno\.", r"\bnr\.", r"\bno\. ", r"\bnr\. ", r"\bnumber ")
)
_NUMBER = re.compile(rf"(?:{_CALLED}|(?<![\w.,:/-])(?=\d{{5}}))0*(\d{{3,15}})(?!\w|[.,:/-]\d)", re.IGNORECASE)
"""A number that is called one, or of five digits and more, standing alone."""
_WRITTEN = re.compile(r"([^\W\d_][^\d\s]{0,7})(\d{2,15})")
"""A number behind a few letters: "INC0004711", "WO-17"."""
Numbered = tuple[str, str, int]
"""Path, sequence and number."""
SAMPLE = 200
"""Tasks whose states show how numbers are written."""
FEW = 4
"""Different letters before the numbers of one sequence; more are no prefix but a part of the name."""
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
    forms = _forms(data, reached)

    def numbers(column: Column) -> Look[Numbered] | None:
        """The numbers of sequences in a column's values."""
        ids = f"{column.system}.{column.kind}"
        own = [name for name in dict.fromkeys((f"{ids}.{column.field}", f"{ids}.{column.key}")) if name in reached]
        if column.sort == "id":
            own = [ids] if ids in reached else []
        in_text = [] if own[:1] == [f"{ids}.{column.field}"] or column.sort not in TEXTS else [*spoken.items(), *forms.items()]

        def of(value: object) -> list[Numbered]:
            said = [(name, n) for name in own for n in _numbers(value)]
            said += [(name, int(m[1])) for name, pattern in in_text for m in pattern.finditer(str(value))]
            return [(column.path, name, n) for name, n in said if n <= SPREAD * reached[name][1][-1]]

        return of if own or in_text else None

    @once
    def greatest(part: list[tuple[Row, Numbered]]) -> dict[tuple[str, str], int]:
        """(path, sequence) -> its greatest number in a part of a state."""
        held: dict[tuple[str, str], int] = {}
        for _, (path, name, number) in part:
            held[path, name] = max(held.get((path, name), 0), number)
        return held

    parts = Parts(data, numbers)
    for task in data.tasks:
        cut = must_instant(task.started_at, f"{task.task_id}.started_at")
        limit = {}
        for name, (times, tops) in reached.items():
            place = bisect_right(times, cut)
            limit[name] = tops[place - 1] if place else -1
        for part in parts.of(task):
            for (path, name), number in greatest(part).items():
                if number > limit[name]:
                    found.add(path, f"a number of {name} from after the cut", [task.task_id])
        for path, text in (*prompt_texts(task), *fact_texts(task)):
            for number in map(int, _NUMBER.findall(text)):
                if any(number > limit[name] and number in given[name] for name in limit):
                    found.add(path, "a number that a sequence gave out after the cut", [task.task_id])
            for name, pattern in (*spoken.items(), *forms.items()):
                if any(limit[name] < int(m[1]) <= SPREAD * reached[name][1][-1] for m in pattern.finditer(text)):
                    found.add(path, f"a number of {name} from after the cut", [task.task_id])
    return found.findings()


def _numbers(value: object) -> list[int]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int | float):
        return [int(value)]
    return [int(run) for run in re.findall(r"\d+", TOKEN.sub(" ", str(value))) if len(run) <= 15]


def _forms(data: LeakInput, names: Iterable[str]) -> dict[str, re.Pattern[str]]:
    """Sequence -> its numbers as the records write them, where letters stand before the digits."""
    shapes: dict[str, set[tuple[str, str]]] = {name: set() for name in names}
    for digest in {digest for task in data.tasks[:SAMPLE] for digest in task.state}:
        for row in rows_of(data.content, digest):
            ids = f"{row.system}.{row.kind}"
            leaves = row.leaves if any(name.startswith(ids) for name in shapes) else ()
            for name, value in ((ids, row.record_id), *((f"{ids}.{leaf.field}", leaf.value) for leaf in leaves)):
                match = _WRITTEN.fullmatch(value) if name in shapes and isinstance(value, str) else None
                if match is not None:
                    shapes[name].add((match[1], rf"\d{{{len(match[2])}}}" if match[2].startswith("0") else r"\d+"))
    return {
        name: re.compile(
            rf"(?<!\w)(?:{'|'.join(sorted({re.escape(p) for p, _ in found}))})"
            rf"({'|'.join(sorted({digits for _, digits in found}))})(?!\w|[.,:/-]\d)",
            re.IGNORECASE,
        )
        for name, found in shapes.items()
        if 0 < len({prefix for prefix, _ in found}) <= FEW
    }


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
