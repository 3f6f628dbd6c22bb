"""Links between records: what an id field points to, and what a system says it linked (a merge), each with its time."""

from __future__ import annotations

import json

import polars as pl

from pipeline.tables import polars_schema
from schemas.events import LINK_COLUMNS
from schemas.records import CodeBook

ANY = "record"
"""The identity of a field that may name a record of any kind."""


KINDS_OF = {"person": ("user", "contact", "customer"), "organisation": ("organization",)}
"""Identity -> kinds of record that are one, beside the kind of the same name."""


def id_fields(book: CodeBook) -> pl.DataFrame:
    """(system, kind, field, identity) of every id field of the code book; one row a kind that may be meant."""
    rows = [
        (*name.split(".", 2), identity)
        for name, rule in sorted(book.fields.items())
        if rule.type == "id" and rule.identity
        for identity in (rule.identity, *KINDS_OF.get(rule.identity, ()))
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("system", "kind", "field", "identity"), pl.String), orient="row")


def links(events: pl.DataFrame, book: CodeBook) -> tuple[pl.DataFrame, int]:
    """Rows of links.parquet, and how many id values fit several records (they are not linked: never guessed).

    An id value links to the record that bears it and whose kind is the field's identity; under the identity "record", to the only
    record of any kind that bears it. A number that happens to be some other record's id links nothing.
    """
    wanted = [pl.col(c) for c in ("event_ts", "recorded_ts", "source_file", "source_pos", "seq")]
    left = [pl.col(c).alias(f"left_{c if c != 'record_id' else 'id'}") for c in ("system", "kind", "record_id")]
    told = events.filter(pl.col("type") == "link").select(*left, pl.col("field").alias("name"), "value_json", *wanted)
    ends = [json.loads(value) for value in told["value_json"].to_list()]
    told = told.drop("value_json").with_columns(
        pl.Series("right_system", [end["system"] for end in ends], pl.String),
        pl.Series("right_kind", [end["kind"] for end in ends], pl.String),
        pl.Series("right_id", [end["record_id"] for end in ends], pl.String),
    )
    fields = id_fields(book)
    valued = (
        events.filter(
            pl.col("type").is_in(["create", "change"]) & pl.col("field").is_not_null() & (pl.col("value_json") != "null")
        )
        .join(fields, on=["system", "kind", "field"], how="inner")
        .select(
            *left,
            pl.col("field").alias("name"),
            pl.col("value_json").str.json_decode(pl.String).alias("right_id"),
            "identity",
            *wanted,
        )
    )
    bearers = events.select(
        pl.col("system").alias("right_system"), pl.col("kind").alias("right_kind"), pl.col("record_id").alias("right_id")
    ).unique()
    met = valued.join(bearers, on="right_id", how="inner").filter(
        (pl.col("identity") == ANY) | (pl.col("right_kind") == pl.col("identity"))
    )
    own = (pl.col("left_system") == pl.col("right_system")) & (pl.col("left_kind") == pl.col("right_kind"))
    met = met.filter(~(own & (pl.col("left_id") == pl.col("right_id"))))
    key = ["left_system", "left_kind", "left_id", "name", "seq"]
    single = met.filter(pl.len().over(key) == 1)
    ambiguous = met.filter(pl.len().over(key) > 1).select(key).n_unique()
    table = pl.concat([told.select([*LINK_COLUMNS, "seq"]), single.select([*LINK_COLUMNS, "seq"])])
    table = table.sort("left_system", "left_kind", "left_id", "seq", "name", "right_system", "right_kind", "right_id")
    return table.select(list(LINK_COLUMNS)).cast(pl.Schema(polars_schema(LINK_COLUMNS))), ambiguous
