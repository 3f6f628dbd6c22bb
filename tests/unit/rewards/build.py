"""Journals built by hand for the tests of rewards."""

from __future__ import annotations

from typing import Any

from schemas.episode import Journal, JournalEntry, Refusal, RefusalKind, RowChange, RowRef, ToolCall
from schemas.task import (
    Answer,
    Opening,
    Outcome,
    ReferenceStep,
    RequesterSpec,
    RewardWeights,
    RuleRef,
    ScoreBounds,
    TaskSpec,
)
from schemas.taskset import State

START = "2025-09-10T09:00:00Z"
TICKET = RowRef(system="helpdesk", kind="ticket", record_id="TICKET_1")
IGNORED = ("payments.refund.created_at",)

READS = RuleRef(
    id="reads_order",
    rule="required_before",
    sentence="Read the order first.",
    parameters={"tool": "create_refund", "needs": [{"tools": ["get_order"], "same": {"order_id": "order_id"}}]},
)
DECISION_READS = RuleRef(
    id="decision_reads_order",
    rule="required_before",
    sentence="Read the order first.",
    parameters={"tool": "resolve", "needs": [{"tools": ["get_order"], "same": {"order_id": "about"}}]},
)
LIMIT = RuleRef(
    id="refund_limit",
    rule="limit",
    sentence="Never more than the order's total.",
    parameters={
        "tool": "create_refund",
        "argument": "amount_minor",
        "max": {"argument": "order_id", "system": "orders", "kind": "order", "field": "total_minor"},
    },
)
BASE: State = {
    "orders": {"order": {"ORDER_1": {"total_minor": 6500, "ship_to": "ADDRESS_1"}, "ORDER_2": {"total_minor": 900}}},
    "helpdesk": {"ticket": {"TICKET_1": {"status": "new"}}},
}


def task(**changes: Any) -> TaskSpec:
    given: dict[str, Any] = {
        "task_id": "t1",
        "taskset": "small",
        "workflow": "refund",
        "started_at": START,
        "organisation": "ORG_1",
        "opening": Opening(
            record=TICKET,
            requester_id="USER_1",
            requester_name="PERSON_1",
            contact="PERSON_1_EMAIL",
            subject="s",
            text="t",
            received_at=START,
        ),
        "systems": (),
        "state": (),
        "rules": (READS, DECISION_READS, LIMIT),
        "requester": RequesterSpec(patience=4),
        "max_steps": 20,
    }
    return TaskSpec(**{**given, **changes})


def refund(order: str = "ORDER_1", amount: int = 590, **more: Any) -> RowChange:
    fields = {"order_id": order, "amount_minor": amount, "reason": "late_delivery", **more}
    return RowChange(system="payments", kind="refund", op="create", record_id=None, fields=fields)


def answer(*, changes: tuple[RowChange, ...] | None = None, code: str = "refund_granted", **more: Any) -> Answer:
    outcome = Outcome(
        kind="difference",
        code=code,
        about="ORDER_1",
        changes=(refund(),) if changes is None else changes,
        ignored_fields=IGNORED,
        **more,
    )
    steps = [("get_order", {"order_id": "ORDER_1"}), ("create_refund", {}), ("resolve", {})]
    reference = tuple(ReferenceStep(call=ToolCall(tool=t, arguments=a), planned=t == "get_order") for t, a in steps)
    return Answer(
        task_id="t1", outcome=outcome, outcome_class="grant", reference=reference, bounds=ScoreBounds(g_min=-1.0, g_max=0.9)
    )


class Play:
    """Writes a journal call by call."""

    def __init__(self) -> None:
        self.entries: list[JournalEntry] = []
        self.rows = 0

    def call(self, tool: str, *, result: Any = None, **more: Any) -> Play:
        arguments = more.pop("arguments", {})
        self.entries.append(
            JournalEntry(
                step=len(self.entries),
                call=ToolCall(tool=tool, arguments=arguments),
                ok=True,
                result={"found": "row"} if result is None else result,
                clock=START,
                **more,
            )
        )
        return self

    def refused(self, tool: str, kind: RefusalKind = RefusalKind.bad_arguments, **arguments: Any) -> Play:
        self.entries.append(
            JournalEntry(
                step=len(self.entries),
                call=ToolCall(tool=tool, arguments=arguments),
                ok=False,
                refusal=Refusal(kind=kind, message="no"),
                clock=START,
            )
        )
        return self

    def read(self, order: str = "ORDER_1") -> Play:
        ref = RowRef(system="orders", kind="order", record_id=order)
        return self.call("get_order", arguments={"order_id": order}, reads=(ref,))

    def ask(self, **item: Any) -> Play:
        """A look-up that gives `item`."""
        return self.call("quote", result=item)

    def refund(self, order: str = "ORDER_1", amount: int = 590, reason: str = "late_delivery") -> Play:
        self.rows += 1
        row = refund(order, amount, reason=reason, created_at=START)
        change = row.model_copy(update={"record_id": f"REFUND_{self.rows}"})
        arguments = {"order_id": order, "amount_minor": amount, "reason": reason}
        return self.call("create_refund", arguments=arguments, changes=(change,))

    def update(self, record: str, before: dict[str, Any], **fields: Any) -> Play:
        change = RowChange(system="orders", kind="order", op="update", record_id=record, fields=fields, before=before)
        return self.call("change", arguments={"order_id": record, **fields}, changes=(change,))

    def say(self, *told: str) -> Play:
        return self.call("reply_to_requester", arguments={"text": "?"}, told=told)

    def resolve(self, code: str = "refund_granted", about: str = "ORDER_1", **more: Any) -> Play:
        fields = {"status": "solved", "resolution_code": code, "about_record": about}
        change = RowChange(system="helpdesk", kind="ticket", op="update", record_id="TICKET_1", fields=fields)
        arguments = {"code": code, "about": about, **more}
        return self.call("resolve", arguments=arguments, changes=(change,), finished=True)

    def journal(self, ended_by: str | None = None) -> Journal:
        done = bool(self.entries) and self.entries[-1].finished
        ended = ended_by if ended_by is not None else ("finish" if done else "")
        return Journal.model_validate({"task_id": "t1", "seed": 0, "entries": tuple(self.entries), "ended_by": ended})


WEIGHTS = RewardWeights()
