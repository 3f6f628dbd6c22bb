"""Which column's values stand in which table's key: links between tables, with their share and count."""

from __future__ import annotations

import re

from ingest.draft.model import Link, Table
from ingest.draft.people import snake
from ingest.draft.store import Store, literal, quoted

AMOUNT = re.compile(r"amount|price|total|cost|fee|minor|cents|quantity|(^|_)count($|_)|minutes|seconds")
SHARE = 0.8
"""Share of a column's distinct values that must stand in a key."""
SAMPLE = 200
SHORT = 3
"""Numbers of up to so many digits link nothing by themselves: quantities and counters stand in every sequence."""


def find_links(store: Store, tables: dict[str, Table]) -> list[Link]:
    """Links of columns, and of the fields of change logs, to keys of other tables."""
    counters = {(table.name, table.log.seq) for table in tables.values() if table.log}
    keys = [(table, key) for table in tables.values() for key in table.keys if (table.name, key) not in counters]
    store.run("CREATE OR REPLACE TEMP TABLE keys (i INTEGER, k VARCHAR)")
    for index, (table, key) in enumerate(keys):
        store.run(f"INSERT INTO keys SELECT {index}, {quoted(key)} FROM {table.relation}")
    found: list[Link] = []
    for table in tables.values():
        for name, column in table.columns.items():
            if column.type in ("id", "code", "int") and column.distinct > 1 and not AMOUNT.search(snake(name)):
                values = f"SELECT DISTINCT {quoted(name)} AS v FROM {table.relation} WHERE {quoted(name)} IS NOT NULL"
                for other, key, matched in _matches(store, values, name, table, keys):
                    found.append(Link(table.name, name, other.name, key, matched, column.distinct))
        log = table.log
        for field in log.fields.values() if log else ():
            if log is None or field.distinct < 2 or AMOUNT.search(snake(field.name)):
                continue
            chosen = f"{quoted(log.field)} = {literal(field.name)} AND {quoted(log.value)} IS NOT NULL"
            values = f"SELECT DISTINCT {quoted(log.value)} AS v FROM {table.relation} WHERE {chosen}"
            for other, key, matched in _matches(store, values, field.name, table, keys):
                if other.name != log.of:
                    found.append(Link(table.name, log.value, other.name, key, matched, field.distinct, field.name))
    return _best(found)


def _matches(store: Store, values: str, name: str, table: Table, keys: list[tuple[Table, str]]) -> list[tuple[Table, str, int]]:
    """(table, key, how many of the distinct values stand in it) of each key in which enough do to speak of a link."""
    store.run(f"CREATE OR REPLACE TEMP TABLE linked AS {values}")
    store.run(f"CREATE OR REPLACE TEMP TABLE sampled AS SELECT v FROM linked ORDER BY hash(v) LIMIT {SAMPLE}")
    looked, long = store.one(
        f"SELECT count(*), count(*) FILTER (length(v) > {SHORT} OR NOT regexp_full_match(v, '\\d+')) FROM sampled"
    )
    hits = store.all("SELECT i, count(DISTINCT v) FROM sampled JOIN keys ON v = k GROUP BY i ORDER BY i")
    found = []
    for index, hit in hits:
        other, key = keys[index]
        telling = long >= 0.5 * looked or _named_alike(name, other.name, key)
        if other is not table and hit >= SHARE * looked and telling:
            matched = store.one(f"SELECT count(*) FROM linked WHERE v IN (SELECT k FROM keys WHERE i = {index})")[0]
            found.append((other, key, int(matched)))
    return found


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


def _named_alike(name: str, table: str, key: str) -> bool:
    """Whether a column is named like a table or its key: order_id and orders, account_no and account_no."""
    plain, stem = snake(name), snake(table).rstrip("s")
    first = plain.split("_")[0]
    return plain == snake(key) != "id" or (len(first) > 2 and (stem.startswith(first) or first.startswith(stem)))
