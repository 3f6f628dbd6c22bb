"""The dictionary of known identities: one automaton over folded words, built once, searched in every text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from deid.fold import Words, words_of
from deid.spans import EXACT, GUESS, Span

RANKS = {
    "secret": 100,
    "email": 92,
    "phone": 66,
    "id": 70,
    "login": 64,
    "domain": 63,
    "address": 62,
    "postcode": 37,
    "person": 36,
    "mention": 34,
    "org": 32,
    "vocabulary": 30,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What a phrase stands for. `value`: a token; for a person the numbers of the persons who carry the name, joined
    by commas."""

    kind: str
    value: str


class Lexicon:
    """Finds every entry whose folded words stand in a text, at word boundaries, in any case and with any punctuation between."""

    def __init__(self, entries: Iterable[tuple[str, Entry]]) -> None:
        import ahocorasick_rs

        found: dict[str, dict[Entry, None]] = defaultdict(dict)
        for phrase, entry in entries:
            if phrase:
                found[phrase][entry] = None
        self.phrases = sorted(found)
        self.entries = [sorted(found[p], key=lambda e: (e.kind, e.value)) for p in self.phrases]
        self._automaton = ahocorasick_rs.AhoCorasick([f" {p} " for p in self.phrases]) if self.phrases else None

    def find(self, text: str, words: Words | None = None) -> list[Span]:
        """Spans of all entries; the kind is the entry's, the value too. Words of a vocabulary phrase of one word are
        only a guess."""
        if self._automaton is None:
            return []
        words = words or words_of(text)
        spans = []
        for number, start, _ in self._automaton.find_matches_as_indexes(words.joined, overlapping=True):
            first = words.index[start + 1]
            last = first + self.phrases[number].count(" ")
            if not _holds_together(text[words.starts[first] : words.ends[last]]):
                continue
            for entry in self.entries[number]:
                tier = GUESS if entry.kind == "vocabulary" and first == last else EXACT
                spans.append(Span(words.starts[first], words.ends[last], entry.kind, entry.value, RANKS[entry.kind], tier))
        return spans


def _holds_together(text: str) -> bool:
    """False where a sentence or paragraph ends inside."""
    return "\n\n" not in text and "? " not in text and "! " not in text
