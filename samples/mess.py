"""The field's mess, planted on purpose: obstacles that make a ticket unfit for a task, and harmless dirt to see through."""

from __future__ import annotations

from random import Random

from samples.cases import CASES
from samples.catalogue import CARRIERS, draw_address
from samples.clock import DAY, EXPORTED_AT, FOLD_END, FOLD_START, HOUR, MINUTE, YEAR_START, order_clock_error, policy_version
from samples.ledger import Change, Value
from samples.people import PeopleMaker, Person
from samples.world import (
    ANY_PRICE,
    Order,
    Ticket,
    World,
    advance,
    clear_of_cuts,
    delivered_order,
    draw_lines,
    open_account,
    open_order,
)

clear = clear_of_cuts


def aim(ticket: Ticket) -> None:
    """Gives a ticket with an obstacle a target that the obstacle fits, whatever its class was: elsewhere
    the classes stay balanced."""
    rng = ticket.rng
    match ticket.obstacle:
        case "out_of_scope":
            ticket.kind, ticket.sub, ticket.code = "question", "", ""
        case "trivial":
            if rng.random() < 0.35:
                ticket.kind, ticket.sub, ticket.code = "refund", "late", "refund_granted"
            else:
                ticket.kind, ticket.sub, ticket.code = "exchange", "", "exchange_created"
        case "broke_rule":
            module = CASES[ticket.kind]
            fit = [
                (sub, code)
                for sub, code, _ in module.TARGETS
                if code in module.BREAKABLE and (not ticket.sub or sub == ticket.sub)
            ]
            ticket.sub, ticket.code = rng.choice(fit)
        case "redacted":
            ticket.kind, ticket.sub, ticket.code = rng.choice(
                (("address_change", "", "address_changed"), ("account_recovery", "", "access_restored"))
            )
        case "ambiguous_tie":
            ticket.kind, ticket.sub, ticket.code = "cancel", "", rng.choice(("order_cancelled", "cancel_refused_shipped"))
        case "late_fact":
            ticket.kind, ticket.sub, ticket.code = "cancel", "", "cancel_refused_shipped"
        case _:
            pass


def choose_off_system(ticket: Ticket, maker: PeopleMaker) -> None:
    """What was settled outside of the systems: a value that no tool, text or answer shows."""
    choices = {
        "exchange_created": ["new_sku"], "address_changed": ["new_address", "identity"], "address_refused_identity": ["identity"],
        "access_restored": ["identity"], "access_refused_identity": ["identity"], "credit_granted": ["account_id"],
        "credit_refused_recent": ["account_id"],
    }  # fmt: skip
    slot = ticket.rng.choice(choices.get(ticket.code, ["order_id"]))
    ticket.off_system = (slot, "")
    if slot in ("order_id", "account_id"):
        maker.second_address(ticket.person)


ANYWHERE = frozenset({"html_only", "mojibake", "second_address", "older_row"})
AT_CLOSING = frozenset({"thanks", "outcome_note", "subject_rewritten"})


def settle(ticket: Ticket) -> None:
    """Drops the harmless plants that this ticket has no room for, so that what is listed as planted is there."""
    unclosed = ticket.obstacle in ("merged", "deleted", "no_outcome")
    if ticket.obstacle:
        ticket.plants &= ANYWHERE if unclosed else ANYWHERE | AT_CLOSING
    if ticket.obstacle == "deleted":
        ticket.plants &= {"second_address"}
    if ticket.obstacle in ("trivial", "broken_line"):
        ticket.plants -= {"mojibake", "html_only"}
    if ticket.obstacle == "broken_line":
        ticket.plants -= AT_CLOSING
    if ticket.kind == "address_change":
        ticket.plants -= {"mojibake", "cp1252_line"}
    if "mojibake" in ticket.plants:
        ticket.plants -= {"cp1252_line"}
    if not FOLD_END + 8 * HOUR < ticket.opened_at < FOLD_END + 25 * DAY:
        ticket.plants.discard("dst_fold")
    if order_clock_error(ticket.opened_at) > -3:
        ticket.plants.discard("clock_skew")


def spare_order(world: World, ticket: Ticket) -> Order:
    """An order of the person that this ticket is not about, delivered before it."""
    rng = ticket.rng
    delivered = clear(ticket.person, ticket.opened_at - rng.randint(12, 90) * DAY)
    return delivered_order(world, rng, ticket.person, draw_lines(world, rng, [ANY_PRICE]), delivered, rng.uniform(-2, 2))


def another(rng: Random) -> str:
    """A carrier."""
    return rng.choice(CARRIERS)


