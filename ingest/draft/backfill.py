"""Columns that tell at a row what was known only later: by their own times, by what stands beside them, or perhaps."""

from __future__ import annotations

import re

from ingest.draft.model import Suspicion, Table
from ingest.draft.people import snake
from ingest.draft.store import ROW, Store, quoted

SAME, ALWAYS = 0.98, 0.999
"""Share of the records of several rows with one value, from which a column is suspect, and from which it never varies."""
LATER_SHARE = 0.01
"""Share of a time column's rows that must name a later time than their own to be no slip of a clock."""
PLANNED = re.compile(r"due|promis|plan|expect|schedul|until|valid_to|expir|renew|target|deadline|estimat|(^|_)eta($|_)")
DECIDED = re.compile(
    r"outcome|resol|clos(e|ed|ing)(_|$)|solution|decision|decided|verdict|final|finish|complet|result|root_cause|satisf|rating|disposition"
)


def numbered(table: Table, record: str, order: str) -> str:
    """SQL: the rows with `place`, their number within the record (from 1), and `places`, the record's rows."""
    column = table.columns[order]
    by = column.clock.sql.format(quoted(order)) if column.clock else f"TRY_CAST({quoted(order)} AS HUGEINT)"
    window = f"OVER (PARTITION BY {quoted(record)} ORDER BY {by}, {quoted(ROW)})"
    whole = f"OVER (PARTITION BY {quoted(record)})"
    return f"(SELECT *, row_number() {window} AS place, count(*) {whole} AS places FROM {table.relation})"


def suspicions(
    store: Store, table: Table, *, record: str, order: str, time: str | None, same: dict[str, float]
) -> tuple[Suspicion, ...]:
    """What may not be shown at a row though it stands there, column by column in the table's order."""
    store.run(f"CREATE OR REPLACE TEMP TABLE placed AS SELECT * FROM {numbered(table, record, order)}")
    found: dict[str, Suspicion] = {}
    if time is not None:
        for column in table.columns.values():
            if column.clock is not None and column.name != time and (told := _later(store, table, column.name, time, order)):
                found[column.name] = told
    stems = {stem: name for name, one in found.items() if one.grade == "evidence" for stem in _stems(name)}
    first = _filled_at_first(store, table)
    for name, share in same.items():
        column = table.columns[name]
        if name in (record, order, time, *found) or column.distinct < 2 or share < SAME:
            continue
        records, filled = first[name]
        if not filled:
            continue
        seen = (
            f"one value in all rows of {share:.1%} of the records of several rows, and there from the first row in {filled:,} of "
            f"{records:,} of them"
        )
        beside = next((stems[stem] for stem in _stems(name) if stem in stems), None)
        if beside is not None:
            why = f"{seen}; named like {beside}, which is filled before its own time"
            found[name] = Suspicion(name, "suspect", why)
        elif DECIDED.search(snake(name)):
            found[name] = Suspicion(name, "suspect", f"{seen}; its name speaks of the end")
        elif share >= ALWAYS:
            found[name] = Suspicion(
                name, "constant", f"{seen}: it never changes or it was filled in afterwards, nothing here tells which"
            )
    return tuple(found[name] for name in table.columns if name in found)


def _stems(name: str) -> set[str]:
    """Words of a name that tell what it is about: "closed" of closed_at and closed_code."""
    common = {
        "at",
        "by",
        "on",
        "id",
        "no",
        "date",
        "time",
        "code",
        "sys",
        "u",
        "the",
        "of",
        "is",
        "type",
        "name",
        "number",
        "last",
        "first",
    }
    return {word for word in snake(name).split("_") if len(word) > 2 and word not in common}


def _later(store: Store, table: Table, column: str, time: str, order: str) -> Suspicion | None:
    """Rows in which the column names a time after the row's own: evidence, or None."""
    clock, row_clock = table.columns[column].clock, table.columns[time].clock
    if clock is None or row_clock is None:
        return None
    grain = max(clock.grain_s, row_clock.grain_s, 1)
    its, own = clock.sql.format(quoted(column)), row_clock.sql.format(quoted(time))
    after = f"({its} >= {own} + INTERVAL {grain} SECOND)"
    filled, later, firsts = store.one(
        f"SELECT count({quoted(column)}), count(*) FILTER ({after}), count(*) FILTER ({after} AND place = 1) FROM placed"
    )
    if not later or later < LATER_SHARE * filled:
        return None
    rows = [str(row) for (row,) in store.all(f"SELECT {quoted(ROW)} FROM placed WHERE {after} ORDER BY {quoted(ROW)} LIMIT 3")]
    why = (
        f"in {later:,} of {filled:,} rows it names a later time than the row's own {time}, {firsts:,} of them a record's "
        f"first row (rows {', '.join(rows)})"
    )
    if PLANNED.search(snake(column)):
        return Suspicion(column, "planned", f"{why}; by its name it may be a plan")
    return Suspicion(column, "evidence", f"{why}: it was filled in afterwards")


def _filled_at_first(store: Store, table: Table) -> dict[str, tuple[int, int]]:
    """Column -> (records of several rows that have a value anywhere, of these with one in the first row)."""
    names = list(table.columns)
    picked = ", ".join(f"count({quoted(n)}) FILTER (place = 1)" for n in names)
    ends = ", ".join(f"count({quoted(n)}) FILTER (place = places)" for n in names)
    cells = store.one(f"SELECT {picked}, {ends} FROM placed WHERE places > 1")
    firsts, lasts = cells[: len(names)], cells[len(names) :]
    return {name: (max(int(last), int(first)), int(first)) for name, first, last in zip(names, firsts, lasts, strict=True)}


def filled_at_the_end(store: Store, table: Table) -> dict[str, tuple[int, int]]:
    """Column -> (records of several rows filled in the last row, of these empty in the first); of the table last placed."""
    names = list(table.columns)
    record = table.history.record if table.history else names[0]
    pairs = ", ".join(
        f"max({quoted(n)}) FILTER (place = places) AS l{i}, max({quoted(n)}) FILTER (place = 1) AS f{i}"
        for i, n in enumerate(names)
    )
    outer = ", ".join(f"count(l{i}), count(*) FILTER (l{i} IS NOT NULL AND f{i} IS NULL)" for i in range(len(names)))
    cells = store.one(f"SELECT {outer} FROM (SELECT {pairs} FROM placed WHERE places > 1 GROUP BY {quoted(record)})")
    return {name: (int(cells[2 * i]), int(cells[2 * i + 1])) for i, name in enumerate(names)}
