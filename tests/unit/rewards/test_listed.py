"""Which values of a list a person's words say: every usual way to say one, and nothing where the words fit several."""

# ruff: noqa: E501 - what is said and what it means stand on one line

from __future__ import annotations

import pytest

from rewards.listed import answered, hinted, hours_apart, lengths, one_slip, said, spans, unknown

HOURS = tuple(f"{n} {half}" for half in ("am", "pm") for n in (12, *range(1, 12)))
DATES = tuple(f"{n}{'th' if 10 < n < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}" for n in range(1, 32))
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
GARAGES = ("Riverside Garage", "Dr. Rossi's Garage", "Blue Lantern Works", "Old Mill Garage", "Kestrel")


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("at 5 pm", ["5 pm"]), ("5PM.", ["5 pm"]), ("5:00 p.m. please", ["5 pm"]), ("17:00", ["5 pm"]), ("five pm", ["5 pm"]),
        ("at 5 in the afternoon", ["5 pm"]), ("9 in the morning", ["9 am"]), ("5 o'clock pm", ["5 pm"]), ("tomorrow at1 pm", ["1 pm"]),
        ("noon", ["12 pm"]), ("12 noon", ["12 pm"]), ("midnight", ["12 am"]), ("00:00", ["12 am"]), ("8 Friday night", ["8 pm"]),
        ("2 to 4 pm", ["2 pm", "4 pm"]), ("11-1pm", ["11 am", "1 pm"]), ("from 9 am until 5", ["9 am", "5 pm"]), ("2pm or 6pm", ["2 pm", "6 pm"]),
        ("at 5", []), ("at five", []), ("5:30 pm", []), ("half past 5 pm", []), ("12 people", []), ("9:00", []), ("13 pm", []),
        ("5 pmx", []), ("ORDER_0000005A pm", []), ("", []), ("24:00", []), ("0 pm", []),
    ],
)  # fmt: skip
def test_an_hour_is_said_with_its_half_of_the_day_and_by_no_bare_number(text: str, hours: list[str]) -> None:
    assert said(text, HOURS) == set(hours)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("the 12th", ["12th"]), ("12 th", ["12th"]), ("on the twelfth", ["12th"]), ("May 12", ["12th"]), ("12 May", ["12th"]),
        ("twenty-first of June", ["21st"]), ("May 5th-16th", ["5th", "16th"]), ("12 to 15th", ["12th", "15th"]), ("May 3 to 22", ["3rd", "22nd"]),
        ("the 2nd until the 9", ["2nd", "9th"]), ("12", []), ("12 guests", []), ("room 12", []), ("12 pm", []), ("a second", []), ("2nd floor", []),
        ("32nd", []), ("2020-05-12", []), ("12:30", []), ("5.12", []),
    ],
)  # fmt: skip
def test_a_day_of_a_month_is_said_by_its_ending_or_beside_a_month(text: str, days: list[str]) -> None:
    assert said(text, DATES) == set(days)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("the riverside please", ["Riverside Garage"]), ("RIVER-SIDE", ["Riverside Garage"]), ("River side garage", ["Riverside Garage"]),
        ("blue lantern", ["Blue Lantern Works"]), ("lantern works", ["Blue Lantern Works"]), ("Rossi's", ["Dr. Rossi's Garage"]),
        ("riversde", ["Riverside Garage"]), ("kestrels", ["Kestrel"]), ("Kestral", ["Kestrel"]), ("old mill or kestrel", ["Old Mill Garage", "Kestrel"]),
        ("any garage", []), ("the garage", []), ("old", []), ("blue", []), ("river", []), ("PERSON_0000001A side", []),
    ],
)  # fmt: skip
def test_a_name_is_said_by_what_no_other_of_the_list_shares(text: str, names: list[str]) -> None:
    assert said(text, GARAGES) == set(names)


