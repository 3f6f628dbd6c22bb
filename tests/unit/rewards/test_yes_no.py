"""A yes or no is read where it is clear to which question it belongs and which of the two it is; else neither."""

# ruff: noqa: E501 - what is asked, what is said and what it means stand on one line

from __future__ import annotations

import pytest

from rewards.yes_no import answered, unknown

BADGE = ("visitor badge", "a badge")


@pytest.mark.parametrize(
    ("asked", "text", "yes"),
    [
        ("Do you need a badge?", "Yes, please.", True), ("Do you need a badge?", "nope", False), ("Do you need a badge?", "I do.", True),
        ("Do you need a badge?", "Well, no, thank you", False), ("Have you asked for a badge?", "I haven't asked for it yet", False),
        ("", "I would need a badge", True), ("", "we come without a badge", False), ("", "No visitor badge and two chairs", False),
        ("", "I need a badge and no chairs", True), ("Do you need a badge?", "No, I have a badge.", None),
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


NEEDS = "Do you need parking?"
PARKING = ("parking", "insurance")


@pytest.mark.parametrize(
    ("asked", "text", "yes"),
    [
        (NEEDS, "definitely not", False), (NEEDS, "absolutely not!", False), (NEEDS, "of course not", False), (NEEDS, "certainly no", False),
        (NEEDS, "Sure don't", None), (NEEDS, "Yeah, no.", None), (NEEDS, "Yes. Wait, no.", None), (NEEDS, "yes, but no", None), (NEEDS, "yes I will not", None),
        (NEEDS, "Correct, I don't", None), (NEEDS, "sure thing, no", None), (NEEDS, "yes no maybe", None), (NEEDS, "no, I mean yes", None),
        (NEEDS, "no, thank you... oh actually yes please", None), (NEEDS, "never mind, yes", True), (NEEDS, "No problem, yes", True),
        (NEEDS, "no doubt", None), (NEEDS, "no objection", None), (NEEDS, "no breakfast please", None), (NEEDS, "YES!!!", True), (NEEDS, "nah", False),
        (NEEDS, "Yes please. I don't know the way, though.", True), (NEEDS, "I don't and I have no car", False), (NEEDS, "I do not hear you", None),
        ("Have you paid for parking?", "I did not hear you", None), ("Have you paid for parking?", "I don't think I did, but I sure hope it is nice", False),
        ("Shall I drop insurance?", "yes", None), ("Shall I leave out insurance?", "yes", None), ("Do you want to cancel the insurance?", "yes", None),
        ("Would you mind if I add insurance?", "no", None), ("Any reason to decline insurance?", "no", None), ("Is it without insurance?", "yes", None),
        ("Do you need parking or breakfast?", "yes", None), ("Do you need parking or not?", "yes", True), ("Do you need parking or breakfast?", "yes, breakfast but no parking", False),
        ("Should I book that for you? Do you need parking?", "Yes that will be perfect!", None), ("Anything else? Do you need parking?", "No, that is all", None),
        ("Parking. What is your name?", "No, it's Anna", None), ("Ok, insurance. What is your name?", "Yes, it's Anna", None),
        ("Do you need parking? Could you tell me the day?", "Monday. No, Tuesday.", None), ("Do you need parking? And breakfast?", "yes breakfast", None),
        ("What is the host's name? Do you need parking?", "Kim, and no I do not need parking.", False), ("How are you? Do you need parking?", "yes", True),
        ("", "please cancel parking", None), ("", "skip the parking please", None), ("", "I hate parking", None), ("", "I don't mind parking", None),
        ("", "I can't do without parking", None), ("", "I'm not against insurance", None), ("", "I can't wait, insurance included", None),
        ("", "I have insurance with the wrong company, remove it", None), ("", "I paid for parking last time", None), ("", "I have no car but need parking", None),
        ("", "We come at 7 pm but don't need parking.", False), ("", "I don't need breakfast, chairs or parking please", None), ("", "I'd like parking", True),
        ("", "I don't need parking and have no dietary restrictions.", False), ("", "We need breakfast and parking", True),
        ("", "I would not say no to parking", None), ("", "no, I don't need parking", False),
    ],
)  # fmt: skip
def test_doubt_says_neither_yes_nor_no(asked: str, text: str, yes: bool | None) -> None:
    found = answered(asked, text, PARKING)
    assert (None if found is None else found[2]) is yes


def test_who_would_not_say_no_knows() -> None:
    assert not unknown("", "I can't say no to parking", PARKING)
