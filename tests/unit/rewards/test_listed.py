"""Which values of a list a person's words say: every usual way to say one, and nothing where the words fit several."""

# ruff: noqa: E501 - what is said and what it means stand on one line

from __future__ import annotations

import pytest

from rewards.listed import hours_apart, lengths, mentions, said, spans
from rewards.slips import one_slip, slip_of_name

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
        ("we are 3, this morning", []), ("we are 3 this morning", []), ("table for 5 this evening", []), ("at 5, this afternoon", ["5 pm"]),
        ("party of 2, afternoon", []), ("ten to 5 pm", []), ("10 to 5 pm", []), ("from 10 to 5 pm", ["10 am", "5 pm"]), ("ten past 5 pm", []),
        ("twenty one pm", []), ("twenty-one pm", []), ("5 10 pm", []), ("$5 pm", []), ("Friday 8 in the evening", ["8 pm"]),
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
        ("2 may work", []), ("I may 5 times", []), ("I may 12", []), ("3 may come", []), ("march 12 people", []), ("in march 3 of us come", []),
        ("2 May", ["2nd"]), ("2 may, please", ["2nd"]), ("may 12 to 15", ["12th", "15th"]), ("2nd may work", ["2nd"]), ("March 3 please", ["3rd"]),
        ("on second thought", []), ("1st class", []), ("the 1st half", []), ("the 14th and first class", ["14th"]), ("2nd or 3rd floor", []),
        ("the first available", []), ("the first or the second", []), ("the first cable and the second", []), ("my 3rd stay", []), ("on the second", ["2nd"]),
        ("the first of May", ["1st"]), ("June 12 nights", []), ("11th century", []),
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


def test_a_short_name_with_an_s_behind_is_said_by_its_whole_self_and_refused_with_it() -> None:
    inns = ("Bo's Inn", "Kestrel Inn")
    assert said("Bo's Inn, please", inns) == {"Bo's Inn"}
    assert said("Kestrel's doesn't work", inns) == set()


def test_of_a_name_inside_a_longer_one_only_the_longer_is_said() -> None:
    assert said("the north gate annex", ("North Gate Annex", "North Gate")) == {"North Gate Annex"}
    assert said("the annex or the north gate", ("North Gate Annex", "North Gate")) == {"North Gate Annex", "North Gate"}


def test_a_name_of_seven_words_is_said_in_full() -> None:
    assert said("the Inn of the Old Town by the River", ("Inn of the Old Town by the River", "Inn by the Old River of Town")) == {
        "Inn of the Old Town by the River"
    }


def test_an_article_or_a_title_alone_is_no_name() -> None:
    assert said("the lodge", ("The Stone", "Stone Lodge")) == {"Stone Lodge"}


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


@pytest.mark.parametrize(("listed", "said_there"), [(HOURS, "5 pm"), (DATES, "12th"), (DAYS, "Monday"), (GARAGES, "Kestrel")])
def test_a_place_is_the_same_behind_letters_that_grow_in_folding(listed: tuple[str, ...], said_there: str) -> None:
    text = f"große Straße, İstanbul, ﬁne: {said_there}, please"
    assert [text[start:end] for start, end, _ in spans(text, listed)] == [said_there]
    assert not spans(f"Große Straße, ﬁne, not {said_there}", listed)


def test_a_length_is_said_in_whole_hours() -> None:
    assert lengths("a two-hour visit") == {2}
    assert lengths("3 hours, or 4 hrs") == {3, 4}
    assert lengths("2 hours ago") == lengths("half an hour") == lengths("2.5 hours") == set()
    assert (hours_apart("11 am", "1 pm"), hours_apart("11 pm", "1 am"), hours_apart("1 pm", "1 pm")) == (2, 2, None)
    assert hours_apart("Monday", "1 pm") is None


def test_one_slip_is_one_letter_or_one_swap_and_never_the_first() -> None:
    assert one_slip("riversied", "riverside")
    assert not one_slip("liverside", "riverside")
    assert not one_slip("rvrside", "riverside")


def test_a_slip_that_is_a_word_or_another_number_is_none() -> None:
    assert not slip_of_name("sundae", "sunday")
    assert not slip_of_name("garage14", "garage11")
    assert slip_of_name("sudnay", "sunday")
    assert said("a sundae for all", DAYS) == set()
    assert said("garage 14", ("Garage 11", "Depot")) == set()


@pytest.mark.parametrize("text", ["Old Mill Garage. I", "kestrel! I", "the Old Mill Garage, a"])
def test_a_letter_that_stands_alone_is_no_slip_in_the_name_before_it(text: str) -> None:
    assert {text[a:b].casefold() for a, b, _ in spans(text, GARAGES)} <= {"old mill garage", "old mill", "mill garage", "kestrel"}


@pytest.mark.parametrize(
    ("text", "listed", "values"),
    [
        ("not at 5 pm", HOURS, []), ("anything but 5 pm", HOURS, []), ("5 pm doesn't work", HOURS, []), ("no, 6 pm, not 5 pm", HOURS, ["6 pm"]),
        ("not Monday", DAYS, []), ("no, Tuesday", DAYS, ["Tuesday"]), ("any day except Friday", DAYS, []), ("I can't do Monday. Is Tuesday free?", DAYS, ["Tuesday"]),
        ("Friday is not going to work for me", DAYS, []), ("why not Friday", DAYS, ["Friday"]), ("Friday on that day in the morning is the isn't far", DAYS, ["Friday"]), ("Friday isn't far, so Friday", DAYS, ["Friday"]),
        ("Kestrel, not the Riverside", GARAGES, ["Kestrel"]), ("Kestrel instead of the riverside", GARAGES, ["Kestrel"]), ("not the 12th", DATES, []),
    ],
)  # fmt: skip
def test_what_is_only_refused_is_mentioned_and_not_said(text: str, listed: tuple[str, ...], values: list[str]) -> None:
    assert said(text, listed) == set(values)
    mentioned = {value for _, _, value in mentions(text, listed)}
    assert mentioned
    assert mentioned >= set(values)
