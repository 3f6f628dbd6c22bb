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
    assert found == [
        (("order_id",), {"order_id": "ORDER_1A2B3C4D"}, False),
        (("postcode",), {"postcode": "POSTCODE_11112222"}, False),
    ]


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


def told(*said: tuple[str, str]) -> list[tuple[str, str]]:
    """(question, answer) of each fact."""
    return [(f.question, f.answer) for f in requester_of(case(*said), WORDS, OPTIONS).facts]


def test_each_thing_told_in_one_turn_goes_with_the_sentence_that_asked_for_it() -> None:
    found = told(
        ("r", "help"),
        ("a", "What is the order number? And please tell me the postcode and the phone number."),
        ("r", "Sure, it is ORDER_1A2B3C4D. The postcode is POSTCODE_11112222 and phone PERSON_1A2B3C4D_PHONE."),
    )
    both = "And please tell me the postcode and the phone number."
    assert found == [
        ("What is the order number?", "Sure, it is ORDER_1A2B3C4D."),
        (both, "The postcode is POSTCODE_11112222"),
        (both, "phone PERSON_1A2B3C4D_PHONE."),
    ]


def test_a_dont_know_beside_an_answer_is_no_part_of_it() -> None:
    said = (("r", "help"), ("a", "Which order? The postcode?"), ("r", "It is ORDER_1A2B3C4D. The postcode I can't tell, sorry."))
    spec = requester_of(case(*said), WORDS, OPTIONS)
    assert [(f.slots, f.answer) for f in spec.facts] == [(("order_id",), "It is ORDER_1A2B3C4D.")]
    assert spec.dont_know == ("The postcode I can't tell, sorry.",)


def test_what_is_said_again_is_no_new_fact() -> None:
    again = (("a", "Which order number?"), ("r", "As I said, ORDER_1A2B3C4D"))
    assert len(facts(("r", "help"), ("a", "Which order?"), ("r", "ORDER_1A2B3C4D"), *again)) == 1


def test_a_value_put_right_replaces_the_wrong_one_and_is_told_for_the_same_question() -> None:
    wrong = (("r", "help"), ("a", "Which order?"), ("r", "ORDER_1A2B3C4D"))
    assert told(*wrong, ("r", "Sorry, I meant ORDER_99999999.")) == [("Which order?", "Sorry, I meant ORDER_99999999.")]


def test_a_value_that_was_tried_first_stays_and_the_later_one_follows_it() -> None:
    said = case(
        ("r", "help"), ("a", "Which order?"), ("r", "ORDER_1A2B3C4D"), ("a", "Gone. Which other order?"), ("r", "ORDER_99999999")
    )
    spec = requester_of(said, WORDS, OPTIONS, tried=lambda slot, value, before: value == "ORDER_1A2B3C4D")
    assert [f.values["order_id"] for f in spec.facts] == ["ORDER_1A2B3C4D", "ORDER_99999999"]


def test_yes_to_another_question_is_no_value() -> None:
    words = Vocabulary({"paid": ("fee",)}, {})
    values = {"paid": frozenset({"Yes"})}
    said = case(("r", "help"), ("a", "Is the fee paid?"), ("r", "Yes"), ("a", "Shall I book it?"), ("r", "Yes please"))
    found = requester_of(said, words, OPTIONS, values=values).facts
    assert [(f.slots, f.values) for f in found] == [(("paid",), {"paid": "Yes"}), ((), {})]


def test_of_two_values_in_one_turn_the_one_not_told_before_is_meant() -> None:
    values = {"to": frozenset({"Hospital", "Airport"})}
    said = case(("r", "help"), ("a", "Where to?"), ("r", "Hospital"), ("a", "Booked?"), ("r", "No, Airport not Hospital"))
    spec = requester_of(said, Vocabulary({}, {}), OPTIONS, values=values, tried=lambda *_: True)
    assert [f.values for f in spec.facts] == [{"to": "Hospital"}, {"to": "Airport"}]


def test_what_follows_the_decision_is_cut_where_the_records_tell_its_instant_elsewhere() -> None:
    said = case(("r", "help"), ("a", "Which order?"), ("r", "ORDER_1A2B3C4D"), ("a", "Booked."), ("r", "ORDER_99999999 too"))
    assert len(requester_of(said, WORDS, OPTIONS, decided_us=4).facts) == 1


LISTS = {
    "day": ("Monday", "Tuesday", "Wednesday"),
    "start": tuple(f"{n} pm" for n in range(1, 12)),
    "end": tuple(f"{n} pm" for n in range(1, 12)),
    "towed": ("Yes", "No"),
}


def told_of_lists(*said: tuple[str, str], **values: str) -> list[tuple[dict[str, str], str]]:
    """(values, words) of each fact; `values`: what was recorded of each slot, parted by "|"."""
    words = Vocabulary({"day": ("which day",), "start": ("what time",), "end": ("until when",), "towed": ("towed",)}, {})
    recorded = {slot: frozenset(held.split("|")) for slot, held in values.items()}
    found = requester_of(case(("r", "help"), *said), words, OPTIONS, values=recorded, listed=LISTS)
    return [(fact.values, fact.answer) for fact in found.facts]


def test_a_listed_value_is_a_fact_of_its_slot_in_whatever_words_it_was_said() -> None:
    found = told_of_lists(("a", "Which day, please?"), ("r", "Tues would do, at 14:00."), day="Tuesday", start="2 pm")
    assert found == [({"day": "Tues"}, "Tues would do"), ({"start": "14:00"}, "at 14:00.")]


def test_both_ends_of_a_range_stay_in_one_telling_for_one_end_alone_says_nothing() -> None:
    found = told_of_lists(("a", "When?"), ("r", "from 2 to 4 pm"), start="2 pm", end="4 pm")
    assert found == [({"start": "2 to 4 pm", "end": "2 to 4 pm"}, "from 2 to 4 pm")]


def test_a_value_said_again_in_other_words_is_no_new_fact() -> None:
    found = told_of_lists(("a", "What time?"), ("r", "2 pm"), ("a", "What time?"), ("r", "14:00"), start="2 pm")
    assert [values for values, _ in found] == [{"start": "2 pm"}]


def test_a_yes_is_a_fact_of_what_was_asked_and_of_nothing_else() -> None:
    assert told_of_lists(("a", "Was it towed?"), ("r", "Nope."), towed="No") == [({"towed": "Nope"}, "Nope.")]
    assert not any(values for values, _ in told_of_lists(("a", "Are you well?"), ("r", "Nope."), towed="No"))
    assert not any(values for values, _ in told_of_lists(("a", "Was it towed?"), ("r", "Nope."), towed="Yes"))
    assert told_of_lists(("a", "Was it towed?"), ("r", "I do not know."), towed="No") == []
