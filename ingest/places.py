"""From a place that events carry back to the export: what stands there, identifiable, for the supplier's eyes only."""

from __future__ import annotations

import json
import sqlite3
import tarfile
from pathlib import Path

from schemas.errors import SourceError
from schemas.files import canonical_json


def raw_at(export: Path, source_file: str, source_pos: str) -> str:
    """The line, table row (as JSON), stretch of bytes or archive member's part at a place. SourceError where there is none.

    Places: "line:17[#events/2]" · "row:orders_history:881" · "member:dialogues/101.json[#events/3]" · "bytes:2048-4096" (from the
    first byte up to the second, which is not in it). A part after # is a path of keys into the JSON that stands there. Rows are
    looked up in SQLite files by the first column; rows without a number cannot be.
    """
    path = export / source_file
    if not path.is_file():
        raise SourceError(source_file, source_pos, "the export has no such file")
    whole, _, inside = source_pos.partition("#")
    kind, _, rest = whole.partition(":")
    if kind == "line":
        text = _line(path, int(rest))
    elif kind == "member":
        text = _member(path, rest)
    elif kind == "row":
        table, _, key = rest.partition(":")
        text = _row(path, table, key)
    elif kind == "bytes":
        text = _stretch(path, rest)
    else:
        text = None
    if text is None:
        raise SourceError(source_file, source_pos, "the export has no such place")
    if not inside:
        return text
    value = json.loads(text)
    try:
        for part in inside.split("/"):
            value = value[int(part) if isinstance(value, list) else part]
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise SourceError(source_file, source_pos, "the row has no such part") from error
    return canonical_json(value)


def _line(path: Path, wanted: int) -> str | None:
    with path.open("rb") as handle:
        for number, raw in enumerate(handle, 1):
            if number == wanted:
                return raw.rstrip(b"\r\n").decode("utf-8", errors="replace")
    return None


def _stretch(path: Path, rest: str) -> str | None:
    start, _, end = rest.partition("-")
    if not (start.isdecimal() and end.isdecimal() and int(start) < int(end) <= path.stat().st_size):
        return None
    with path.open("rb") as handle:
        handle.seek(int(start))
        return handle.read(int(end) - int(start)).decode("utf-8", errors="replace")


def _member(path: Path, name: str) -> str | None:
    with tarfile.open(path) as tar:
        try:
            handle = tar.extractfile(name)
        except KeyError:
            return None
        return handle.read().decode("utf-8", errors="replace") if handle else None


def _row(path: Path, table: str, key: str) -> str | None:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        columns = [row[1] for row in connection.execute("SELECT * FROM pragma_table_info(?)", (table,))]
        if not columns:
            return None
        quoted = table.replace('"', '""')
        first = columns[0].replace('"', '""')
        row = connection.execute(f'SELECT * FROM "{quoted}" WHERE CAST("{first}" AS TEXT) = ?', (key,)).fetchone()
    finally:
        connection.close()
    return None if row is None else canonical_json(dict(zip(columns, row, strict=True)))
