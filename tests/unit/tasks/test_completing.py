"""What was agreed to, or said in words that fit several listed values, is told with the value that was then entered."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tasks.completing import completed

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(f"{n} {half}" for half in ("am", "pm") for n in range(1, 13))
LISTS = {"Day": DAYS, "Hour": HOURS, "Fee": ("Yes", "No")}


@pytest.mark.parametrize(
    ("message", "answer", "entered", "found"),
    [
        ("Would Friday at 3 pm suit?", "Yes, it works.", {"Day": "Friday", "Hour": "3 pm"}, {"Day": "Friday", "Hour": "3 pm"}),
        ("Friday is free. Shall I take it?", "Oh great! I never thought you would.", {"Day": "Friday"}, {"Day": "Friday"}),
        ("Would Friday suit you?", "No, not Friday.", {"Day": "Friday"}, {}),
        ("Would Friday suit you?", "Ok, but rather later.", {"Day": "Friday"}, {}),
        ("Would Friday suit you?", "Is there a garage nearby?", {"Day": "Friday"}, {}),
        ("Would Friday suit you?", "Yes, or Monday.", {"Day": "Friday"}, {}),
        ("Would Friday or Monday suit you?", "Yes.", {"Day": "Friday"}, {}),
        ("Would Friday suit you?", "Yes.", {"Day": "Sunday"}, {}),
        ("At what time?", "at 5 would be good", {"Hour": "5 pm"}, {"Hour": "5 pm"}),
        ("At what time?", "five, please", {"Hour": "5 pm"}, {"Hour": "5 pm"}),
        ("At what time?", "5 pm", {"Hour": "6 pm"}, {}),
        ("At what time?", "for 5 people", {"Hour": "5 pm"}, {}),
        ("Anything else?", "We drank two beers", {"Hour": "2 pm"}, {}),
        ("Anything else?", "a flat with 2 bedroom units", {"Hour": "2 pm"}, {}),
        ("What is your name?", "It is PERSON_DB9CC8FE_FIRST.", {"Hour": "8 pm"}, {}),
        ("Would Friday suit you?", "Goodbye!", {"Day": "Friday"}, {}),
        ("Would Friday suit you?", "That's terrible!", {"Day": "Friday"}, {}),
        ("Sorry, Friday is not available.", "Hmm okay.", {"Day": "Friday"}, {}),
        ("Unfortunately we are full. Would Friday suit you?", "That would be fine.", {"Day": "Friday"}, {"Day": "Friday"}),
        ("Have you paid the fee?", "Sure.", {"Fee": "Yes"}, {}),
    ],
)  # fmt: skip
def test_a_turn_is_completed_only_by_the_one_entered_value_that_fits(
    message: str, answer: str, entered: dict[str, str], found: dict[str, str]
) -> None:
    values = {slot: frozenset({value}) for slot, value in entered.items()}
    assert completed(message, answer, values, LISTS, frozenset()) == found


SUNDAY_US = int(datetime(2020, 5, 3, 5, tzinfo=UTC).timestamp() * 1e6)
"""A Sunday, five in the morning UTC."""


@pytest.mark.parametrize(
    ("answer", "entered", "found"),
    [
        ("Today, as soon as can be.", "Sunday", {"Day": "Sunday"}),
        ("tomorrow is fine", "Monday", {"Day": "Monday"}),
        ("tomorrow is fine", "Sunday", {"Day": "Sunday"}),  # said on Saturday, west of Greenwich
        ("today", "Wednesday", {}),
        ("some day", "Sunday", {}),
    ],
)
def test_today_is_completed_only_by_a_day_that_it_can_have_been(answer: str, entered: str, found: dict[str, str]) -> None:
    values = {"Day": frozenset({entered})}
    assert completed("On what day?", answer, values, LISTS, frozenset(), SUNDAY_US) == found
    assert completed("On what day?", answer, values, LISTS, frozenset(), None) == {}


def test_what_fits_two_entered_values_is_not_completed() -> None:
    values = {"Hour": frozenset({"5 am", "5 pm"})}
    assert completed("At what time?", "at 5", values, LISTS, frozenset()) == {}


def test_what_the_turn_tells_itself_is_left_alone() -> None:
    assert completed("Friday?", "Yes", {"Day": frozenset({"Friday"})}, LISTS, frozenset({"Day"})) == {}
