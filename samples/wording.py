"""Text with marked mentions: templates with alternatives, marks that keep offsets true, and how people spoil a text.

A template holds alternatives in square brackets, `[a|b|c]`, nested at will, and slots in braces. A mention is marked when it is
put in (`mark`), carried through every spoiling, and read out at the end (`flatten`) as offsets into the plain text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

OPEN, SPLIT, MID, END = "\ue000", "\x1f", "\ue001", "\ue002"
WORD = "-"
"""Identity of a marked run that is no mention but must not be misspelt (a product's name)."""
_INNERMOST = re.compile(r"\[([^\[\]]*)\]")
_MARKED = re.compile(f"{OPEN}([^{MID}]*){MID}([^{END}]*){END}")
_UNDEFINED = frozenset({0x81, 0x8D, 0x8F, 0x90, 0x9D})
REDACTED = "▇" * 8


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text: a mention of `identity` in some `form`, or (identity "") ordinary words."""

    text: str
    identity: str = ""
    form: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A mention in a plain text: [start, end) in characters."""

    start: int
    end: int
    text: str
    identity: str
    form: str


def expand(rng: Random, template: str) -> str:
    """Chooses one of each group of alternatives."""
    while "[" in template:
        template = _INNERMOST.sub(lambda match: rng.choice(match.group(1).split("|")), template)
    return template


def fill(rng: Random, template: str, values: Mapping[str, str]) -> str:
    """Chooses alternatives, then fills the slots."""
    return expand(rng, template).format_map(values)


def mark(identity: str, form: str, text: str) -> str:
    """Marks `text` as a mention."""
    return f"{OPEN}{identity}{SPLIT}{form}{MID}{text}{END}"


def capital(text: str) -> str:
    """The sentence with a capital first letter (a mention in front stays as it is)."""
    return text[:1].upper() + text[1:]


def pieces(marked: str) -> list[Piece]:
    """Splits a marked text into mentions and ordinary words."""
    found, at = [], 0
    for match in _MARKED.finditer(marked):
        if match.start() > at:
            found.append(Piece(marked[at : match.start()]))
        identity, form = match.group(1).split(SPLIT)
        found.append(Piece(match.group(2), identity, form))
        at = match.end()
    if at < len(marked):
        found.append(Piece(marked[at:]))
    return found


def flatten(parts: list[Piece]) -> tuple[str, list[Span]]:
    """The plain text and where the mentions stand in it."""
    text, spans, at = [], [], 0
    for part in parts:
        if part.identity and part.identity != WORD:
            spans.append(Span(at, at + len(part.text), part.text, part.identity, part.form))
        text.append(part.text)
        at += len(part.text)
    return "".join(text), spans


def plain(marked: str) -> str:
    """The text without its marks."""
    return _MARKED.sub(lambda match: match.group(2), marked)


def typos(rng: Random, parts: list[Piece], rate: float) -> list[Piece]:
    """Swaps or drops letters inside about `rate` of the ordinary words; mentions stay as they are."""

    def spoil(word: re.Match[str]) -> str:
        letters = word.group(0)
        if rng.random() >= rate:
            return letters
        at = rng.randrange(1, len(letters) - 1)
        if rng.random() < 0.5:
            return letters[:at] + letters[at + 1] + letters[at] + letters[at + 2 :]
        return letters[:at] + letters[at + 1 :]

    return [part if part.identity else Piece(re.sub(r"\b[a-z]{5,}\b", spoil, part.text)) for part in parts]


def lower(parts: list[Piece]) -> list[Piece]:
    """A person who never uses capitals: names too, but not the codes."""
    return [
        Piece(part.text.lower(), part.identity, "lower" if part.identity else "")
        if not part.identity or (part.identity.startswith("person:") and part.form in ("full", "first", "nickname"))
        else part
        for part in parts
    ]


def mojibake(parts: list[Piece]) -> list[Piece]:
    """UTF-8 read as Windows-1252, as a wrongly configured mail gateway does (bytes that it lacks are read as Latin-1)."""

    def misread(text: str) -> str:
        return "".join(bytes([b]).decode("latin-1" if b in _UNDEFINED else "cp1252") for b in text.encode("utf-8"))

    return [Piece(misread(part.text), part.identity, part.form) for part in parts]


def redact(parts: list[Piece], identity: str) -> list[Piece]:
    """Blanks the mentions of `identity`, as the helpdesk's redaction does."""
    return [Piece(REDACTED) if part.identity == identity else part for part in parts]


def html(text: str) -> str:
    """The helpdesk's rich form of a plain text."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    paragraphs = "".join(f"<p>{block.replace(chr(10), '<br>')}</p>" for block in escaped.split("\n\n"))
    return f'<div class="zd-comment" dir="auto">{paragraphs}</div>'
