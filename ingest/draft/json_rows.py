"""JSON objects as tables: plain values are columns, an object's parts <key>_<part>, a list of objects a table of its own."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

LONGEST_LINE = 16 << 20
"""Bytes; a longer line is counted and passed over."""
LARGEST_TEXT = 128 << 20
"""Bytes of a JSON text that is one value: more would have to be held in memory at once."""
MOST_KEYS = 300


class Tables:
    """Rows of objects, table by table; a list of objects becomes the table <name>.<key>, with its parent's plain values."""

    def __init__(self, name: str, inner: frozenset[str] | None = None) -> None:
        self.name = name
        self.inner = inner
        """The only lists that become tables; None: all."""
        self.columns: dict[str, dict[str, int]] = {}
        self.rows: dict[str, list[dict[str, str]]] = {}
        self.faults: dict[str, list[int]] = {}

    def add(self, found: Any, number: int) -> None:
        """One object, or a fault at row `number`."""
        if not isinstance(found, dict):
            self.fault("no JSON object", number)
            return
        self._add(self.name, found, {}, 0)

    def _add(self, table: str, found: dict[str, Any], above: dict[str, str], depth: int) -> None:
        row, inner = dict(above), {}
        for key, value in found.items():
            if isinstance(value, list) and value and all(isinstance(one, dict) for one in value) and depth == 0:
                if self.inner is None or key in self.inner:
                    inner[key] = value
            elif isinstance(value, dict) and depth == 0:
                for part, held in value.items():
                    if not isinstance(held, dict | list):
                        _put(row, f"{key}_{part}", held)
            else:
                _put(row, key, value)
        seen = self.columns.setdefault(table, {})
        for key in row:
            if key not in seen and len(seen) < MOST_KEYS:
                seen[key] = len(seen)
        self.rows.setdefault(table, []).append({key: value for key, value in row.items() if key in seen})
        outer = {f"parent_{key}": value for key, value in row.items() if _carried(key, value)} if inner else {}
        for key, held in inner.items():
            for entry in held:
                self._add(f"{table}.{key}", entry, outer, depth + 1)

    def fault(self, what: str, number: int) -> None:
        self.faults.setdefault(what, []).append(number)


def _carried(key: str, value: str) -> bool:
    """Whether a row of an inner list keeps its parent's value: ids, times and short plain values."""
    return len(value) <= 64 and not re.search(r"url|subject|description|name", key)


def _put(row: dict[str, str], key: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, str):
        row[key] = value.replace("\x00", "")
    elif isinstance(value, bool):
        row[key] = "true" if value else "false"
    elif isinstance(value, int | float):
        row[key] = str(value)
    else:
        row[key] = json.dumps(value, ensure_ascii=False)


def read_lines(path: Path, *, gzipped: bool, tables: Tables) -> Iterator[int]:
    """Reads one object a line into `tables`; yields after each line the bytes read, so that a caller can write and empty them."""
    import msgspec

    decode = msgspec.json.Decoder().decode
    with opened(path, gzipped=gzipped) as handle:
        number = 0
        while raw := handle.readline(LONGEST_LINE):
            number += 1
            size = len(raw)
            if size == LONGEST_LINE and not raw.endswith(b"\n"):
                while (more := handle.readline(LONGEST_LINE)) and not more.endswith(b"\n"):
                    size += len(more)
                tables.fault(f"a line is longer than {LONGEST_LINE >> 20} MiB", number)
            elif raw.strip():
                try:
                    tables.add(decode(_text(raw, number, tables)), number)
                except (msgspec.DecodeError, RecursionError):
                    tables.fault("not JSON", number)
            yield size


def _text(raw: bytes, number: int, tables: Tables) -> str:
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        tables.fault("bytes that are not UTF-8 (read as cp1252)", number)
        return raw.decode("cp1252", errors="replace")


def read_whole(path: Path, *, gzipped: bool, tables: Tables) -> None:
    """A JSON text: a list of objects, an object that holds one, or one object."""
    import msgspec

    with opened(path, gzipped=gzipped) as handle:
        raw = handle.read(LARGEST_TEXT + 1)
    if len(raw) > LARGEST_TEXT:
        tables.fault(f"larger than {LARGEST_TEXT >> 20} MiB: write one object a line", 1)
        return
    try:
        found = msgspec.json.decode(_text(raw, 1, tables))
    except (msgspec.DecodeError, RecursionError):
        tables.fault("not JSON", 1)
        return
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
        found = lists[0] if len(lists) == 1 else [found]
    for number, entry in enumerate(found if isinstance(found, list) else [found], 1):
        tables.add(entry, number)


def opened(path: Path, *, gzipped: bool) -> IO[bytes]:
    """The bytes of a file, decompressed."""
    return gzip.open(path) if gzipped else path.open("rb")  # type: ignore[return-value]
