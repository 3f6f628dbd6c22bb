"""Exchanging a delivered line for another article."""

from __future__ import annotations

from samples.cases.case import Case, age_days, delivered_at, granted, lateness_days, write
from samples.catalogue import VARIANTS, draw_sku
from samples.clock import policy_version
from samples.policies import NUMBERS
from samples.world import ANY_PRICE, Ticket, World, delivered_order, draw_lines

KIND, GRANT = "exchange", "exchange_created"
TARGETS: tuple[tuple[str, str, float], ...] = (
    ("", "exchange_created", 0.5), ("", "exchange_refused_window", 0.26), ("", "exchange_refused_final_sale", 0.24),
)  # fmt: skip
BREAKABLE = ("exchange_refused_window", "exchange_refused_final_sale")


def plan(world: World, ticket: Ticket) -> Case:
    rng = ticket.rng
    window = NUMBERS[policy_version(ticket.opened_at)].exchange_days
    age = age_days(ticket, rng, window, inside=ticket.code != "exchange_refused_window")
    lines = draw_lines(world, rng, [ANY_PRICE] * rng.choice((1, 2, 2, 3)))
    lines[0].final_sale = ticket.code == "exchange_refused_final_sale"
    order = delivered_order(
        world, rng, ticket.person, lines, delivered_at(ticket, age), lateness_days(ticket, rng, late=rng.random() < 0.3)
    )
    line = order.lines[0]
    rng.shuffle(order.lines)
    case = Case(order.number, ("order_id", "product", "new_sku"), order=order, line=line)
    variant = (line.variant + rng.randrange(1, len(VARIANTS))) % len(VARIANTS)
    case.new_sku = draw_sku(rng, line.product, variant)
    if granted(ticket, GRANT):
        case.writes.append(write("create_exchange", order_id=order.number, line_id=line.number, new_sku=case.new_sku))
    return case
