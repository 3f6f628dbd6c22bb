"""Threads are what mails say of one another, whoever is read first; words join only where they must be an answer."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ingest.sources._mail_plan import letter_of
from ingest.sources._mail_subjects import base_subject
from ingest.sources._mail_threads import Letter, Link, quote_is_known, rebuilt
from tests.unit.ingest.mails import mail

START = datetime(2025, 3, 3, 9, tzinfo=UTC)
WORDS = "our parcel of last week has not come and nobody in the hall can tell us where it went"
QUOTE = f"I see.\n\n> {WORDS[:45]}\n> {WORDS[45:]}\n\nIt comes today."


def letter(name: str, hour: float = 0, body: str = "", **headers: str | None) -> Letter:
    told: dict[str, str | None] = {"Message_ID": f"<{name}@x.example>", "Subject": "Parcel", **headers}
    made = letter_of(mail(body, **told), key=name)
    return replace(made, at=START + timedelta(hours=hour), sent=START + timedelta(hours=hour))


def groups(*letters: Letter, days: int = 30) -> tuple[set[frozenset[str]], dict[str, Link]]:
    """The same for every order in which they are given."""
    told = rebuilt(letters, window=timedelta(days=days))
    for seed in range(4):
        assert rebuilt(random.Random(seed).sample(letters, len(letters)), window=timedelta(days=days)) == told
    return {frozenset(thread.keys) for thread in told[0]}, told[1]


def one(*names: str) -> set[frozenset[str]]:
    return {frozenset(names)}


ASK = {"From": "anna@kunde.example", "To": "support@supplier.example"}
ANSWER = {"From": "support@supplier.example", "To": "anna@kunde.example"}


def test_references_and_in_reply_to_join_mails_also_over_one_that_is_missing() -> None:
    a, b = letter("a"), letter("b", 1, References="<a@x.example>")
    c = letter("c", 2, In_Reply_To="<b@x.example>")
    d, e = letter("d", 3, References="<a@x.example> <gone@x.example>"), letter("e", 4, In_Reply_To="<gone@x.example>")
    found, links = groups(a, b, c, d, e)
    assert found == one("a", "b", "c", "d", "e")
    assert links == {
        "b": Link("a", "references"),
        "c": Link("b", "in_reply_to"),
        "d": Link("a", "references"),
        "e": Link("a", "in_reply_to"),
    }


def test_answers_to_a_mail_that_is_not_there_are_one_thread_of_its_id() -> None:
    letters = letter("b", 1, References="<gone@x.example>"), letter("c", 2, References="<gone@x.example>", Subject="Other")
    threads, links = rebuilt(letters, window=timedelta(days=1))
    assert [(thread.root, thread.keys) for thread in threads] == [("gone@x.example", ("b", "c"))]
    assert set(links.values()) == {Link(None, "references")}


def test_references_that_are_written_backwards_name_the_same_parent_as_in_reply_to() -> None:
    a, b = letter("a"), letter("b", 1, References="<a@x.example>")
    c = letter("c", 2, In_Reply_To="<b@x.example>", References="<b@x.example> <a@x.example>")
    assert groups(a, b, c)[1]["c"] == Link("b", "references")


def test_mails_that_name_one_another_or_themselves_are_a_thread_and_no_circle() -> None:
    a, b = letter("a", References="<b@x.example>"), letter("b", 1, References="<a@x.example>")
    c = letter("c", 2, References="<c@x.example>", Subject="Other")
    assert groups(a, b, c)[0] == {frozenset("ab"), frozenset("c")}


def test_an_address_in_in_reply_to_joins_nobody() -> None:
    told = "Your message of Monday <support@supplier.example>"
    assert len(groups(letter("a", In_Reply_To=told), letter("b", 1, In_Reply_To=told, Subject="Other"))[0]) == 2


def test_a_later_mails_references_change_nothing_between_two_that_are_there() -> None:
    a, b = letter("a", Subject="One"), letter("b", 1, Subject="Two")
    c = letter("c", 2, Subject="Three", References="<a@x.example> <b@x.example>")
    assert groups(a, b, c)[0] == {frozenset("a"), frozenset("bc")}


def test_a_reply_without_headers_is_found_by_what_it_quotes() -> None:
    a, b = letter("a", body=WORDS, **ASK), letter("b", 1, Subject="Re: Parcel", body="Another matter of ours", **ASK)
    c = letter("c", 2, body=QUOTE, Subject="AW: Parcel", **ANSWER)
    assert groups(a, b, c)[1]["c"] == Link("a", "quoted")
    renamed = letter("c", 2, body=QUOTE, Subject="Your delivery", **ANSWER)
    assert groups(a, renamed)[1]["c"] == Link("a", "quoted")


def test_a_reply_that_overtakes_the_mail_it_quotes_is_joined_to_it() -> None:
    a = replace(letter("a", 1, body=WORDS, **ASK), sent=START)
    c = replace(letter("c", 0.99, body=QUOTE, Subject="Re: Parcel", **ANSWER), sent=START + timedelta(minutes=30))
    assert groups(a, c)[1] == {"c": Link("a", "quoted")}


@pytest.mark.parametrize(
    "subject", ["Re: Parcel", "AW: Parcel", "SV: RE[2]: Parcel", "Antw.: Parcel", "Re: [shop] Parcel", "[shop] re:Parcel"]
)
def test_a_reply_without_headers_or_quote_is_found_by_subject_between_the_same_people(subject: str) -> None:
    subject = subject.replace("Antw.", "Antw")
    found, links = groups(letter("a", **ASK), letter("b", 1, Subject=subject, **ANSWER))
    assert (found, links) == (one("a", "b"), {"b": Link("a", "subject")})


@pytest.mark.parametrize(
    ("hour", "headers"),
    [
        (1, {"Subject": "Parcel", **ANSWER}),
        (1, {"Subject": "Fwd: Parcel", **ANSWER}),
        (1, {"Subject": "WG: Parcel", **ANSWER}),
        (1, {"Subject": "Re: Fwd: Parcel", **ANSWER}),
        (1, {"Subject": "Re: Parcels", **ANSWER}),
        (24 * 40, {"Subject": "Re: Parcel", **ANSWER}),
        (-24, {"Subject": "Re: Parcel", **ANSWER}),
        (1, {"Subject": "Re: Parcel", "From": "bert@other.example", "To": "support@supplier.example"}),
        (1, {"Subject": "Re: Parcel", "References": "<gone@x.example>", **ANSWER}),
    ],
    ids=range(9),
)
def test_a_subject_alone_joins_no_forward_no_new_mail_no_stranger_and_nothing_long_ago(
    hour: float, headers: dict[str, str]
) -> None:
    assert len(groups(letter("a", **ASK), letter("b", hour, **headers))[0]) == 2


def test_a_forward_is_not_joined_by_what_it_quotes() -> None:
    assert len(groups(letter("a", body=WORDS, **ASK), letter("b", 1, body=QUOTE, Subject="Fwd: Parcel", **ANSWER))[0]) == 2


def test_a_case_number_in_brackets_keeps_cases_apart() -> None:
    assert base_subject("[Case 7] Re: Parcel") != base_subject("[Case 8] Re: Parcel")
    assert base_subject("[shop] Re: Parcel") == base_subject("re:  parcel") == ("parcel", True, False)
    assert base_subject("Re: Fwd: Parcel") == ("fwd: parcel", True, False)


def test_words_that_many_mails_hold_are_no_quote_of_one() -> None:
    on_list = {"List_Id": "<all.x.example>", "To": "all@x.example"}
    footer = f"\n\n> {WORDS}\n"
    letters = [letter(f"n{i}", i, body=f"{WORDS} {i}", Subject=f"Matter {i}", **on_list) for i in range(4)]
    assert len(groups(*letters, letter("z", 9, body=f"New.{footer}", Subject="Last", **on_list))[0]) == 5


def test_a_quote_is_left_out_only_where_the_thread_holds_its_words() -> None:
    a, c = letter("a", body=WORDS), letter("c", 1, body=QUOTE, References="<a@x.example>")
    assert quote_is_known(c, [a], linked=True)
    assert not quote_is_known(c, [letter("b", body="Something else was said here by us")], linked=True)
    assert not quote_is_known(c, [], linked=False)


def test_ten_thousand_answers_in_a_row_are_one_thread_in_no_time() -> None:
    first = letter("0")
    row = [
        replace(first, key=f"{i:05}", message_id=str(i), at=START + timedelta(seconds=i), references=(str(i - 1),))
        for i in range(10_000)
    ]
    assert len(rebuilt(row, window=timedelta(days=1))[0]) == 1
