"""Cancelling an order before it is too late for it."""

from __future__ import annotations

from samples.cases.case import Case, granted, write
from samples.clock import policy_version
from samples.policies import NUMBERS
from samples.world import ANY_PRICE, Ticket, World, draw_lines, open_order

KIND, GRANT = "cancel", "order_cancelled"
TARGETS: tuple[tuple[str, str, float], ...] = (("", "order_cancelled", 0.5), ("", "cancel_refused_shipped", 0.5))
BREAKABLE = ("cancel_refused_shipped",)


def plan(world: World, ticket: Ticket) -> Case:
    rng = ticket.rng
    allowed = NUMBERS[policy_version(ticket.opened_at)].cancel_while
    if ticket.code == GRANT:
        status = rng.choice(allowed)
    else:
        status = rng.choice(
            ["shipped", "shipped", "packed", "delivered"] if "packed" not in allowed else ["shipped"] * 4 + ["delivered"]
        )
    if ticket.obstacle == "late_fact":
        status = allowed[-1]
    lines = draw_lines(world, rng, [ANY_PRICE] * rng.choice((1, 1, 2, 3)))
    order = open_order(world, rng, ticket.person, lines, status, ticket.opened_at)
    case = Case(order.number, ("order_id",), order=order, line=order.lines[0])
    if granted(ticket, GRANT):
        case.writes.append(write("cancel_order", order_id=order.number))
    return case
