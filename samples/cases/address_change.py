"""Sending an order somewhere else, after an identity check and before it is shipped."""

from __future__ import annotations

from samples.cases.case import Case, granted, tell_identity, write
from samples.catalogue import draw_address
from samples.world import ANY_PRICE, Ticket, World, draw_lines, open_order

KIND, GRANT = "address_change", "address_changed"
TARGETS: tuple[tuple[str, str, float], ...] = (
    ("", "address_changed", 0.5), ("", "address_refused_shipped", 0.24), ("", "address_refused_identity", 0.26),
)  # fmt: skip
BREAKABLE = ("address_refused_shipped", "address_refused_identity")


def plan(world: World, ticket: Ticket) -> Case:
    rng = ticket.rng
    status = (
        rng.choice(("shipped", "shipped", "shipped", "delivered"))
        if ticket.code == "address_refused_shipped"
        else rng.choice(("placed", "packed"))
    )
    lines = draw_lines(world, rng, [ANY_PRICE] * rng.choice((1, 1, 2, 3)))
    order = open_order(world, rng, ticket.person, lines, status, ticket.opened_at)
    case = Case(order.number, ("order_id", "new_address", "identity"), order=order, line=order.lines[0])
    case.new_address = draw_address(rng).line
    tell_identity(case, ticket, rng, right=ticket.code != "address_refused_identity")
    if granted(ticket, GRANT):
        case.writes.append(write("change_address", order_id=order.number, new_address=case.new_address))
    return case
