"""What a tool call of the handling agent does to the order system."""

from __future__ import annotations

from typing import Any

from samples.clock import MINUTE
from samples.policies import APPROVED_UP_TO
from samples.world import Ticket, World


def perform(world: World, ticket: Ticket, call: dict[str, Any], at: int) -> int:
    """Makes the change for the ticket at `at` and returns when it is done."""
    ledger, given = world.ledger, call["arguments"]
    assert ticket.agent is not None
    who, number = ticket.agent.login, ticket.number
    match call["tool"]:
        case "request_approval":
            decided = at + ticket.rng.randint(12, 200) * MINUTE
            decision = "approved" if given["amount_minor"] <= APPROVED_UP_TO else "denied"
            fields = {**given, "decision": decision, "requested_at": at, "decided_at": decided}
            ledger.insert("approvals", world.new_id("approval"), fields, decided, "approvals-desk", ticket=number)
            return decided
        case "create_refund":
            fields = {
                "order_no": given["order_id"],
                "amount_minor": given["amount_minor"],
                "reason": given["reason"],
                "created_at": at,
            }
            ledger.insert("refunds", world.new_id("refund"), fields, at, who, ticket=number)
        case "cancel_order":
            order = world.orders[given["order_id"]]
            order.status, order.pending = "cancelled", []
            ledger.update("orders", order.number, {"status": "cancelled"}, at, who, ticket=number)
        case "change_address":
            world.orders[given["order_id"]].ship_to = given["new_address"]
            ledger.update("orders", given["order_id"], {"ship_to": given["new_address"]}, at, who, ticket=number)
        case "create_exchange":
            fields = {"order_no": given["order_id"], "line_no": given["line_id"], "new_sku": given["new_sku"], "created_at": at}
            ledger.insert("exchanges", world.new_id("exchange"), fields, at, who, ticket=number)
        case "unlock_account":
            ledger.update("accounts", given["account_id"], {"status": "active"}, at, who, ticket=number)
        case "grant_credit":
            fields = {
                "account_no": given["account_id"],
                "amount_minor": given["amount_minor"],
                "reason": given["reason"],
                "created_at": at,
            }
            ledger.insert("credits", world.new_id("credit"), fields, at, who, ticket=number)
        case tool:
            raise AssertionError(f"no such act: {tool}")
    return at
