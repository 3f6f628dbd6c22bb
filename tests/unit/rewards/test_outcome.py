"""The typed difference: what is right, what is collateral, what does not count."""

from __future__ import annotations

from typing import Any

import pytest

from rewards.score import grade
from schemas.episode import Grade, RowChange
from schemas.errors import GraderError
from schemas.task import Answer, Outcome
from tests.unit.rewards.build import BASE, Play, answer, refund, task


def judged(play: Play, wanted: Answer | None = None) -> Grade:
    return grade(task(rules=()), wanted or answer(), BASE, play.journal())


def update(record: str, **fields: object) -> RowChange:
    return RowChange(system="orders", kind="order", op="update", record_id=record, fields=fields)


def test_the_expected_row_and_the_right_finish_are_right() -> None:
    found = judged(Play().read().refund().resolve())
    assert found.success
    assert found.full
    assert found.quality == 1.0


def test_fields_that_no_one_decided_do_not_count_and_numbers_are_normalised() -> None:
    wanted = answer(changes=(refund(amount=590, created_at="2024-01-01T00:00:00Z"),))
    assert judged(Play().read().refund(amount=590).resolve(), wanted).success
    assert judged(Play().read().refund().resolve(), answer(changes=(refund(amount="590.0"),))).success  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "play",
    [
        Play().read().refund(amount=591).resolve(),
        Play().read().refund(order="ORDER_2").resolve(),
        Play().read().refund(reason="damaged_item").resolve(),
        Play().read().refund().refund().resolve(),
        Play().read().resolve(),
        Play().read().refund().resolve(code="refund_refused"),
        Play().read().refund().resolve(about="ORDER_2"),
        Play().read().refund().update("ORDER_1", {"ship_to": "ADDRESS_1"}, ship_to="ADDRESS_2").resolve(),
        Play().read().refund(),
    ],
)
def test_one_wrong_thing_makes_the_outcome_wrong(play: Play) -> None:
    found = judged(play)
    assert not found.success
    assert not found.outcome_right
    assert found.quality < 1.0
    assert any(reason.startswith(("wrong", "collateral")) for reason in found.reasons)


def test_two_equal_rows_are_compared_as_a_multiset() -> None:
    twice = answer(changes=(refund(), refund()))
    assert judged(Play().read().refund().refund().resolve(), twice).success
    assert not judged(Play().read().refund().resolve(), twice).success


def test_the_difference_is_that_of_the_state_and_not_of_the_writes() -> None:
    wanted = answer(changes=(update("ORDER_1", ship_to="ADDRESS_2"),))
    play = Play().read()
    play.update("ORDER_1", {"ship_to": "ADDRESS_1"}, ship_to="ADDRESS_9").update(
        "ORDER_1", {"ship_to": "ADDRESS_9"}, ship_to="ADDRESS_2"
    )
    assert judged(play.resolve(), wanted).outcome_right


def test_a_field_set_to_what_it_was_is_no_difference_and_never_meets_a_criterion() -> None:
    idle = Play().read().refund().update("ORDER_1", {"ship_to": "ADDRESS_1"}, ship_to="ADDRESS_1").resolve()
    assert judged(idle).success


def test_a_collateral_write_breaks_the_path_even_when_it_is_undone() -> None:
    play = Play().read().refund()
    play.update("ORDER_1", {"ship_to": "ADDRESS_1"}, ship_to="X").update("ORDER_1", {"ship_to": "X"}, ship_to="ADDRESS_1")
    found = judged(play.resolve())
    assert found.outcome_right
    assert not found.success
    assert [v.rule for v in found.violations] == ["collateral"]


def test_a_refusal_needs_a_positive_act_with_the_right_code_and_record() -> None:
    refusal = answer(changes=(), code="refund_refused_window")
    assert judged(Play().read().resolve("refund_refused_window"), refusal).success
    assert not judged(Play().read().resolve("refund_refused_not_late"), refusal).success
    assert not judged(Play().read().resolve("refund_refused_window", about="ORDER_2"), refusal).success
    assert not judged(Play().read(), refusal).success


def test_an_alternative_that_is_equally_right_is_right_and_mixtures_are_not() -> None:
    other = Outcome(kind="difference", code="credit_granted", about="ORDER_1", changes=(refund(amount=1000),))
    both = answer(alternatives=(other,))
    assert judged(Play().read().refund(amount=1000).resolve("credit_granted"), both).success
    assert judged(Play().read().refund().resolve(), both).success
    assert not judged(Play().read().refund(amount=1000).resolve(), both).success


def answering(said: dict[str, Any], wanted: Answer) -> Grade:
    """One who has looked up price and day says `said`."""
    return judged(Play().ask(price="12.50", day="Monday").resolve("answered", answer=said), wanted)


def test_an_answer_is_compared_field_by_field_and_a_stray_field_is_wrong() -> None:
    outcome = Outcome(kind="answer", code="answered", answer={"price": "12.50", "day": "Monday"})
    wanted = answer().model_copy(update={"outcome": outcome})
    assert answering({"price": 12.5, "day": "monday"}, wanted).success
    assert not answering({"price": 12.5}, wanted).success
    assert not answering({"price": 12.5, "day": "monday", "x": 1}, wanted).success
    half = answering({"price": 12.5, "day": "tuesday"}, wanted)
    assert half.quality == pytest.approx(2 / 3)


def test_a_right_answer_that_no_system_has_given_is_no_success() -> None:
    outcome = Outcome(kind="answer", code="answered", answer={"price": "12.50", "day": "Monday"})
    wanted = answer().model_copy(update={"outcome": outcome})
    said = {"price": 12.5, "day": "Monday"}
    assert judged(Play().ask(price="12.50", day="Monday").resolve("answered", answer=said), wanted).full
    for play in (Play(), Play().read(), Play().ask(price="12.50"), Play().ask(result="no_record")):
        guessed = judged(play.resolve("answered", answer=said), wanted)
        assert not guessed.success
        assert guessed.outcome_right
        assert {v.rule for v in guessed.violations} & {"answer_unread", "closed_unread"}


def test_an_empty_criterion_set_cannot_be_judged() -> None:
    with pytest.raises(GraderError, match="no code"):
        judged(Play().read().resolve(), answer(code=""))
    with pytest.raises(GraderError, match="no code"):
        judged(Play().read().resolve(), answer(alternatives=(Outcome(kind="difference", code=""),)))


def test_deleting_an_expected_or_another_row_is_told_apart() -> None:
    gone = RowChange(system="orders", kind="order", op="delete", record_id="ORDER_2", fields={})
    wanted = answer(changes=(gone,))
    assert judged(Play().read().call("drop", changes=(gone,)).resolve(), wanted).success
    assert not judged(Play().read().refund().call("drop", changes=(gone,)).resolve()).success
