"""Names and codes however they are spelled: case, separators, camelCase."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_WORD = re.compile(r"[\W_]+")


def plain(name: str) -> str:
    """Letters and digits in one case: "resolutionCode", "Resolution-Code" and "resolution_code" are one."""
    if len(name) <= SHORT:
        return _plain(name)
    return closed_up(name).decode() if name.isascii() else _NOT_WORD.sub("", name).casefold()


SHORT = 64
"""Characters of the longest name that is kept: names of fields come back with each row, texts do not."""


@lru_cache(maxsize=100_000)
def _plain(name: str) -> str:
    return _NOT_WORD.sub("", name).casefold()


_LOWER = bytes(range(256)).lower()
_NO_WORD = bytes(byte for byte in range(128) if not chr(byte).isalnum())


def closed_up(text: str) -> bytes:
    """`plain` of a text of ASCII."""
    return text.encode().translate(_LOWER, _NO_WORD)


def parts_of(name: str) -> list[str]:
    """The words of a code or key: "refundGranted" and "refund_granted" -> ["refund", "granted"]."""
    return [part for part in _NOT_WORD.split(_CAMEL.sub(" ", name).casefold()) if part]


def holder(codes: Iterable[str]) -> Callable[[str], bool]:
    """Tells where a text may hold one of the codes, as `coined` finds them (blanks or not), faster than where they stand.

    Between the parts of a code as found stand no letters and no figures, so that in the closed-up text they stand together, as
    in the closed-up code. Another alphabet's letter may count as a small or capital one of ours: such codes and texts are left to
    the pattern.
    """
    known = {plain(code): parts_of(code) for code in codes}
    names = [code.encode() for code in known]
    few = [part.encode() for part in _cover(known)]
    ours = all(map(str.isascii, known))

    def may_hold(text: str) -> bool:
        if not (ours and text.isascii()):
            return True
        closed = closed_up(text)
        return any(map(closed.__contains__, few)) and any(map(closed.__contains__, names))

    return may_hold


def _cover(known: Mapping[str, list[str]]) -> list[str]:
    """A few words of which each closed-up code holds one ("refused", "granted"): where none stands, no code does."""
    found, left = [], set(known)
    words = sorted({part for parts in known.values() for part in parts} | left, key=lambda word: (-len(word), word))
    while left:
        found.append(max(words, key=lambda word: sum(word in code for code in left)))
        left = {code for code in left if found[-1] not in code}
    return found


def speller(codes: Iterable[str]) -> Callable[[str], bool]:
    """Tells where one of the codes may stand in what a text wraps, escapes within the code included: False where none has all its
    parts in the text."""
    # Another alphabet's letter may count as a small or capital one of ours: such parts and texts are left to the pattern.
    known = [[part for part in parts_of(code) if part.isascii()] for code in codes]
    longest = {max(parts, key=len, default="") for parts in known}

    def may_hold(text: str) -> bool:
        if not text.isascii():
            return True
        low = text.lower()
        return any(map(low.__contains__, longest)) and any(all(part in low for part in parts) for parts in known)

    return may_hold


def coined(codes: Iterable[str], *, blanks: bool = False) -> re.Pattern[str] | None:
    """Finds codes of several parts, however joined, but (unless `blanks`) not as words of a sentence; None where there are none.

    Group 1 is the code as it stands; `plain` of it is `plain` of the code.
    """
    forms = []
    for code in sorted(set(codes), key=len, reverse=True):
        parts = parts_of(code)
        if len(parts) > 1:
            forms.append((r"[\W_]+" if blanks else r"[_\-./:~|+\\]*").join(map(re.escape, parts)))
        elif re.search(r"\d", code):
            forms.append(re.escape(code.casefold()))
    return re.compile(rf"(?<![^\W_])({'|'.join(forms)})(?![^\W_])", re.IGNORECASE) if forms else None
