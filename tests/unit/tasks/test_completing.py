"""What was agreed to, or said in words that fit several listed values, is told with the value that was then entered."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tasks.completing import completed

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(f"{n} {half}" for half in ("am", "pm") for n in range(1, 13))
LISTS = {"Day": DAYS, "Hour": HOURS, "Fee": ("Yes", "No")}
DATES = ("1st", "2nd", "3rd", *(f"{n}th" for n in range(4, 21)))


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
        ("", "not at 5", {"Hour": "5 pm"}, {}),
        ("", "at 5 doesn't work", {"Hour": "5 pm"}, {}),
        ("", "table for 5", {"Hour": "5 pm"}, {}),
        ("", "for 5 please", {"Hour": "5 pm"}, {}),
        ("", "I have 2 kids and 5, please", {"Hour": "5 pm"}, {}),
        ("How many people?", "5", {"Hour": "5 pm"}, {}),
        ("How many people?", "around 5.", {"Hour": "5 pm"}, {}),
        ("What is your pin?", "12", {"Date": "12th"}, {}),
        ("On what date?", "at 12", {"Date": "12th"}, {"Date": "12th"}),
        ("", "at 12", {"Date": "12th"}, {}),
        ("", "on the 12, please", {"Date": "12th"}, {"Date": "12th"}),
        ("", "a flat at One on Center", {"Hour": "1 pm"}, {}),
        ("", "at one on Monday", {"Hour": "1 pm"}, {"Hour": "1 pm"}),
        ("", "at 5 or 6", {"Hour": "5 pm"}, {}),
        ("Is 4 too early?", "No, at 5.", {"Hour": "5 pm"}, {"Hour": "5 pm"}),
        ("Friday?", "ok. Actually no.", {"Day": "Friday"}, {}),
        ("Friday?", "Sure! Not.", {"Day": "Friday"}, {}),
        ("Friday?", "Great question", {"Day": "Friday"}, {}),
        ("Friday?", "ok, let me think", {"Day": "Friday"}, {}),
        ("Friday?", "Please choose something later", {"Day": "Friday"}, {}),
        ("Friday?", "awesome! don't want it though", {"Day": "Friday"}, {}),
        ("Friday?", "I suppose that is too early", {"Day": "Friday"}, {}),
        ("Friday?", "ok but is there an earlier one?", {"Day": "Friday"}, {}),
        ("Friday?", "right, wait", {"Day": "Friday"}, {}),
        ("Friday?", "Great, thank you!", {"Day": "Friday"}, {"Day": "Friday"}),
        ("Shall I cancel Friday?", "Yes", {"Day": "Friday"}, {}),
        ("Shall I remove Friday?", "Yes please", {"Day": "Friday"}, {}),
        ("So anything but Friday?", "Yes", {"Day": "Friday"}, {}),
        ("Is Friday too late?", "Yes", {"Day": "Friday"}, {}),
        ("Friday is fully booked?", "Yes", {"Day": "Friday"}, {}),
        ("Friday is impossible. OK?", "Yes", {"Day": "Friday"}, {}),
        ("I have booked Friday? Would you like insurance?", "yes", {"Day": "Friday"}, {}),
        ("Friday is free. Anything else?", "yes", {"Day": "Friday"}, {}),
        ("Friday is free. Could I have your name?", "Yes, it is Kim", {"Day": "Friday"}, {}),
        ("Can you make it on Friday at 3 pm, and what is your name?", "Sure, Kim", {"Day": "Friday"}, {}),
        ("Dr. Lee is free on Friday. Can I book it for you now?", "Yes please", {"Day": "Friday"}, {"Day": "Friday"}),
        ("Would you like to get it booked for Friday?", "Yes please", {"Day": "Friday"}, {"Day": "Friday"}),
        ("I have Friday. Would you like me to book it?", "OMG. YES! That gives me time.", {"Day": "Friday"}, {"Day": "Friday"}),
        ("You arrive on Friday. You do not need a car. Is this correct?", "Yes it is!", {"Day": "Friday"}, {"Day": "Friday"}),
        ("Friday is free. Should I also book this one?", "ah great, I can't wait! Sure.", {"Day": "Friday"}, {"Day": "Friday"}),
        ("When will you arrive at the party?", "We hope to get there around 4", {"Hour": "4 pm"}, {"Hour": "4 pm"}),
        ("Monday is taken, but how about Friday? Monday really is full.", "ok", {"Day": "Monday"}, {}),
    ],
)  # fmt: skip
def test_a_turn_is_completed_only_by_the_one_entered_value_that_fits(
    message: str, answer: str, entered: dict[str, str], found: dict[str, str]
) -> None:
    values = {slot: frozenset({value}) for slot, value in entered.items()}
    listed = {**LISTS, "Date": DATES} if "Date" in entered else LISTS
    assert completed(message, answer, values, listed, frozenset()) == found


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


@pytest.mark.parametrize(
    ("message", "answer", "entered"),
    [
        ("", "not tomorrow", "Monday"),
        ("On what day?", "the day after tomorrow", "Monday"),
        ("On what day?", "any day but tomorrow", "Monday"),
        ("On what day?", "I can't do it today", "Sunday"),
        ("On what day?", "today or tomorrow", "Sunday"),
        ("Can I book it for you now?", "How are you doing today?", "Sunday"),
        ("Could you describe it?", "Dr. Lee was in the paper today, did you see?", "Sunday"),
        ("", "I called today", "Sunday"),
        ("", "I booked a table for today already", "Sunday"),
        ("", "Thanks for all your help today", "Sunday"),
        ("On what day?", "I have a date today", "Sunday"),
    ],
)
def test_a_day_of_small_talk_or_a_refused_one_is_none(message: str, answer: str, entered: str) -> None:
    assert completed(message, answer, {"Day": frozenset({entered})}, LISTS, frozenset(), SUNDAY_US) == {}


@pytest.mark.parametrize(
    "answer", ["I need a time today. Any time.", "I'd like an appointment for today", "Today if possible. I fell today"]
)
def test_a_day_of_a_wish_is_told_without_being_asked_for(answer: str) -> None:
    assert completed("", answer, {"Day": frozenset({"Sunday"})}, LISTS, frozenset(), SUNDAY_US) == {"Day": "Sunday"}


def test_what_fits_two_entered_values_is_not_completed() -> None:
    values = {"Hour": frozenset({"5 am", "5 pm"})}
    assert completed("At what time?", "at 5", values, LISTS, frozenset()) == {}


def test_what_the_turn_tells_itself_is_left_alone() -> None:
    assert completed("Friday?", "Yes", {"Day": frozenset({"Friday"})}, LISTS, frozenset({"Day"})) == {}