def test_words_that_fit_several_values_say_none_of_them() -> None:
    assert said("the north gate", ("North Gate East", "North Gate West")) == set()
    assert said("north gate east", ("North Gate East", "North Gate West")) == {"North Gate East"}
    assert said("marlin", ("Marlins", "Marlin")) == {"Marlin"}
    assert said("martins", ("Martina", "Martini")) == set(), "one slip from either"


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("tues", ["Tuesday"]), ("wednsday", ["Wednesday"]), ("Mondays", ["Monday"]), ("Mon or Wed", ["Monday", "Wednesday"]),
        ("on sat", ["Saturday"]), ("Fri/Sat", ["Friday", "Saturday"]), ("I sat in the sun", []), ("today", []), ("money", []),
    ],
)  # fmt: skip
def test_a_weekday_is_said_by_its_usual_short_forms(text: str, days: list[str]) -> None:
    assert said(text, DAYS) == set(days)


def test_both_ends_of_a_range_are_said_by_all_its_words() -> None:
    text = "from 2 to 4 pm"
    assert {(text[a:b], value) for a, b, value in spans(text, HOURS)} >= {("2 to 4 pm", "2 pm"), ("2 to 4 pm", "4 pm")}


def test_a_length_is_said_in_whole_hours() -> None:
    assert lengths("a two-hour visit") == {2}
    assert lengths("3 hours, or 4 hrs") == {3, 4}
    assert lengths("2 hours ago") == lengths("half an hour") == lengths("2.5 hours") == set()
    assert (hours_apart("11 am", "1 pm"), hours_apart("11 pm", "1 am"), hours_apart("1 pm", "1 pm")) == (2, 2, None)
    assert hours_apart("Monday", "1 pm") is None


BADGE = ("visitor badge", "a badge")


@pytest.mark.parametrize(
    ("asked", "text", "yes"),
    [
        ("Do you need a badge?", "Yes, please.", True), ("Do you need a badge?", "nope", False), ("Do you need a badge?", "I do.", True),
        ("Do you need a badge?", "Well, no, thank you", False), ("Do you need a badge?", "I haven't asked for it yet", False),
        ("", "I would need a badge", True), ("", "we come without a badge", False), ("", "No visitor badge and two chairs", False),
        ("", "I need a badge and no chairs", True), ("Do you need a badge?", "No, I have a badge.", False),
        ("Do you need a chair?", "Yes", None), ("", "Yes", None), ("Do you need a badge?", "My name is Kim, I have a dog", None),
        ("Do you need a badge?", "I don't know", None), ("Do you need a badge?", "No idea", None), ("", "Do I need a badge?", None),
        ("", "I am not sure whether I need a badge", None), ("So you need no visitor badge?", "Yes", None), ("", "", None),
    ],
)  # fmt: skip
def test_a_yes_answers_the_question_that_names_the_argument(asked: str, text: str, yes: bool | None) -> None:
    found = answered(asked, text, BADGE)
    assert (None if found is None else found[2]) is yes


def test_who_does_not_know_says_so_to_the_question_or_of_the_thing() -> None:
    assert unknown("Do you need a badge?", "I can't remember, sorry.", BADGE)
    assert unknown("", "I don't know if I need a badge", BADGE)
    assert not unknown("What is your name?", "I do not know", BADGE)
    assert not unknown("Do you need a badge?", "No.", BADGE)


def test_one_slip_is_one_letter_or_one_swap_and_never_the_first() -> None:
    assert one_slip("riversied", "riverside")
    assert not one_slip("liverside", "riverside")
    assert not one_slip("rvrside", "riverside")


@pytest.mark.parametrize(
    ("text", "listed", "speaks"),
    [
        ("at 5, please", ("5 am", "5 pm"), True),
        ("half past, 5:30 pm", ("5 am", "5 pm"), True),
        ("sometime in the evening", ("5 am", "5 pm"), True),
        ("for 5 people", ("5 am", "5 pm"), False),
        ("as soon as possible", ("5 am", "5 pm"), False),
        ("today", ("Monday", "Tuesday"), True),
        ("one of the bays", ("West Bay", "East Bay", "Harbour"), False),
        ("somewhere at the harbour", ("West Bay", "Harbour Hall", "Harbour Inn", "Old Mill"), True),
        ("is there parking?", ("Yes", "No"), True),
        ("we come by car", ("Yes", "No"), False),
    ],
)
def test_a_text_may_speak_of_a_list_without_saying_one_of_it(text: str, listed: tuple[str, ...], speaks: bool) -> None:
    assert hinted(text, listed, ("parking",)) == speaks
