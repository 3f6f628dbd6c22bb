"""Reading a free message: what it asks for, however it is put."""

from __future__ import annotations

from pathlib import Path

import pytest

from environments.asking import Learnt, Vocabulary, clauses, features, learnt_from, plain
from environments.requester import RequesterRun, asked, prepare
from schemas.spec import load_spec
from schemas.task import Fact, RequesterSpec

SLOTS = {
    "order_id": ("order number", "which order"),
    "postcode": ("postcode", "zip"),
    "pin": ("pin",),
    "name": ("your name", "full name"),
    "day": ("what day", "which day"),
}
FACTS = (
    Fact(id="order", slots=("order_id",), values={"order_id": "ORDER_1"}, question="Which order is it?", answer="ORDER_1"),
    Fact(id="postcode", slots=("postcode",), values={"postcode": "10115"}, question="And your postcode?", answer="10115"),
    Fact(id="pin", slots=("pin",), values={"pin": "4711"}, question="What is your PIN?", answer="4711"),
    Fact(id="name", slots=("name",), values={"name": "John Miller"}, question="Who are you?", answer="John Miller"),
    Fact(id="monday", slots=("day",), values={"day": "Monday"}, question="Which day do you want?", answer="Monday"),
    Fact(
        id="friday", slots=("day",), values={"day": "Friday"}, question="Monday is taken, is another one fine?", answer="Friday"
    ),
)


def ids(text: str, told: tuple[str, ...] = (), learnt: Learnt | None = None) -> list[str]:
    requester = prepare(RequesterSpec(facts=FACTS), SLOTS, learnt=learnt or Learnt())
    return [fact.id for fact in asked(requester, text, dict.fromkeys(told))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Could I trouble you for the order number?", ["order"]),
        ("I still need your postcode before I can go on.", ["postcode"]),
        ("order number", ["order"]),
        ("What is your PIN? And your name?", ["pin", "name"]),
        ("Please tell me your full name, your postcode and the order number.", ["name", "postcode", "order"]),
        ("Could you tell me the ordre numbr?", ["order"]),
        ("WHAT IS YOUR POSTCODE", ["postcode"]),
        ("What is your \uff50\uff4f\uff53\uff54\uff43\uff4f\uff44\uff45?", ["postcode"]),
        ("Is it John Miller?", ["name"]),
        ("I was wondering whether you could let me know your zip", ["postcode"]),
        ("May I have the order number please", ["order"]),
        ("Could we have your postcode", ["postcode"]),
    ],
)
def test_honest_questions_however_they_are_put_bring_what_they_ask_for(text: str, found: list[str]) -> None:
    assert sorted(ids(text)) == sorted(found)


@pytest.mark.parametrize(
    "text",
    [
        "You don't need to tell me your PIN.",
        "Please do not send me your PIN or your postcode.",
        "Never share your PIN with anybody.",
        "There is no need to give me the order number.",
        "Your postcode is not needed.",
        "Thank you for the order number.",
        "I have noted your postcode.",
        "The order number has been changed.",
        "I have the order number",
        "We have received your postcode, please wait.",
        "Is it Jane?",
        "Tell me everything.",
        "Please answer.",
    ],
)
def test_what_is_not_asked_for_is_not_told(text: str) -> None:
    assert ids(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("May I have the order number please", ["order_id"]),
        ("Hi, may I have the order ID please", ["order_id"]),
        ("May I have your postcode and phone number please", ["phone", "postcode"]),
        ("Please share your order reference", ["order_id"]),
        ("Which purchase is it about?", ["order_id"]),
        ("Which one of your orders is it?", ["order_id"]),
        ("What is your postal code?", ["postcode"]),
        ("Your mobile number, please.", ["phone"]),
        ("Which number do we have on file for you?", ["phone"]),
        ("Where should we send it?", ["new_address"]),
        ("What would you like in exchange?", ["sku"]),
        ("Which account is it?", ["account_id"]),
        ("number", []),
        ("Number?", []),
        ("May I have the number please", []),
        ("We have your order number on file.", []),
    ],
)
def test_the_helpdesk_words_take_the_usual_questions_and_no_bare_number(text: str, found: list[str], repo_root: Path) -> None:
    slots = load_spec(repo_root / "tasks" / "specs" / "helpdesk_v1.toml").requester.slots
    facts = tuple(Fact(id=s, slots=(s,), values={s: f"value of {s}"}, question="", answer=f"It is {s}.") for s in slots)
    assert sorted(fact.id for fact in asked(prepare(RequesterSpec(facts=facts), slots), text)) == found


