"""Customers that were merged, at whatever time: each keeps its old identity in the state, all share one group of the hold-out.

A merge after the cut was not known then, so the state shows what the systems showed: two customers. But they are one, and a
hold-out that put one of them on each side would test on the customer that it trained on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pipeline.tables import read_table
from schemas.events import LINK_COLUMNS, RECORD_COLUMNS
from tasks.case import Clean

if TYPE_CHECKING:
    import polars as pl

MERGED_INTO = "merged_into"
"""Name of the link (or of the id field) by which a system says that a record was merged into another."""


def one_key(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Each name that stands in a pair -> the smallest name of all that are joined with it, whatever the order of the pairs."""
    above: dict[str, str] = {}

    def root(name: str) -> str:
        while above.setdefault(name, name) != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    for left, right in pairs:
        low, high = sorted((root(left), root(right)))
        above[high] = low
    return {name: root(name) for name in sorted(above)}


def merged_customers(links: pl.DataFrame, records: pl.DataFrame, request: tuple[str, str]) -> dict[str, str]:
    """Organisation -> key of its group, for organisations of which any record was merged into a record of another one.

    `links` and `records` are the tables of the clean records; merged requests (`request` is their system and kind) are not
    merged customers.
    """
    import polars as pl

    sides = records.select("system", "kind", "record_id", "organisation")
    of = {side: [f"{side}_system", f"{side}_kind", f"{side}_id"] for side in ("left", "right")}
    found = links.filter(
        (pl.col("name") == MERGED_INTO) & ~((pl.col("left_system") == request[0]) & (pl.col("left_kind") == request[1]))
    )
    for side, keys in of.items():
        named = sides.rename({"system": keys[0], "kind": keys[1], "record_id": keys[2], "organisation": side})
        found = found.join(named, on=keys, how="inner")
    pairs = found.filter(pl.col("left").is_not_null() & pl.col("right").is_not_null()).select("left", "right").unique()
    return one_key(pairs.sort("left", "right").iter_rows())


def merged_of(clean: Clean) -> dict[str, str]:
    """`merged_customers` of the clean records; {} where the supplier's systems tell no merge."""
    path = clean.folder / "links.parquet"
    if not path.exists():
        return {}
    links = read_table(path, LINK_COLUMNS)
    return merged_customers(links, read_table(clean.folder / "records.parquet", RECORD_COLUMNS), clean.record)


def members(groups: Mapping[str, str], wanted: Iterable[str]) -> set[str]:
    """The organisations asked for and all that were merged with them."""
    keys = {groups.get(name, name) for name in wanted}
    return keys | {name for name, key in groups.items() if key in keys}
