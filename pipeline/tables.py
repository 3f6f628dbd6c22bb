"""Parquet tables with the column contracts of schemas.events; same rows, same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.errors import StageError

if TYPE_CHECKING:
    import polars as pl

PYTHON_TYPES: dict[str, type] = {"str": str, "int": int, "ts": datetime, "bool": bool}


def polars_schema(columns: Mapping[str, str]) -> dict[str, Any]:
    import polars as pl

    kinds: dict[str, Any] = {"str": pl.String, "int": pl.Int64, "ts": pl.Datetime("us", "UTC"), "bool": pl.Boolean}
    return {name: kinds[kind] for name, kind in columns.items()}


def frame(rows: list[dict[str, Any]] | dict[str, list[Any]], columns: Mapping[str, str]) -> pl.DataFrame:
    """A table with exactly `columns`; a key that a row lacks is null.

    A value of another type raises TypeError and an unknown key KeyError: polars alone would cast the one, given rows, and
    drop the other without a word.
    """
    import polars as pl

    if isinstance(rows, list):
        given: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in columns}
        unknown = set().union(*rows) - columns.keys()
    else:
        given, unknown = rows, rows.keys() - columns.keys()
    if unknown:
        raise KeyError(f"no such columns: {', '.join(sorted(unknown))}")
    series = []
    for name, kind in polars_schema(columns).items():
        values = given.get(name, [])
        python = PYTHON_TYPES[columns[name]]
        for value in values:
            if value is None or type(value) is python:
                continue
            if not isinstance(value, python) or isinstance(value, bool):
                raise TypeError(f"column {name}: a {type(value).__name__} where a {python.__name__} is due")
        if python is datetime and any(value is not None and value.tzinfo is None for value in values):
            raise TypeError(f"column {name}: a time without a zone")
        series.append(pl.Series(name, values, dtype=kind, strict=True))
    return pl.DataFrame(series)


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
