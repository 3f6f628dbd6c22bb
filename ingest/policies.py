"""Policy documents: Markdown with front matter, split into numbered clauses with the instants between which each is in force."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from ingest.times import day_start, shape_of
from schemas.errors import SourceError
from schemas.spec import PoliciesSpec

KEYS = ("document", "version", "title", "published", "in_force_from", "in_force_to")
CLAUSE = re.compile(r"(\d+(?:\.\d+)+)\.?\s+(\S.*)")


@dataclass(frozen=True, slots=True)
class Front:
    """The front matter of one version of a document."""

    document: str
    version: int
    title: str
    published: datetime
    in_force_from: datetime
    in_force_to: datetime | None


def policy_files(spec: PoliciesSpec, export: Path) -> list[Path]:
    """The files of the glob, sorted; SourceError where there is none."""
    found = sorted(path for path in export.glob(spec.path) if path.is_file())
    if not found:
        raise SourceError(str(export), "", "no policy documents", allowed=spec.path)
    return found


def read_policies(spec: PoliciesSpec, export: Path) -> list[dict[str, Any]]:
    """Rows of policies.parquet, sorted. SourceError with file and line: a rule that cannot be read must not be left out."""
    rows: list[dict[str, Any]] = []
    fronts: dict[tuple[str, int], tuple[Front, str]] = {}
    for path in policy_files(spec, export):
        file = path.relative_to(export).as_posix()
        try:
            lines = path.read_bytes().decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise SourceError(file, "", "not UTF-8", found=f"byte {error.start}") from error
        front, start = read_front(lines, file, spec.zone)
        key = (front.document, front.version)
        if key in fronts:
            raise SourceError(
                file, "1", f"{front.document} version {front.version} is already in {fronts[key][1]}", field="version"
            )
        fronts[key] = (front, file)
        rows.extend(read_clauses(lines, start, front, file))
    check_intervals(fronts)
    return sorted(rows, key=lambda row: (row["document"], row["version"], [int(n) for n in row["clause"].split(".")]))


def read_front(lines: list[str], file: str, zone: str) -> tuple[Front, int]:
    """The front matter and the index of the first line after it."""
    if not lines or lines[0].strip() != "---":
        raise SourceError(file, "1", "no front matter", allowed="a first line of ---")
    end = next((i for i, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    if end is None:
        raise SourceError(file, "1", "the front matter does not end", allowed="a closing line of ---")
    given: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines[1:end], 2):
        if not line.strip():
            continue
        key, colon, value = line.partition(":")
        key = key.strip()
        if not colon or key not in KEYS or key in given:
            reason = "repeated key" if key in given else "unknown line in the front matter"
            raise SourceError(file, str(number), reason, allowed=", ".join(KEYS))
        given[key] = (value.strip().strip("\"'"), number)
    if missing := [key for key in KEYS if key != "in_force_to" and not given.get(key, ("", 0))[0]]:
        raise SourceError(file, "1", "the front matter lacks a value", field=", ".join(missing))

    def day(key: str) -> datetime | None:
        text, number = given.get(key, ("", 0))
        if not text:
            return None
        try:
            if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
                raise ValueError(text)
            return day_start(date.fromisoformat(text), zone)
        except ValueError as error:
            raise SourceError(file, str(number), "not a day", field=key, found=shape_of(text), allowed="YYYY-MM-DD") from error

    version, number = given["version"]
    if not version.isdecimal():
        raise SourceError(file, str(number), "not a whole number", field="version", found=shape_of(version))
    published, start, stop = day("published"), day("in_force_from"), day("in_force_to")
    assert published is not None  # checked above: neither may be empty
    assert start is not None
    if stop is not None and stop <= start:
        raise SourceError(file, str(given["in_force_to"][1]), "ends before it begins", field="in_force_to")
    return Front(given["document"][0], int(version), given["title"][0], published, start, stop), end + 1


def read_clauses(lines: list[str], start: int, front: Front, file: str) -> list[dict[str, Any]]:
    """One row a numbered clause; a clause goes on until the next number, heading or end; its heading is not part of it."""
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    open_clause = False
    for number, line in enumerate(lines[start:], start + 1):
        text = line.strip()
        if not text or text.startswith("#"):
            open_clause = open_clause and not text.startswith("#")
            continue
        if match := CLAUSE.fullmatch(text):
            if match[1] in seen:
                raise SourceError(file, str(number), "clause number is used twice", found=match[1])
            seen.add(match[1])
            rows.append(_row(front, match[1], match[2], file, number))
            open_clause = True
        elif open_clause:
            rows[-1]["text"] += " " + text
    if not rows:
        raise SourceError(file, "", "no numbered clause", allowed='lines such as "1.1 text"')
    return rows


def _row(front: Front, clause: str, text: str, file: str, number: int) -> dict[str, Any]:
    return {
        "document": front.document,
        "version": front.version,
        "title": front.title,
        "clause": clause,
        "text": text,
        "published_ts": front.published,
        "in_force_from": front.in_force_from,
        "in_force_to": front.in_force_to,
        "source_file": file,
        "source_pos": f"line:{number}",
    }


def check_intervals(fronts: dict[tuple[str, int], tuple[Front, str]]) -> None:
    """Two versions of one document may not be in force at once: nobody could say which rule held."""
    by_document: dict[str, list[tuple[Front, str]]] = {}
    for front, file in fronts.values():
        by_document.setdefault(front.document, []).append((front, file))
    for versions in by_document.values():
        versions.sort(key=lambda pair: (pair[0].in_force_from, pair[0].version))
        for (earlier, _), (later, file) in pairwise(versions):
            if earlier.in_force_to is None or earlier.in_force_to > later.in_force_from:
                raise SourceError(
                    file, "", f"in force while version {earlier.version} of {earlier.document} still is", field="in_force_from"
                )


def gaps(rows: list[dict[str, Any]]) -> int:
    """How many times a document is in force in no version between two that are (a finding, not an error)."""
    spans = sorted({(r["document"], r["in_force_from"], r["in_force_to"]) for r in rows}, key=lambda s: (s[0], s[1]))
    return sum(1 for left, right in pairwise(spans) if left[0] == right[0] and left[2] is not None and left[2] < right[1])
