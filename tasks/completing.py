"""A listed value that a requester agreed to, or said in words that only the record explains: the turn is told with the value that
was then entered behind it ("Yes, that works. (Monday)", "at 5 would be good (5 pm)", "today, please (Tuesday)").

A choice between people is made in two turns: one proposes, the other agrees. The second turn alone says nothing. What both meant
stands in the query that was made of it, and nowhere else; so a turn is completed only by a recorded value, only where it is the
only one that fits, and only where nothing that the requester said is another value of the same list. What counts as agreeing:
`tasks.agreeing`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from environments.asking import default_slot_words
from rewards.listed import DAYS, SMALL, Listed, is_day_of_month, masked, mentions, number, number_of, spans
from rewards.yes_no import answered, is_yes, is_yes_no
from tasks.agreeing import SENTENCE, agrees, proposed
from tasks.telling import Span, normal

BY_CALENDAR = {"today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1}
"""Words that say a day by the calendar -> days from the day on which they are said."""
ZONES_BEHIND = timedelta(hours=12)
"""Nobody knows the speaker's zone: their day may still be the one before that of UTC."""
FEW = 8
"""Words up to which a clause with a day's word answers a question for the day."""


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
        if slot in told or is_yes_no(choices) or mentions(answer, choices):
            continue
        recorded = values.get(slot, frozenset()) & frozenset(choices)
        fits = recorded & _by_number(message, answer, choices)
        fits |= recorded & set(_by_calendar(message, answer, at_us))
        if not fits and agrees(answer):
            fits = recorded & proposed(message, choices)
        if len(fits) == 1:
            found[slot] = next(iter(fits))
    return found


# --- by a bare number -------------------------------------------------------------------------------------------------

_ON_A_DAY = rf"on (?:the|\d|{'|'.join((*DAYS, *(short for shorts in DAYS.values() for short in shorts)))})"
_LONE = re.compile(
    rf"(?:(?P<start>^\W*(?:(?:no|yes|ok|okay|well|um+|hm+)\W+)*)|\b(?P<lead>at|around|about|approximately|by|on|on the|from"
    rf"|from the|to|to the|till|until|before|after|say|maybe|perhaps|like|for|or|and|the)\s+)"
    rf"(?:(?P<n>\d{{1,2}})(?![\d/_:]|[.,]\d)|(?P<w>{'|'.join(SMALL)})\b)(?P<clock>\s*o'? ?clock)?"
    rf"(?=\W*$|\s*[.,;!?)]|\s+(?:please|would|will|works?|is|if|or|and|then|today|tonight|tomorrow|instead|ok|okay|sounds?"
    rf"|{_ON_A_DAY})\b)"
)
_STRONG = {
    True: frozenset({"at", "by", "before", "after", "until", "till", "from"}),
    False: frozenset({"on", "on the", "from the", "to the", "until", "till", "from"}),
}
"""Hours (True), days of a month: words before a number that leave no doubt that it is one."""
_ASKS_HOUR = re.compile(
    r"\b(?:what|which) (?:time|hour)|\btime\b|\bwhen\b|\bhour\b|o'? ?clock|kick off|wrap up|until when|[ap]\.?m\b", re.IGNORECASE
)
_ASKS_DAY = re.compile(
    r"\b(?:date|what day|which day|when|check[- ]?(?:in|out)|arriv\w+|leav\w+|depart\w+|until when)\b", re.IGNORECASE
)
_ASKS_COUNT = re.compile(
    r"\b(?:how (?:many|much|long|big|large)"
    r"|number|pin|code|guests|people|party size|persons|room|account|phone|zip|age|old|id)\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:no|not|never|cannot|except|too (?:late|early)|instead of|other than|rather than|(?:any"
    r"|every)\w*(?: \w+)? but)\b|n['’]t\b",
    re.IGNORECASE,
)
_LEADING_NO = re.compile(r"^\W*no\W+", re.IGNORECASE)


