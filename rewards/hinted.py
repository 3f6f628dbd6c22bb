"""Whether a text may speak of a choice from a list at all, in whatever words: who spoke of it did not leave it open.

The other way round from `rewards.listed`: there doubt says no value, here doubt means that something was said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rewards.listed import DAYS, SMALL, Listed, is_day_of_month, masked, mentions, number, number_of
from rewards.slips import one_slip
from rewards.yes_no import is_yes_no, named

_WORD = re.compile(r"[^\W_]+")
_SOME_NUMBER = re.compile(rf"(?<![\w.,/:])(\d{{1,2}}|{'|'.join(SMALL)})(?:ish)?\b(?! (?:people|guests|persons?|of us)\b)")
_MEALS = r"(?:breakfast|brunch|lunch|dinner|supper)"
_NOW = (
    r"a\.?s\.?a\.?p\b|as (?:soon|early|quick(?:ly)?|fast|late)\b|soon(?:er|est)?\b(?! (?:as )?(?:you are )?(?:better"
    r"|well))|earl(?:y|ier|iest)\b"
    r"|(?:the |no |your )?latest\b|right (?:away|now)|immediate(?:ly)?\b|urgent(?:ly)?\b|first available"
    r"|next (?:available|opening|free)"
    r"|when ?ever\b|either (?:time|day)|any ?time|some ?time\b"
)
"""Words for any when: an hour, a weekday, a day of a month."""
_OF_THE_CLOCK = re.compile(
    r"\b(?:(?:late )?(?:morning|afternoon|evening|night)s?|tonight|noon|midday|midnight|o'? ?clock|\d{1,2}[:.]\d\d"
    r"|\d{1,2} ?h\b|\d{3,4} hours"
    rf"|{_MEALS} ?time|(?:for|at|over|before|after|during) {_MEALS}|(?:before|after|during) (?:work|school|class|office)"
    rf"|(?<!see you )(?<!you guys )(?<!to you )later\b|in (?:an?|\w+|\d+) (?:hours?|minutes)|sunrise|sunset|{_NOW})"
)
_OF_THE_DAY = re.compile(
    r"\b(?:today|tonight|tom+or+ow|tomoro|tmrw|tmr|tmw|tmmrw|2mo?r+o?w?|week ?days?|week ?ends?|mid ?week"
    r"|this (?:morning|afternoon|evening)"
    r"|(?:any|another|other|some|every|each|same|next|which) ?days?\b|(?:this|next|coming|following|same) (?:week|month|year)"
    rf"|in (?:an?|\w+|\d+) (?:days?|weeks?|months?)|(?:day|week) after|mid[- ]month|\d{{1,2}}/\d{{1,2}}|{_NOW})"
)
_DAY_NAME = re.compile(rf"\b(?:{'|'.join(DAYS)})s?\b")


def hinted(text: str, listed: Listed, phrases: Sequence[str]) -> bool:
    """True if a text may speak of the choice at all, though in words that say no one value of the list: "at 5", "in the morning",
    "today", "as soon as possible", a word that some values hold, what is asked with one of `phrases` for yes or no."""
    low = masked(text).casefold().replace("’", "'")
    if is_yes_no(listed):
        return named(low, phrases) is not None
    if mentions(text, listed):
        return True
    numbers = {n for value in listed if (n := number_of(value)) is not None}
    if numbers:
        shown = {number(word) for word in _SOME_NUMBER.findall(low)}
        if numbers & shown:
            return True
        if is_day_of_month(listed):
            return _OF_THE_DAY.search(low) is not None or _DAY_NAME.search(low) is not None
        return _OF_THE_CLOCK.search(low) is not None
    if {value.casefold() for value in listed} <= DAYS.keys():
        slips = any(one_slip(word, day) for word in _WORD.findall(low) if len(word) > 4 for day in DAYS)
        return slips or _OF_THE_DAY.search(low) is not None
    spread = Counter(word for value in listed for word in set(_WORD.findall(value.casefold())) if len(word) > 3)
    some = {word for word, count in spread.items() if 2 * count <= len(listed) or len(listed) == 1}
    return not some.isdisjoint(_WORD.findall(low))
