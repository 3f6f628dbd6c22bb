"""From what the shards read to the tables of `data/records/<supplier>`: repeated rows, one sequence, owners, records.

Everything here is a function from tables to tables whose result does not depend on the order of rows or shards.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from ingest.source import MARK_COLUMNS, OWNER_COLUMNS, ROW_COLUMNS, STAGED_EVENT_COLUMNS
from pipeline.tables import polars_schema
from schemas.events import EVENT_COLUMNS, RECORD_COLUMNS

RECORD = ["system", "kind", "record_id"]
MAX_PARENTS = 8
"""How far up a record asks for its organisation; a longer chain is a cycle."""


def concat(tables: list[pl.DataFrame], columns: dict[str, str]) -> pl.DataFrame:
    return pl.concat(tables) if tables else pl.DataFrame(schema=polars_schema(columns))


def repeated_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows that another row of the same key replaces: all but the highest (version, file, place)."""
    keyed = rows.filter(~pl.col("quarantined") & pl.col("row_key").is_not_null())
    ordered = keyed.sort("source", "row_key", "version", "source_file", "place")
    return ordered.filter(pl.col("row_key").is_duplicated().over("source")).filter(
        pl.int_range(pl.len()).over("source", "row_key") < pl.len().over("source", "row_key") - 1
    )


def without_repeats(table: pl.DataFrame, repeats: pl.DataFrame) -> pl.DataFrame:
    """`table` without what came from a repeated row."""
    return table.join(repeats.select("row_at").unique(), on="row_at", how="anti", maintain_order="left")


def sequenced(events: pl.DataFrame) -> pl.DataFrame:
    """Adds `seq`: 1, 2, ... within each system, null for a row whose order the system itself does not know.

    Within a stream it is the system's own order; streams meet by recorded time. The running maximum of it lets a row recorded
    late, or by a skewed clock, keep its place in its own stream.
    """
    own = ["system", "stream", "order_1", "order_2"]
    numbered = pl.col("order_1").is_not_null()
    when = pl.col("recorded_ts").forward_fill().cum_max().over("system", "stream", numbered)
    return (
        events.sort(*own, "record_id", "field", "source_file", "source_pos", nulls_last=False)
        .with_columns(when.alias("_when"))
        .sort("system", "_when", "stream", "order_1", "order_2", nulls_last=False, maintain_order=True)
        .with_columns(numbered.cum_sum().over("system").cast(pl.Int64).alias("seq"))
        .with_columns(pl.when(numbered).then("seq").alias("seq"))
        .drop("_when")
    )


def organisations(owners: pl.DataFrame) -> pl.DataFrame:
    """(system, kind, record_id, organisation): each record's own word, else its parent's, up to MAX_PARENTS."""
    one = (
        owners.sort(*RECORD, "row_at", nulls_last=False)
        .group_by(RECORD, maintain_order=True)
        .agg(
            pl.col("organisation").drop_nulls().last(),
            pl.col("parent_system").drop_nulls().last(),
            pl.col("parent_kind").drop_nulls().last(),
            pl.col("parent_id").drop_nulls().last(),
        )
    )
    for _ in range(MAX_PARENTS):
        known = one.filter(pl.col("organisation").is_not_null()).select(*RECORD, pl.col("organisation").alias("_above"))
        above = {"system": "parent_system", "kind": "parent_kind", "record_id": "parent_id"}
        after = one.join(known.rename(above), on=list(above.values()), how="left", maintain_order="left")
        after = after.with_columns(pl.coalesce("organisation", "_above").alias("organisation")).drop("_above")
        if after["organisation"].null_count() == one["organisation"].null_count():
            break
        one = after
    return one.select(*RECORD, "organisation")


def with_organisation(table: pl.DataFrame, owned: pl.DataFrame) -> pl.DataFrame:
    return (
        table.drop("organisation", strict=False)
        .join(owned, on=RECORD, how="left", maintain_order="left")
        .select("organisation", pl.exclude("organisation"))
    )


def records(events: pl.DataFrame, marks: pl.DataFrame, owned: pl.DataFrame) -> pl.DataFrame:
    """One row a record: when it was opened and by which event, when it was closed (null while open), its last outcome code."""
    place = ["system", "stream", "order_1", "order_2"]
    numbers = events.group_by(place).agg(pl.col("seq").min())
    ordered = marks.join(numbers, on=place, how="left").sort(*RECORD, "seq", "mark", nulls_last=False)

    def marked(name: str, *names: str) -> pl.Expr:
        return pl.col("mark").is_in([name, *names])

    per_mark = ordered.group_by(RECORD).agg(
        pl.col("ts").filter(marked("opened")).min().alias("opened_ts"),
        pl.col("seq").filter(marked("opening")).min().alias("opening_seq"),
        pl.col("ts").filter(marked("closed", "reopened")).last().alias("closed_ts"),
        pl.col("mark").filter(marked("closed", "reopened")).last().alias("_last"),
        pl.col("ts").filter(marked("ended")).last().alias("_ended"),
        pl.col("value").filter(marked("outcome")).last().alias("outcome_code"),
    )
    named = pl.concat([events.select(*RECORD, "event_ts"), marks.select(*RECORD, pl.col("ts").alias("event_ts"))])
    first = named.group_by(RECORD).agg(pl.col("event_ts").min().alias("_first"))
    table = (
        first.join(per_mark, on=RECORD, how="left")
        .with_columns(
            pl.coalesce("opened_ts", "_first").alias("opened_ts"),
            pl.when(pl.col("_last") == "closed").then("closed_ts").otherwise("_ended").alias("closed_ts"),
        )
        .join(owned, on=RECORD, how="left")
    )
    return table.select(list(RECORD_COLUMNS)).sort(RECORD).cast(pl.Schema(polars_schema(RECORD_COLUMNS)))


def canonical_events(events: pl.DataFrame) -> pl.DataFrame:
    """The columns and the order of the canonical table."""
    return (
        events.select(list(EVENT_COLUMNS))
        .sort("system", "kind", "record_id", "seq", maintain_order=True)
        .cast(pl.Schema(polars_schema(EVENT_COLUMNS)))
    )


def staged(rows: dict[str, list[dict[str, Any]]]) -> dict[str, pl.DataFrame]:
    """Tables of a shard from its rows, strictly typed."""
    from pipeline.tables import frame

    columns = {"events": STAGED_EVENT_COLUMNS, "marks": MARK_COLUMNS, "owners": OWNER_COLUMNS, "rows": ROW_COLUMNS}
    return {name: frame(rows[name], columns[name]) for name in columns}
