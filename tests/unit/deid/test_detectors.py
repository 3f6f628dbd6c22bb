"""What detectors must leave alone, and what they must find in an odd dress."""

from __future__ import annotations

import pytest

from deid.fold import even
from deid.spans import Context, Detector
from schemas.plugins import load_plugin

CONTEXT = Context(id_patterns={"order": "A-?\\s?\\d{6}"}, known_ids=frozenset({"a104327"}))


def found(name: str, text: str) -> list[str]:
    detector = load_plugin("deid.detectors", name, "DETECTOR", Detector)
    return [text[s.start : s.end] for s in detector.find([text], CONTEXT)[0]] if detector.gate(text) else []


@pytest.mark.parametrize(
    "text",
    [
        "I will bring 9 guests", "Bring 9 guests", "spring 2025", "in Spring 2025", "Ordering 12 boxes", "during 2024",
        "norweg 9", "Monitoring 24 hours", "Please ring 030 then", "a string 12 long",
    ],
)  # fmt: skip
def test_a_word_that_only_ends_like_a_street_is_none(text: str) -> None:
    assert found("address", text) == []


@pytest.mark.parametrize(
    ("text", "street"),
    [
        ("I live in Westring 12 now", "Westring 12"),
        ("Westring 12, 10115 Berlin", "Westring 12, 10115 Berlin"),
        ("at Innerer Ring 5", "Innerer Ring 5"),
        ("lindenweg nr. 12", "lindenweg nr. 12"),
        ("hauptstraße 7", "hauptstraße 7"),
        ("Neuer Weg 4a", "Neuer Weg 4a"),
    ],
)
def test_a_street_is_its_own_word_or_part_of_a_name(text: str, street: str) -> None:
    assert found("address", text) == [street]


@pytest.mark.parametrize(
    "text", ["passwd=hunter2", "pw hunter2", "my code word is hunter2", "pass: hunter2", "the password I use is hunter2"]
)
def test_a_secret_has_many_names(text: str) -> None:
    assert found("secret", text) == ["hunter2"]


@pytest.mark.parametrize("text", ["my pw is wrong", "pass the salt", "password reset", "code word please"])
def test_what_is_said_of_a_secret_is_none(text: str) -> None:
    assert found("secret", text) == []


def test_an_id_glued_to_letters_is_found_where_it_is_known() -> None:
    assert found("id", "orderA-104327ok") == ["A-104327"]
    assert found("id", "orderA-104328ok") == found("id", "A-1043270") == []
    assert found("id", "\u0410-104328") == ["\u0410-104328"]


@pytest.mark.parametrize("text", ["192.168.77[.]44", "10[.]0[.]0[.]1", "12%2e4%2e5%2e6"])
def test_a_defanged_address_is_found(text: str) -> None:
    assert found("ip", f"from {text} today") == [text]
    assert found("url", "see hxxps://shop.example/a") == ["hxxps://shop.example/a"]


def test_even_keeps_places_and_other_languages() -> None:
    assert even("\uff21\uff4e\uff4e\u0430 \uff11\u2013\u0661") == "Anna 1-1"
    assert even("\u0433\u0434\u0435 \u0437\u0430\u043a\u0430\u0437") == "\u0433\u0434\u0435 \u0437\u0430\u043a\u0430\u0437"
    for text in ("\ufb01 \u00bd \u2f00 x", "Anna\u00a0Meyer", "\u0421-10001"):
        assert len(even(text)) == len(text)
