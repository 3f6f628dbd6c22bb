"""Which column's values stand in which table's key: links between tables, with their share and count."""

from __future__ import annotations

import re

from ingest.draft.model import Link, Table
from ingest.draft.people import snake
from ingest.draft.store import Store, quoted

AMOUNT = re.compile(r"amount|price|total|cost|fee|minor|cents|quantity|(^|_)count($|_)|minutes|seconds")
SHARE = 0.8
"""Share of a column's distinct values that must stand in a key."""
SAMPLE = 200
SHORT = 3
"""Numbers of up to so many digits link nothing by themselves: quantities and counters stand in every sequence."""


def find_links(store: Store, tables: dict[str, Table]) -> list[Link]:
    """Links of columns, and of the fields of change logs, to keys of other tables."""
    found: list[Link] = []
    counters = {(table.name, table.log.seq) for table in tables.values() if table.log}
    keys = [(table, key) for table in tables.values() for key in table.keys if (table.name, key) not in counters]
    for table in tables.values():
        for name, column in table.columns.items():
            if column.type not in ("id", "code", "int") or column.distinct < 2 or AMOUNT.search(snake(name)):
                continue
            relation = f"(SELECT DISTINCT {quoted(name)} AS v FROM {table.relation} WHERE {quoted(name)} IS NOT NULL)"
            for other, key in keys:
                if other is not table and (matched := _matched(store, relation, name, other, key)):
                    found.append(Link(table.name, name, other.name, key, matched, column.distinct))
        if table.log is not None:
            found += _of_fields(store, table, keys)
    return _best(found)


def _best(found: list[Link]) -> list[Link]:
    """One target a column: the table whose own key it is rather than one that points there too."""
    best: dict[tuple[str, str, str], Link] = {}
    for link in found:
        source = (link.table, link.column, link.field)
        if source not in best or _rank(link) > _rank(best[source]):
            best[source] = link
    whole = {(link.table, link.column): link for link in best.values() if not link.field}
    kept = []
    for link in best.values():
        back = whole.get((link.to_table, link.to_column))
        mutual = back is not None and (back.to_table, back.to_column) == (link.table, link.column)
        if not (mutual and _own(link.table, link.column) and not link.field):
            kept.append(link)
    return sorted(kept, key=lambda link: (link.table, link.field, link.column))


def _own(table: str, column: str) -> bool:
    """Whether a column is named like the key of its own table: id, or order_no of orders."""
    plain, stem = snake(column), snake(table).rstrip("s")
    return plain == "id" or plain.startswith(stem)


def _rank(link: Link) -> tuple[bool, float, int]:
    return _own(link.to_table, link.to_column), link.share, link.matched


def _of_fields(store: Store, table: Table, keys: list[tuple[Table, str]]) -> list[Link]:
    found = []
    log = table.log
    for field in log.fields.values() if log else ():
        if log is None or field.distinct < 2 or AMOUNT.search(snake(field.name)):
            continue
        chosen = f"{quoted(log.field)} = '{field.name.replace(chr(39), chr(39) * 2)}' AND {quoted(log.value)} IS NOT NULL"
        relation = f"(SELECT DISTINCT {quoted(log.value)} AS v FROM {table.relation} WHERE {chosen})"
        for other, key in keys:
            if other is not table and other.name != log.of and (matched := _matched(store, relation, field.name, other, key)):
                found.append(Link(table.name, log.value, other.name, key, matched, field.distinct, field.name))
    return found


def _matched(store: Store, relation: str, name: str, other: Table, key: str) -> int:
    """How many of the distinct values stand in the key; 0 where too few do to speak of a link."""
    to = f"(SELECT {quoted(key)} AS k FROM {other.relation})"
    some = f"(SELECT v FROM {relation} ORDER BY hash(v) LIMIT {SAMPLE})"
    looked, hits = store.one(f"SELECT count(*), count(*) FILTER (v IN (SELECT k FROM {to})) FROM {some}")
    if not looked or hits < SHARE * looked:
        return 0
    long, whole = store.one(
        f"SELECT count(*) FILTER (length(v) > {SHORT} OR NOT regexp_full_match(v, '\\d+')), count(*) FROM {some}"
    )
    if long < 0.5 * whole and not _named_alike(name, other.name, key):
        return 0
    return int(store.one(f"SELECT count(*) FROM {relation} WHERE v IN (SELECT k FROM {to})")[0])


def _named_alike(name: str, table: str, key: str) -> bool:
    """Whether a column is named like a table or its key: order_id and orders, account_no and account_no."""
    plain, stem = snake(name), snake(table).rstrip("s")
    first = plain.split("_")[0]
    return plain == snake(key) != "id" or (len(first) > 2 and (stem.startswith(first) or first.startswith(stem)))
