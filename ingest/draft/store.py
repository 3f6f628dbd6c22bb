"""The tables of an export in one duckdb file: values as text, rows numbered from 1, memory bounded, nothing typed by guess."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

MEMORY = "1GB"
BATCH_CELLS = 2_000_000
MOST_COLUMNS = 2_000
ROW = "_row"
"""Number of the row within its file or table, from 1."""


def quoted(name: str) -> str:
    """An SQL name."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL text."""
    return "'" + text.replace("'", "''") + "'"


class Store:
    """Tables, each with a column ROW."""

    def __init__(self, folder: Path) -> None:
        import duckdb

        self.folder = folder
        self.database: duckdb.DuckDBPyConnection = duckdb.connect(
            str(folder / "draft.duckdb"),
            config={"memory_limit": MEMORY, "temp_directory": str(folder / "spill"), "enable_external_access": "true"},
        )
        self.database.execute("SET enable_progress_bar = false")
        self._made = 0

    def close(self) -> None:
        self.database.close()

    def all(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self.database.execute(sql).fetchall())

    def one(self, sql: str) -> tuple[Any, ...]:
        row = self.database.execute(sql).fetchone()
        return tuple(row) if row is not None else ()

    def run(self, sql: str) -> None:
        self.database.execute(sql)

    def new_name(self) -> str:
        """A relation that is not there yet, quoted."""
        self._made += 1
        return quoted(f"t{self._made}")

    def columns(self, relation: str) -> list[str]:
        """Names of its columns without ROW."""
        return [str(row[0]) for row in self.all(f"DESCRIBE {relation}") if row[0] != ROW]

    def append(self, relation: str, columns: list[str], rows: Iterable[list[str | None]]) -> int:
        """Makes the relation of rows of texts, in bounded batches; returns how many rows."""
        import polars as pl

        part, total = self.folder / "part.parquet", 0
        names = [ROW, *columns]
        declared = ", ".join([f"{quoted(ROW)} BIGINT", *(f"{quoted(name)} VARCHAR" for name in columns)])
        self.run(f"CREATE TABLE {relation} ({declared})")
        for batch in _batches(rows, max(1, BATCH_CELLS // max(1, len(columns)))):
            numbers = pl.Series(ROW, range(total + 1, total + len(batch) + 1), dtype=pl.Int64)
            cells = list(zip(*batch, strict=True))
            made = [pl.Series(name, cells[i], dtype=pl.String) for i, name in enumerate(columns)]
            pl.DataFrame([numbers, *made]).write_parquet(part, compression="uncompressed")
            picked = ", ".join(quoted(name) for name in names)
            self.run(f"INSERT INTO {relation} SELECT {picked} FROM read_parquet({literal(str(part))})")
            total += len(batch)
        return total

    def blank(self, relation: str, words: dict[str, list[str]]) -> str:
        """The relation once more, with the null words of each column as nulls; the old one goes."""
        picked = [quoted(ROW)]
        for name in self.columns(relation):
            column, gone = quoted(name), ", ".join(literal(word) for word in ["", *words.get(name, [])])
            picked.append(f"CASE WHEN trim({column}) IN ({gone}) THEN NULL ELSE {column} END AS {column}")
        cleared = self.new_name()
        self.run(f"CREATE TABLE {cleared} AS SELECT {', '.join(picked)} FROM {relation}")
        self.run(f"DROP TABLE {relation}")
        return cleared


def _batches(rows: Iterable[list[str | None]], size: int) -> Iterator[list[list[str | None]]]:
    stream = iter(rows)
    while batch := list(islice(stream, size)):
        yield batch


def unique_names(names: list[str]) -> list[str]:
    """Column names that are all there and differ in more than their case: an empty one becomes column_<number>."""
    taken, out = {ROW.casefold()}, []
    for number, name in enumerate(names[:MOST_COLUMNS], 1):
        base = " ".join(name.split())[:60] or f"column_{number}"
        once, more = base, 2
        while once.casefold() in taken:
            once, more = f"{base}_{more}", more + 1
        taken.add(once.casefold())
        out.append(once)
    return out
