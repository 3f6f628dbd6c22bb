"""Facts from real follow-up turns: what they answer, when they are told, and what never becomes one."""

from __future__ import annotations

from schemas.spec import RequesterOptions
from tasks.case import Case, Turn
from tasks.requester import (
    Vocabulary,
    exchanges,
    message_forms,
    question_of,
    requester_of,
    surface,
    token_slots,
    unquoted,
    values_in,
)

SLOTS = {
    "order_id": ("order number", "which order"),
    "postcode": ("postcode", "zip"),
    "phone": ("phone",),
    "new_address": ("new address",),
    "sku": ("article number",),
}
WORDS = Vocabulary(SLOTS, {"sku": frozenset({"KET-2210-RED"})})
OPTIONS = RequesterOptions(patience=6, facts_per_message=2, slots=SLOTS)


def case(*said: tuple[str, str], decided: int | None = None) -> Case:
    """("r", words) is the requester, ("a", words) the agent, ("n", words) an internal note; one second apart."""
    turns = [
        Turn(at, at, "", text, who != "n", who == "r", f"R{at}") for at, (who, text) in enumerate(said, 1)
    ]  # fmt: skip
    return Case("T", "O", 1, 1, None, "code", requester="U", turns=turns, decided_us=decided)


def facts(*said: tuple[str, str], decided: int | None = None) -> list[tuple[tuple[str, ...], dict[str, str], bool]]:
    spec = requester_of(case(*said, decided=decided), WORDS, OPTIONS)
    return [(f.slots, f.values, f.volunteered) for f in spec.facts]


def test_an_answer_becomes_a_fact_of_what_was_asked_and_of_the_values_that_it_holds() -> None:
    found = facts(
        ("r", "help"),
        ("a", "Hello,\n\nWhich order is it? And the postcode, please?"),
        ("r", "ORDER_1A2B3C4D, POSTCODE_11112222."),
    )
    assert found == [(("order_id", "postcode"), {"order_id": "ORDER_1A2B3C4D", "postcode": "POSTCODE_11112222"}, False)]


def test_a_turn_that_nobody_asked_for_is_volunteered() -> None:
    found = facts(("r", "help"), ("r", "One more thing: article KET-2210-RED."))
    assert found == [(("sku",), {"sku": "KET-2210-RED"}, True)]


def test_an_article_number_of_the_same_shape_is_one_even_if_the_records_do_not_hold_it() -> None:
    assert values_in("we want LMP-77-BLU instead", WORDS) == {"sku": "LMP-77-BLU"}
    assert values_in("we want something else", WORDS) == {}


def test_a_real_dont_know_turn_is_kept_apart_and_is_no_fact() -> None:
    spec = requester_of(case(("r", "help"), ("a", "What is the order number?"), ("r", "No idea, sorry.")), WORDS, OPTIONS)
    assert spec.facts == ()
    assert spec.dont_know == ("No idea, sorry.",)


def test_thanks_are_no_fact() -> None:
    assert facts(("r", "help"), ("a", "We are looking into it."), ("r", "Thank you!")) == []


def test_what_is_said_after_the_decision_is_never_told() -> None:
    said = (
        ("r", "help"),
        ("a", "Which order?"),
        ("r", "ORDER_1A2B3C4D"),
        ("a", "Refunded."),
        ("r", "Thanks for the refund! Why so slow?"),
    )
    assert len(facts(*said, decided=4)) == 1


def test_an_internal_note_is_neither_a_question_nor_heard() -> None:
    found = exchanges(case(("r", "help"), ("n", "ask for the phone?"), ("r", "hello?")))
    assert [(e.question, e.volunteered) for e in found] == [("", True)]


def test_quoted_text_is_not_the_turns_own() -> None:
    assert unquoted("Yes, that one.\n\nOn Mon, 3 Mar 2025 at 09:00, Support wrote:\n> Which order?\n> A or B") == "Yes, that one."
    assert unquoted("> quoted\nmine") == "mine"


def test_a_question_is_what_asks() -> None:
    assert question_of("Hi,\n\nThank you for writing. Which order is it? Regards\nAnna").startswith("Which order is it?")
    assert question_of("We have closed your case.") == ""


def test_a_token_fills_the_slots_of_its_type_or_role() -> None:
    assert token_slots("ADDRESS_1A2B3C4D", SLOTS) == ["new_address"]
    assert token_slots("PERSON_1A2B3C4D_PHONE", SLOTS) == ["phone"]
    assert token_slots("PERSON_1A2B3C4D", SLOTS) == []


def test_a_typed_value_is_found_as_the_person_wrote_it() -> None:
    assert surface("My name is Sarah  Brown.", "sarah brown") == "Sarah  Brown"
    assert surface("account 351-531-510", "351531510") == "351-531-510"
    assert surface("at 17:30", "7") is None, "a short value must stand alone"


def test_forms_are_sentences_that_any_case_could_hold_the_most_used_first() -> None:
    both = "Hi PERSON_1A2B3C4D,\n\nWhat is the order number? And the postcode, please?\n\nRegards\nAnna"
    asked = requester_of(case(("r", "x"), ("a", both), ("r", "ORDER_1A2B3C4D, POSTCODE_11112222")), WORDS, OPTIONS)
    named = requester_of(
        case(("r", "x"), ("a", "PERSON_1A2B3C4D, what is the order number?"), ("r", "ORDER_1A2B3C4D")), WORDS, OPTIONS
    )
    told = "Hello Anna,\n\nWe refunded it today. Our reference for this is zq7h2k9x.\n\nBest regards\nPERSON_1A2B3C4D_FIRST"
    other = "Hi,\n\nWe refunded it today. Nobody else was told this.\n\nCheers"
    spoken = [(told, asked), (other, asked), ("We refunded ORDER_1A2B3C4D.", named)]
    forms = message_forms([(last, "refund_granted", requester) for last, requester in spoken], SLOTS)
    assert forms == {
        "ask": {"order_id": ["What is the order number?"], "postcode": ["And the postcode, please?"]},
        "tell": {"refund_granted": ["We refunded it today."]},
    }
