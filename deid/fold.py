"""One spelling for matching: case, accents and punctuation folded, with offsets back into the text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

WORD = re.compile(r"[^\W_]+")
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "å": "aa", "æ": "ae"})


def word_set(text: str) -> frozenset[str]:
    """The words of a list written as text."""
    return frozenset(text.split())


@lru_cache(maxsize=200_000)
def fold_word(word: str) -> str:
    """Case-folded, accents removed: "Müller" -> "muller"."""
    folded = word.casefold()
    if folded.isascii():
        return folded
    return "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))


def fold(text: str) -> str:
    """The folded words of `text`, joined by one space."""
    return " ".join(fold_word(m.group()) for m in WORD.finditer(text))


def spellings(text: str) -> list[str]:
    """`fold(text)` and, where it differs, the spelling without umlauts ("mueller"), both sorted."""
    other = fold(text.casefold().translate(UMLAUTS))
    return sorted({fold(text), other} - {""})


def alnum(text: str) -> str:
    """Letters and digits only, folded: "A-104 327" -> "a104327"."""
    return fold(text).replace(" ", "")


def digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit())


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text: where each lies, and the folded text that automata search."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    raw: tuple[str, ...]
    folded: tuple[str, ...]
    joined: str
    """" w1 w2 w3 ": a pattern " w2 " is found only at word boundaries."""
    index: dict[int, int]
    """Offset in `joined` of a word's first character -> number of the word."""


def words_of(text: str) -> Words:
    starts, ends, raw, folded, index = [], [], [], [], {}
    offset = 1
    for number, match in enumerate(WORD.finditer(text)):
        word = match.group()
        low = fold_word(word)
        starts.append(match.start())
        ends.append(match.end())
        raw.append(word)
        folded.append(low)
        index[offset] = number
        offset += len(low) + 1
    return Words(tuple(starts), tuple(ends), tuple(raw), tuple(folded), f" {' '.join(folded)} ", index)
