"""Parquet tables with the column contracts of schemas.events; same rows, same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.errors import StageError

if TYPE_CHECKING:
    import polars as pl


def polars_schema(columns: Mapping[str, str]) -> dict[str, Any]:
    import polars as pl

    kinds: dict[str, Any] = {"str": pl.String, "int": pl.Int64, "ts": pl.Datetime("us", "UTC"), "bool": pl.Boolean}
    return {name: kinds[kind] for name, kind in columns.items()}


def frame(rows: list[dict[str, Any]] | dict[str, list[Any]], columns: Mapping[str, str]) -> pl.DataFrame:
    """A table with exactly `columns`; a value of another type raises (never cast silently)."""
    import polars as pl

    return pl.DataFrame(rows, schema=polars_schema(columns), strict=True, orient="row" if isinstance(rows, list) else None)


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Zstandard Parquet without statistics that would differ between runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(path, compression="zstd", compression_level=3, statistics=True)


def read_table(path: Path, columns: Mapping[str, str]) -> pl.DataFrame:
    """Reads a table and checks that it has `columns` with their types; StageError names what differs."""
    import polars as pl

    if not path.exists():
        raise StageError(f"{path} is missing")
    table = pl.read_parquet(path)
    wanted = polars_schema(columns)
    if dict(table.schema) != wanted:
        differing = sorted(set(wanted.items()) ^ set(table.schema.items()), key=str)
        raise StageError(f"{path}: columns differ from this version's: {differing[:4]}")
    return table
