"""The records of a supplier as `ingest` left them, read whole and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.tables import polars_schema, read_table
from schemas.errors import StageError
from schemas.events import EVENT_COLUMNS, LINK_COLUMNS, POLICY_COLUMNS, QUARANTINE_COLUMNS, RECORD_COLUMNS
from schemas.files import read_json
from schemas.records import CodeBook

if TYPE_CHECKING:
    import polars as pl

TABLES = {"records": RECORD_COLUMNS, "links": LINK_COLUMNS, "policies": POLICY_COLUMNS, "quarantine": QUARANTINE_COLUMNS}


@dataclass(slots=True)
class Records:
    """`events` is sorted, so that nothing depends on the order in which rows lie in the files."""

    events: pl.DataFrame
    records: pl.DataFrame
    links: pl.DataFrame
    policies: pl.DataFrame
    quarantine: pl.DataFrame
    book: CodeBook
    declarations: Any
    """Parsed declarations.json, or None."""


def sort_all(table: pl.DataFrame, first: tuple[str, ...]) -> pl.DataFrame:
    """Sorted by `first`, ties by all other columns: one order whatever the input's."""
    return table.sort([*first, *(c for c in table.columns if c not in first)], nulls_last=True)


def read_records(folder: Path) -> Records:
    """Raises StageError where a table is missing or has other columns."""
    import polars as pl

    paths = sorted((folder / "events").glob("*.parquet"))
    if not paths:
        raise StageError(f"{folder / 'events'} holds no table; run `python -m ingest` again")
    wanted = polars_schema(EVENT_COLUMNS)
    parts = [read_table(path, EVENT_COLUMNS).select(list(wanted)) for path in paths]
    events = sort_all(pl.concat(parts), ("system", "kind", "record_id", "seq"))
    rest = {name: sort_all(read_table(folder / f"{name}.parquet", columns), ()) for name, columns in TABLES.items()}
    book = CodeBook.model_validate(read_json(folder / "codebook.json"))
    declared = folder / "declarations.json"
    return Records(events=events, book=book, declarations=read_json(declared) if declared.exists() else None, **rest)
