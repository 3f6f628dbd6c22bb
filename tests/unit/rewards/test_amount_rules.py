"""Amounts that policy fixes: every form of `exact`, and what `overdue` says at its edge and without a time."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from rewards.rules.exact import RULE as EXACT
from rewards.rules.overdue import RULE as OVERDUE
from rewards.view import JournalView
from schemas.episode import JournalEntry, RowRef, ToolCall, Violation
from schemas.errors import GraderError

TIME = "2025-08-01T09:00:00Z"
ORDER = {"argument": "order_id", "system": "orders", "kind": "order"}
BASE: dict[str, Any] = {
    "orders": {"order": {"O1": {"shipping_minor": 590, "account_id": "C1"}, "O2": {"account_id": "C1"}}, "line": {}},
    "accounts": {"account": {"C1": {"tier": "gold"}, "C2": {"tier": "new"}}},
    "payments": {
        "payment": {
            "P1": {"order_id": "O1", "amount_minor": 700, "status": "captured"},
            "P2": {"order_id": "O1", "amount_minor": 700, "status": "captured"},
            "P3": {"order_id": "O1", "amount_minor": 900, "status": "captured"},
            "P4": {"order_id": "O1", "amount_minor": 900, "status": "voided"},
            "P5": {"order_id": "O2", "amount_minor": 300, "status": "captured"},
        }
    },
}
DOUBLE = {
    "tool": "create_refund", "argument": "amount_minor",
    "rows": {"system": "payments", "kind": "payment", "match": "order_id", "where": {"status": ["captured"]},
             "factors": ["amount_minor"], "at_least": 2},
}  # fmt: skip
SHIPPING = {"tool": "create_refund", "argument": "amount_minor", "field": {**ORDER, "field": "shipping_minor"}}
TABLE = {
    "tool": "grant_credit", "argument": "amount_minor", "amounts": {"gold": 3000},
    "by": {"argument": "account_id", "system": "accounts", "kind": "account", "field": "tier"},
}  # fmt: skip


def judged(rule: Any, parameters: dict[str, Any], arguments: dict[str, Any], base: Any = BASE) -> list[Violation]:
    view = JournalView(base, TIME)
    call = ToolCall(tool=parameters["tool"], arguments=arguments)
    return list(
        rule.check(
            rule.parameters.model_validate(parameters), view, view.append(JournalEntry(step=0, call=call, ok=True, clock=TIME))
        )
    )


@pytest.mark.parametrize(
    ("parameters", "arguments", "kept"),
    [
        (SHIPPING, {"order_id": "O1", "amount_minor": 590}, True),
        (SHIPPING, {"order_id": "O1", "amount_minor": 591}, False),
        (SHIPPING, {"order_id": "O2", "amount_minor": 590}, False),
        (SHIPPING, {"order_id": "O9", "amount_minor": 590}, False),
        (DOUBLE, {"order_id": "O1", "amount_minor": 700}, True),
        (DOUBLE, {"order_id": "O1", "amount_minor": 900}, False),
        (DOUBLE, {"order_id": "O2", "amount_minor": 300}, False),
        (DOUBLE, {"order_id": "O9", "amount_minor": 300}, False),
        (TABLE, {"account_id": "C1", "amount_minor": 3000}, True),
        (TABLE, {"account_id": "C1", "amount_minor": 2999}, False),
        (TABLE, {"account_id": "C2", "amount_minor": 3000}, False),
    ],
)
def test_an_amount_is_exactly_what_the_state_gives_or_a_violation_with_its_rows(
    parameters: dict[str, Any], arguments: dict[str, Any], kept: bool
) -> None:
    found = judged(EXACT, parameters, arguments)
    assert bool(found) is not kept
    assert all(violation.evidence for violation in found)


def test_the_evidence_of_a_wrong_amount_is_the_rows_that_counted() -> None:
    found = judged(EXACT, DOUBLE, {"order_id": "O1", "amount_minor": 900})
    assert found[0].evidence == tuple(RowRef(system="payments", kind="payment", record_id=f"P{n}") for n in (1, 2, 3))


def test_a_rule_has_exactly_one_form_and_a_field_that_is_no_amount_is_the_graders_error() -> None:
    for junk in ({**SHIPPING, "by": TABLE["by"]}, {"tool": "x", "argument": "y"}, {**SHIPPING, "rows": DOUBLE["rows"]}):
        with pytest.raises(ValidationError):
            EXACT.parameters.model_validate(junk)
    with pytest.raises(GraderError):
        judged(
            EXACT, SHIPPING, {"order_id": "O1", "amount_minor": 590}, {"orders": {"order": {"O1": {"shipping_minor": "5.90"}}}}
        )


@pytest.mark.parametrize(
    ("order", "kept"),
    [
        ({"promised_at": "2025-07-01T00:00:00Z", "delivered_at": "2025-07-05T00:00:00Z"}, True),
        ({"promised_at": "2025-07-01T00:00:00Z", "delivered_at": "2025-07-04T00:00:00Z"}, False),
        ({"promised_at": "2025-07-01T00:00:00Z", "delivered_at": "2025-06-04T00:00:00Z"}, False),
        ({"promised_at": "2025-07-01T00:00:00Z", "delivered_at": None}, False),
        ({"delivered_at": "2025-07-04T00:00:00Z"}, False),
    ],
)
def test_an_order_is_overdue_only_after_the_days_and_only_where_both_times_are_known(order: dict[str, Any], kept: bool) -> None:
    base = {"orders": {"order": {"O1": order}}}
    arguments = {"order_id": "O1", "amount_minor": 590, "reason": "late_delivery"}
    assert bool(judged(OVERDUE, OVERDUE.passing.parameters, arguments, base)) is not kept
