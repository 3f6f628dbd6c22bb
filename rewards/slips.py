"""Slips of the pen: one letter wrong, missing, doubled, or two swapped."""

from __future__ import annotations

WORDS = frozenset(
    [
        "sundae",
        "sundaes",
        "sundry",
        "friary",
        "america",
        "auction",
        "diving",
        "waking",
        "walling",
        "ruining",
        "showing",
        "expansive",
        "gorge",
        "untied",
        "unites",
    ]
)
"""Words of their own that are one slip from usual names of lists: who writes them means them."""


def one_slip(spoken: str, known: str) -> bool:
    """True if `spoken` is `known` with one letter wrong, missing, added, or two neighbours swapped; the first letter is right."""
    if abs(len(spoken) - len(known)) > 1 or spoken[:1] != known[:1]:
        return False
    start = [*(a == b for a, b in zip(spoken, known, strict=False)), False].index(False)
    left, right = spoken[start:], known[start:]
    if left[1:] == right[1:] or left[1:] == right or left == right[1:]:
        return True
    return left[:2] == right[1::-1] and left[2:] == right[2:]


def slip_of_name(spoken: str, known: str) -> bool:
    """True if letters run together are a name with one slip: no word of its own, and every digit right."""
    digits = [[c for c in text if c.isdigit()] for text in (spoken, known)]
    return spoken not in WORDS and digits[0] == digits[1] and one_slip(spoken, known)
