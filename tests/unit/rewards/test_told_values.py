"""A check of identity counts only with what the requester said: made-up values that "fail" do not earn a refusal."""

from __future__ import annotations

import pytest

from rewards.rules.required_before import RULE
from rewards.view import JournalView
from schemas.episode import JournalEntry, RowRef, ToolCall
from schemas.task import Fact, Opening, RequesterSpec, TaskSpec

TIME = "2025-03-01T09:00:00Z"
PARAMETERS = RULE.parameters.model_validate(
    {
        "tool": "resolve",
        "needs": [
            {
                "tools": ["verify_identity"],
                "same": {"account_id": "about"},
                "told": {"postcode": "postcode", "phone": "phone"},
                "returned": {"verified": False},
            }
        ],
    }
)
FACT = Fact(id="f1", slots=("postcode", "phone"), values={"postcode": "POSTCODE_0A0B0C0D", "phone": "PHONE_01020304"}, answer="-")


def view_of(*facts: Fact, opening: str = "Please unlock us.") -> JournalView:
    record = RowRef(system="helpdesk", kind="ticket", record_id="TICKET_00000001")
    first = Opening(
        record=record, requester_id="U", requester_name="P", contact="C", subject="Locked", text=opening, received_at=TIME
    )
    task = TaskSpec(
        task_id="t1",
        taskset="x",
        workflow="account_recovery",
        started_at=TIME,
        organisation="ORG_00000001",
        opening=first,
        systems=(),
        state=(),
        requester=RequesterSpec(facts=facts),
    )
    return JournalView.of_task(task, {})


def play(view: JournalView, postcode: str, phone: str, *, told: tuple[str, ...]) -> list[str]:
    """Asks, verifies with the given values, refuses; returns the messages of what is broken."""
    asks = ToolCall(tool="reply_to_requester", arguments={"text": "?"})
    verifies = ToolCall(tool="verify_identity", arguments={"account_id": "C-1", "postcode": postcode, "phone": phone})
    refuses = ToolCall(tool="resolve", arguments={"code": "access_refused_identity", "about": "C-1"})
    view.append(JournalEntry(step=0, call=asks, ok=True, told=told, clock=TIME))
    view.append(JournalEntry(step=1, call=verifies, ok=True, result={"account_id": "C-1", "verified": False}, clock=TIME))
    last = view.append(JournalEntry(step=2, call=refuses, ok=True, clock=TIME, finished=True))
    return [violation.message for violation in RULE.check(PARAMETERS, view, last)]


def test_a_check_with_what_the_requester_told_counts() -> None:
    assert play(view_of(FACT), "POSTCODE_0A0B0C0D", "PHONE_01020304", told=("f1",)) == []


@pytest.mark.parametrize(("postcode", "phone"), [("x", "x"), ("POSTCODE_0A0B0C0D", "x"), ("PHONE_01020304", "POSTCODE_0A0B0C0D")])
def test_a_check_with_made_up_values_does_not_count(postcode: str, phone: str) -> None:
    assert len(play(view_of(FACT), postcode, phone, told=("f1",))) == 1


def test_a_guess_of_what_was_never_told_does_not_count() -> None:
    assert len(play(view_of(FACT), "POSTCODE_0A0B0C0D", "PHONE_01020304", told=())) == 1


def test_values_that_stand_in_the_opening_count() -> None:
    view = view_of(opening="We are locked out. Postcode POSTCODE_0A0B0C0D, phone PERSON_01020304_PHONE.")
    assert play(view, "POSTCODE_0A0B0C0D", "PERSON_01020304_PHONE", told=()) == []


def test_other_words_of_the_opening_do_not_count() -> None:
    opening = "Order ORDER_0A0B0C0D, postcode POSTCODE_0A0B0C0D, phone PHONE_01020304."
    assert len(play(view_of(opening=opening), "ORDER_0A0B0C0D", "ORDER_0A0B0C0D", told=())) == 1
    assert len(play(view_of(opening=opening), "order", "phone", told=())) == 1
