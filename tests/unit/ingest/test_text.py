"""Message text: what a person wrote stays, what was quoted or broken on the way does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.text import decode, html_text, message_text, own_words, repaired

ANSWER = "Thanks. The number is A-100001."


@pytest.mark.parametrize(
    "quoted",
    [
        "\n\nOn Mon, 3 Mar 2025 at 10:00, Support <s@x.example> wrote:\n> Which order?\n> Regards",
        "\n\nAm 03.03.2025 um 10:00 schrieb Support:\n> Welche Bestellung?",
        "\n\n-----Original Message-----\nFrom: Support\nSent: Monday\nTo: Anna\nSubject: Re\n\nWhich order?",
        "\n\nFrom: Support\nSent: Monday\nTo: Anna\nSubject: Re\n\nWhich order?",
        "\n\nOn Mon, Support wrote:\nWhich order?\nRegards",
        "\n\n-- \nAnna Vogel\n+49 30 123456",
        "\n\n> Which order?",
    ],
)
def test_quoted_messages_and_signatures_are_cut(quoted: str) -> None:
    assert own_words(ANSWER + quoted) == ANSWER


def test_answers_between_quoted_lines_stay() -> None:
    text = "On Mon, Support wrote:\n> Which order?\nA-100001\n> Since when?\nsince Monday"
    assert own_words(text) == "A-100001\nsince Monday"


@pytest.mark.parametrize(
    "text",
    [
        "Date: 3 May would suit me.\nThe rest is fine.",
        "I wrote: please cancel.",
        "a - b -- c",
        "Dear team,\n\nplease cancel A-100001.\n\nBest regards\nAnna",
        "   kept as it is \n\n\n",
    ],
)
def test_what_is_not_quoted_stays_to_the_last_character(text: str) -> None:
    assert own_words(text) == text


def test_a_message_of_nothing_but_quotes_is_kept_whole() -> None:
    assert own_words("> only this\n> and that") == "> only this\n> and that"


UNMARKED = st.characters(blacklist_characters=">-_#:&", blacklist_categories=("Cs", "Cc"))


@given(st.text(alphabet=UNMARKED, max_size=200))
def test_text_without_marks_of_quoting_is_unchanged(text: str) -> None:
    assert own_words(text) == text


def test_html_becomes_lines_without_scripts_and_quotes() -> None:
    html = (
        "<html><head><style>p{}</style></head><body><div>Hi &amp; hello<br>second&nbsp;line</div>"
        "<ul><li>one</li><li>two</li></ul>"
        "<script>x()</script><div class='gmail_quote'>On Mon wrote:<blockquote>old</blockquote></div></body></html>"
    )
    assert html_text(html) == "Hi & hello\nsecond line\n\n- one\n\n- two"


def test_html_that_is_only_a_quote_is_kept() -> None:
    assert html_text("<blockquote>only this</blockquote>") == "only this"


def test_deeply_nested_html_is_read_without_recursion() -> None:
    assert html_text("<div>" * 5000 + "deep" + "</div>" * 5000) == "deep"


@pytest.mark.parametrize(
    ("broken", "whole"), [("GrÃ¼ÃŸe aus MÃ¼nchen", "Grüße aus München"), ("it’s “fine”", "it’s “fine”"), ("a\r\nb", "a\nb")]
)
def test_only_what_a_wrong_charset_did_is_undone(broken: str, whole: str) -> None:
    assert repaired(broken) == whole


WORDS = ["Grüße", "naïve", "café", "“quoted”", "it's", "12 €", "Österreich", "Ærø", "①", "ﬁne", "\n", "plain", "Łódź", "Ünal"]


@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_text_without_mojibake_passes_unchanged(words: list[str]) -> None:
    assert repaired(" ".join(words)) == " ".join(words)


def test_plain_body_wins_over_html_and_html_over_the_raw_body() -> None:
    assert message_text(plain="plain", html="<p>html</p>", body="raw") == "plain"
    assert message_text(plain=" ", html="<p>html</p>", body="raw") == "html"
    assert message_text(plain=None, html=None, body="raw") == "raw"


def test_bytes_are_utf8_or_the_declared_charset_or_refused() -> None:
    assert decode("Grüße".encode(), None) == ("Grüße", False)
    assert decode("Grüße".encode("cp1252"), "cp1252") == ("Grüße", True)
    with pytest.raises(UnicodeDecodeError):
        decode("Grüße".encode("cp1252"), None)
    with pytest.raises(UnicodeDecodeError):
        decode(b"\x81", "cp1252")


def test_html_that_holds_what_is_no_element_is_read_around_it() -> None:
    assert html_text("><?v>") == ">"
    assert html_text("<p>a<?v>b<!DOCTYPE html>c</p>") == "abc"
