"""What counts as shown: an agent may only use values that it could have read off, in whatever usual writing, and no other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from environments.seen import Seen, days_in, numbers_in


@pytest.mark.parametrize(
    ("value", "text", "held"),
    [
        ("ORDER_98AE155D", "It is order_98ae155d!", True),
        ("ORDER_98AE155", "It is ORDER_98AE155D", False),
        (1500, "exactly 15.00 EUR", True),
        (150000, "the total is 1,500.00 EUR", True),
        (1500, "order 11500", False),
        (14, "2025-03-01T14:05:33Z", False),
        (33, "at 2025-03-01T14:05:33Z, all 33", True),
        (5, "five people", True),
        (5, "fifteen people", False),
        ("7pm", "at 7 PM please", True),
        ("Alexa Smith", "I am alexa smith.", True),
        ("Alexa", "alexander", False),
        (True, "", True),
        (None, "", True),
        ({"balance": 12, "name": "Al"}, "Al has 12", True),
        ({"balance": 13, "name": "Al"}, "Al has 12", False),
        ([12, 13], "from 12 to 13", True),
        ("!!", "hm", False),
        ("", '{"a": 1, "b": 2}', False),
        ("|", '{"a": 1, "b": 2}', False),
    ],
)
def test_a_value_is_held_where_it_stands_in_whole_words(value: Any, text: str, held: bool) -> None:
    assert Seen(text).holds(value) is held


@pytest.mark.parametrize("before", ["\n", "\t", "\r\n", "\u00a0", '"', "ü"])
def test_what_json_escapes_is_read_as_what_it_means(before: str) -> None:
    for ascii_only in (True, False):
        shown = json.dumps({"text": f"thanks{before}ORDER_98AE155D{before}Anna"}, ensure_ascii=ascii_only)
        assert Seen(shown).holds("ORDER_98AE155D") is (before != "ü")
        assert Seen(shown).holds("Anna") is (before != "ü")


def test_names_of_fields_show_nothing_and_no_phrase_reaches_from_one_value_into_the_next() -> None:
    seen = Seen(json.dumps({"gold": [{"first": "Anna", "last": "Kern"}], "n": 12, "m": 30}))
    assert seen.holds("Anna")
    assert seen.holds(12)
    assert not seen.holds("gold")
    assert not seen.holds("Anna Kern")
    assert not seen.holds("1230")
    assert not seen.holds(1230)


def test_a_text_that_only_begins_like_json_is_read_as_text() -> None:
    assert Seen("{broken ORDER_98AE155D").holds("ORDER_98AE155D")


@pytest.mark.parametrize(
    ("minor", "text"),
    [
        (123450, "EUR 1.234,50"),
        (123450, "1 234.50"),
        (123450, "1\u202f234,50 €"),
        (123450, "1'234.50"),
        (123450, "1234,50"),
        (123450, "$1,234.50."),
        (1500, "that is 15 EUR"),
        (1500, "$15"),
        (1500, "15 euros, please"),
        (120000, "1200 dollars"),
        (123450, "123450"),
    ],
)
def test_an_amount_is_shown_in_any_usual_writing(minor: int, text: str) -> None:
    assert Seen(text).holds(minor)


@pytest.mark.parametrize(
    ("minor", "text"),
    [
        (123400, "1.234 EUR"),  # a thousand or one: an agent would have to guess
        (1234, "1.234"),
        (1500, "15"),
        (1500, "at 15:00"),
        (1500, "15 00"),
        (3450, "EUR 1.234,50"),
        (450, "1 234.50"),
        (5000, "1,234.50"),
        (2025, "on 2025-03-04"),
        (155, "ORDER_98AE155D"),
        (98, "ORDER_98AE155D"),
        (12, "12.5"),
        (3, "version 1.3"),
    ],
)
def test_an_amount_that_one_would_have_to_guess_or_cut_out_is_not_shown(minor: int, text: str) -> None:
    assert not Seen(text).holds(minor)


@pytest.mark.parametrize(
    ("number", "text", "held"),
    [
        (25, "twenty-five guests", True),
        (25, "Twenty five guests", True),
        (20, "twenty-five guests", False),
        (5, "twenty-five guests", False),
        (20, "twenty guests", True),
        (14, "fourteen", True),
        (4, "fourteen", False),
        (99, "ninety nine", True),
        (2, "two hundred", False),
        (1, "just one, please", True),
        (1, "that one, please", False),
        (1, "one of my orders", False),
        (1, "nobody", False),
        (7, "at 7pm", True),
        (7, "at 7:30", False),
        (1200, "1,200 people", True),
        (200, "1,200 people", False),
    ],
)
def test_a_number_is_shown_in_digits_or_words_as_a_whole(number: int, text: str, held: bool) -> None:
    assert Seen(text).holds(number) is held


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("on 2025-03-04", True),
        ("on 4 March 2025", True),
        ("the 4th of March, 2025", True),
        ("March 4th, 2025", True),
        ("Mar 4 2025", True),
        ("04.03.2025", True),
        ("4.3.2025", True),
        ("04/03/2025", False),  # the fourth of March or the third of April
        ("4 March", False),  # of which year
        ("yesterday", False),
        ("14 March 2025", False),
        ("03.04.2025", False),
    ],
)
def test_a_day_is_shown_only_where_it_can_be_told_without_guessing(text: str, held: bool) -> None:
    assert Seen(text).holds("2025-03-04") is held


def test_a_day_that_does_not_exist_shows_none() -> None:
    assert days_in("30 February 2025 and 31.12.2025") == {"2025-12-31"}


def test_numbers_and_amounts_are_told_apart() -> None:
    assert numbers_in("2 for 15.00 EUR, room 450") == ({2, 450}, {1500})
