"""Typed decoding of one row with msgspec, and NDJSON files line by line: what does not fit names its place, never its text."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ingest.source import RowFault
from ingest.text import decode as decode_text
from ingest.values import shown_key
from schemas.errors import SourceError

T = TypeVar("T")
EXPECTED = re.compile(r"Expected `(.+?)`(?:, got `(.+?)`)?")
UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`", re.DOTALL)
MISSING = re.compile(r"Object missing required field `(.+?)`")
PLACE = re.compile(r" - at `(\$.*?)`$")


def strict_type(name: str, used: dict[str, Any], optional: dict[str, Any], unused: str = "") -> type[Any]:
    """A closed row type: `used` keys must be there, `optional` ones may; `unused` are documented keys that nobody reads."""
    fields: list[Any] = list(used.items())
    fields += [(key, kind, msgspec.field(default=None)) for key, kind in optional.items()]
    fields += [
        (key, Any, msgspec.field(default=msgspec.UNSET)) for key in unused.split() if key not in used and key not in optional
    ]
    return msgspec.defstruct(name, fields, forbid_unknown_fields=True, frozen=True, kw_only=True)


def typed(decoder: Callable[[str], T], text: str) -> T:
    """Decodes one row or raises the RowFault that says where and what, without repeating a value."""
    try:
        found = decoder(text)
        json.loads(text, object_pairs_hook=_once)  # msgspec takes the last of two equal keys; nobody can say which one was meant
    except msgspec.ValidationError as error:
        raise fault_of(error) from error
    except RecursionError as error:
        raise RowFault("nested too deep", found="a deeply nested JSON text") from error
    except msgspec.DecodeError as error:
        cut = "truncated" in str(error)
        raise RowFault("the row is cut off" if cut else "not JSON", found="an unfinished JSON text" if cut else "") from error
    return found


def _once(pairs: list[tuple[str, Any]]) -> None:
    """RowFault for an object that tells a key twice."""
    if len({key for key, _ in pairs}) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RowFault("a key stands twice in one object", found=shown_key(next(key for key in keys if keys.count(key) > 1)))


def converted(entry: dict[str, Any], kind: type[Any]) -> Any:
    """A nested object as its closed type, or the RowFault that says where and what."""
    try:
        return msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        raise fault_of(error) from error


def fault_of(error: msgspec.ValidationError) -> RowFault:
    text = str(error)
    place = match[1] if (match := PLACE.search(text)) else "$"
    if match := UNKNOWN.search(text):
        return RowFault("unknown key", field=place, found=shown_key(match[1]))
    if match := MISSING.search(text):
        return RowFault("a key is missing", field=place, allowed=match[1])
    if match := EXPECTED.search(text):
        return RowFault("wrong type", field=place, found=match[2] or "", allowed=match[1])
    return RowFault("not an allowed value", field=place)


def lines(path: Path, file: str) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, bytes without the line end and the file's byte-order mark) of each line that is not blank."""
    try:
        with path.open("rb") as handle:
            for number, raw in enumerate(handle, 1):
                line = raw.removeprefix(BOM_UTF8) if number == 1 else raw
                if line.strip():
                    yield number, line.rstrip(b"\r\n")
    except OSError as error:
        raise SourceError(file, "", f"cannot be read ({error.strerror})") from error


def line_text(raw: bytes, fallback: str | None) -> tuple[str, bool]:
    """The text of a line, and whether the declared fallback charset had to be taken; RowFault where neither charset fits."""
    try:
        return decode_text(raw, fallback)
    except UnicodeDecodeError as error:
        allowed = "UTF-8" + (f" or {fallback}" if fallback else "")
        raise RowFault("bytes are no text", found=f"byte {error.start} of the line", allowed=allowed) from error
