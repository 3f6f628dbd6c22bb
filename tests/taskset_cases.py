"""The cases of the small task set: what each request says, what the state holds, and how it is decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from schemas.files import sha256_text

STARTS = {1: "2025-04-10T09:00:00Z", 2: "2025-09-10T09:00:00Z"}
"""Policy version -> the instant at which its tasks start."""
CODES = {
    "refund": [
        "refund_granted",
        "refund_refused_not_late",
        "refund_refused_window",
        "refund_refused_single_charge",
        "refund_refused_approval",
    ],
    "cancel": ["order_cancelled", "cancel_refused_shipped"],
    "address_change": ["address_changed", "address_refused_shipped", "address_refused_identity"],
    "exchange": ["exchange_created", "exchange_refused_window", "exchange_refused_final_sale"],
    "account_recovery": ["access_restored", "access_refused_identity"],
    "goodwill": ["credit_granted", "credit_refused_recent"],
}
GRANTS = {codes[0] for codes in CODES.values()}
FORMS = {
    "ask": {
        "order_id": ["Could you tell me the order number, please?"],
        "postcode": ["For the identity check, what is the postcode on file?"],
        "phone": ["And which phone number do we have on file?"],
        "new_address": ["What is the new address?"],
        "sku": ["Which variant would you like instead?"],
    },
    "tell": {code: ["Your request has been decided."] for codes in CODES.values() for code in codes},
}
POLICY_TEXTS = {
    1: {
        "refunds": {
            "1.1": "Delivered more than 2 days late: the shipping fee is refunded.",
            "1.4": "Within 30 days of delivery.",
            "2.1": "Above 100.00 EUR (standard), 200.00 (gold), 400.00 (platinum) ask for approval first.",
            "3.1": "Read the order and its account first.",
            "3.2": "List the payments before a double charge is decided or an approval is asked for.",
        },
        "orders": {
            "1.1": "Cancel only while placed or packed.",
            "1.2": "Read the order first.",
            "3.1": "Exchange within 30 days.",
        },
        "accounts": {
            "1.1": "Unlock only after the identity check.",
            "2.1": "Goodwill is 10.00 EUR, 25.00 EUR (gold), 50.00 EUR.",
        },
    },
    2: {
        "refunds": {
            "1.1": "Delivered more than 3 days late: the shipping fee is refunded.",
            "1.2": "A damaged item is refunded in full.",
            "1.3": "A second charge is refunded.",
            "1.4": "A request under 1.1 or 1.2 arrives within 21 days of delivery.",
            "2.1": "Above 80.00 EUR (standard), 150.00 EUR (gold), 400.00 EUR (platinum) ask for approval first.",
            "2.2": "Never more than the order's total.",
            "3.1": "Read the order and its account first.",
            "3.2": "List the payments before a double charge is decided or an approval is asked for.",
        },
        "orders": {
            "1.1": "Cancel only while placed.",
            "1.2": "Read the order first.",
            "2.1": "Change an address only before shipping.",
            "2.2": "Only after the identity check: postcode and phone on file.",
            "3.1": "Exchange within 21 days of delivery.",
            "3.2": "Read the order first.",
            "3.3": "Final-sale lines are not exchanged.",
        },
        "accounts": {
            "1.1": "Unlock a locked account only after the identity check: postcode and phone on file.",
            "2.1": "A goodwill credit is exactly 15.00 EUR (standard), 30.00 EUR (gold) or 50.00 EUR (platinum).",
            "2.2": "None if there was a credit in the last 180 days.",
            "2.3": "Read the account and its credits first.",
        },
    },
}


def token(kind: str, *parts: str) -> str:
    """A token in the form that deid writes, fixed by its parts."""
    return f"{kind}_{sha256_text('/'.join((kind, *parts)))[:8].upper()}"


@dataclass
class Case:
    """One request with everything that its task and answer need."""

    key: str
    workflow: str
    code: str
    subject: str
    text: str
    version: Literal[1, 2] = 2
    order: dict[str, Any] | None = None
    lines: list[dict[str, Any]] = field(default_factory=list)
    payments: int = 1
    tier: str = "standard"
    locked: bool = False
    credit_at: str | None = None
    asks: dict[str, str] = field(default_factory=dict)
    """Slot -> value that the requester tells when asked."""
    wrong_identity: bool = False
    amount: int | None = None
    reason: str | None = None
    approval: Literal["approved", "denied"] | None = None
    names_order: bool = False


def delivered_order(
    status: str = "delivered", *, total: int = 6500, promised: str = "2025-09-01", delivered: str | None = None
) -> dict[str, Any]:
    return {
        "status": status,
        "total_minor": total,
        "shipping_minor": 590,
        "placed_at": "2025-03-20T08:00:00Z",
        "promised_at": f"{promised}T10:00:00Z",
        "delivered_at": f"{delivered}T10:00:00Z" if delivered else None,
    }


def one_line(unit: int = 1500, quantity: int = 1, *, final_sale: bool = False) -> dict[str, Any]:
    return {"sku": "KETTLE-RED", "product": "kettle", "quantity": quantity, "unit_minor": unit, "final_sale": final_sale}


def all_cases() -> list[Case]:
    late = "My order came later than promised. May I have something back?"
    broken = "The kettle in my order does not look as it should. Please refund it."
    twice = "I believe that I was charged twice for my order."
    approve = "The whole machine is scratched. I would like my money back."
    stop = "I do not need my order any more, please stop it."
    locked = "I cannot get into my account. Please let me in again."
    sorry = "I was not happy with your service lately. Can you do something for me?"
    move = "I am moving, my order should go elsewhere."
    other = "I would rather have the kettle of my order in another colour."
    return [
        Case(
            "late_grant",
            "refund",
            "refund_granted",
            "late parcel",
            late,
            order=delivered_order(delivered="2025-09-06"),
            lines=[one_line()],
            amount=590,
            reason="late_delivery",
        ),
        Case(
            "late_refused",
            "refund",
            "refund_refused_not_late",
            "late parcel",
            late,
            order=delivered_order(delivered="2025-09-03"),
            lines=[one_line()],
        ),
        Case(
            "damaged_grant",
            "refund",
            "refund_granted",
            "kettle",
            broken,
            order=delivered_order(delivered="2025-09-02"),
            lines=[one_line(quantity=2)],
            amount=3000,
            reason="damaged_item",
            names_order=True,
        ),
        Case(
            "damaged_refused",
            "refund",
            "refund_refused_window",
            "kettle",
            broken,
            order=delivered_order(promised="2025-08-01", delivered="2025-08-01"),
            lines=[one_line(quantity=2)],
            names_order=True,
        ),
        Case(
            "double_grant",
            "refund",
            "refund_granted",
            "payment",
            twice,
            order=delivered_order(delivered="2025-08-01"),
            lines=[one_line()],
            payments=2,
            amount=6500,
            reason="double_charge",
        ),
        Case(
            "double_refused",
            "refund",
            "refund_refused_single_charge",
            "payment",
            twice,
            order=delivered_order(delivered="2025-08-01"),
            lines=[one_line()],
        ),
        Case(
            "approval_grant",
            "refund",
            "refund_granted",
            "machine",
            approve,
            order=delivered_order(total=30590, delivered="2025-09-02"),
            lines=[one_line(30000)],
            amount=30000,
            reason="damaged_item",
            approval="approved",
        ),
        Case(
            "approval_refused",
            "refund",
            "refund_refused_approval",
            "machine",
            approve,
            order=delivered_order(total=60590, delivered="2025-09-02"),
            lines=[one_line(60000)],
            amount=60000,
            reason="damaged_item",
            approval="denied",
        ),
        Case("cancel_grant", "cancel", "order_cancelled", "order", stop, order=delivered_order("placed"), lines=[one_line()]),
        Case(
            "cancel_grant_old",
            "cancel",
            "order_cancelled",
            "order",
            stop,
            1,
            order=delivered_order("packed", promised="2025-04-12"),
            lines=[one_line()],
        ),
        Case(
            "cancel_refused",
            "cancel",
            "cancel_refused_shipped",
            "order",
            stop,
            order=delivered_order("packed"),
            lines=[one_line()],
        ),
        Case("recovery_grant", "account_recovery", "access_restored", "login", locked, locked=True),
        Case(
            "recovery_refused", "account_recovery", "access_refused_identity", "login", locked, locked=True, wrong_identity=True
        ),
        Case("goodwill_grant", "goodwill", "credit_granted", "service", sorry, amount=1500, reason="goodwill"),
        Case("goodwill_refused", "goodwill", "credit_refused_recent", "service", sorry, credit_at="2025-07-20T08:00:00Z"),
        Case(
            "address_grant",
            "address_change",
            "address_changed",
            "moving",
            move,
            order=delivered_order("placed"),
            lines=[one_line()],
            asks={"new_address": token("ADDRESS", "new")},
        ),
        Case(
            "exchange_grant",
            "exchange",
            "exchange_created",
            "colour",
            other,
            order=delivered_order(delivered="2025-09-02"),
            lines=[one_line()],
            asks={"sku": "KETTLE-BLUE"},
        ),
        Case(
            "exchange_refused",
            "exchange",
            "exchange_refused_final_sale",
            "colour",
            other,
            order=delivered_order(delivered="2025-09-02"),
            lines=[one_line(final_sale=True)],
            asks={"sku": "KETTLE-BLUE"},
        ),
    ]
