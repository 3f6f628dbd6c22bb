"""What the systems of the small task set hold when a case begins: its own rows, and those of customers that no task is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.taskset_cases import STARTS, Case, delivered_order, one_line, token


@dataclass(frozen=True)
class Ids:
    """The tokens of one case in one organisation."""

    case: str
    organisation: str

    def of(self, kind: str, *more: str) -> str:
        return token(kind, self.organisation, self.case, *more)


def state_of(case: Case, ids: Ids) -> dict[str, Any]:
    """System -> kind -> row id -> fields, at the moment the case begins."""
    person, account = ids.of("PERSON"), ids.of("ACCOUNT")
    start = STARTS[case.version]
    state: dict[str, Any] = {
        "helpdesk": {
            "ticket": {
                ids.of("TICKET"): {"requester_id": ids.of("USER"), "subject": case.subject, "status": "new", "created_at": start},
                ids.of("TICKET", "earlier"): {
                    "requester_id": ids.of("USER"),
                    "subject": "thanks",
                    "status": "closed",
                    "created_at": "2025-02-01T08:00:00Z",
                    "messages": [{"at": "2025-02-01T08:00:00Z", "from": f"{person}_FIRST", "text": "Thank you, all is well."}],
                },
            },
            "user": {ids.of("USER"): {"name": person, "email": f"{person}_EMAIL", "role": "end-user"}},
        },
        "accounts": {
            "account": {
                account: {
                    "organisation": ids.organisation,
                    "holder_name": person,
                    "email": f"{person}_EMAIL",
                    "phone": f"{person}_PHONE",
                    "billing_address": ids.of("ADDRESS"),
                    "billing_postcode": ids.of("POSTCODE"),
                    "tier": case.tier,
                    "status": "locked" if case.locked else "active",
                    "opened_at": "2024-01-05T08:00:00Z",
                }
            },
            "credit": {},
        },
        "orders": {"order": {}, "line": {}, "shipment": {}, "exchange": {}},
        "payments": {"payment": {}, "refund": {}},
        "approvals": {"approval": {}},
    }
    if case.credit_at:
        state["accounts"]["credit"][ids.of("CREDIT")] = {
            "account_id": account,
            "amount_minor": 1000,
            "reason": "goodwill",
            "created_at": case.credit_at,
        }
    if case.order:
        order = ids.of("ORDER")
        state["orders"]["order"][order] = {"account_id": account, "ship_to": ids.of("ADDRESS"), **case.order}
        for index, line in enumerate(case.lines):
            state["orders"]["line"][ids.of("LINE", str(index))] = {"order_id": order, **line}
        if case.order["status"] in ("shipped", "delivered"):
            state["orders"]["shipment"][ids.of("SHIPMENT")] = {
                "order_id": order,
                "carrier": "post",
                "status": case.order["status"],
                "shipped_at": "2025-08-28T08:00:00Z",
                "delivered_at": case.order["delivered_at"],
            }
        for index in range(case.payments):
            state["payments"]["payment"][ids.of("PAYMENT", str(index))] = {
                "order_id": order,
                "amount_minor": case.order["total_minor"],
                "status": "captured",
                "captured_at": f"2025-03-20T08:0{index}:00Z",
            }
    return state


def customers(number_of: int) -> dict[str, Any]:
    """Rows of customers that no task is about: what every task shares."""
    state: dict[str, Any] = {}
    for number in range(number_of):
        other = Case(
            f"bystander{number}",
            "refund",
            "refund_granted",
            "",
            "",
            1,
            order=delivered_order(delivered="2025-04-01"),
            lines=[one_line()],
        )
        for system, kinds in state_of(other, Ids(other.key, token("ORG", "other"))).items():
            for kind, rows in kinds.items():
                state.setdefault(system, {}).setdefault(kind, {}).update(rows)
    return state
