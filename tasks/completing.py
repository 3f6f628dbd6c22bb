"""A listed value that a requester agreed to, or said in words that only the record explains: the turn is told with the value that
was then entered behind it ("Yes, that works. (Monday)", "at 5 would be good (5 pm)", "today, please (Tuesday)").

A choice between people is made in two turns: one proposes, the other agrees. The second turn alone says nothing. What both meant
stands in the query that was made of it, and nowhere else; so a turn is completed only by a recorded value, only where it is the
only one that fits, and only where nothing that the requester said is another value of the same list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from environments.asking import default_slot_words
from rewards.listed import Listed, answered, is_yes, is_yes_no, lone_numbers, number_of, said, spans
from tasks.telling import Span, normal

AGREES = re.compile(
    r"^\W*(?:(?:oh|well|hm+|ah|omg|wow|hi|hello)\W+)*"
    r"(?:(?:yes|yeah|yea|yep|yup|sure|ok|okay|fine|great|perfect|good|awesome|cool|excellent|wonderful|all ?right|correct|right"
    r"|exactly|absolutely|definitely|certainly|of course|please|go ahead|no problem|works|lovely)\b"
    r"|(?:that|it|this)(?:'?ll| will| would|'?d)? (?:works?|be (?:fine|good|great|perfect|ok(?:ay)?|excellent|lovely)|do\b)"
    r"|(?:that|it|this)(?:'?s| is) (?:fine|good|great|perfect|ok(?:ay)?|excellent|right|correct|lovely)\b"
    r"|(?:that )?sounds? (?:fine|good|great|perfect|ok(?:ay)?|excellent|lovely|reasonable)\b"
    r"|let'?s (?:do|take|book|go with) (?:it|that)|i'?ll take (?:it|that)|i (?:guess|suppose) (?:so|that))",
    re.IGNORECASE,
)
REFUSES = re.compile(
    r"\b(?:no(?! problem| worries)|nope|not|never|neither|cannot|instead|rather|other|another|else)\b|n['’]t\b", re.IGNORECASE
)
FIRST = re.compile(r"(?<=[.!?])\s+")
"""What follows the first sentence of an agreement is talk."""
SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
DENIED = re.compile(
    r"\b(?:no|not|un(?:available|able|fortunately)|sorry|conflict\w*|already|booked up|full|taken|cannot)\b|n['’]t\b",
    re.IGNORECASE,
)
"""In a sentence of the other side: what it names is not proposed."""
BY_CALENDAR = {"today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1}
"""Words that say a day by the calendar -> days from the day on which they are said."""
ZONES_BEHIND = timedelta(hours=12)
"""Nobody knows the speaker's zone: their day may still be the one before that of UTC."""


def completed(
    message: str,
    answer: str,
    values: Mapping[str, frozenset[str]],
    listed: Mapping[str, Listed],
    told: frozenset[str],
    at_us: int | None = None,
) -> dict[str, str]:
    """Slot -> the recorded value that completes the turn `answer` to `message`, said at `at_us` (microseconds since 1970, None =
    nobody knows); `told` are slots that the turn tells itself."""
    found = {}
    for slot, choices in listed.items():
        if slot in told or is_yes_no(choices) or said(answer, choices):
            continue
        recorded = values.get(slot, frozenset()) & frozenset(choices)
        fits = {value for value in recorded if number_of(value) in lone_numbers(answer)}
        fits |= recorded & set(_by_calendar(answer, at_us))
        if not fits and AGREES.search(answer) and not REFUSES.search(FIRST.split(answer.strip(), maxsplit=1)[0]):
            proposed = said(message, choices)
            offered = {v for part in SENTENCE.findall(message) if not DENIED.search(part) for v in said(part, choices)}
            fits = set(recorded & offered) if len(proposed) == 1 else set()
        if len(fits) == 1:
            found[slot] = fits.pop()
    return found


def _by_calendar(answer: str, at_us: int | None) -> Iterator[str]:
    """Names of the weekdays that "today" and "tomorrow" can mean."""
    if at_us is None:
        return
    now = datetime.fromtimestamp(at_us / 1e6, UTC)
    for words, ahead in BY_CALENDAR.items():
        if re.search(rf"\b{words}\b", answer, re.IGNORECASE):
            yield from {(at + timedelta(days=ahead)).strftime("%A") for at in (now, now - ZONES_BEHIND)}


def told_spans(
    question: str,
    answer: str,
    values: Mapping[str, frozenset[str]],
    listed: Mapping[str, Listed],
    slots: Mapping[str, Sequence[str]],
    old: Mapping[str, set[str]],
) -> list[Span]:
    """Where a turn says one of the recorded values of an argument that chooses from a list: of several the one that was not told
    before (`old`: slot -> those told, in one case), then the longest words. A yes or no only to a question that asks for it, or
    with what it is about."""
    found = []
    for slot in sorted(values.keys() & listed.keys()):
        known = values[slot]
        if is_yes_no(listed[slot]):
            words = answered(question, answer, tuple(slots.get(slot) or default_slot_words(slot)))
            places = [(words[0], words[1], value) for value in sorted(known) if words is not None and is_yes(value) == words[2]]
        else:
            places = [span for span in spans(answer, listed[slot]) if span[2] in known]
        if places:
            start, end, value = max(places, key=lambda s: (normal(s[2]) not in old.get(slot, ()), s[1] - s[0], -s[0]))
            found.append(Span(slot, start, end, value))
    return found
