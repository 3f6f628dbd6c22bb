"""What an agent has been shown, and whether a value stands in it: an agent may only use values that it could read off.

Decided conservatively; what counts as shown, and nothing else:
- texts: whole words in any letter case, digits apart from letters ("7pm" in "at 7 PM"), inside one value of an answer; an id
  only as a whole. Names of an answer's fields show nothing, and what JSON escapes ("\\n") is read as what it means.
- whole numbers: the digits standing alone ("450", "1,200"), or the words zero to ninety-nine ("twenty-five" shows neither 20 nor
  5; "one" as a pronoun shows nothing). Digits inside an id, a time, a date or a longer number show nothing.
- amounts, which tools take in minor units: also in major units with two decimals in any usual writing ("15.00", "EUR 1.234,50",
  "1 234.50"), or whole beside a currency ("15 EUR", "$15"). "1.234" is read as nothing: it has two meanings.
- days, which tools take as YYYY-MM-DD: also day, month name and year, or DD.MM.YYYY. A day without its year, or with slashes, is
  none.
- a value that an argument chooses from a list (`Choice`): the words that say it, and no other of the list (`rewards.listed`).
  That a tool lists it shows nothing. An hour is also shown by another hour of the same call and how long it lasts ("two hours
  from 5 pm"); the value that a tool takes for "the requester does not know", by that answer.
- null, and true or false inside an answer, need not be seen; a list or object is shown where all that is in it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Any

from rewards.listed import Listed, hours_apart, lengths, said
from rewards.yes_no import answered, is_yes, is_yes_no, unknown

_PIECE = re.compile(r"[^\W\d_]+|\d+")
_WHOLE = re.compile(r"\w+")
_NAMED = re.compile(r"\b(?=\w*\d)\w*_\w*\b")
"""An id: its letters and digits are no words and no numbers."""
_BREAK = " | "
"""Between two values of an answer: no phrase reaches across it."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_UNITS = _PIECE.findall(f"zero one two three four five six seven eight nine {_TEENS}")
_TENS = dict(zip(_PIECE.findall("twenty thirty forty fifty sixty seventy eighty ninety"), range(20, 100, 10), strict=True))
_IN_WORDS = re.compile(
    rf"\b(?:({'|'.join(_TENS)})(?:[- ]({'|'.join(_UNITS[1:10])}))?"
    rf"|({'|'.join(sorted(_UNITS, key=len, reverse=True))}))\b(?![- ]hundred)"
)
_PRONOUN = re.compile(
    r"\b(?:the|this|that|which|no|any|each|every|some|an|another|other|old|new|first|last|next|wrong|right|same) one\b"
    r"|\bone of\b"
)
_MONTHS = {name: n for n, name in enumerate(_PIECE.findall("jan feb mar apr may jun jul aug sep oct nov dec"), start=1)}
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATES = (
    (re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)"), ("year", "month", "day")),
    (re.compile(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)"), ("day", "month", "year")),
    (re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\.?,? (\d{{4}})\b"), ("day", "month", "year")),
    (re.compile(rf"\b{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b"), ("month", "day", "year")),
)
_TIMES = re.compile(r"(?<![\d:])\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?")
_CURRENCY = r"(?:[€$£]|\b(?:eur|usd|gbp|euros?|dollars?|pounds?)\b)"
_AMOUNT = re.compile(
    r"(?<![\d.,'])(?:\d{1,3}(?:,\d{3})+\.\d\d|\d{1,3}(?:\.\d{3})+,\d\d"
    r"|\d{1,3}(?:[ '\u00a0\u202f]\d{3})+[.,]\d\d|\d+[.,]\d\d)(?![\d]|[.,']\d)"
)
_WHOLE_AMOUNT = re.compile(rf"{_CURRENCY} ?(\d+)(?![\d]|[.,'/:-]\d)|(?<![\d.,'/:-])(\d+) ?{_CURRENCY}")
_GROUPED = re.compile(r"(?<![\d.,'])\d{1,3}(?:,\d{3})+(?!\d|[.,]\d)")
_DECIMAL = re.compile(r"\d+(?:[.,']\d+)+")
_DIGITS = re.compile(r"\d+")


def _pieces(text: str) -> str:
    """Words and numbers of a text in one case between blanks: "7pm, room 450" -> " 7 pm room 450 "."""
    return f" {' '.join(_PIECE.findall(text.casefold()))} "


def _wholes(text: str) -> str:
    """Words with their digits and underscores in one case between blanks: "7pm, ORDER_1A" -> " 7pm order_1a "."""
    return f" {' '.join(_WHOLE.findall(text.casefold()))} "


def _values(value: Any) -> Iterator[str]:
    """The values of an answer as text, without the names of its fields."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def shown_values(text: str) -> list[str]:
    """What an observation shows: the values of a JSON object or list, decoded; any other text as it is."""
    if text[:1] in ("{", "["):
        try:
            return list(_values(json.loads(text)))
        except ValueError:  # it only begins like JSON
            return [text]
    return [text]


def days_in(text: str) -> set[str]:
    """The days that a text names with their year, as YYYY-MM-DD."""
    found = set()
    for pattern, order in _DATES:
        for match in pattern.finditer(text.casefold()):
            part = dict(zip(order, match.groups(), strict=True))
            month = _MONTHS.get(part["month"]) or int(part["month"])
            with suppress(ValueError):  # no such day: it shows none
                found.add(date(int(part["year"]), month, int(part["day"])).isoformat())
    return found


def numbers_in(text: str) -> tuple[set[int], set[int]]:
    """(whole numbers that stand in a text, amounts in minor units that it gives in major units)."""
    rest = _NAMED.sub(" ", text.casefold())
    for pattern in (*(p for p, _ in _DATES), _TIMES):
        rest = pattern.sub(" | ", rest)
    amounts = {int(re.sub(r"\D", "", found)) for found in _AMOUNT.findall(rest)}
    rest = _AMOUNT.sub(" | ", rest)
    amounts |= {100 * int(before or after) for before, after in _WHOLE_AMOUNT.findall(rest)}
    whole = {int(found.replace(",", "")) for found in _GROUPED.findall(rest)}
    rest = _DECIMAL.sub(" | ", _GROUPED.sub(" | ", rest))
    whole |= {int(found) for found in _DIGITS.findall(rest)}
    for tens, unit, alone in _IN_WORDS.findall(_PRONOUN.sub(" | ", rest)):
        whole.add(_UNITS.index(alone) if alone else _TENS[tens] + (_UNITS.index(unit) if unit else 0))
    return whole, amounts


@dataclass(frozen=True, slots=True)
class Choice:
    """How an argument that chooses from a list is said."""

    listed: Listed
    """("yes", "no") of a boolean."""
    phrases: tuple[str, ...] = ()
    """What a yes or no is asked with: phrases one of which names the argument in a message."""
    unknown: str = ""
    """The value that the system takes for "the requester does not know", where it says so; then such an answer shows it."""


@dataclass(frozen=True, slots=True)
class Want:
    """One thing that has to be seen: a value, or how many hours something lasts."""

    value: Any
    choice: Choice | None = None
    hours: int = 0


def ways(arguments: Mapping[str, Any], name: str, choices: Mapping[str, Choice]) -> Iterator[tuple[Want, ...]]:
    """Ways to be shown the value of an argument of a call: all that a way holds has to be seen. The plainest comes first."""
    value, choice = arguments[name], choices.get(name)
    yield (Want(value, choice),)
    for other, start in arguments.items():
        if other != name and choice is not None and choices.get(other) is not None and isinstance(start, str):
            apart = hours_apart(start, str(value))
            if apart is not None:
                yield Want(start, choices[other]), Want(None, hours=apart)


def first_unseen(arguments: Mapping[str, Any], choices: Mapping[str, Choice], seen: Seen) -> str | None:
    """The first argument whose value was never shown, or None."""
    for name in arguments:
        if not any(all(seen.shows(want) for want in way) for way in ways(arguments, name, choices)):
            return name
    return None


class Seen:
    """The texts that an agent has been shown, and whether a value stands in one of them."""

    def __init__(self, *texts: str) -> None:
        self._asked: list[str] = []
        self._values: list[list[str]] = []
        self._texts: list[str] = []
        self._whole: list[str] = []
        self._numbers: list[set[int]] = []
        self._days: list[set[str]] = []
        for text in texts:
            self.add(text)

    def add(self, text: str, asked: str = "") -> None:
        """Takes in what an observation shows; `asked`: the message that it answers."""
        self.add_values(shown_values(text), asked)

    def add_result(self, result: Any, asked: str = "") -> None:
        """Takes in the result of a call, as `add` takes its text."""
        self.add_values(list(_values(result)), asked)

    def add_values(self, values: list[str], asked: str = "") -> None:
        self._asked.append(asked)
        self._values.append(values)
        self._texts.append(_BREAK.join(_pieces(_NAMED.sub(" | ", value)) for value in values))
        self._whole.append(_BREAK.join(_wholes(value) for value in values))

    def shows(self, want: Want) -> bool:
        """True if what is wanted was said or stands in a text."""
        if want.hours:
            return any(want.hours in lengths(value) for values in self._values for value in values)
        if want.choice is None or want.value is None or not isinstance(want.value, str | bool):
            return self.holds(want.value)
        if want.value == want.choice.unknown and self._unknown(want.choice.phrases):
            return True
        if is_yes_no(want.choice.listed):
            return self._answers(is_yes(want.value), want.choice.phrases)
        return any(want.value in said(value, want.choice.listed) for values in self._values for value in values)

    def _unknown(self, phrases: tuple[str, ...]) -> bool:
        held = zip(self._asked, self._values, strict=True)
        return any(unknown(asked, value, phrases) for asked, values in held for value in values)

    def _answers(self, yes: bool, phrases: tuple[str, ...]) -> bool:
        for asked, values in zip(self._asked, self._values, strict=True):
            for value in values:
                found = answered(asked, value, phrases)
                if found is not None and found[2] == yes:
                    return True
        return False

    def holds(self, value: Any) -> bool:
        """True if the value stands in a text, as this module says."""
        if isinstance(value, dict):
            return all(self.holds(inner) for inner in value.values())
        if isinstance(value, list):
            return all(self.holds(inner) for inner in value)
        if value is None or isinstance(value, bool):
            return True
        if isinstance(value, int):
            return self._number(abs(value))
        text = str(value)
        if "_" in text and any(c.isdigit() for c in text):
            return any(_wholes(text) in shown for shown in self._whole)  # an id: a part of another id is not it
        pieces = _pieces(text)
        if not pieces.strip():
            return False  # marks alone, or nothing: what stands between two values is none of them
        return any(pieces in shown for shown in self._texts) or (_DAY.fullmatch(text) is not None and self._day(text))

    def _number(self, size: int) -> bool:
        for values in self._values[len(self._numbers) :]:  # read when first asked for: most texts never are
            found: set[int] = set()
            for value in values:
                found.update(*numbers_in(value))
            self._numbers.append(found)
        return any(size in found for found in self._numbers)

    def _day(self, day: str) -> bool:
        for values in self._values[len(self._days) :]:
            self._days.append({found for value in values for found in days_in(value)})
        return any(day in found for found in self._days)
