"""A model may phrase what is told; what is told, and what may be said, is decided by code. Against a local stub endpoint."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from pydantic import ValidationError

from environments.requester import RequesterRun, prepare
from environments.spoken import GIVE_UP, Speaker, fault_of
from schemas.errors import WorldError
from schemas.spec import SpeakerSpec
from schemas.task import Fact, RequesterSpec
from tests.endpoint_stub import Answer, Stub, opened, raw, said

SLOTS = {"order_id": ("order number",), "pin": ("pin",), "name": ("your name",), "gift": ("gift",), "place": ("which place",)}
FACTS = (
    Fact(id="order", slots=("order_id",), values={"order_id": "ORDER_1A2B3C4D"}, answer="The number is ORDER_1A2B3C4D."),
    Fact(id="pin", slots=("pin",), values={"pin": "4711"}, answer="My PIN is 4711."),
    Fact(id="name", slots=("name",), values={"name": "John Miller"}, answer="John Miller, that is me."),
    Fact(id="gift", slots=("gift",), values={"gift": "Yes"}, answer="Yes, it was."),
    Fact(id="place", slots=("place",), answer="Near the river."),
)
CODES = ("refund_granted",)


@pytest.fixture
def stub() -> Iterator[Stub]:
    yield from opened()


def speaker(stub: Stub, **more: Any) -> Speaker:
    given = {"host": stub.url, "model": "m", "purpose": "a test of the requester", "timeout_s": 5.0, "retries": 0, **more}
    return Speaker(SpeakerSpec(**given), CODES)


def run(who: Speaker | None) -> RequesterRun:
    spec = RequesterSpec(facts=FACTS, dont_know=("No idea.",), patience=20)
    return RequesterRun(prepare(spec, SLOTS), 0, speaker=who)


def test_the_model_phrases_the_facts_that_the_code_chose(stub: Stub) -> None:
    stub.answer = said("Sure, here you go: ORDER_1A2B3C4D")
    who = speaker(stub)
    reply = run(who).answer("What is the order number?")
    assert (reply.text, reply.told) == ("Sure, here you go: ORDER_1A2B3C4D", ("order",))
    assert who.counts == {"spoken": 1}


def test_only_the_message_and_the_chosen_words_are_sent(stub: Stub) -> None:
    run(speaker(stub)).answer("What is the order number?")
    sent = json.dumps(stub.got)
    assert "ORDER_1A2B3C4D" in sent
    assert not any(other in sent for other in ("4711", "Miller", "river", "refund_granted"))
    assert "Authorization" not in stub.headers[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ORDER_1A2B3C4D, and my PIN is 4711.", "untold value"),
        ("ORDER_1A2B3C4D. I am john miller.", "untold value"),
        ("ORDER_1A2B3C4D from J-o-h-n M-i-l-l-e-r", "untold value"),
        ("Here it is, the number you want.", "value missing"),
        ("ORDER_1A2B3C4", "value missing"),
        ("ORDER_1A2B3C4D or ORDER_9F9F9F9F", "new token"),
        ("ORDER_1A2B3C4D, for 12 euros", "new number"),
        ("ORDER_1A2B3C4D, four seven one one", "new value"),
        ("ORDER_1A2B3C4D, it came on Monday", "new value"),
        ("ORDER_1A2B3C4D, ask Anna", "new name"),
        ("ORDER_1A2B3C4D, so it is refund granted", "outcome code"),
        ("It is not ORDER_1A2B3C4D", "negation"),
        ('{"order": "ORDER_1A2B3C4D"}', "markup"),
        ("ORDER_1A2B3C4D see https://example.com", "markup"),
        ("ORDER_1A2B3C4D bXkgcGluIGlzIGxvbmc", "odd word"),
        ("ORDER_1A2B3C4D " + "well " * 200, "too long"),
        ("   ", "empty"),
    ],
)
def test_a_model_that_says_too_much_too_little_or_otherwise_is_not_heard(stub: Stub, text: str, why: str) -> None:
    stub.answer = said(text)
    who = speaker(stub)
    reply = run(who).answer("What is the order number?")
    assert reply.text == "The number is ORDER_1A2B3C4D."
    assert who.counts == {f"recorded: {why}": 1}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (raw("no", 500), "status 500"),
        (raw("nope", 429), "status 429"),
        (raw("<html>"), "broken answer"),
        (raw("[1, 2]"), "broken answer"),
        (raw('{"choices": []}'), "broken answer"),
        (raw('{"choices": [{"message": {"content": 5}}]}'), "broken answer"),
        (raw("x" * 100_000), "answer too long"),
    ],
)
def test_a_failing_endpoint_leaves_the_recorded_words_and_is_counted(stub: Stub, answer: Answer, why: str) -> None:
    stub.answer = answer
    who = speaker(stub)
    assert run(who).answer("What is the order number?").text == "The number is ORDER_1A2B3C4D."
    assert who.counts == {f"recorded: {why}": 1}


def test_an_endpoint_that_hangs_or_drips_costs_no_more_than_its_time(stub: Stub) -> None:
    def drip(_: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _at in range(40):
            try:
                handler.wfile.write(b" ")
                handler.wfile.flush()
            except OSError:
                return
            time.sleep(0.05)

    for answer in (lambda *_: time.sleep(2), drip):
        stub.answer = answer
        who, start = speaker(stub, timeout_s=0.3), time.monotonic()
        assert run(who).answer("What is the order number?").text == "The number is ORDER_1A2B3C4D."
        assert time.monotonic() - start < 1.5
        assert who.counts == {"recorded: timeout": 1}


def test_a_redirect_is_not_followed(stub: Stub) -> None:
    other = Stub()
    try:

        def away(_: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(307)
            handler.send_header("Location", f"{other.url}/chat/completions")
            handler.end_headers()

        stub.answer = away
        who = speaker(stub)
        run(who).answer("What is the order number?")
        assert other.got == []
        assert who.counts == {"recorded: status 307": 1}
    finally:
        other.server.shutdown()
        other.server.server_close()


def test_retries_are_made_and_an_endpoint_that_keeps_failing_is_asked_no_more(stub: Stub) -> None:
    stub.answer = raw("no", 503)
    who = speaker(stub, retries=1)
    requester = run(who)
    for _ in range(GIVE_UP + 2):
        requester.answer("What is the order number?")
    assert len(stub.got) == 2 * GIVE_UP
    assert who.counts == {"recorded: status 503": GIVE_UP, "recorded: given up": 2}


def test_what_cannot_be_checked_is_said_as_recorded_and_not_sent(stub: Stub) -> None:
    who = speaker(stub)
    requester = run(who)
    assert requester.answer("Was it a gift?").text == "Yes, it was."
    assert requester.answer("Which place?").text == "Near the river."
    assert requester.answer("What is the weather like?").text == "No idea."
    assert stub.got == []
    assert who.counts == {"recorded: nothing to check by": 2}


def test_who_is_told_what_is_the_same_whoever_speaks(stub: Stub) -> None:
    stub.answer = said("My PIN is 4711, the order is ORDER_1A2B3C4D and I am John Miller")
    messages = ["Tell me everything.", "order number?", "Your PIN and the order number, please?", "order number?", "your name?"]
    spoken, plain = run(speaker(stub)), run(None)
    for message in messages:
        assert spoken.answer(message).told == plain.answer(message).told
    assert (spoken.told, spoken.fruitless) == (plain.told, plain.fruitless)


def test_the_key_comes_from_the_named_variable_and_goes_to_the_host_alone(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEAKER_KEY", "abc")
    run(speaker(stub, key_env="SPEAKER_KEY")).answer("What is the order number?")
    assert stub.headers[0]["Authorization"] == "Bearer abc"
    monkeypatch.delenv("SPEAKER_KEY")
    with pytest.raises(WorldError, match="SPEAKER_KEY"):
        speaker(stub, key_env="SPEAKER_KEY")


@pytest.mark.parametrize(
    "wrong",
    [
        {"purpose": ""}, {"host": "http://models.example.com/v1"}, {"host": "ftp://x/v1"}, {"host": "models"},
        {"host": "https://user:secret@models.example.com/v1"}, {"timeout_s": 0}, {"retries": 99},
    ],
)  # fmt: skip
def test_an_endpoint_without_purpose_or_safe_place_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SpeakerSpec(**{"host": "https://models.example.com/v1", "model": "m", "purpose": "words for a game", **wrong})
    with pytest.raises(ValidationError):
        SpeakerSpec(host="https://models.example.com/v1", model="m")  # type: ignore[call-arg]


def test_the_recorded_words_themselves_always_pass() -> None:
    for fact in FACTS[:3]:
        others = [v for o in FACTS if o is not fact for v in o.values.values()]
        assert fault_of(fact.answer, [fact], fact.answer, others, CODES) is None
