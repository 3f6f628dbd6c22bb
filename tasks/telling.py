"""One turn of a requester, taken apart: which words tell which slot, so that each can be asked for by itself.

A turn is cut at its sentences, and between two values of one sentence at the last comma, "and" or preposition: "I want to go from
the University | to the hospital". Words that tell no slot go with the words after them. What cannot be cut stays together.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\bNo\.)(?<!\bno\.)(?<!\ba\.m\.)(?<!\bp\.m\.)\s+|\n+)"
)
BETWEEN = re.compile(
    r"(?P<drop>\s*[,;/&]\s*(?:and\s+)?|\s+and\s+)(?!\d{3}\b)|(?P<keep>\s+)(?=(?:at|for|on|from|to|with|by|in)\b)", re.IGNORECASE
)
DONT_KNOW = re.compile(
    r"\b(?:(?:i )?(?:do ?n[o']?t|don’t) (?:really |actually |even )?(?:know|remember|recall|have (?:it|that|one|the|any|a|my)\b)"
    r"|not (?:really |quite |too |entirely )?(?:sure|certain)|unsure|no (?:idea|clue)"
    r"|can(?: ?n[o']?t|['’]t) (?:really )?(?:find|remember|recall|tell|say)|forgot(?:ten)?"
    r"|could ?n[o']?t (?:find|say|tell)|(?:i )?wouldn['’]?t know|have no record)\b",
    re.IGNORECASE,
)
BARE = frozenset({"yes", "no", "true", "false"})
"""Values that say nothing without their question."""


def normal(text: object) -> str:
    """Letters and digits only, small: how a person's words and a typed value are compared."""
    return re.sub(r"[^a-z0-9]", "", str(text).lower())


@dataclass(frozen=True, slots=True)
class Span:
    """Where a value stands in a turn."""

    slot: str
    start: int
    end: int
    meant: str = ""
    """The value as a system lists it, where that is not as said: "2 to 4 pm" may mean either end."""


@dataclass(frozen=True, slots=True)
class Telling:
    """A part of a turn in the requester's own words, with what it tells."""

    text: str
    values: dict[str, str]
    unknown: bool
    """True: it says that they do not know, and tells nothing."""


def sound_spans(spans: Collection[Span], asked: Collection[str]) -> list[Span]:
    """What is really told, in order: a value inside a longer one ("2" in "2 pm") is none; of several slots with the very same
    words those asked for are meant, where some are."""
    found = []
    for span in spans:
        size = span.end - span.start
        if any(o.start <= span.start and span.end <= o.end and o.end - o.start > size for o in spans):
            continue
        twins = [o for o in spans if (o.start, o.end, o.meant) == (span.start, span.end, span.meant)]
        if span.slot not in asked and any(o.slot in asked for o in twins):
            continue
        found.append(span)
    return sorted(found, key=lambda s: (s.start, s.end, s.slot))


def tellings(turn: str, spans: Collection[Span]) -> list[Telling]:
    """The parts of a turn, in order. `spans` are sound: none lies inside another unless it is the same."""
    parts: list[tuple[int, int]] = []
    for start, end in _sentences(turn):
        parts += _parts(turn, start, end, [s for s in spans if start <= s.start < end])
    merged: list[tuple[int, int, dict[str, str], bool]] = []
    waiting: int | None = None
    for start, end in parts:
        values = {s.slot: turn[s.start : s.end] for s in reversed(list(spans)) if start <= s.start < end}
        unknown = not values and DONT_KNOW.search(turn[start:end]) is not None
        if not values and not unknown:
            waiting = start if waiting is None else waiting
            continue
        merged.append((start if waiting is None or unknown else waiting, end, values, unknown))
        waiting = None if not unknown else waiting
    if waiting is not None:
        last = next((at for at in range(len(merged) - 1, -1, -1) if not merged[at][3]), None)
        if last is None or merged[last][1] > waiting:
            merged.append((waiting, len(turn), {}, False))
        elif any(m[3] for m in merged[last + 1 :]):
            pass  # words after a "don't know" belong to it
        else:
            merged[last] = (merged[last][0], len(turn), *merged[last][2:])
    return [Telling(turn[a:b].strip(" ,;\n"), values, unknown) for a, b, values, unknown in merged if turn[a:b].strip(" ,;\n")]


def _sentences(turn: str) -> list[tuple[int, int]]:
    found, at = [], 0
    for match in SENTENCE_END.finditer(turn):
        found.append((at, match.start()))
        at = match.end()
    found.append((at, len(turn)))
    return [(a, b) for a, b in found if turn[a:b].strip()]


def _parts(turn: str, start: int, end: int, spans: Collection[Span]) -> list[tuple[int, int]]:
    """A sentence, cut between values of different slots where something stands between them at which it can be cut."""
    ordered = sorted(spans, key=lambda s: (s.start, s.end))
    found, at = [], start
    for before, after in pairwise(ordered):
        if before.slot == after.slot or before.end > after.start:
            continue
        cuts = list(BETWEEN.finditer(turn, before.end, after.start + 1))
        cuts = [c for c in cuts if c.end() <= after.start]
        if cuts:
            found.append((at, cuts[-1].start()))
            at = cuts[-1].end()
    found.append((at, end))
    return found
