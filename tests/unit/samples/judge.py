"""A second reading of the policies, apart from the simulation: what is right, given the facts as recorded at arrival."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

Row = dict[str, Any]
State = dict[tuple[str, str], dict[str, Row]]


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


class Facts:
    """Facts by account, folded at any time."""

    def __init__(self, rows: list[Row]) -> None:
        account: dict[str, str] = {}
        order: dict[str, str] = {}
        for row in rows:
            if row["kind"] == "account":
                account[row["record_id"]] = row["record_id"]
            elif row["field"] == "account_id":
                account[row["record_id"]] = row["value"]
            elif row["field"] in ("order_id", "about"):
                order[row["record_id"]] = row["value"]
        self.by_account: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            key = row["record_id"]
            owner = account.get(key) or account.get(order.get(key, ""))
            if owner:
                self.by_account[owner].append(row)
        self.account_of = account

    def at(self, account: str, cut: str) -> State:
        """The account's records as recorded before `cut`."""
        state: State = defaultdict(dict)
        for row in self.by_account[account]:
            if row["true_ts"] < cut and row["recorded_ts"] < cut:
                kind = state[(row["system"], row["kind"])]
                if row["deleted"]:
                    kind.pop(row["record_id"], None)
                else:
                    kind.setdefault(row["record_id"], {})[row["field"]] = row["value"]
        return state


def judge(ticket: Row, state: State, told: tuple[str, str] | None) -> tuple[set[str], list[Row]]:
    """Codes that are right, of which there must be one, and the writes of a grant (those that the state determines)."""
    cut, about, second = instant(ticket["opened_at"]), ticket["about"], ticket["opened_at"] >= "2025-06-30T22:00:00Z"
    account_id, account = next(iter(state[("accounts", "account")].items()))
    tier = account["tier"]
    days = 21 if second else 30
    if ticket["workflow"] == "goodwill":
        recent = [c for c in state[("accounts", "credit")].values() if (cut - instant(c["created_at"])).days < 180]
        amount = (
            {"standard": 1500, "gold": 3000, "platinum": 5000} if second else {"standard": 1000, "gold": 2500, "platinum": 5000}
        )
        write = {
            "tool": "grant_credit",
            "arguments": {"account_id": account_id, "amount_minor": amount[tier], "reason": "goodwill"},
        }
        return ({"credit_refused_recent"}, []) if recent else ({"credit_granted"}, [write])
    matches = told == (account["billing_postcode"], account["phone"])
    if ticket["workflow"] == "account_recovery":
        assert account["status"] == "locked"
        write = {"tool": "unlock_account", "arguments": {"account_id": account_id}}
        return ({"access_restored"}, [write]) if matches else ({"access_refused_identity"}, [])
    order = state[("orders", "order")][about]
    old = "delivered_at" in order and (cut - instant(order["delivered_at"])).total_seconds() > days * 86400
    if ticket["workflow"] == "cancel":
        allowed = ("placed",) if second else ("placed", "packed")
        write = {"tool": "cancel_order", "arguments": {"order_id": about}}
        return ({"order_cancelled"}, [write]) if order["status"] in allowed else ({"cancel_refused_shipped"}, [])
    if ticket["workflow"] == "address_change":
        if order["status"] not in ("placed", "packed"):
            return {"address_refused_shipped"}, []
        return ({"address_changed"}, []) if matches else ({"address_refused_identity"}, [])
    lines = {key: line for key, line in state[("orders", "line")].items() if line["order_id"] == about}
    if ticket["workflow"] == "exchange":
        if old:
            return {"exchange_refused_window"}, []
        return {"exchange_refused_final_sale" if line["final_sale"] else "exchange_created" for line in lines.values()}, []
    payments = [p for p in state[("payments", "payment")].values() if p["order_id"] == about and p["status"] == "captured"]
    return refund(ticket, order, list(lines.values()), payments, tier, second=second, old=old)


def refund(
    ticket: Row, order: Row, lines: list[Row], payments: list[Row], tier: str, *, second: bool, old: bool
) -> tuple[set[str], list[Row]]:
    """As `judge`; the claim is taken from the subject's pool, which the caller puts into ticket["claim"]."""
    limits = (
        {"standard": 8000, "gold": 15000, "platinum": 40000} if second else {"standard": 10000, "gold": 20000, "platinum": 40000}
    )
    claim, about = ticket["claim"], ticket["about"]
    if claim == "double_charge":
        amounts = [p["amount_minor"] for p in payments]
        if len(amounts) == len(set(amounts)):
            return {"refund_refused_single_charge"}, []
        options = [amounts[0]]
    elif old:
        return {"refund_refused_window"}, []
    elif claim == "late_delivery":
        late = (instant(order["delivered_at"]) - instant(order["promised_at"])).total_seconds() / 86400
        if late <= (3 if second else 2):
            return {"refund_refused_not_late"}, []
        options = [order["shipping_minor"]]
    else:
        options = [line["quantity"] * line["unit_minor"] for line in lines]
    codes, writes = set(), []
    for amount in options:
        ask = {"tool": "request_approval", "arguments": {"about": about, "amount_minor": amount}}
        pay = {"tool": "create_refund", "arguments": {"order_id": about, "amount_minor": amount, "reason": claim}}
        assert amount <= order["total_minor"]
        if amount > 50000:
            codes.add("refund_refused_approval")
            writes.append(ask)
        else:
            codes.add("refund_granted")
            writes += [ask, pay] if amount > limits[tier] else [pay]
    return codes, writes
