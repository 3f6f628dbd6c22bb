"""Who spoke of a choice did not leave it open, whatever words they used."""

# ruff: noqa: E501 - what is said stands on one line

from __future__ import annotations

import pytest

from rewards.hinted import hinted


@pytest.mark.parametrize(
    ("text", "listed", "speaks"),
    [
        ("at 5, please", ("5 am", "5 pm"), True),
        ("half past, 5:30 pm", ("5 am", "5 pm"), True),
        ("sometime in the evening", ("5 am", "5 pm"), True),
        ("for 5 people", ("5 am", "5 pm"), False),
        ("a table of oak", ("5 am", "5 pm"), False),
        ("see you later!", ("5 am", "5 pm"), False),
        ("I feel bad since yesterday", ("Monday", "Tuesday"), False),
        ("today", ("Monday", "Tuesday"), True),
        ("one of the bays", ("West Bay", "East Bay", "Harbour"), False),
        ("somewhere at the harbour", ("West Bay", "Harbour Hall", "Harbour Inn", "Old Mill"), True),
        ("is there parking?", ("Yes", "No"), True),
        ("we come by car", ("Yes", "No"), False),
    ],
)
def test_a_text_may_speak_of_a_list_without_saying_one_of_it(text: str, listed: tuple[str, ...], speaks: bool) -> None:
    assert hinted(text, listed, ("parking",)) == speaks


HOURS, WEEKDAYS, DATES = ("5 am", "5 pm"), ("Monday", "Tuesday"), ("5th", "12th")


@pytest.mark.parametrize("listed", [HOURS, WEEKDAYS, DATES])
@pytest.mark.parametrize(
    "text",
    ["asap", "ASAP.", "as soon as possible", "as fast as you can", "any time", "anytime is fine", "the earliest you have", "whenever you like", "the sooner the better"],
)  # fmt: skip
def test_who_wants_it_soon_or_at_any_time_has_spoken_of_every_when(text: str, listed: tuple[str, ...]) -> None:
    assert hinted(text, listed, ())


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        *((text, HOURS) for text in ("lunchtime", "after work", "dinner time", "5ish", "17h", "1700 hours", "a bit later", "in two hours")),
        *((text, WEEKDAYS) for text in ("tmrw", "tommorow", "tomorow", "2moro", "in two days", "the weekend", "any day", "midweek", "Moday", "the day after tomorrow", "not Monday")),
        *((text, DATES) for text in ("today", "tomorrow", "Monday", "next week", "11/5", "in two days", "not the 12th")),
    ],
)  # fmt: skip
def test_a_time_in_spoken_words_is_spoken_of(text: str, listed: tuple[str, ...]) -> None:
    assert hinted(text, listed, ())
