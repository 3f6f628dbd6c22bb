"""Refunds: shipping costs of a late order, the price of a damaged line, the second of two equal charges."""

from __future__ import annotations

from samples.cases.case import Case, age_days, approval_limit, delivered_at, granted, lateness_days, refund_bounds, write
from samples.clock import MINUTE, policy_version
from samples.policies import NUMBERS
from samples.world import ANY_PRICE, Ticket, World, delivered_order, draw_lines, draw_shipping

KIND, GRANT = "refund", "refund_granted"
TARGETS: tuple[tuple[str, str, float], ...] = (
    ("late", "refund_granted", 0.50), ("late", "refund_refused_not_late", 0.30), ("late", "refund_refused_window", 0.20),
    ("damaged", "refund_granted", 0.50), ("damaged", "refund_refused_window", 0.24), ("damaged", "refund_refused_approval", 0.26),
    ("double", "refund_granted", 0.50), ("double", "refund_refused_single_charge", 0.29), ("double", "refund_refused_approval",
    0.21),
)  # fmt: skip
BREAKABLE = ("refund_refused_window", "refund_refused_approval")
REASONS = {"late": "late_delivery", "damaged": "damaged_item", "double": "double_charge"}


def plan(world: World, ticket: Ticket) -> Case:
    rng, code = ticket.rng, ticket.code
    window = NUMBERS[policy_version(ticket.opened_at)].refund_days
    lines = rng.choice((1, 2, 2, 3))
    shipping = draw_shipping(rng)
    age = age_days(ticket, rng, window, inside=code != "refund_refused_window")
    late = lateness_days(ticket, rng, late=rng.random() < 0.3)
    prices = [ANY_PRICE] * lines
    if ticket.sub == "late":
        late = lateness_days(ticket, rng, late=code != "refund_refused_not_late")
    elif ticket.sub == "damaged":
        if code == "refund_refused_window":
            prices[0] = refund_bounds(ticket, rng, denied=rng.random() < 0.3)
        else:
            prices[0] = refund_bounds(ticket, rng, denied=code == "refund_refused_approval")
    else:
        low, high = refund_bounds(ticket, rng, denied=code == "refund_refused_approval" or (code != GRANT and rng.random() < 0.3))
        lines = min(lines, 2)
        prices = [(max(1, (low - shipping) // lines + 20), (high - shipping) // lines)] * lines
        age = rng.uniform(1.2, 70)
    order = delivered_order(world, rng, ticket.person, draw_lines(world, rng, prices), delivered_at(ticket, age), late, shipping)
    line = order.lines[0]
    rng.shuffle(order.lines)
    amount = {"late": order.shipping_minor, "damaged": line.price_minor, "double": order.total_minor}[ticket.sub]
    if ticket.sub == "double":
        charge_again(
            world, ticket, order.number, order.total_minor, order.placed_at, captured=code != "refund_refused_single_charge"
        )
    case = Case(order.number, ("order_id", "product") if ticket.sub == "damaged" else ("order_id",), order=order, line=line)
    if code == "refund_refused_approval" and ticket.obstacle != "broke_rule":
        case.writes.append(write("request_approval", about=order.number, amount_minor=amount))
    if granted(ticket, GRANT):
        if amount > approval_limit(ticket.person, ticket.opened_at) and ticket.obstacle != "broke_rule":
            case.writes.append(write("request_approval", about=order.number, amount_minor=amount))
        case.writes.append(write("create_refund", order_id=order.number, amount_minor=amount, reason=REASONS[ticket.sub]))
    return case


def charge_again(world: World, ticket: Ticket, order: str, amount: int, placed: int, *, captured: bool) -> None:
    """A second payment that was captured too; or one that came to nothing, or none at all, though the requester thinks so."""
    rng, ledger = ticket.rng, world.ledger
    if not captured and rng.random() < 0.25:
        return
    payment, at = world.new_id("payment"), placed + rng.randint(60, 900)
    ledger.insert("payments", payment, {"order_no": order, "amount_minor": amount, "status": "authorised"}, at, "bank")
    later = at + rng.randint(4, 90) * MINUTE
    if captured:
        ledger.update("payments", payment, {"status": "captured", "captured_at": later}, later, "bank")
    elif rng.random() < 0.7:
        ledger.update("payments", payment, {"status": rng.choice(("failed", "voided"))}, later, "bank")
