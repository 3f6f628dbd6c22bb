"""A listed value that a requester agreed to, or said in words that fit several values: the turn is told with the value that was
then entered behind it ("Yes, that works. (Monday)", "at 5 would be good (5 pm)").

A choice between people is made in two turns: one proposes, the other agrees. The second turn alone says nothing. What both meant
stands in the query that was made of it, and nowhere else; so a turn is completed only by a recorded value, only where it is the
only one that fits, and only where nothing that the requester said is another value of the same list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rewards.listed import Listed, is_yes_no, said

AGREES = re.compile(
    r"^\W*(?:(?:oh|well|hm+|ah|omg|wow|hi|hello)\W+)*"
    r"(?:yes|yeah|yea|yep|yup|sure|ok|okay|fine|great|perfect|good|sounds? |awesome|cool|excellent|wonderful|all ?right|correct"
    r"|right\b|exactly|absolutely|definitely|certainly|of course|please|go ahead|no problem|that\b|works|it works|let'?s|i guess"
    r"|i suppose|i'?ll take|lovely)",
    re.IGNORECASE,
)
REFUSES = re.compile(
    r"\b(?:no(?! problem| worries)|nope|not|never|neither|cannot|instead|rather|other|another|else)\b|n['’]t\b", re.IGNORECASE
)
FIRST = re.compile(r"(?<=[.!?])\s+")
"""What follows the first sentence of an agreement is talk."""
HOUR = re.compile(r"(\d{1,2}) ?[ap]m", re.IGNORECASE)
ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)", re.IGNORECASE)
_NUMBERS = re.findall(r"\w+", "one two three four five six seven eight nine ten eleven twelve")
_NUMBER = re.compile(
    rf"(?<![\d:.,/_])(\d{{1,2}})(?![\d/_]|:[1-5]\d|[.,]\d)|\b({'|'.join(_NUMBERS)})\b(?! (?:of|more|people|guests|hours?|days?))"
)


def completed(
    message: str, answer: str, values: Mapping[str, frozenset[str]], listed: Mapping[str, Listed], told: frozenset[str]
) -> dict[str, str]:
    """Slot -> the recorded value that completes the turn `answer` to `message`; `told` are slots that the turn tells itself."""
    found = {}
    for slot, choices in listed.items():
        if slot in told or is_yes_no(choices) or said(answer, choices):
            continue
        recorded = values.get(slot, frozenset()) & frozenset(choices)
        fits = {value for value in recorded if _number_of(value) in _bare(answer)}
        if not fits and AGREES.search(answer) and not REFUSES.search(FIRST.split(answer.strip(), maxsplit=1)[0]):
            proposed = said(message, choices)
            fits = set(recorded & proposed) if len(proposed) == 1 else set()
        if len(fits) == 1:
            found[slot] = fits.pop()
    return found


def _number_of(value: str) -> int:
    """The number of a listed hour or day of a month; -1 of any other value."""
    match = HOUR.fullmatch(value) or ORDINAL.fullmatch(value)
    return int(match[1]) if match else -1


def _bare(text: str) -> set[int]:
    """Numbers up to 99 that stand alone in a text, in digits or up to twelve in words."""
    return {int(digits) if digits else _NUMBERS.index(word.lower()) + 1 for digits, word in _NUMBER.findall(text)}
