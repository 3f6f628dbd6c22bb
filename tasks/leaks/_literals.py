"""Names and codes however they are spelled: case, separators, camelCase."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_WORD = re.compile(r"[\W_]+")


def plain(name: str) -> str:
    """Letters and digits in one case: "resolutionCode", "Resolution-Code" and "resolution_code" are one."""
    return _plain(name) if len(name) <= SHORT else _NOT_WORD.sub("", name).casefold()


SHORT = 64
"""Characters of the longest name that is kept: names of fields come back with each row, texts do not."""


@lru_cache(maxsize=100_000)
def _plain(name: str) -> str:
    return _NOT_WORD.sub("", name).casefold()


def parts_of(name: str) -> list[str]:
    """The words of a code or key: "refundGranted" and "refund_granted" -> ["refund", "granted"]."""
    return [part for part in _NOT_WORD.split(_CAMEL.sub(" ", name).casefold()) if part]


def may_hold(text: str, codes: Iterable[list[str]]) -> bool:
    """False where no code (as its parts) has all its parts in the text: that is told faster than where they stand."""
    if not text.isascii():
        return True  # another alphabet's letter may count as a small or capital one of ours
    low = text.lower()
    return any(all(part in low or not part.isascii() for part in parts) for parts in codes)


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
