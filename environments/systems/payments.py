"""Payments and refunds. The payment provider never pays back more than it took; every other limit is policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from environments.tool import Amount, Context, Decision, Effect, Page, System, Tool, clip, paged, refuse, tool
from schemas.episode import Frozen, RefusalKind


class Options(Frozen):
    refund_reasons: tuple[str, ...] = Field(default=("late_delivery", "damaged_item", "double_charge"), min_length=1)
    """Reasons that the payment system books a refund under."""


def _exists(context: Context, tool_name: str, order_id: str) -> list[tuple[str, Any]]:
    payments = context.state.where("payments", "payment", "order_id", order_id)
    if not payments and context.state.get("orders", "order", order_id) is None:
        refuse(RefusalKind.not_found, f"{tool_name}: there is no order {order_id}")
    return sorted(payments, key=lambda pair: (str(pair[1].get("captured_at")), pair[0]))


def list_payments(context: Context, order_id: str, page: Page = 1) -> Any:
    """Lists the payments and refunds of an order, oldest first, ten of each to a page. Amounts are in minor units (590 = 5.90).

    Refuses: not_found if there is no such order.

    Args:
        order_id: The order's id, e.g. ORDER_1A2B3C4D.
        page: Page of the lists, from 1.
    """
    payments = _exists(context, "list_payments", order_id)
    refunds = context.state.where("payments", "refund", "order_id", order_id)
    refunds.sort(key=lambda pair: (str(pair[1].get("created_at")), pair[0]))
    longer = payments if len(payments) >= len(refunds) else refunds
    _, place = paged("list_payments", longer, page)
    shown: dict[str, Any] = {"order_id": order_id}
    for kind, rows in (("payment", payments), ("refund", refunds)):
        part = rows[(page - 1) * 10 : page * 10]
        for record_id, _ in part:
            context.state.note("payments", kind, record_id)
        shown[f"{kind}s"] = [{f"{kind}_id": i, **clip({k: v for k, v in row.items() if k != "order_id"})} for i, row in part]
    return {**shown, **place}


def create_refund(context: Context, order_id: str, amount_minor: Amount, reason: Decision) -> Any:
    """Refunds part or all of what was paid for an order.

    Refuses: not_found if there is no such order, over_limit if less than that is left of the captured payments.

    Args:
        order_id: The order's id, e.g. ORDER_1A2B3C4D.
        amount_minor: Amount in minor units (590 = 5.90).
        reason: Reason that the refund is booked under.
    """
    payments = _exists(context, "create_refund", order_id)
    paid = sum(_amount(row) for _, row in payments if row.get("status", "captured") == "captured")
    back = sum(_amount(row) for _, row in context.state.where("payments", "refund", "order_id", order_id))
    if amount_minor > paid - back:
        left = f"{max(paid - back, 0)} of {paid}"
        refuse(
            RefusalKind.over_limit, f"create_refund: {amount_minor} is more than is left of order {order_id}'s payments ({left})"
        )
    fields = {"order_id": order_id, "amount_minor": amount_minor, "reason": reason, "created_at": context.now}
    return {"refund_id": context.state.create("payments", "refund", fields), **fields}


def _amount(row: Any) -> int:
    held = row.get("amount_minor")
    return held if type(held) is int else 0


REFUNDED = Effect(
    "payments", "refund", "create", None,
    {"order_id": "order_id", "amount_minor": "amount_minor", "reason": "reason"}, ignored=("created_at",),
)  # fmt: skip


def _tools(options: Options, _: Callable[[str], Any]) -> list[Tool]:
    return [
        tool("payments", list_payments, reads=True),
        tool("payments", create_refund, effect=REFUNDED, choices={"reason": options.refund_reasons}),
    ]


SYSTEM = System(name="payments", options=Options, tools=_tools)
