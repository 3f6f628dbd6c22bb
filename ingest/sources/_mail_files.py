"""Where mails lie in an export: mbox files cut into mails, maildirs, and files of one mail each. Bytes only, nothing is parsed.

An mbox (RFC 4155 and its older forms) has no sure sign of where a mail begins: lines of a body may start with "From ", too. A
separator here is the first line, or a line after an empty one, that reads "From <sender> <date of asctime's form>" *and* is
followed by a header line; a `Content-Length` (mboxcl, mboxcl2) counts where it ends exactly at the end or at a line "From ".
A whole mail that stands unescaped inside a body, its own separator line included, cannot be told from one that follows.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

from schemas.errors import SourceError

Form = Literal["mbox", "maildir", "mails"]
FROM_LINE = re.compile(
    rb"From [^\r\n]{0,400}?\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:[A-Z][a-z]{2} +\d{1,2}|\d{1,2} +[A-Z][a-z]{2})[ ,]"
    rb"[^\r\n]{0,60}?\b\d{4}\b[^\r\n]{0,60}\r?\n",
)
"""A separator: a sender that may be missing or odd, a weekday, a day of a month and a year of four digits."""
CANDIDATE = re.compile(rb"(?:\n\n|\n\r\n)(?=From )")
HEADER_LINE = re.compile(rb"(?:>?From [^\r\n]*\r?\n)*[!-9;-~]{1,100}[ \t]*:")
LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
BLANK = re.compile(rb"\r?\n\r?\n")
HEAD = 65_536
"""Bytes of a file, or of a mail, in which its header is looked for."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one mail stands: bytes [start, end) of a file."""

    path: Path
    start: int
    end: int
    number: int
    """Of the mail in its file, from 1."""
    form: Form
    alone: bool
    """Whether the file holds this mail only."""

    @property
    def pos(self) -> str:
        return f"bytes:{self.start}-{self.end}"


@dataclass(frozen=True, slots=True)
class Found:
    """The files of an export's folder that are to be read, and what was passed over."""

    files: list[tuple[Path, Form]]
    passed: dict[str, int]
    """Why a file is not read -> how many: "ignored" (a pattern of the spec), "empty", "tmp" (of a maildir: not delivered),
    "symlink"."""


def found_files(root: Path, form: Form | Literal["auto"], ignore: tuple[str, ...], skip: frozenset[Path]) -> Found:
    """Every file below `root` in the order of its name. SourceError for a name that is no text."""
    files: list[tuple[Path, Form]] = []
    passed: dict[str, int] = {}
    for folder, below, names in os.walk(root):
        below.sort()
        for name in sorted(names):
            path = Path(folder) / name
            try:
                str(path).encode("utf-8")
            except UnicodeEncodeError as error:
                raise SourceError(str(root), "", "the name of a file is not UTF-8", allowed="names in UTF-8") from error
            why = _passed_over(path, root, form, ignore)
            if why is None and path not in skip:
                files.append((path, _form(path) if form == "auto" else form))
            elif why is not None:
                passed[why] = passed.get(why, 0) + 1
    return Found(sorted(files, key=lambda entry: entry[0].relative_to(root).as_posix()), passed)


def _passed_over(path: Path, root: Path, form: str, ignore: tuple[str, ...]) -> str | None:
    if path.is_symlink() or not path.is_file():
        return "symlink"
    if any(fnmatch(path.name, pattern) or fnmatch(path.relative_to(root).as_posix(), pattern) for pattern in ignore):
        return "ignored"
    if path.stat().st_size == 0:
        return "empty"
    if _in_maildir(path):
        return "tmp" if path.parent.name == "tmp" else None
    return "outside_maildir" if form == "maildir" else None


def _in_maildir(path: Path) -> bool:
    above = path.parent
    return above.name in {"cur", "new", "tmp"} and (above.parent / "cur").is_dir() and (above.parent / "new").is_dir()


def _form(path: Path) -> Form:
    """What a file is by its place and first line: a mail of a maildir, an mbox (it begins with a separator), else one mail."""
    if _in_maildir(path):
        return "maildir"
    with path.open("rb") as handle:
        head = handle.read(HEAD)
    first = FROM_LINE.match(head)
    return "mbox" if first and HEADER_LINE.match(head, first.end()) else "mails"


def places(path: Path, form: Form) -> Iterator[Place]:
    """The mails of a file, in their order. Of an mbox that does not begin with a separator, what stands before the first is a
    mail too (and is judged as one)."""
    size = path.stat().st_size
    if form != "mbox" or size == 0:
        yield Place(path, 0, size, 1, form, True)
        return
    with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
        starts = [0]
        while (after := _next_start(data, starts[-1], size)) is not None:
            starts.append(after)
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], size], strict=True), 1):
        yield Place(path, start, end, number, form, len(starts) == 1)


def _next_start(data: mmap.mmap, start: int, size: int) -> int | None:
    """The byte at which the mail after the one at `start` begins; None: it is the last."""
    search = start
    head = data[start : min(size, start + HEAD)]
    end_of_head = BLANK.search(head)
    if end_of_head is not None:
        told = LENGTH.search(head, 0, end_of_head.end())
        search = start + end_of_head.start()
        if told is not None:
            end = start + end_of_head.end() + int(told[1])
            behind = data[end : min(size, end + 7)] if end <= size else b"?"
            rest = behind.lstrip(b"\r\n")
            if not rest or rest.startswith(b"From "):
                return end + len(behind) - len(rest) if rest else None
    for candidate in CANDIDATE.finditer(data, search):
        line = FROM_LINE.match(data, candidate.end())
        if line is not None and HEADER_LINE.match(data, line.end()):
            return candidate.end()
    return None


def content(raw: bytes, form: Form) -> bytes:
    """A mail's own bytes: without the separator line, and in an mbox without the ">" before "From " that the quoting of mboxrd
    set (one of several, so that mails which quote it twice come back whole)."""
    mail = raw
    while mail.startswith((b"From ", b">From ")) and b"\n" in mail:
        mail = mail.partition(b"\n")[2]
    return QUOTED_FROM.sub(rb"\1", mail) if form == "mbox" else mail