def _by_number(message: str, answer: str, choices: Listed) -> frozenset[str]:
    """The hours, or days of a month, that a number without more can mean: beside a word that says so ("at 5"), or in answer to a
    question for it that asks for no other number. Of several such numbers none is meant."""
    if any(number_of(value) is None for value in choices):
        return frozenset()
    hours = not is_day_of_month(choices)
    asked = (_ASKS_HOUR if hours else _ASKS_DAY).search(message) is not None and not _ASKS_COUNT.search(message)
    shown = set()
    for sentence in SENTENCE.findall(masked(answer).replace("’", "'")):
        if _AGAINST.search(_LEADING_NO.sub("", sentence)):
            continue
        sure = False
        for match in _LONE.finditer(sentence.casefold()):
            sure = (
                asked
                or match["clock"] is not None
                or match["lead"] in _STRONG[hours]
                or (sure and match["lead"] in ("or", "and"))
            )
            if sure:
                shown.add(number(match["n"] or match["w"]))
    return frozenset(v for v in choices if {number_of(v)} == shown)


# --- by the calendar --------------------------------------------------------------------------------------------------

_CALENDAR = re.compile(rf"\b(?:{'|'.join(BY_CALENDAR)})\b", re.IGNORECASE)
_NOT_IT = re.compile(
    r"\bnot (?:for |on |until |till )?$|n['’]t (?:\w+ ){0,3}$|\b(?:but|except|day after|before|after|since|cannot|until"
    r"|till|instead of|other than) $"
    r"|\bnever (?:\w+ ){0,3}$",
    re.IGNORECASE,
)
"""Right before a day's word: that day is not meant."""
_SPEAKS = re.compile(
    r"\b(?:book\w*|schedul\w*|appointment|appt|reserv\w*|need|want|wish|would like|like to|love to|can (?:you|i|we|he"
    r"|she|they)|could"
    r"|available|availability|free|come|get in|meet|visit|see (?:him|her|the|a|dr)|asap|soon\w*|possible|possibly|please"
    r"|for|works?|prefer\w*|suits?"
    r"|preferably|time|slot|opening|let'?s|any ?time|earliest)\b|['’]d (?:like|love)\b",
    re.IGNORECASE,
)
"""A clause of booking or wishing."""
_TALK = re.compile(
    r"\b(?:how (?:are|is|was|'?s)|how['’]s|are you doing|was|were|did|had|has been|have been|been|felt|feel(?:ing)?|fell"
    r"|said|told|called|heard|saw|got|went"
    r"|came|booked|made|paid|news|paper|weather|already|birthday|busy|beautiful|lovely|nice|good (?:morning|day)"
    r"|thank\w* .{0,30}help"
    r"|help(?:ing)?(?: me)? (?:out )?(?:today|tonight))\b|['’](?:ve|s) (?:\w+ )?(?:been|booked|had)\b|\bhave a\b|\bday\b",
    re.IGNORECASE,
)
"""What is told of a day: it wishes for nothing on it."""
_ASKS_WEEKDAY = re.compile(
    r"\b(?:what|which) (?:day|date)|\bwhen\b|\bday of the week\b|\bwhat time|\bday\b[^.?!]*\?", re.IGNORECASE
)
_CLAUSE = re.compile(r"[^.!?,;\n]+[.!?,;\n]*")


def _by_calendar(message: str, answer: str, at_us: int | None) -> Iterator[str]:
    """Names of the weekdays that "today" or "tomorrow" can mean, where a clause speaks of the appointment: it books or wishes, or
    it answers a question for the day. Small talk says no day, nor does a turn that says both."""
    if at_us is None:
        return
    now = datetime.fromtimestamp(at_us / 1e6, UTC)
    asked = _ASKS_WEEKDAY.search(message) is not None
    ahead = set()
    for clause in _CLAUSE.findall(answer):
        for match in _CALENDAR.finditer(clause):
            speaks = _SPEAKS.search(clause) or (asked and len(clause.split()) <= FEW)
            if _NOT_IT.search(clause, 0, match.start()):
                return
            if speaks and not _TALK.search(clause):
                ahead.add(BY_CALENDAR[match[0].casefold()])
    if len(ahead) == 1:
        yield from {(at + timedelta(days=days)).strftime("%A") for days in ahead for at in (now, now - ZONES_BEHIND)}


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