def test_one_word_of_a_recorded_question_does_not_ask_it() -> None:
    fact = Fact(id="order", slots=("order_id",), values={"order_id": "ORDER_1"}, question="Order number?", answer="ORDER_1")
    requester = prepare(RequesterSpec(facts=(fact,)), {"order_id": ("which order",)})
    assert [f.id for f in asked(requester, "Number?")] == []
    assert [f.id for f in asked(requester, "The number of the order?")] == ["order"]


def test_a_negation_ends_with_its_clause() -> None:
    assert ids("You don't need to tell me your PIN, but what is your postcode?") == ["postcode"]
    assert ids("Your PIN is not needed; please give me the order number.") == ["order"]


def test_a_second_value_is_told_once_the_first_was_or_for_its_own_question() -> None:
    assert ids("Which day?") == ["monday"]
    assert ids("Which day?", told=("monday",))[0] == "friday"
    assert ids("Which day?", told=("monday", "friday")) == ["friday"]
    assert ids("I am sorry, Monday is taken, is another one fine?") == ["friday"]


def test_a_change_of_mind_that_nobody_asked_for_comes_with_what_it_changes() -> None:
    facts = (*FACTS[:1], Fact(id="other", slots=("order_id",), values={"order_id": "ORDER_2"}, answer="Wait, ORDER_2."))
    requester = prepare(RequesterSpec(facts=facts), SLOTS)
    assert [fact.id for fact in asked(requester, "Which order number?")] == ["order", "other"]


def test_learnt_words_ask_too_but_come_after_what_is_asked_for_by_name() -> None:
    learnt = learnt_from(
        {
            "bias": {"name": -2000},
            "weights": {"name": {"introduce": 3000, "yourself": 500, "please": 900}},
            "threshold": 0,
            "fitted_on": ["t1"],
            "dont_know": {"w": ["No clue."]},
        }
    )
    assert ids("Please introduce yourself", learnt=learnt) == ["name"]
    assert ids("Please introduce yourself; and what is your postcode?", learnt=learnt) == ["postcode", "name"]
    assert ids("Please, please, please!", learnt=learnt) == []


def test_what_others_told_after_a_question_adds_nothing_where_this_requester_was_really_asked_it() -> None:
    learnt = learnt_from(
        {"bias": {"pin": 0}, "weights": {"pin": {"who": 2000}}, "threshold": 0, "fitted_on": [], "dont_know": {}}
    )
    assert ids("Who are you?", learnt=learnt) == ["name"]
    assert ids("Who is that person over there?", learnt=learnt) == ["pin"]
    assert ids("Who are you? Who is that person over there?", learnt=learnt) == ["name", "pin"]


def test_what_is_likely_anyway_is_not_yet_asked_for() -> None:
    weights = {"pin": {"code": 900}}
    learnt = learnt_from({"bias": {"pin": 9000}, "weights": weights, "threshold": 0, "fitted_on": [], "dont_know": {}})
    assert ids("Tell me everything you know, please.", learnt=learnt) == []


def test_dont_know_turns_come_from_the_task_or_else_from_training_records_of_its_workflow() -> None:
    turns = {"w": ["No clue."], "": ["Hm."]}
    learnt = learnt_from({"bias": {}, "weights": {}, "threshold": 0, "fitted_on": [], "dont_know": turns})

    def said(own: tuple[str, ...], workflow: str) -> str:
        spec = RequesterSpec(facts=FACTS, dont_know=own)
        return RequesterRun(prepare(spec, SLOTS, learnt=learnt, workflow=workflow), 0).answer("What is your shoe size?").text

    assert (said(("I forgot.",), "w"), said((), "w"), said((), "other")) == ("I forgot.", "No clue.", "Hm.")


def test_one_slip_is_read_as_the_word_meant_and_a_plural_or_another_word_is_not() -> None:
    vocabulary = Vocabulary(frozenset({"postcode", "phone", "orders"}))
    said = ("postcdoe", "postcod", "posstcode", "pastcode", "phones", "order", "telephone")
    meant = ["postcode", "postcode", "postcode", "postcode", "phones", "order", "telephone"]
    assert [vocabulary.meant(word) for word in said] == meant


def test_a_message_is_read_in_bounds() -> None:
    assert len(plain("\ufdfa" * 5000)) <= 1500
    assert len(clauses("a. " * 5000)) == 8
    assert features("What is ORDER_1A2B3C4D on 12?") >= {"xtoken", "#", "what is", "?"}
