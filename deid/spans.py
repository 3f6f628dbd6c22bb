"""What a detector finds, and which of two overlapping finds wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

EXACT, GUESS = 0, 1


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of a text."""

    start: int
    end: int
    kind: str
    """Detector kind ("email", "person", "date", ...) or "vocabulary" for words that stay."""
    value: str = ""
    """What identifies the find: a normalised value, or a replacement already made (see deid.text)."""
    rank: int = 0
    """How specific the kind is; more wins among spans of one length."""
    tier: int = EXACT
    """EXACT (structure or a known identity) always beats GUESS (a model or a cue)."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a detector may know of the supplier."""

    id_patterns: Mapping[str, str] = field(default_factory=dict)
    date_formats: tuple[str, ...] = ()
    regions: tuple[str, ...] = ("US", "GB", "DE")
    """ISO regions that a national phone number is tried in."""
    years: tuple[int, int] = (2000, 2039)
    """Years (first, last) that two figures, or a count of seconds, may mean."""
    known_ids: frozenset[str] = frozenset()
    """Letters and figures of the supplier's own ids, folded ("a104327")."""
    common: frozenset[str] = frozenset()
    """Folded words that the supplier's texts use as ordinary words."""
    vocabulary: frozenset[str] = frozenset()
    """Folded phrases of the supplier's own vocabulary: never people."""
    first_names: frozenset[str] = frozenset()
    """Folded first names that stand in the supplier's own name fields."""
    last_names: frozenset[str] = frozenset()
    """Folded last names, likewise."""


@dataclass(frozen=True, slots=True)
class Detector:
    """A plug-in file of deid/detectors. `find` takes many texts at once (a model needs batches) and returns one list a text."""

    name: str
    kind: str
    rank: int
    find: Callable[[Sequence[str], Context], list[list[Span]]]
    tier: int = EXACT
    whole: bool = False
    """A guess that needs the whole text (where a line stands in a letter); other guesses are asked line by line, each
    line once."""
    gate: Callable[[str], object] = bool
    """Cheap test: a false answer means that the text cannot hold a find."""


def each(find: Callable[[str, Context], list[Span]]) -> Callable[[Sequence[str], Context], list[list[Span]]]:
    """Turns a detector of one text into one of many."""

    def many(texts: Sequence[str], context: Context) -> list[list[Span]]:
        return [find(text, context) for text in texts]

    return many


def resolve(spans: Sequence[Span]) -> list[Span]:
    """Non-overlapping spans in text order: exact before guessed, then the longest, then the most specific, then the first.

    What a losing guess covers beyond the winners is not lost: it comes back cut to the free characters.
    """
    taken: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.tier, s.start - s.end, -s.rank, s.start, s.kind, s.value)):
        if span.end <= span.start:
            continue
        clash = [t for t in taken if t.start < span.end and span.start < t.end]
        if not clash:
            taken.append(span)
        elif span.tier == GUESS:
            taken.extend(_free_parts(span, clash))
    return sorted(taken, key=lambda s: s.start)


def _free_parts(span: Span, clash: list[Span]) -> list[Span]:
    parts, at = [], span.start
    for other in sorted(clash, key=lambda s: s.start):
        if other.start > at:
            parts.append(Span(at, other.start, span.kind, "", span.rank, GUESS))
        at = max(at, other.end)
    if at < span.end:
        parts.append(Span(at, span.end, span.kind, "", span.rank, GUESS))
    return parts
