"""The parts of one mail (MIME: RFC 2045 to 2047): its text, and what is attached."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from email.message import Message
from typing import Any

from ingest.source import RowFault
from ingest.sources import _mail_text as texts
from ingest.text import html_text

LIBRARY_FAULTS = (ValueError, LookupError, TypeError, AttributeError, AssertionError, OverflowError)
"""What `email` raises on headers that it does not foresee. Only its own calls are under them."""
HTML_START = re.compile(r"\s*(?:<!doctype html|<html|<head|<body)\b", re.IGNORECASE)
MOST_DEPTH = 50
TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9:]*)")
SELF_CLOSING = frozenset(
    (
        "p",
        "br",
        "hr",
        "img",
        "input",
        "meta",
        "link",
        "li",
        "td",
        "tr",
        "th",
        "tbody",
        "dt",
        "dd",
        "option",
        "col",
        "area",
        "base",
    )
)
MOST_OPEN = 5_000
"""Elements of HTML that may be open at once: the time that a parser takes grows with the square of it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How mails are read; from the source's options."""

    hosts: tuple[str, ...]
    zone: str
    time_from_date: bool
    fallback: str | None
    most_bytes: int
    most_text: int
    most_parts: int


@dataclass(slots=True)
class Piece:
    text: str
    html: bool


class Body:
    """Texts and attachments of a mail's parts, in their order."""

    def __init__(self, reading: Reading, findings: Counter[str]) -> None:
        self.reading, self.findings = reading, findings
        self.pieces: list[Piece] = []
        self.attachments: list[dict[str, Any]] = []

    @property
    def html(self) -> bool:
        return any(piece.html for piece in self.pieces)

    def text(self, *, quoted: bool = True) -> str:
        shown = [html_text(p.text, quoted=quoted) if p.html else p.text for p in self.pieces]
        return "\n\n".join(text.strip("\r\n") for text in shown if text.strip()).replace("\r\n", "\n")

    def take(self, part: Message, depth: int) -> None:
        if depth > MOST_DEPTH:
            raise RowFault("parts are nested too deep", found=f"more than {MOST_DEPTH}", allowed=f"{MOST_DEPTH} levels")
        for defect in part.defects:
            self.findings[f"defect_{type(defect).__name__.removesuffix('Defect')}"] += 1
        kind = _of_library(part.get_content_type, "text/plain")
        payload: Any = part.get_payload() if part.is_multipart() else None
        children = [child for child in payload or () if isinstance(child, Message)]
        if kind.startswith("message/") and children:
            self.findings["nested_mail"] += 1
            self.attach(part, kind, None)
        elif children and kind == "multipart/alternative":
            self.alternative(children, depth)
        elif children:
            for child in children:
                self.take(child, depth + 1)
        else:
            self.leaf(part, "text/plain" if kind.startswith("multipart/") else kind)

    def alternative(self, children: list[Message], depth: int) -> None:
        """Of several forms of one text: the first plain one that is not blank, else the first in HTML. All attachments."""
        told: list[list[Piece]] = []
        for child in children:
            inner = Body(self.reading, self.findings)
            inner.take(child, depth + 1)
            self.attachments += inner.attachments
            told.append(inner.pieces)
        plain = next((pieces for pieces in told if any(not p.html and p.text.strip() for p in pieces)), None)
        self.pieces += plain or next((pieces for pieces in told if any(p.text.strip() for p in pieces)), [])

    def leaf(self, part: Message, kind: str) -> None:
        data = self.bytes_of(part)
        name = _of_library(part.get_filename, None)
        disposition = _of_library(part.get_content_disposition, None)
        if kind not in ("text/plain", "text/html") or disposition == "attachment" or name:
            self.attach(part, kind, len(data))
            return
        charset = _of_library(part.get_content_charset, None)
        text, fell_back = texts.decoded(data, charset, self.reading.fallback)
        self.findings["charset_fallback"] += fell_back
        html = kind == "text/html"
        if not html and HTML_START.match(text):
            self.findings["html_as_plain"] += 1
            html = True
        if not html and str(_of_library(lambda: part.get_param("format"), "")).casefold() == "flowed":
            deleted = str(_of_library(lambda: part.get_param("delsp"), "")).casefold() == "yes"
            text = texts.unflowed(text, delete_space=deleted)
        if html and deepest(text) > MOST_OPEN:
            raise RowFault("HTML is nested too deep", field="body", found=f"more than {MOST_OPEN}", allowed=f"{MOST_OPEN} levels")
        self.pieces.append(Piece(text, html))

    def bytes_of(self, part: Message) -> bytes:
        """The part's bytes, its transfer encoding undone as far as it goes (a cut base64 gives what it holds)."""
        base64 = str(part.get("content-transfer-encoding", "")).strip().casefold() == "base64"
        if base64:
            del part["content-transfer-encoding"]  # the library gives a cut one up; it is undone here
        before = len(part.defects)
        data = _of_library(lambda: part.get_payload(decode=True), None)
        if base64 and isinstance(data, bytes):
            data, cut = texts.from_base64(data.decode("ascii", "replace"))
            self.findings["cut_base64"] += cut
        for defect in part.defects[before:]:
            self.findings[f"defect_{type(defect).__name__.removesuffix('Defect')}"] += 1
        if isinstance(data, bytes):
            return data
        raise RowFault("the transfer encoding cannot be undone", field="body", found="a damaged part")

    def attach(self, part: Message, kind: str, size: int | None) -> None:
        name = _of_library(part.get_filename, None) or ""
        shown = texts.words_decoded(texts.header_text(str(name), self.reading.fallback), self.reading.fallback)
        self.attachments.append({"name": shown[:255], "type": kind[:100], "size": size})


def deepest(html: str) -> int:
    """About how many elements are open at once at most; those that HTML closes by itself do not count."""
    depth = most = 0
    for match in TAG.finditer(html):
        if match[2].casefold() not in SELF_CLOSING:
            depth = max(0, depth - 1) if match[1] else depth + 1
            most = max(most, depth)
    return most


def _of_library(call: Any, otherwise: Any) -> Any:
    """What `email` tells of a part, or `otherwise` where its header is beyond it."""
    try:
        return call()
    except (*LIBRARY_FAULTS, RecursionError):
        return otherwise
