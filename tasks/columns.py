"""When the values of each field stood in the records' rows, told from the history: for the check of back-filled columns."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from schemas.records import CodeBook
from tasks.leaks import ColumnHistory

if TYPE_CHECKING:
    import polars as pl

HIDDEN = ("post_hoc", "never")
CLOCKS = timedelta(minutes=5)
"""What two clocks of one system may differ by."""
FAR = 10
"""Years from the row within which a value is read as the time of something that happened."""


@dataclass(slots=True)
class Column:
    """What is counted of one field."""

    rows: int = 0
    early: int = 0
    records: int = 0
    constant: int = 0


def histories(
    records: Iterable[tuple[list[datetime], Mapping[str, list[str | None]]]],
    fields: Iterable[str],
    code_book: CodeBook,
    times: Mapping[str, Mapping[str, datetime]],
) -> dict[str, ColumnHistory]:
    """Field -> history, from records' rows in their order.

    `records`: (when each row was recorded, field -> its value in each row as text, None where it holds nothing); `times`: field
    of times -> text -> the instant that it names. A planned field may name a later instant and is not early.
    """
    counted = {name: Column() for name in fields}
    for recorded, values in records:
        for name, column in values.items():
            count = counted[name]
            held = [n for n, value in enumerate(column) if value is not None]
            count.rows += len(held)
            rule = code_book.fields.get(name)
            if not (rule is not None and rule.planned_future):
                at = times.get(name, {})
                count.early += sum((when := at.get(column[n] or "")) is not None and recorded[n] + CLOCKS < when for n in held)
            if len(column) > 1 and held:
                count.records += 1
                count.constant += len(set(column)) == 1
    return {
        name: ColumnHistory(c.rows, c.early, c.records, c.constant, _declared(code_book, name))
        for name, c in sorted(counted.items())
    }


def _declared(code_book: CodeBook, name: str) -> bool:
    rule = code_book.fields.get(name)
    return rule is not None and rule.known_at in HIDDEN


def of_events(events: pl.LazyFrame, code_book: CodeBook) -> dict[str, ColumnHistory]:
    """Field "system.kind.field" -> history, from the clean records' events: a record's rows are the states after each instant at
    which it was written. Fields that the code book calls start or static are said to stand there from the first row."""
    import polars as pl

    rows = (
        events.filter(
            pl.col("type").is_in(["create", "change"]) & pl.col("field").is_not_null() & pl.col("event_ts").is_not_null()
        )
        .select("system", "kind", "record_id", "event_ts", "recorded_ts", "seq", "field", "value_json")
        .collect()
        .sort(["system", "kind", "record_id", "event_ts", "seq", "field"], nulls_last=True, maintain_order=True)
    )
    names: set[str] = set()
    timed = {name for name, rule in code_book.fields.items() if rule.type in ("time", "date")}
    times: dict[str, dict[str, datetime]] = defaultdict(dict)
    records: list[tuple[list[datetime], dict[str, list[str | None]]]] = []
    last: tuple[str, str, str] | None = None
    for system, kind, record_id, at, known, _, name, value in rows.iter_rows():
        key = (system, kind, record_id)
        if key != last:
            records.append(([], {}))
            last = key
        stamps, values = records[-1]
        # A row counts as early only where both what it says and when it was written lie before the value's time.
        recorded = max(known, at) if known is not None else at
        if not stamps or stamps[-1] != recorded:
            for column in values.values():
                column.append(column[-1])
            stamps.append(recorded)
        whole = f"{system}.{kind}.{name}"
        names.add(whole)
        if whole not in values:
            values[whole] = [None] * len(stamps)
        values[whole][-1] = value
        if value is not None and whole in timed and value not in times[whole]:
            when = _instant(json.loads(value))
            if when is not None and abs(when.year - at.year) <= FAR:
                times[whole][value] = when if at.tzinfo is not None else when.replace(tzinfo=None)
    return histories(records, names, code_book, times)


def _instant(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
