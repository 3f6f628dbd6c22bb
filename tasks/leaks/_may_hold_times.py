"""Where a text may hold a time at all, told by one look before any pattern of times is tried."""

from __future__ import annotations

import re

from tasks.leaks._month_names import APOSTROPHES, MONTH, NUMBERS

_FLAGS = re.IGNORECASE
_OF_UUID = "[d-f][0-9a-f]{10}6|1[d-f][0-9a-f][89ab]"
"""Behind a 1: of a UUID without hyphens, version 6 and 1."""
_QUICK = re.compile(
    rf"[-_{APOSTROPHES}\d](?:(?<=1)(?:9\d\d|[2-9]\d{{8}}|{_OF_UUID})|(?<=2)0\d\d|(?<=\d)\d?[-/.]\d\d?[-/.]\d\d|"
    rf"(?<=[{APOSTROPHES}])\d\d|(?<=[0-9a-f]{{4}}-)[167][0-9a-f]{{3}}-|(?<=[0-9a-f]{{4}}_)[167][0-9a-f]{{3}}_|(?<=0)[0-9A-Z]{{25}})",
    _FLAGS,
)
"""Begins with one character of a few, so that the search skips over all others."""
_OF_THREE = "[0-9]?[-/.][0-9][0-9]?[-/.][0-9][0-9]"
_QUICK_ASCII = re.compile(
    rf"1(?:9[0-9][0-9]|[2-9][0-9]{{8}}|(?i:{_OF_UUID})|{_OF_THREE})|2(?:0[0-9][0-9]|{_OF_THREE})|0(?:[0-9A-Za-z]{{25}}|{_OF_THREE})|"
    + "|".join(f"{digit}{_OF_THREE}" for digit in range(3, 10))
    + r"|'[0-9][0-9]|-(?<=[0-9A-Fa-f]{4}-)[167][0-9A-Fa-f]{3}-|_(?<=[0-9A-Fa-f]{4}_)[167][0-9A-Fa-f]{3}_"
)
"""`_QUICK` for a text of ASCII alone: an alternative for each first character, of which all but one are passed over unread."""
_BETWEEN = "|".join(rf"(?<=[^\W\d_]{{3}}{between}\d\d)" for between in ("", r"[\W_]", r"[\W_]{2}", r"[\W_]{3}"))
_NUMBER = re.compile(rf"\d(?<!\d\d)\d(?:{_BETWEEN})")
"""Two digits behind a word, at most three characters between, none of which is a letter or a figure."""
_MONTH_BEFORE = re.compile(rf"(?:{MONTH})$", _FLAGS)
_BEFORE = max(map(len, NUMBERS))
_ENDS = frozenset(name[-3:] for name in NUMBERS)


_SORTS = bytes(
    ord("9") if byte in b"0123456789" else ord("a") if chr(byte).isalpha() and byte < 128 else 95 if byte == 95 else 32
    for byte in range(256)
)
"""Of ASCII: each letter as "a", each figure as "9", the underscore as it stands, all others as a blank."""
_BEHIND_WORD = re.compile(rb"aaa[ _]{0,3}99")
"""`_NUMBER` with the end of the word before it, in ASCII that was translated by `_SORTS`."""


def may_hold_times(text: str) -> bool:
    """False where nothing is a year, a date of three numbers, a month before a number, an epoch or an id made of a time."""
    if not text.isascii():
        return _QUICK.search(text) is not None or any(_month_before(text, number.start()) for number in _NUMBER.finditer(text))
    if _QUICK_ASCII.search(text) is not None:
        return True
    for word in _BEHIND_WORD.finditer(text.encode().translate(_SORTS)):
        start = word.start()
        if text[start : start + 3].lower() in _ENDS and _month_to(text, start + 3):
            return True
    return False


def _month_before(text: str, at: int) -> bool:
    while not text[at - 1].isalnum():
        at -= 1
    return _month_to(text, at)


def _month_to(text: str, at: int) -> bool:
    """True where the name of a month ends there."""
    end = text[at - 3 : at]
    # Another alphabet's letter may count as a small or capital one of ours: such ends are left to the pattern.
    likely = end.lower() in _ENDS or not end.isascii()
    return likely and _MONTH_BEFORE.search(text[max(0, at - _BEFORE) : at]) is not None
