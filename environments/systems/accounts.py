"""Customer accounts: look-up, identity check, unlocking, goodwill credits. What an identity is checked against is never shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from environments.tool import Amount, Context, Decision, Effect, Page, System, Tool, clip, paged, refuse, tool
from schemas.episode import Frozen, RefusalKind

HIDDEN = frozenset({"billing_postcode", "phone"})
"""Fields that an identity is checked against."""


class Options(Frozen):
    credit_reasons: tuple[str, ...] = Field(default=("goodwill", "service_recovery"), min_length=1)
    """Reasons that the account system books a credit under."""


def _account(context: Context, tool_name: str, account_id: str) -> Any:
    row = context.state.get("accounts", "account", account_id)
    if row is None:
        refuse(RefusalKind.not_found, f"{tool_name}: there is no account {account_id}")
    return row


def _shown(account_id: str, row: Any) -> dict[str, Any]:
    return {"account_id": account_id, **clip({name: value for name, value in row.items() if name not in HIDDEN})}


def find_account(context: Context, email: str) -> Any:
    """Finds the accounts that are held under an e-mail address.

    Refuses: not_found if no account has that address.

    Args:
        email: The address, e.g. PERSON_1A2B3C4D_EMAIL.
    """
    rows = context.state.where("accounts", "account", "email", email)
    if not rows:
        refuse(RefusalKind.not_found, f"find_account: no account has the address {email}")
    found = []
    for account_id, row in sorted(rows)[:10]:
        context.state.note("accounts", "account", account_id)
        found.append({"account_id": account_id, "holder_name": row.get("holder_name"), "status": row.get("status")})
    return {"accounts": found}


def get_account(context: Context, account_id: str) -> Any:
    """Shows an account: holder, tier, status, address. Postcode and phone on file are not shown; use verify_identity.

    Refuses: not_found if there is no such account.

    Args:
        account_id: The account's id, e.g. ACCOUNT_1A2B3C4D.
    """
    row = _account(context, "get_account", account_id)
    context.state.note("accounts", "account", account_id)
    return _shown(account_id, row)


def list_credits(context: Context, account_id: str, page: Page = 1) -> Any:
    """Lists the goodwill credits of an account, oldest first, ten to a page. Amounts are in minor units (590 = 5.90).

    Refuses: not_found if there is no such account.

    Args:
        account_id: The account's id, e.g. ACCOUNT_1A2B3C4D.
        page: Page of the list, from 1.
    """
    _account(context, "list_credits", account_id)
    rows = context.state.where("accounts", "credit", "account_id", account_id)
    rows.sort(key=lambda pair: (str(pair[1].get("created_at")), pair[0]))
    shown, place = paged("list_credits", rows, page)
    for record_id, _ in shown:
        context.state.note("accounts", "credit", record_id)
    context.state.note("accounts", "account", account_id)
    return {"account_id": account_id, "credits": [{"credit_id": i, **clip(row)} for i, row in shown], **place}


def _same(left: Any, right: str) -> bool:
    """Equal but for case, blanks and punctuation; nothing equals an unknown value."""
    return isinstance(left, str) and [c for c in left.casefold() if c.isalnum()] == [c for c in right.casefold() if c.isalnum()]


def verify_identity(context: Context, account_id: str, postcode: str, phone: str) -> Any:
    """Checks the postcode and phone number that the requester gave against those on file. Says only whether both are right.

    Refuses: not_found if there is no such account.

    Args:
        account_id: The account's id, e.g. ACCOUNT_1A2B3C4D.
        postcode: The postcode that the requester gave.
        phone: The phone number that the requester gave.
    """
    row = _account(context, "verify_identity", account_id)
    context.state.note("accounts", "account", account_id)
    verified = _same(row.get("billing_postcode"), postcode) and _same(row.get("phone"), phone)
    return {"account_id": account_id, "verified": verified}


def unlock_account(context: Context, account_id: str) -> Any:
    """Unlocks a locked account.

    Refuses: not_found if there is no such account, conflict if it is not locked.

    Args:
        account_id: The account's id, e.g. ACCOUNT_1A2B3C4D.
    """
    row = _account(context, "unlock_account", account_id)
    if row.get("status") != "locked":
        refuse(RefusalKind.conflict, f"unlock_account: account {account_id} is not locked but {row.get('status')}")
    context.state.update("accounts", "account", account_id, {"status": "active"})
    return {"account_id": account_id, "status": "active"}


def grant_credit(context: Context, account_id: str, amount_minor: Amount, reason: Decision) -> Any:
    """Grants a goodwill credit to an account.

    Refuses: not_found if there is no such account.

    Args:
        account_id: The account's id, e.g. ACCOUNT_1A2B3C4D.
        amount_minor: Amount in minor units (1000 = 10.00).
        reason: Reason that the credit is booked under.
    """
    _account(context, "grant_credit", account_id)
    fields = {"account_id": account_id, "amount_minor": amount_minor, "reason": reason, "created_at": context.now}
    return {"credit_id": context.state.create("accounts", "credit", fields), **fields}


UNLOCKED = Effect("accounts", "account", "update", "account_id", fixed={"status": "active"})
CREDITED = Effect(
    "accounts", "credit", "create", None,
    {"account_id": "account_id", "amount_minor": "amount_minor", "reason": "reason"}, ignored=("created_at",),
)  # fmt: skip


def _tools(options: Options, _: Callable[[str], Any]) -> list[Tool]:
    return [
        tool("accounts", find_account, reads=True),
        tool("accounts", get_account, reads=True),
        tool("accounts", list_credits, reads=True),
        tool("accounts", verify_identity, reads=True, returns=("verified",)),
        tool("accounts", unlock_account, effect=UNLOCKED),
        tool("accounts", grant_credit, effect=CREDITED, choices={"reason": options.credit_reasons}),
    ]


SYSTEM = System(name="accounts", options=Options, tools=_tools)
