"""What somebody says as a secret is hidden, whether or not a record knows it; what only stands beside it is not."""

from __future__ import annotations

import pytest

from deid.said import find_answers, find_said, is_year, secret_of

SECRETS = (secret_of("pin", ["PIN"], [4]), secret_of("bank_account", ["AccountNumber"], [8, 11]))


def said(text: str) -> list[tuple[str, str]]:
    return [(span.kind.removeprefix("id:"), span.value) for span in find_said(text, SECRETS)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("My PIN is 7402", ["7402"]),
        ("You know- my PIN is either 3100 or 3941", ["3100", "3941"]),
        ("Why don't you try Pin 3941 or 0314?", ["3941", "0314"]),
        ("3100 or 3941 is my pin", ["3100", "3941"]),
        ("I have a pin - is that useful for you? 0314", ["0314"]),
        ("My PIN# is 3100.", ["3100"]),
        ("PIN 7 7 0 2", ["7702"]),
        ("PIN 77-02", ["7702"]),
        ("PIN７７０２", ["7702"]),
        ("pin12345", ["12345"]),
        ("PIN is 943 or PIN=9431;", ["943", "9431"]),
        ("pin 7402 3941", ["7402", "3941"]),
        ("It is 7402. That's my pin.", ["7402"]),
        ("7402 (PIN)", ["7402"]),
        ("my pin, I changed it on 05-03-2025, is 7402", ["7402"]),
        ("the PIN's last digits are 31", ["31"]),
        ("my PIN is 1984", ["1984"]),
    ],
)
def test_a_number_said_as_a_secret_is_found_in_any_dress(text: str, values: list[str]) -> None:
    assert said(text) == [("pin", value) for value in values]


def test_of_two_labels_the_nearest_counts() -> None:
    assert said("I don't have my account number handy, but my pin is 7402.") == [("pin", "7402")]
    assert said("account number 8431 8931 431, PIN 7402") == [("bank_account", "84318931431"), ("pin", "7402")]


@pytest.mark.parametrize(
    "text",
    [
        "My pin is right, I will bring 9 guests.",
        "My PIN works, but order 104327 does not",
        "my PIN changed in 2025",
        "My pin is right, send 1500 dollars",
        "I paid $1500 with my pin",
        "safety pins 1200 pieces",
        "spinning 1200",
        "I need help with my bank account. I was supposed to get my 1500",
    ],
)
def test_other_numbers_beside_a_label_are_none(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize("text", ["7402", "it's 7402, sorry", "Hold on, I think it's either 7402 or 0314 actually."])
def test_a_sentence_that_is_little_else_answers_with_one(text: str) -> None:
    assert "7402" in [span.value for span in find_answers(text, SECRETS)]


@pytest.mark.parametrize("text", ["Your balance is 1500", "12", "Is this the 1930s again?", "It was in 2025", "7402 boxes"])
def test_other_sentences_do_not(text: str) -> None:
    assert find_answers(text, SECRETS) == []


@pytest.mark.parametrize("text", ["week 10 of 2025", "in 2025", "spring 2025", "New Year's Eve 2024"])
def test_a_number_behind_such_a_word_is_a_year(text: str) -> None:
    assert is_year(text, len(text) - 4, len(text))
    assert not is_year(f"It is {text[-4:]}", 6, 10)
