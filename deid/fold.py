"""One spelling for matching: case, accents and punctuation folded, with offsets back into the text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

WORD = re.compile(r"[^\W_]+")
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "å": "aa", "æ": "ae"})


LOOK_ALIKES = str.maketrans(
    "АВЕЅЗІЈКМНОРСТУХаеорсухіјѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧονѵԁԛԝ",
    "ABESЗIJKMHOPCTYXaeopcyxijsABEZHIKMNOPTYXovvdqw",
)
"""Cyrillic and Greek letters that look like Latin ones."""
MARKS = {0x2032: "'", 0x2018: "'", 0x2019: "'", 0x2212: "-"} | dict.fromkeys(range(0x2010, 0x2016), "-")
RUN = re.compile(r"\w+(?:[-.@+]\w+)*")


def even(text: str) -> str:
    """The text in plain letters, figures, dashes and blanks, character by character (so that places stay): full-width forms,
    all dashes and blanks, and look-alikes of Latin letters in a word that also holds Latin letters or figures."""
    if text.isascii():
        return text
    return RUN.sub(_alike, "".join(c if c.isascii() else _plain(c) for c in text))


@lru_cache(maxsize=10_000)
def _plain(char: str) -> str:
    if mark := MARKS.get(ord(char)):
        return str(mark)
    if char.isspace():
        return char if char in "\u2028\u2029\x85" else " "
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    same = unicodedata.normalize("NFKC", char)
    return same if len(same) == 1 else char


def _alike(run: re.Match[str]) -> str:
    word = run.group()
    if word.isascii() or not any(c.isascii() and c.isalnum() for c in word):
        return word
    return word.translate(LOOK_ALIKES)


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
    return " ".join(fold_word(m.group()) for m in WORD.finditer(even(text)))


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
    plain = even(text)
    starts, ends, raw, folded, index = [], [], [], [], {}
    offset = 1
    for number, match in enumerate(WORD.finditer(plain)):
        word = match.group()
        low = fold_word(word)
        starts.append(match.start())
        ends.append(match.end())
        raw.append(text[match.start() : match.end()])
        folded.append(low)
        index[offset] = number
        offset += len(low) + 1
    return Words(tuple(starts), tuple(ends), tuple(raw), tuple(folded), f" {' '.join(folded)} ", index)
