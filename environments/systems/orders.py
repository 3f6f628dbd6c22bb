"""Orders with their lines, shipments and exchanges. The system cancels and changes what it can; what it should is policy."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from environments.tool import Context, Effect, Page, System, Tool, paged, refuse, tool
from schemas.episode import Frozen, RefusalKind

MOST_LINES = 50
"""Lines and shipments of one order that are shown."""


class Options(Frozen):
    pass


_by_id = itemgetter(0)


def _order(context: Context, tool_name: str, order_id: str) -> Any:
    row = context.state.get("orders", "order", order_id)
    if row is None:
        refuse(RefusalKind.not_found, f"{tool_name}: there is no order {order_id}")
    return row


def list_orders(context: Context, account_id: str, page: Page = 1) -> Any:
    """Lists the orders of an account, newest first, ten to a page.

    Refuses: not_found if there is no such account.

    Args:
        account_id: The account's id, e.g. ACCOUNT_1A2B3C4D.
        page: Page of the list, from 1.
    """
    rows = context.state.where("orders", "order", "account_id", account_id)
    if not rows and context.state.get("accounts", "account", account_id) is None:
        refuse(RefusalKind.not_found, f"list_orders: there is no account {account_id}")
    rows.sort(key=lambda pair: pair[0])
    rows.sort(key=lambda pair: str(pair[1].get("placed_at")), reverse=True)
    shown, place = paged("list_orders", rows, page)
    orders = []
    for order_id, row in shown:
        context.state.note("orders", "order", order_id)
        orders.append({"order_id": order_id, **{k: row.get(k) for k in ("status", "total_minor", "placed_at", "delivered_at")}})
    return {"account_id": account_id, "orders": orders, **place}


def get_order(context: Context, order_id: str) -> Any:
    """Shows an order with its lines, shipments and exchanges. Amounts are in minor units (590 = 5.90), times in UTC.

    Refuses: not_found if there is no such order.

    Args:
        order_id: The order's id, e.g. ORDER_1A2B3C4D.
    """
    state = context.state
    row = _order(context, "get_order", order_id)
    state.note("orders", "order", order_id)
    shown: dict[str, Any] = {"order_id": order_id, **row}
    for kind in ("line", "shipment", "exchange"):
        parts = []
        held = state.where("orders", kind, "order_id", order_id)
        held.sort(key=_by_id)
        for part_id, part in held[:MOST_LINES]:
            state.note("orders", kind, part_id)
            view = {f"{kind}_id": part_id, **part}
            del view["order_id"]
            if kind == "line" and type(part.get("quantity")) is int and type(part.get("unit_minor")) is int:
                view["line_total_minor"] = part["quantity"] * part["unit_minor"]
            parts.append(view)
        shown[f"{kind}s"] = parts
    return shown


def cancel_order(context: Context, order_id: str) -> Any:
    """Cancels an order.

    Refuses: not_found if there is no such order, conflict if it is cancelled already.

    Args:
        order_id: The order's id, e.g. ORDER_1A2B3C4D.
    """
    row = _order(context, "cancel_order", order_id)
    if row.get("status") == "cancelled":
        refuse(RefusalKind.conflict, f"cancel_order: order {order_id} is cancelled already")
    context.state.update("orders", "order", order_id, {"status": "cancelled"})
    return {"order_id": order_id, "status": "cancelled"}


def change_address(context: Context, order_id: str, new_address: str) -> Any:
    """Changes the address that an order is shipped to.

    Refuses: not_found if there is no such order, conflict if it goes to that address already.

    Args:
        order_id: The order's id, e.g. ORDER_1A2B3C4D.
        new_address: The new address as the requester gave it, e.g. ADDRESS_1A2B3C4D.
    """
    row = _order(context, "change_address", order_id)
    if row.get("ship_to") == new_address:
        refuse(RefusalKind.conflict, f"change_address: order {order_id} goes to that address already")
    context.state.update("orders", "order", order_id, {"ship_to": new_address})
    return {"order_id": order_id, "ship_to": new_address}


def create_exchange(context: Context, order_id: str, line_id: str, new_sku: str) -> Any:
    """Exchanges one line of an order for another article.

    Refuses: not_found if there is no such order or the line is not one of its lines.

    Args:
        order_id: The order's id, e.g. ORDER_1A2B3C4D.
        line_id: The line's id as get_order shows it, e.g. LINE_1A2B3C4D.
        new_sku: The article number to send instead.
    """
    _order(context, "create_exchange", order_id)
    line = context.state.get("orders", "line", line_id)
    if line is None or line.get("order_id") != order_id:
        refuse(RefusalKind.not_found, f"create_exchange: order {order_id} has no line {line_id}; get_order shows its lines")
    fields = {"order_id": order_id, "line_id": line_id, "new_sku": new_sku, "created_at": context.now}
    return {"exchange_id": context.state.create("orders", "exchange", fields), **fields}


CANCELLED = Effect("orders", "order", "update", "order_id", fixed={"status": "cancelled"})
READDRESSED = Effect("orders", "order", "update", "order_id", {"ship_to": "new_address"})
EXCHANGED = Effect(
    "orders", "exchange", "create", None,
    {"order_id": "order_id", "line_id": "line_id", "new_sku": "new_sku"}, ignored=("created_at",),
)  # fmt: skip


def _tools(_: Options, __: Callable[[str], Any]) -> list[Tool]:
    return [
        tool("orders", list_orders, reads=True),
        tool("orders", get_order, reads=True),
        tool("orders", cancel_order, effect=CANCELLED),
        tool("orders", change_address, effect=READDRESSED),
        tool("orders", create_exchange, effect=EXCHANGED),
    ]


SYSTEM = System(name="orders", options=Options, tools=_tools)
