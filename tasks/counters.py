"""Counters that nobody declared, told by what they hold: a whole number that is, at the end of the export, how many records of a
kind point to its record.

A column of present totals that is put back to the time before each request counts what was still to come. Where the code book
does not say that a column counts, this says so, and the leak check of counters judges it like a declared one. Sums of amounts are
not looked for.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from schemas.records import CodeBook

if TYPE_CHECKING:
    import polars as pl

FEWEST = 10
"""Records whose numbers are compared, at least."""
DISTINCT = 3
"""Different numbers among them, at least: a column of ones counts nothing."""
ALIKE = 0.95
"""Share of records whose number is the count."""
HIDDEN = ("post_hoc", "never")


def undeclared_counters(events: pl.LazyFrame, code_book: CodeBook) -> dict[str, tuple[str, str]]:
    """Field "system.kind.field" -> (kind that it counts, field of theirs that names the record with the counter)."""
    import polars as pl

    numbers = {
        name
        for name, rule in code_book.fields.items()
        if rule.type == "int" and rule.known_at not in HIDDEN and not rule.aggregate
    }
    pointers = {name for name, rule in code_book.fields.items() if rule.type == "id"}
    whole = pl.concat_str(["system", "kind", "field"], separator=".").alias("name")
    last = (
        events.filter(pl.col("field").is_not_null() & pl.col("type").is_in(["create", "change"]))
        .with_columns(whole)
        .filter(pl.col("name").is_in(sorted(numbers | pointers)))
        .sort("event_ts", "seq", nulls_last=True, maintain_order=True)
        .group_by("name", "record_id", maintain_order=True)
        .agg(pl.col("system").last(), pl.col("kind").last(), pl.col("value_json").last())
        .sort("name", "record_id")
        .collect()
    )
    deleted = set(events.filter(pl.col("type") == "delete").select("system", "kind", "record_id").unique().collect().iter_rows())
    held: dict[str, dict[str, int]] = defaultdict(dict)
    pointed: dict[str, Counter[str]] = defaultdict(Counter)
    for name, record_id, system, kind, value_json in last.iter_rows():
        value = json.loads(value_json) if value_json is not None else None
        if name in numbers and isinstance(value, int) and not isinstance(value, bool):
            held[name][record_id] = value
        elif name in pointers and isinstance(value, str) and (system, kind, record_id) not in deleted:
            pointed[name][value] += 1
    found = {}
    for name, values in sorted(held.items()):
        if len(values) < FEWEST or len(set(values.values())) < DISTINCT:
            continue
        for pointer, counts in sorted(pointed.items()):
            alike = sum(counts.get(record_id, 0) == number for record_id, number in values.items())
            if alike >= ALIKE * len(values):
                kind, _, column = pointer.rpartition(".")
                found[name] = (kind, column)
                break
    return found
