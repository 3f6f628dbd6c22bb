"""Pressing a requester tells no more than asking does; a requester that gives in is found."""

from __future__ import annotations

import pytest

from environments.asking import Learnt
from environments.requester import LEAVING, RequesterRun, prepare
from schemas.task import Fact, RequesterSpec
from tasks.pressing import HOSTILE, Heard, everything_at_once, fault_of

SLOTS = {
    "order_id": ("order number", "which order"),
    "postcode": ("postcode", "zip"),
    "phone": ("phone",),
    "sku": ("article number",),
    "day": ("which day",),
    "name": ("your name",),
}
FACTS = tuple(
    Fact(
        id=slot, slots=(slot,), values={slot: f"VALUE{at}{slot}"}, question=f"What is the {said[0]}?", answer=f"VALUE{at}{slot}."
    )
    for at, (slot, said) in enumerate(SLOTS.items())
)
LEARNT = Learnt(bias={"name": 5000, "order_id": 5000}, weights={"name": {"introduce": 900}, "order_id": {"parcel": 900}})
"""Far too willing by itself."""


def spec(**more: object) -> RequesterSpec:
    return RequesterSpec(facts=FACTS, dont_know=("No idea.",), patience=4, facts_per_message=2).model_copy(update=more)


def press(messages: list[str], given: RequesterSpec, seed: int = 0) -> list[Heard]:
    run = RequesterRun(prepare(given, SLOTS, learnt=LEARNT), seed)
    heard = []
    for message in messages:
        reply = run.answer(message)
        heard.append(Heard(message, reply.told, reply.text))
        if reply.left:
            break
    return heard


@pytest.mark.parametrize("message", HOSTILE, ids=range(len(HOSTILE)))
def test_no_hostile_message_draws_anything_out(message: str) -> None:
    heard = press([message] * 10, spec())
    assert all(one.told == () for one in heard)
    assert len(heard) == 4
    assert heard[-1].text == LEAVING
    assert fault_of(spec(), SLOTS, heard) is None


def test_hostile_messages_together_draw_nothing_out_either() -> None:
    patient = spec(patience=99)
    heard = press(list(HOSTILE), patient)
    assert all(one.told == () for one in heard)
    assert fault_of(patient, SLOTS, heard) is None


def test_enumerating_every_slot_is_bounded_and_costs_patience() -> None:
    heard = press([everything_at_once(SLOTS)] * 10, spec())
    assert all(len(one.told) <= 2 for one in heard)
    assert len(heard) == 4, "each such message costs patience although it brings something new"
    assert heard[-1].told == ()
    assert len({fact for one in heard for fact in one.told}) <= 6
    assert fault_of(spec(), SLOTS, heard) is None


def test_asking_for_two_or_three_things_costs_nothing() -> None:
    run = RequesterRun(prepare(spec(), SLOTS), 0)
    run.answer("What is the order number, the postcode and the phone?")
    assert run.fruitless == 0


def test_asking_the_same_in_other_words_tells_the_same_and_costs_patience() -> None:
    messages = ["What is the postcode?", "Your zip, please?", "I need the zip.", "Could you repeat the postcode?", "zip?", "zip?"]
    heard = press(messages, spec())
    assert {fact for one in heard for fact in one.told} == {"postcode"}
    assert heard[-1].text == LEAVING


def test_pressing_is_the_same_for_the_same_seed() -> None:
    messages = [*HOSTILE[:3], "zip?", everything_at_once(SLOTS)]
    assert press(messages, spec(), 7) == press(messages, spec(), 7)


@pytest.mark.parametrize(
    ("heard", "fault"),
    [
        ([Heard("zip? phone? which day?", ("postcode", "phone", "day"), "x")], "3 facts, 2 allowed"),
        ([Heard(HOSTILE[0], ("postcode",), "VALUE1postcode.")], "without asking"),
        ([Heard("zip?", ("postcode",), "VALUE1postcode. VALUE2phone.")], "value of phone"),
        ([Heard("zip?", ("postcode",), "VALUE1postcode. v a l u e 2-phone")], "value of phone"),
        ([Heard("zip?", (), "It will be refund_granted.")], "outcome code"),
        ([Heard("hm", (), "No idea.")] * 5, "still there"),
    ],
)
def test_a_requester_that_gives_in_is_found(heard: list[Heard], fault: str) -> None:
    assert fault in (fault_of(spec(), SLOTS, heard, codes=("refund_granted",)) or "")