def before(world: World, ticket: Ticket) -> None:
    """Dirt in the order system's history around the ticket's arrival."""
    rng, ledger, at = ticket.rng, world.ledger, ticket.opened_at
    order = ticket.case.order
    if ticket.obstacle == "ambiguous_tie":
        when = at - 150 * MINUTE
        for status in rng.sample(("placed", "packed", "shipped"), 2):
            ledger.update("orders", order.number, {"status": status}, when, "migration", unordered=True)
    if ticket.obstacle == "late_fact":
        order.pending = [step for step in order.pending if step[0] == "delivered"]
        if policy_version(at) == 2:
            advance(world, rng, order, "packed", at - 150 * MINUTE, recorded=at + HOUR)
        advance(world, rng, order, "shipped", at - 140 * MINUTE, recorded=at + HOUR + 1)
    if "late_arrival" in ticket.plants:
        spare = spare_order(world, ticket)
        ledger.update(
            "shipments", spare.shipment, {"carrier": another(rng)}, at - 5 * HOUR, "carrier-feed", recorded=at + 3 * HOUR
        )
    if "tied_events" in ticket.plants:
        spare = spare_order(world, ticket)
        when = clear(ticket.person, spare.placed_at + 40 * MINUTE)
        for _ in range(2):
            spare.ship_to = draw_address(rng).line
            ledger.update("orders", spare.number, {"ship_to": spare.ship_to}, when, "shop")
    if "clock_skew" in ticket.plants:
        spare = spare_order(world, ticket)
        ledger.update("shipments", spare.shipment, {"carrier": another(rng)}, at + 1, "carrier-feed")
    if "dst_fold" in ticket.plants:
        spare = spare_order(world, ticket)
        when = FOLD_START + rng.randint(5, 55) * MINUTE
        ledger.changes.append(
            Change("shipments", spare.shipment, "update", {"carrier": another(rng)}, when, when, "carrier-feed")
        )
    if "scheduled" in ticket.plants:
        schedule(world, ticket)
    if "deleted_later" in ticket.plants:
        ticket.doomed = order if order and rng.random() < 0.5 else spare_order(world, ticket)
    if "deleted_before" in ticket.plants:
        spare = spare_order(world, ticket)
        spare.deleted_at = clear(ticket.person, at - rng.randint(1, 6) * DAY)
        remove(world, spare, spare.deleted_at)


def schedule(world: World, ticket: Ticket) -> None:
    """A shipment entered before the ticket for a day after it: planned, not a fact."""
    rng, ledger, at = ticket.rng, world.ledger, ticket.opened_at
    order = open_order(world, rng, ticket.person, draw_lines(world, rng, [ANY_PRICE]), "packed", at)
    order.pending = []
    leaves = at + rng.randint(8, 40) * HOUR
    order.shipment = world.new_id("shipment")
    fields: dict[str, Value] = {"order_no": order.number, "carrier": another(rng), "status": "in_transit", "shipped_at": leaves}
    ledger.insert("shipments", order.shipment, fields, leaves, "planner", recorded=at - 130 * MINUTE)
    order.status = "shipped"
    ledger.update("orders", order.number, {"status": "shipped"}, leaves, "warehouse")
    advance(world, rng, order, "delivered", leaves + rng.randint(20, 60) * HOUR)


def remove(world: World, order: Order, at: int) -> None:
    """Deletes an order with everything that hangs on it."""
    for line in order.lines:
        world.ledger.delete("order_lines", line.number, at, "cleaner")
    if order.shipment:
        world.ledger.delete("shipments", order.shipment, at, "cleaner")
    world.ledger.delete("payments", order.payment, at, "cleaner")
    world.ledger.delete("orders", order.number, at, "cleaner")


def after(world: World, ticket: Ticket) -> None:
    """Dirt that comes once the ticket is over: rows deleted weeks later, which the history still holds."""
    if ticket.doomed is None:
        return
    at = (ticket.closed_at or ticket.opened_at) + 25 * DAY
    if at < EXPORTED_AT:
        remove(world, ticket.doomed, at)
    else:
        ticket.plants.discard("deleted_later")


def legacy(world: World, maker: PeopleMaker, rng: Random) -> None:
    """History rows that no reader may take, on an account without tickets: each must be quarantined with its reason."""
    person: Person = maker.customer(world.organisations[0])
    world.people.append(person)
    open_account(world, person)
    ledger = world.ledger
    order = delivered_order(world, rng, person, draw_lines(world, rng, [ANY_PRICE]), YEAR_START + 60 * DAY, 0.5)
    at = YEAR_START + 90 * DAY
    flaws: tuple[tuple[str, str, dict[str, Value], str, str], ...] = (
        ("shipments", order.shipment, {"carrier": "DHL"}, "a time that does not exist in the zone", "2025-03-30 02:30:00"),
        ("orders", order.number, {"status": "shiped"}, "a value that is not in the code book", ""),
        ("orders", order.number, {"total_minor": "129,90"}, "not a whole number", ""),
        ("shipments", order.shipment, {"carrier": "GLS"}, "a time in another format", "30.04.2025 11:15"),
    )
    for index, (table, key, changed, flaw, stamp) in enumerate(flaws):
        when = at + index * HOUR
        ledger.changes.append(Change(table, key, "update", changed, when, when, "import", None, False, flaw, stamp))
