"""Times where they stand in no text: in the keys and numbers of what configures a tool, and in the parts of an object."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from tasks.leaks._planned import foretells, planned
from tasks.leaks._spelled_times import may_say_year, written_out
from tasks.leaks._states import Index, nested
from tasks.leaks._times import MONTH_IN_FIGURES, Time, times_in
from tasks.leaks._walk import Config, keys_in, named_texts
from tasks.leaks._whole_months import are_numbers

KEYS = "(keys)"
Placed = tuple[str, Time]
"""Path and time."""


def of_name(name: str) -> list[Time]:
    """The times that a key, an id or a file's name says, in any dress."""
    return [time for text in named_texts(name) for time in times_in(text)]


def is_ahead(path: str, text: str, time: Time) -> bool:
    """True for a month that a text or the keys above it put ahead."""
    return time.month and (planned(text, time) or foretells(path))


def of_config(config: Config, content: Callable[[str], Any]) -> list[Placed]:
    """The times in what configures a tool: in its texts, numbers, keys and objects; no month that is planned, and none among the
    numbers of a year."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for value in (config.value, *map(content, config.contents)):
        for where, _, one in nested(value):
            if isinstance(one, str | int | float) and not isinstance(one, bool) and not str(one).startswith("content:"):
                places[where].append(str(one))
        for where, key in keys_in(value):
            places[f"{where}/{KEYS}".lstrip("/")].append(key)
        for where, text in written_out(value):
            places[where].append(text)
    found = [
        (where, texts, text, time)
        for where, texts in places.items()
        for text in texts
        for time in (of_name(text) if where.endswith(KEYS) else times_in(text))
    ]
    return [
        (f"systems/{config.system}/config/{where}", time)
        for where, texts, text, time in found
        if not is_ahead(where.removesuffix(KEYS), text, time) and not (time.kind == MONTH_IN_FIGURES and are_numbers(texts))
    ]


def of_objects(index: Index, ahead: Collection[str]) -> Mapping[int, list[tuple[datetime, Placed]]]:
    """Number of a row -> (instant, (path, time)) of the days and months that its objects, or its own fields, hold in parts
    ("year", "month"); none of the fields `ahead`."""
    numbers = {number for column in index.columns if may_say_year(column.key) for number in column.numbers.tolist()}
    found: dict[int, list[tuple[datetime, Placed]]] = {}
    for number in sorted(numbers):
        row = index.rows[number]
        for where, text in written_out(row.values):
            if f"{row.system}.{row.kind}.{where.split('/', 1)[0]}" not in ahead and not foretells(where):
                path = "/".join(("state", row.system, row.kind, where or "year"))
                found.setdefault(number, []).extend((time.readings[0], (path, time)) for time in times_in(text))
    return found
