"""Tables with several rows of one record in an order: which columns name record, order and time, and which change."""

from __future__ import annotations

import re

from ingest.draft.backfill import ALWAYS, suspicions
from ingest.draft.model import Column, RowHistory, Table
from ingest.draft.people import snake
from ingest.draft.store import Store, quoted

RECORD_NAME = re.compile(r"(^|_)(case|ticket|incident|order|issue|number|record|request|claim|key|id|no|nr|case_id)($|_)")
COUNTER = re.compile(r"(^|_)(seq|sequence|count|version|rev|revision|mod|step|index|event|line|position|history|no|num|id)($|_)")
OWNER = re.compile(r"account|organi[sz]ation|org_|customer|company|person|user|group|product|sku|email|phone|name")
"""Columns that group records but are none: whose a record is, or what it is about."""
MOST_RECORD_COLUMNS = 8
SAME = 0.98
"""Share of the records of several rows in which a column must have one value to count as constant within a record."""
UNIQUE = 0.85
"""Share of the rows whose (record, order) must stand once."""


def find_history(store: Store, table: Table) -> RowHistory | None:
    """How the table's rows are a history, or None where they are not."""
    if table.rows < 4:
        return None
    times = [c for c in table.columns.values() if c.clock is not None]
    candidates = [c for c in table.columns.values() if _may_name_records(c, table.rows)]
    if any(not COUNTER.search(snake(key)) or "whole numbers" not in table.columns[key].evidence for key in table.keys):
        candidates = [c for c in candidates if not OWNER.search(snake(c.name))]
    candidates.sort(key=lambda c: not RECORD_NAME.search(snake(c.name)))
    best: tuple[float, str, str, dict[str, float]] | None = None
    for place, column in enumerate(candidates[:MOST_RECORD_COLUMNS]):
        same = constant_shares(store, table, column.name)
        if not same or not any(same[c.name] < SAME for c in times):
            continue
        order = _order(store, table, column.name, same)
        if order is None:
            continue
        held = sum(share >= SAME for name, share in same.items() if table.columns[name].distinct > 1 and name != column.name)
        score = held + 2 * bool(RECORD_NAME.search(snake(column.name))) - 0.01 * place
        if score >= 2 and (best is None or score > best[0]):
            best = (score, column.name, order, same)
    if best is None:
        return None
    _, record, order, same = best
    varying = sorted((c for c in times if same[c.name] < SAME), key=lambda c: same[c.name])
    time = varying[0].name if varying else None
    records, several = store.one(
        f"SELECT count(*), count(*) FILTER (n > 1) FROM (SELECT count(*) AS n FROM {table.relation} GROUP BY {quoted(record)})"
    )
    ties = _repeated(store, table, record, order)
    evidence = (
        f"{table.rows:,} rows of {records:,} {record}, {several:,} with several rows; ({record}, {order}) stands once in all but "
        f"{ties:,} rows"
        + (f", ({record}, {time}) in all but {_repeated(store, table, record, time):,}" if time and time != order else "")
    )
    changing = tuple(name for name, share in same.items() if share < ALWAYS and name not in (record, order, time))
    found = suspicions(store, table, record=record, order=order, time=time, same=same)
    return RowHistory(record, order, time, int(records), evidence, changing, found)


def _may_name_records(column: Column, rows: int) -> bool:
    full = column.filled >= 0.99 * rows and 2 <= column.distinct <= 0.9 * rows and column.distinct >= rows / 1000
    return full and column.clock is None and column.type in ("id", "int", "code", "text") and column.longest <= 64


def constant_shares(store: Store, table: Table, record: str) -> dict[str, float]:
    """Column -> share of the records of several rows in which it has one value (or none) in all rows; {} without such records."""
    names = list(table.columns)
    inner = ", ".join(f"min(hash({quoted(n)})) = max(hash({quoted(n)})) AS c{i}" for i, n in enumerate(names))
    outer = ", ".join(f"count(*) FILTER (c{i})" for i in range(len(names)))
    grouped = f"SELECT {inner} FROM {table.relation} GROUP BY {quoted(record)} HAVING count(*) > 1"
    several, *same = store.one(f"SELECT count(*), {outer} FROM ({grouped})")
    return {name: count / several for name, count in zip(names, same, strict=True)} if several else {}


def _order(store: Store, table: Table, record: str, same: dict[str, float]) -> str | None:
    """The column that orders a record's rows: a counter before a time, the one with the fewest ties."""
    best: tuple[float, str] | None = None
    for column in table.columns.values():
        counter = column.type in ("int", "id") and "whole numbers" in column.evidence and bool(COUNTER.search(snake(column.name)))
        if column.name == record or same[column.name] >= SAME or column.filled < 0.99 * table.rows:
            continue
        if not counter and column.clock is None:
            continue
        unique = 1 - _repeated(store, table, record, column.name) / table.rows
        score = unique + (0.001 if counter else 0)
        if unique >= UNIQUE and (best is None or score > best[0]):
            best = (score, column.name)
    return best[1] if best else None


def _repeated(store: Store, table: Table, record: str, order: str) -> int:
    """Rows whose (record, order) stands in another row too."""
    pair = f"SELECT count(*) AS n FROM {table.relation} GROUP BY {quoted(record)}, {quoted(order)}"
    return int(store.one(f"SELECT coalesce(sum(n) FILTER (n > 1), 0) FROM ({pair})")[0])
