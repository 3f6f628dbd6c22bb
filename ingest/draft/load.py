"""Files into the store: CSV, Parquet, JSON, SQLite databases and SQL dumps. What cannot be read is counted with its places."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ingest.draft.json_rows import Tables, opened, read_lines, read_whole
from ingest.draft.model import FoundFile, Table
from ingest.draft.store import MOST_COLUMNS, ROW, Store, literal, quoted, unique_names

Progress = Callable[[int], None]
LARGEST_DUMP = 64 << 20
LONGEST_DUMP_S = 60.0
NO_NAME = re.compile(r"@|^[\d\s.,:/+-]*\d[\d\s.,:/+TZ-]*$|\d{5}|^.{61}")
"""A first row with such a cell holds values and no column names."""
DUMPED = frozenset(
    [
        sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_REINDEX,
    ]
)  # fmt: skip
"""What the statements of a dump may do; nothing else is run (ATTACH and VACUUM INTO would reach files)."""
FLUSH_ROWS = 20_000


def load(store: Store, file: FoundFile, advance: Progress) -> list[Table]:
    """The tables of a file, in the store; none for a kind that holds none. Reports bytes done."""
    kind = file.kind
    try:
        if kind == "csv":
            return _csv(store, file)
        if kind == "parquet":
            return _parquet(store, file)
        if kind in ("ndjson", "zendesk", "json"):
            return _json(store, [file], advance)
        if kind == "sqlite":
            return _sqlite(store, file, file.path)
        if kind == "sql_dump":
            return _dump(store, file)
    except (OSError, EOFError, sqlite3.Error) as error:
        return [Table(_stem(file), "", file.name, kind, 0, faults={"the file cannot be read": type(error).__name__})]
    return []


def load_pages(store: Store, name: str, files: list[FoundFile], advance: Progress) -> list[Table]:
    """Pages of one kind as one table."""
    tables = _json(store, files, advance, name)
    for table in tables:
        table.file = f"{name}: {len(files)} pages" if len(files) > 1 else files[0].name
    return tables


def _stem(file: FoundFile) -> str:
    return Path(file.name).name.split(".")[0] or file.name


def _places(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:3])
    return f"{len(numbers)} (line {shown}{', ...' if len(numbers) > 3 else ''})"


# --- CSV -------------------------------------------------------------------------------------------------------------------


def _csv(store: Store, file: FoundFile) -> list[Table]:
    import duckdb

    relation = store.new_name()
    header = _header(file)
    headed = not any(NO_NAME.search(cell) for cell in header)
    names = unique_names(header if headed else [""] * len(header))
    table = Table(_stem(file), relation, file.name, "csv", 0)
    if len(header) > MOST_COLUMNS:
        table.faults[f"columns beyond {MOST_COLUMNS}"] = str(len(header) - MOST_COLUMNS)
    if not headed:
        table.faults["the first row holds values, not names: columns go by their number"] = str(len(header))
    if file.extra["charset"] == "utf-8":
        columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
        options = (
            f"header = {str(headed).lower()}, delim = {literal(file.extra['delimiter'])}, quote = '\"', escape = '\"', "
            f"columns = {{{columns}}}, auto_detect = false, ignore_errors = true, store_rejects = true, "
            f"compression = '{'gzip' if file.gzipped else 'none'}'"
        )
        try:
            store.run(
                f"CREATE TABLE {relation} AS SELECT row_number() OVER () AS {quoted(ROW)}, * "
                f"FROM read_csv({literal(str(file.path))}, {options})"
            )
            rejects = store.all(
                "SELECT error_type::VARCHAR, list(DISTINCT line ORDER BY line) FROM reject_errors GROUP BY 1 ORDER BY 1"
            )
            table.faults |= {f"rows: {str(why).lower()}": _places(list(lines)) for why, lines in rejects}
            store.run("DELETE FROM reject_errors; DELETE FROM reject_scans")
            table.rows = int(store.one(f"SELECT count(*) FROM {relation}")[0])
            return [table]
        except duckdb.Error:
            store.run(f"DROP TABLE IF EXISTS {relation}")
    faults: dict[str, list[int]] = {}
    table.rows = store.append(relation, names, _csv_rows(file, len(names), faults, headed=headed))
    table.faults |= {why: _places(numbers) for why, numbers in faults.items()}
    return [table]


def _text(file: FoundFile) -> io.TextIOBase:
    raw: Any = opened(file.path, gzipped=file.gzipped)
    charset = "utf-8-sig" if file.extra["charset"] == "utf-8" else file.extra["charset"]
    return io.TextIOWrapper(raw, encoding=charset, errors="replace", newline="")


def _lines(handle: io.TextIOBase) -> Iterator[str]:
    """Lines without NUL; a line is never longer than the module csv takes."""
    while line := handle.readline(1 << 20):
        yield line.replace("\x00", "")


def _header(file: FoundFile) -> list[str]:
    with _text(file) as handle:
        try:
            return next(csv.reader(_lines(handle), delimiter=file.extra["delimiter"]), [])
        except csv.Error:
            return ["column_1"]


def _csv_rows(file: FoundFile, width: int, faults: dict[str, list[int]], *, headed: bool) -> Iterator[list[str | None]]:
    with _text(file) as handle:
        reader = csv.reader(_lines(handle), delimiter=file.extra["delimiter"])
        first = headed
        while True:
            try:
                row: list[str | None] = [*next(reader)]
            except StopIteration:
                return
            except csv.Error:
                faults.setdefault("rows: a cell is too long or unquoted", []).append(reader.line_num)
                continue
            if first or not row:
                first = False
                continue
            if len(row) != width:
                faults.setdefault("rows: too few or too many cells", []).append(reader.line_num)
                row = (row + [None] * width)[:width]
            if any(cell and "\ufffd" in cell for cell in row):
                faults.setdefault(f"rows: bytes that are no {file.extra['charset']}", []).append(reader.line_num)
            yield row


# --- Parquet, JSON -----------------------------------------------------------------------------------------------------------


def _parquet(store: Store, file: FoundFile) -> list[Table]:
    import duckdb

    relation, path = store.new_name(), literal(str(file.path))
    try:
        names = [str(row[0]) for row in store.all(f"DESCRIBE SELECT * FROM read_parquet({path})")]
        picked = ", ".join(
            f"CAST({quoted(old)} AS VARCHAR) AS {quoted(new)}" for old, new in zip(names, unique_names(names), strict=False)
        )
        store.run(f"CREATE TABLE {relation} AS SELECT row_number() OVER () AS {quoted(ROW)}, {picked} FROM read_parquet({path})")
    except duckdb.Error:
        return [Table(_stem(file), "", file.name, "parquet", 0, faults={"the file cannot be read": "damaged"})]
    rows = int(store.one(f"SELECT count(*) FROM {relation}")[0])
    return [Table(_stem(file), relation, file.name, "parquet", rows)]


def _json(store: Store, files: list[FoundFile], advance: Progress, name: str = "") -> list[Table]:
    read = Tables(name or _stem(files[0]), frozenset({"events"}) if name else None)
    parts: dict[str, list[tuple[str, list[str]]]] = {}

    def flush() -> None:
        for table, rows in read.rows.items():
            names = list(read.columns[table])
            relation = store.new_name()
            store.append(relation, unique_names(names), ([row.get(key) for key in names] for row in rows))
            parts.setdefault(table, []).append((relation, unique_names(names)))
        read.rows.clear()

    for file in files:
        if file.kind == "json":
            read_whole(file.path, gzipped=file.gzipped, tables=read)
            if sum(len(rows) for rows in read.rows.values()) >= FLUSH_ROWS:
                flush()
            continue
        for size in read_lines(file.path, gzipped=file.gzipped, tables=read):
            advance(size)
            if sum(len(rows) for rows in read.rows.values()) >= FLUSH_ROWS:
                flush()
    flush()
    tables = []
    for table, made in parts.items():
        relation = store.new_name()
        wide = made[-1][1]
        picks = []
        for part, names in made:
            cells = ", ".join(f"{quoted(n)}" if n in names else f"NULL::VARCHAR AS {quoted(n)}" for n in wide)
            picks.append(f"SELECT {quoted(ROW)}, {cells} FROM {part}")
        numbered, before = [], 0
        for pick, (part, _) in zip(picks, made, strict=True):
            numbered.append(f"SELECT {quoted(ROW)} + {before} AS {quoted(ROW)}, * EXCLUDE {quoted(ROW)} FROM ({pick})")
            before += int(store.one(f"SELECT count(*) FROM {part}")[0])
        store.run(f"CREATE TABLE {relation} AS {' UNION ALL '.join(numbered)}")
        for part, _ in made:
            store.run(f"DROP TABLE {part}")
        tables.append(Table(table, relation, files[0].name, files[0].kind, before))
    faults = {why: _places(numbers) for why, numbers in read.faults.items()}
    if tables:
        tables[0].faults |= faults
    elif faults:
        tables.append(Table(read.name, "", files[0].name, files[0].kind, 0, faults=faults))
    return tables


# --- databases ---------------------------------------------------------------------------------------------------------------


def _sqlite(store: Store, file: FoundFile, path: Path) -> list[Table]:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        return _database(store, file, connection)
    finally:
        connection.close()


def _dump(store: Store, file: FoundFile) -> list[Table]:
    """A dump of SQLite's dialect is run in a database in memory, where it may make and fill tables and nothing else."""
    if file.size > LARGEST_DUMP or file.gzipped:
        return [
            Table(
                _stem(file), "", file.name, "sql_dump", 0, faults={"a dump that was not looked into": "load it into a database"}
            )
        ]
    connection = sqlite3.connect(":memory:")
    try:
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in DUMPED else sqlite3.SQLITE_DENY)
        end = time.monotonic() + LONGEST_DUMP_S
        connection.set_progress_handler(lambda: int(time.monotonic() > end), 100_000)
        try:
            connection.executescript(file.path.read_text(encoding="utf-8", errors="replace"))
        except sqlite3.Error:
            why = {"not a plain dump of SQLite's dialect": "load it into its own database"}
            return [Table(_stem(file), "", file.name, "sql_dump", 0, faults=why)]
        connection.set_authorizer(None)
        return _database(store, file, connection)
    finally:
        connection.close()


def _database(store: Store, file: FoundFile, connection: sqlite3.Connection) -> list[Table]:
    connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace").replace("\x00", "")
    tables = []
    names = [
        row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    ]
    for name in sorted(names):
        columns = [row[1] for row in connection.execute("SELECT * FROM pragma_table_info(?)", (name,))]
        picked = ", ".join(quoted(column) for column in columns[:MOST_COLUMNS])
        rows = connection.execute(f"SELECT {picked} FROM {quoted(name)}")
        relation = store.new_name()
        count = store.append(relation, unique_names(columns), ([_cell(cell) for cell in row] for row in rows))
        tables.append(Table(name, relation, file.name, file.kind, count))
    if not tables:
        tables.append(Table(_stem(file), "", file.name, file.kind, 0, faults={"a database without tables": "0"}))
    return tables


def _cell(cell: object) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return "(bytes)" if isinstance(cell, bytes) else str(cell)
