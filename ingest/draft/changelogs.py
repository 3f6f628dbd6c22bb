"""Tables that hold one row a field that was set: audits and history tables, and what they tell of each field."""

from __future__ import annotations

import re

from ingest.draft.columns import column_of
from ingest.draft.model import ChangeLog, Column, FieldChanges, Table
from ingest.draft.people import snake
from ingest.draft.store import ROW, Store, literal, quoted

FIELD_NAME = re.compile(r"^(field|field_?name|attribute|attr|column|column_name|property)$")
VALUE_NAME = re.compile(r"^(new_?value|value|newvalue|to_?string|to_?value|new)$")
RECORD_NAME = re.compile(r"record|ticket|issue|case|incident|order|entity|object|document|(_|^)(no|key|number)$")
PERSON_NAME = re.compile(r"author|actor|user|agent|assign|person|_by$")
ACTS = frozenset(["insert", "update", "delete", "create", "change", "comment", "i", "u", "d", "created", "updated", "deleted"])
MOST_FIELDS = 60


def find_log(store: Store, table: Table, tables: dict[str, Table]) -> ChangeLog | None:
    """How the table is a change log, or None where it is none."""
    columns = {snake(name): column for name, column in table.columns.items()}
    value = next((c for plain, c in columns.items() if VALUE_NAME.match(plain)), None)
    if value is None:
        return None
    field, of, why = _field(store, table, columns, tables, value)
    if field is None:
        return None
    record, linked = _record(store, table, tables, of, {value.name, field.name})
    if record is None:
        return None
    left = [c for c in table.columns.values() if c.name not in (value.name, field.name, record)]
    op = next((c.name for c in left if c.type == "code" and c.values and _acts(c) >= 0.5), None)
    counters = [c for c in left if c.type in ("int", "id") and "whole numbers" in c.evidence]
    whole = [c for c in counters if c.filled >= 0.9 * table.rows and c.distinct >= 0.95 * c.filled]
    seq = next((c.name for c in whole), None)
    times = tuple(c.name for c in left if c.clock is not None)
    actor = next((c.name for c in left if re.search(r"actor|author|changed_by|user", snake(c.name)) and c.clock is None), None)
    taken = (op, seq, actor, *times)
    reference = next(
        (c.name for c in left if c.name not in taken and re.search(r"ticket|reference|case|ref$", snake(c.name))), None
    )
    fields = _fields(store, table, record=record, field=field.name, value=value.name, times=times, seq=seq, of=of)
    evidence = f"{table.rows:,} rows; {field.name} {why}; {linked}"
    return ChangeLog(record, field.name, value.name, op, seq, times, actor, reference, of.name if of else None, evidence, fields)


def _acts(column: Column) -> float:
    total = sum(column.values.values())
    return sum(rows for value, rows in column.values.items() if value.lower() in ACTS) / total if total else 0.0


def _field(
    store: Store, table: Table, columns: dict[str, Column], tables: dict[str, Table], value: Column
) -> tuple[Column | None, Table | None, str]:
    """The column that names fields, the table whose columns they are, and why."""
    for plain, column in columns.items():
        if column is value or column.clock is not None or not 1 <= column.distinct <= MOST_FIELDS:
            continue
        names = {
            str(v)
            for (v,) in store.all(
                f"SELECT DISTINCT {quoted(column.name)} FROM {table.relation} WHERE {quoted(column.name)} IS NOT NULL"
            )
        }
        others = [t for t in tables.values() if t is not table and len(names & t.columns.keys()) >= max(1, 0.8 * len(names))]
        others.sort(key=lambda t: (not table.name.startswith(t.name), -len(names & t.columns.keys()), t.name))
        named = bool(FIELD_NAME.match(plain))
        telling = bool(others) and (named or len(names) > 2 or (len(names) > 1 and table.name.startswith(others[0].name)))
        if telling and table.kind != "zendesk":
            return column, others[0], f"names {len(names & others[0].columns.keys())} columns of {others[0].name}"
        if named:
            return column, None, f"is named so and has {len(names)} values"
    return None, None, ""


