"""A turn taken apart: each part tells one thing in the requester's own words."""

from __future__ import annotations

from tasks.telling import Span, sound_spans, tellings


def parts(turn: str, asked: tuple[str, ...] = (), **values: str) -> list[tuple[str, dict[str, str]]]:
    spans = [Span(slot, turn.find(value), turn.find(value) + len(value)) for slot, value in values.items()]
    return [(t.text, t.values) for t in tellings(turn, sound_spans(spans, asked)) if not t.unknown]


def test_sentences_and_lists_are_cut_between_values() -> None:
    assert parts("I am Ann. My account is 77 and my PIN is 4711.", name="Ann", account="77", pin="4711") == [
        ("I am Ann.", {"name": "Ann"}),
        ("My account is 77", {"account": "77"}),
        ("my PIN is 4711.", {"pin": "4711"}),
    ]


def test_a_preposition_goes_with_what_it_introduces() -> None:
    assert parts("From the University to the Airport, please.", start="University", end="Airport") == [
        ("From the University", {"start": "University"}),
        ("to the Airport, please.", {"end": "Airport"}),
    ]


def test_what_cannot_be_cut_stays_together() -> None:
    assert parts("9pm Saturday 87 people", time="9pm", guests="87") == [
        ("9pm Saturday 87 people", {"time": "9pm", "guests": "87"})
    ]


def test_words_that_tell_nothing_go_with_what_follows_and_at_the_end_with_what_came_before() -> None:
    assert parts("Ah, yes. It is 77. Good luck!", account="77") == [("Ah, yes. It is 77. Good luck!", {"account": "77"})]


def test_a_title_ends_no_sentence() -> None:
    assert parts("I saw Dr. Johnson. He is nice.", name="Dr. Johnson")[0][0].startswith("I saw Dr. Johnson.")


def test_a_value_inside_another_is_none_and_the_slot_asked_for_has_the_words_of_two() -> None:
    assert parts("At 2 pm", time="2 pm", guests="2") == [("At 2 pm", {"time": "2 pm"})]
    assert parts("The hospital", ("end",), start="hospital", end="hospital") == [("The hospital", {"end": "hospital"})]


def test_no_part_invents_words_and_a_dont_know_stands_by_itself() -> None:
    turn = "Sorry, I forgot. The order is 77, the day Monday; and for 4 people."
    values = {"order": "77", "day": "Monday", "guests": "4"}
    spans = [Span(slot, turn.find(value), turn.find(value) + len(value)) for slot, value in values.items()]
    found = tellings(turn, spans)
    assert all(part.text in turn for part in found)
    assert [(part.unknown, part.values) for part in found] == [
        (True, {}), (False, {"order": "77"}), (False, {"day": "Monday"}), (False, {"guests": "4"}),
    ]  # fmt: skip
