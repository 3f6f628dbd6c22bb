"""Which files an export folder holds and what each is, by its first bytes; a name decides only where content cannot."""

from __future__ import annotations

import gzip
import json
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ingest.draft.model import FoundFile, Kind

HEAD = 1 << 16
"""Bytes looked at."""
MOST_FILES = 20_000
MAIL_HEADER = re.compile(rb"(?im)^(?:received|message-id|from|date|subject|to|return-path|delivered-to):")
ZENDESK_PAGES = ("ticket_audits", "tickets", "users", "organizations", "ticket_metrics", "satisfaction_ratings")


def found_files(export: Path) -> list[FoundFile]:
    """Every file of the folder, sorted by name; links are named and not followed. At most MOST_FILES."""
    files = []
    for path in _walk(export):
        files.append(look_at(path, path.relative_to(export).as_posix()))
        if len(files) == MOST_FILES:
            break
    return files


def _walk(folder: Path) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        yield folder
        return
    for path in entries:
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        elif path.name not in (".lock", ".DS_Store"):
            yield path


def look_at(path: Path, name: str) -> FoundFile:
    """What one file is."""
    try:
        mode = path.lstat()
        if stat.S_ISLNK(mode.st_mode):
            return FoundFile(path, name, "link", 0, "a symbolic link: not followed")
        if not stat.S_ISREG(mode.st_mode):
            return FoundFile(path, name, "unreadable", 0, "no ordinary file")
        if mode.st_size == 0:
            return FoundFile(path, name, "empty", 0, "0 bytes")
        with path.open("rb") as handle:
            raw = handle.read(HEAD)
    except OSError as error:
        return FoundFile(path, name, "unreadable", 0, str(error.strerror))
    gzipped = raw[:2] == b"\x1f\x8b"
    head = raw
    if gzipped:
        try:
            with gzip.open(path) as handle:
                head = handle.read(HEAD)
        except (OSError, EOFError, zlib.error):
            return FoundFile(path, name, "unknown", mode.st_size, "a gzip file that is damaged")
    kind, note, extra = kind_of(head, path, whole=len(head) < HEAD)
    return FoundFile(path, name, kind, mode.st_size, note, gzipped, extra)


def kind_of(head: bytes, path: Path, *, whole: bool) -> tuple[Kind, str, dict[str, Any]]:
    """(kind, what tells it or is odd, what reading needs) of a file's first bytes."""
    if head.startswith(b"SQLite format 3\x00"):
        return "sqlite", "an SQLite database", {}
    if head[:4] == b"PAR1":
        return "parquet", "Parquet", {}
    if head[257:262] == b"ustar":
        return "archive", "a tar archive", {}
    if head[:4] == b"PK\x03\x04":
        return _zip(path)
    charset = charset_of(head, whole=whole)
    if charset is None:
        return "unknown", "binary: bytes that are no text", {}
    text = head.decode(charset, errors="replace").lstrip("\ufeff")
    if not text.strip():
        return "empty", "nothing but blanks", {}
    if re.match(r"From \S+.*\d{4}\r?\n", text) and MAIL_HEADER.search(head):
        return "mbox", "mails one after another (From lines)", {}
    if text.lstrip()[0] in "{[":
        return _json(text, path, whole=whole)
    if len(MAIL_HEADER.findall(head[:4096])) >= 3 and re.match(r"[A-Za-z-]+:", text):
        return "eml", "one mail (headers)", {}
    if re.search(r"(?im)^\s*(?:create\s+table|insert\s+into)\b", text):
        return "sql_dump", "SQL statements", {}
    if text.startswith("---") and re.search(r"(?m)^in_force_from:", text):
        return "policy", "a policy with a front matter", {}
    delimiter = delimiter_of(text, path.suffix.lower())
    if delimiter is not None:
        odd = "" if charset in ("utf-8", "utf-16") else f"not UTF-8; read as {charset}"
        return "csv", odd, {"delimiter": delimiter, "charset": charset}
    return "text", "text without a form that is known", {}


def charset_of(head: bytes, *, whole: bool) -> str | None:
    """utf-8, utf-16 or cp1252; None where the bytes are no text."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if b"\x00" in head:
        return None
    controls = sum(byte < 9 or 13 < byte < 32 for byte in head)
    if controls > len(head) * 0.01:
        return None
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if not whole and error.start > len(head) - 4:
            return "utf-8"
        bad = sum(byte > 127 for byte in head)
        return "cp1252" if bad < len(head) * 0.3 else None
    return "utf-8"


def delimiter_of(text: str, suffix: str) -> str | None:
    """The character that parts most lines into equally many cells; "," for a .csv of one column; None for prose."""
    lines = [line for line in text.splitlines()[:200] if line.strip()]
    if len(lines) > 2:
        lines = lines[:-1]  # the last may be cut
    best, score = None, 0.0
    for mark in (",", ";", "\t", "|"):
        counts = [re.sub(r'"[^"]*"', "", line).count(mark) for line in lines]
        usual = counts[0]
        if usual == 0:
            continue
        agree = sum(count == usual for count in counts) / len(counts)
        if agree >= 0.6 and agree * usual > score:
            best, score = mark, agree * usual
    if best is not None and (len(lines) > 1 or suffix in (".csv", ".tsv")):
        return best
    return "," if suffix in (".csv", ".tsv") else None


def _json(text: str, path: Path, *, whole: bool) -> tuple[Kind, str, dict[str, Any]]:
    first = text.lstrip().splitlines()[0]
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        row = None
    single = whole and len(text.split("\n", 1)[0].strip()) == len(text.strip())
    if isinstance(row, dict):
        page = re.sub(r"[-_.]?\d*$", "", path.name.split(".")[0])
        if page in ZENDESK_PAGES and {"id", "created_at"} <= row.keys():
            return "zendesk", f"a page of Zendesk's {page}", {"page": page}
        if {"ticket_id", "events", "author_id"} <= row.keys():
            return "zendesk", "a page of Zendesk's ticket_audits, under another name", {"page": "ticket_audits"}
        if not single or path.suffix in (".ndjson", ".jsonl"):
            return "ndjson", "one JSON object a line", {}
    if re.search(r'"supplier"\s*:', text[:2000]) and re.search(r'"known_at"\s*:', text):
        return "code_book", "a code book", {}
    if row is None and first.strip() not in ("{", "[") and not whole and "\n" not in text:
        return "json", "one very long line", {}
    return "json", "one JSON text", {}


def _zip(path: Path) -> tuple[Kind, str, dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return "unknown", "a zip archive that is damaged", {}
    if "xl/workbook.xml" in names:
        sheets = sum(name.startswith("xl/worksheets/sheet") for name in names)
        return "xlsx", f"a workbook of {sheets} sheets", {}
    return "archive", f"a zip archive of {len(names)} files", {}