def _record(store: Store, table: Table, tables: dict[str, Table], of: Table | None, taken: set[str]) -> tuple[str | None, str]:
    """The column that names the record, and the counts that speak for it."""
    found: list[tuple[int, str, str]] = []
    for column in table.columns.values():
        if column.name in taken or column.clock is not None or (column.filled in (0, column.distinct) and column.filled > 1):
            continue
        if column.filled < 0.99 * table.rows or column.type not in ("id", "int", "code", "text"):
            continue
        hint = bool(RECORD_NAME.search(snake(column.name))) - 2 * bool(PERSON_NAME.search(snake(column.name)))
        for other in [of] if of else [t for t in tables.values() if t is not table]:
            for key in other.keys:
                relation = f"(SELECT DISTINCT {quoted(column.name)} AS v FROM {table.relation})"
                held = store.one(
                    f"SELECT count(*), count(*) FILTER (v IN (SELECT {quoted(key)} FROM {other.relation})) FROM {relation}"
                )
                if held[0] and held[1] >= 0.5 * held[0]:
                    words = f"{held[1]:,} of {held[0]:,} {column.name} stand in {other.name}.{key}"
                    own = snake(key) == "id" or snake(key).startswith(snake(other.name).rstrip("s"))
                    found.append((3 + hint + own, column.name, words))
        if hint > 0:
            found.append((hint, column.name, f"{column.name} is named so"))
    if not found:
        return None, ""
    best = max(found, key=lambda one: one[0])
    return best[1], best[2]


def _fields(
    store: Store,
    table: Table,
    *,
    record: str,
    field: str,
    value: str,
    times: tuple[str, ...],
    seq: str | None,
    of: Table | None,
) -> dict[str, FieldChanges]:
    """What the log tells of each field. Values are looked at where no table has the field as a column, or it is a code's."""
    clock = table.columns[times[0]].clock if times else None
    at = clock.sql.format(quoted(times[0])) if clock else quoted(ROW)
    first_by = f"TRY_CAST({quoted(seq)} AS HUGEINT)" if seq else quoted(ROW)
    rows = (
        f"SELECT {quoted(record)} AS k, {quoted(field)} AS f, {quoted(value)} AS v, {first_by} AS s, "
        f"dense_rank() OVER (PARTITION BY {quoted(record)} ORDER BY {at}) AS moment FROM {table.relation}"
    )
    store.run(f"CREATE OR REPLACE TEMP TABLE moments AS SELECT *, max(moment) OVER (PARTITION BY k) AS moments FROM ({rows})")
    told = store.all(
        "SELECT f, sum(n), count(*), count(*) FILTER (d > 1), count(*) FILTER (first > 1), "
        "avg(CASE WHEN moments > 1 THEN (first - 1) / (moments - 1) END) "
        "FROM (SELECT k, f, count(*) AS n, count(DISTINCT v) AS d, "
        "min(moment) FILTER (v IS NOT NULL) AS first, max(moments) AS moments "
        "FROM moments WHERE f IS NOT NULL GROUP BY k, f) GROUP BY f ORDER BY f"
    )
    found = {}
    for name, count, records, changed, late, place in told[:MOST_FIELDS]:
        distinct = store.one(f"SELECT count(DISTINCT v) FROM moments WHERE f = {literal(str(name))}")[0]
        column = None
        base = of.columns.get(str(name)) if of else None
        if base is None or base.type == "code":
            store.run(f"CREATE OR REPLACE TEMP TABLE of_field AS SELECT v FROM moments WHERE f = {literal(str(name))}")
            column = column_of(store, "of_field", "v", str(name))
        found[str(name)] = FieldChanges(
            str(name), int(count), int(records), int(changed), int(late), float(place or 0), int(distinct), column
        )
    return found
