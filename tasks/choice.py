"""Whether what the requester said singles out one record among several that a look-up shows: else the human knew it from
elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import SequenceMatcher

from tasks.requester import TOKEN

WORD = re.compile(r"[a-z]{3,}")
ALIKE = 0.8
"""Likeness in [0, 1] from which two words are one word with a slip of the fingers."""


def words(text: str) -> frozenset[str]:
    """Words of three letters and more; pseudonyms are ids, not words."""
    return frozenset(WORD.findall(TOKEN.sub(" ", text).lower()))


def singles_out(said: str, described: Mapping[str, str], chosen: str, everyday: str = "") -> bool:
    """True if `said` holds more of `chosen`'s description than of any other's, in letters of the words in common.

    Words that all descriptions share tell nothing, nor do the `everyday` ones of the trade (the policies': delivered, charge,
    ...).
    """
    if len(described) < 2:
        return True
    spoken = words(said)
    held = {name: words(text) for name, text in described.items()}
    common = frozenset.intersection(*held.values()) | words(everyday)
    scores = {name: sum(len(word) for word in own - common if _spoken(word, spoken)) for name, own in held.items()}
    best = scores.pop(chosen)
    return best > max(scores.values())


def _spoken(word: str, spoken: frozenset[str]) -> bool:
    if word in spoken:
        return True
    if len(word) < 5:
        return False
    near = (other for other in spoken if abs(len(other) - len(word)) <= 1 and other[0] == word[0])
    return any(SequenceMatcher(None, word, other).ratio() >= ALIKE for other in near)
