"""Approvals: an approver who answers at once, by rule: up to an amount yes, above it no."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from environments.tool import Amount, Context, Effect, System, Tool, refuse, tool
from schemas.episode import Frozen, RefusalKind

SUBJECTS = (("orders", "order"), ("accounts", "account"))
"""Kinds of record that an approval can be about."""


class Options(Frozen):
    approve_up_to_minor: int = Field(ge=0)
    """Largest amount that the approver approves, in minor units."""


def _tools(options: Options, _: Callable[[str], Any]) -> list[Tool]:
    def request_approval(context: Context, about: str, amount_minor: Amount) -> Any:
        """Asks the approver to allow an amount for an order or account; the decision comes at once.

        Refuses: not_found if there is no such order or account.

        Args:
            about: Id of the order or account, e.g. ORDER_1A2B3C4D.
            amount_minor: Amount in minor units (10000 = 100.00).
        """
        if all(context.state.get(system, kind, about) is None for system, kind in SUBJECTS):
            refuse(RefusalKind.not_found, f"request_approval: there is no order or account {about}")
        decision = "approved" if amount_minor <= options.approve_up_to_minor else "denied"
        asked_for = {"about": about, "amount_minor": amount_minor, "decision": decision}
        fields = {**asked_for, "requested_at": context.now, "decided_at": context.now}
        approval = context.state.create("approvals", "approval", fields)
        return {"approval_id": approval, **asked_for}

    asked = Effect(
        "approvals", "approval", "create", None, {"about": "about", "amount_minor": "amount_minor"},
        decided=("decision",), ignored=("requested_at", "decided_at"),
    )  # fmt: skip
    return [tool("approvals", request_approval, effect=asked)]


SYSTEM = System(name="approvals", options=Options, tools=_tools)
