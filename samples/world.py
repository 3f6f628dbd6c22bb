"""What the simulation holds while it runs: people, orders and their lives, tickets and their conversations."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from samples.catalogue import CARRIERS, PRODUCTS, VARIANTS, Ids, draw_sku
from samples.clock import DAY, HOUR, MINUTE
from samples.ledger import Ledger
from samples.people import Organisation, Person
from samples.wording import Piece


@dataclass(slots=True)
class Line:
    number: str
    sku: str
    product: int
    """Index into the catalogue."""
    variant: int
    quantity: int
    unit_minor: int
    final_sale: bool

    @property
    def name(self) -> str:
        """As the order shows it: "desk lamp, black"."""
        return f"{PRODUCTS[self.product][1]}, {VARIANTS[self.variant][1]}"

    @property
    def short(self) -> str:
        """As people call it: "desk lamp"."""
        return PRODUCTS[self.product][1]

    @property
    def price_minor(self) -> int:
        return self.quantity * self.unit_minor


@dataclass(slots=True)
class Order:
    """An order and its life so far; `pending` holds what will happen to it unless it is cancelled first."""

    number: str
    owner: Person
    lines: list[Line]
    shipping_minor: int
    ship_to: str
    placed_at: int
    promised_at: int
    status: str = "placed"
    delivered_at: int | None = None
    shipment: str = ""
    payment: str = ""
    pending: list[tuple[str, int]] = field(default_factory=list)
    deleted_at: int | None = None

    @property
    def total_minor(self) -> int:
        return sum(line.price_minor for line in self.lines) + self.shipping_minor


@dataclass(slots=True)
class Audit:
    """One entry of a ticket's log: who, when, through which channel, and what it did."""

    at: int
    author: int
    channel: str
    events: list[dict[str, Any]]
    source: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Comment:
    """A comment before it gets its ids: words with marks already taken apart."""

    author: int
    parts: list[Piece]
    public: bool
    dress: str = "plain"
    """plain | html_only | quoted."""
    quoted: list[Piece] = field(default_factory=list)
    """The message quoted below."""


@dataclass(slots=True)
class Ticket:
    """A ticket with everything that the systems and the truth say about it."""

    number: int
    opened_at: int
    person: Person
    kind: str
    sub: str
    code: str
    rng: Random
    obstacle: str = ""
    plants: set[str] = field(default_factory=set)
    user_id: int = 0
    address: str = ""
    """E-mail address that it came from."""
    subject: str = ""
    case: Any = None
    audits: list[Audit] = field(default_factory=list)
    status: str = "new"
    final_subject: str = ""
    tags: list[str] = field(default_factory=list)
    agent: Person | None = None
    closed_at: int | None = None
    solved_at: int | None = None
    recorded_code: str = ""
    recorded_about: str = ""
    score: str = "unoffered"
    score_comment: str = ""
    merged_into: int = 0
    writes: list[dict[str, Any]] = field(default_factory=list)
    leaks: list[tuple[str, str, str]] = field(default_factory=list)
    off_system: tuple[str, str] | None = None
    doomed: Order | None = None
    """An order that is deleted weeks after the ticket."""

    @property
    def organisation(self) -> Organisation:
        assert self.person.organisation is not None
        return self.person.organisation


@dataclass(slots=True)
class World:
    """The whole simulation: the order system's ledger, the helpdesk's tickets, and the people of both."""

    seed: int
    organisations: list[Organisation]
    agents: list[Person]
    people: list[Person]
    ledger: Ledger
    ids: dict[str, Ids]
    tickets: list[Ticket] = field(default_factory=list)
    orders: dict[str, Order] = field(default_factory=dict)

    def new_id(self, kind: str) -> str:
        return self.ids[kind].new()


def id_makers(rng: Random) -> dict[str, Ids]:
    return {
        "order": Ids("A-", 6, rng), "line": Ids("L-", 6, rng), "payment": Ids("P-", 6, rng), "refund": Ids("R-", 6, rng),
        "shipment": Ids("S-", 6, rng), "credit": Ids("G-", 5, rng), "approval": Ids("V-", 5, rng), "exchange": Ids("X-", 5, rng),
    }  # fmt: skip


def clear_of_cuts(person: Person, at: int) -> int:
    """Moves `at` earlier when one of the person's tickets arrives within two hours after it, or ten minutes before it."""
    moved = True
    while moved:
        moved = False
        for cut in person.cuts:
            if cut - 2 * HOUR < at <= cut + 10 * MINUTE:
                at, moved = cut - 2 * HOUR - 11 * MINUTE, True
    return at


def open_account(world: World, person: Person) -> None:
    """Records the person's account."""
    assert person.organisation is not None
    assert person.billing is not None
    world.ledger.insert(
        "accounts", person.account,
        {
            "organisation_no": person.organisation.number, "holder_name": person.name, "email": person.email,
            "phone": person.phone,
            "billing_address": f"{person.billing.street}, {person.billing.city}", "billing_postcode": person.billing.postcode,
            "tier": person.tier, "status": "active", "opened_at": person.opened_at,
        },
        person.opened_at, "shop",
    )  # fmt: skip


ANY_PRICE = (990, 42000)
"""Bounds of an ordinary line's price in minor units."""


def draw_lines(world: World, rng: Random, prices: list[tuple[int, int]]) -> list[Line]:
    """Order lines of different products, each line's price within its bounds; names tell nothing about prices."""
    lines = []
    for product, (low, high) in zip(rng.sample(range(len(PRODUCTS)), len(prices)), prices, strict=True):
        quantity = rng.choices((1, 2, 3, 4, 6, 10), (40, 22, 12, 12, 8, 6))[0]
        unit = round(rng.uniform(low, high) / quantity)
        unit = min(max(unit, -(-low // quantity)), max(1, high // quantity))
        variant = rng.randrange(len(VARIANTS))
        sku = draw_sku(rng, product, variant)
        lines.append(Line(world.new_id("line"), sku, product, variant, quantity, unit, rng.random() < 0.12))
    return lines


def place_order(world: World, rng: Random, person: Person, lines: list[Line], placed: int, promised: int, shipping: int) -> Order:
    """Records a new order: the order, its lines and its payment."""
    assert person.organisation is not None
    order = Order(
        world.new_id("order"), person, lines, shipping, rng.choice(person.organisation.sites).line, placed, promised,
        payment=world.new_id("payment"),
    )  # fmt: skip
    ledger = world.ledger
    ledger.insert(
        "orders", order.number,
        {
            "account_no": person.account, "status": "placed", "total_minor": order.total_minor, "shipping_minor": shipping,
            "ship_to": order.ship_to, "placed_at": placed, "promised_at": promised,
        },
        placed, "shop",
    )  # fmt: skip
    for line in lines:
        ledger.insert(
            "order_lines", line.number,
            {
                "order_no": order.number, "sku": line.sku, "product": line.name, "quantity": line.quantity,
                "unit_minor": line.unit_minor,
                "final_sale": int(line.final_sale),
            },
            placed, "shop",
        )  # fmt: skip
    paid = placed + rng.randint(1, 9)
    ledger.insert(
        "payments",
        order.payment,
        {"order_no": order.number, "amount_minor": order.total_minor, "status": "authorised"},
        paid,
        "bank",
    )
    captured = clear_of_cuts(person, paid + rng.randint(5, 80) * MINUTE)
    if captured <= paid:
        captured = paid + 30
    ledger.update("payments", order.payment, {"status": "captured", "captured_at": captured}, captured, "bank")
    world.orders[order.number] = order
    person.orders.append(order.number)
    return order


def advance(world: World, rng: Random, order: Order, status: str, at: int, *, recorded: int = 0) -> None:
    """The order becomes packed, shipped or delivered."""
    ledger = world.ledger
    order.status = status
    if status == "delivered":
        order.delivered_at = at
        ledger.update("orders", order.number, {"status": status, "delivered_at": at}, at, "carrier-feed", recorded=recorded)
        ledger.update(
            "shipments", order.shipment, {"status": "delivered", "delivered_at": at}, at, "carrier-feed", recorded=recorded
        )
        return
    ledger.update("orders", order.number, {"status": status}, at, "warehouse", recorded=recorded)
    if status == "shipped":
        order.shipment = world.new_id("shipment")
        ledger.insert(
            "shipments", order.shipment,
            {"order_no": order.number, "carrier": rng.choice(CARRIERS), "status": "in_transit", "shipped_at": at},
            at, "warehouse", recorded=recorded,
        )  # fmt: skip


def finish_life(world: World, rng: Random, order: Order, after: int) -> None:
    """Lets happen what is pending, none of it before `after` (a cancelled order has nothing pending)."""
    earliest = after
    for status, planned in order.pending:
        at = max(earliest, clear_of_cuts(order.owner, max(planned, earliest)))
        advance(world, rng, order, status, at)
        earliest = at + 2 * HOUR
    order.pending = []


def delivered_order(
    world: World, rng: Random, person: Person, lines: list[Line], delivered: int, late: float, shipping: int | None = None
) -> Order:
    """An order delivered at `delivered`, `late` days after the promised time (negative: before)."""
    promised = delivered - int(late * DAY)
    placed_latest = min(delivered - 2 * DAY, promised - DAY)
    placed = clear_of_cuts(person, placed_latest - rng.randint(2 * HOUR, 4 * DAY))
    order = place_order(world, rng, person, lines, placed, promised, draw_shipping(rng) if shipping is None else shipping)
    packed = max(placed + 2 * HOUR, clear_of_cuts(person, placed + rng.randint(4 * HOUR, 20 * HOUR)))
    shipped = max(packed + HOUR, clear_of_cuts(person, packed + rng.randint(2 * HOUR, 20 * HOUR)))
    advance(world, rng, order, "packed", packed)
    advance(world, rng, order, "shipped", shipped)
    advance(world, rng, order, "delivered", delivered)
    return order


def open_order(world: World, rng: Random, person: Person, lines: list[Line], status: str, at: int) -> Order:
    """An order that is placed, packed, shipped or delivered at `at` (and for some hours before); the rest is pending."""
    reached = {"placed": 0, "packed": 1, "shipped": 2, "delivered": 3}[status]
    last = at - rng.randint(3 * HOUR, 30 * HOUR)
    gaps = [rng.randint(4 * HOUR, 26 * HOUR) for _ in range(reached)]
    times = [last - sum(gaps[index:]) for index in range(reached + 1)]
    times[0] = clear_of_cuts(person, times[0])
    for index in range(1, reached + 1):
        times[index] = max(times[index - 1] + HOUR, clear_of_cuts(person, times[index]))
    order = place_order(world, rng, person, lines, times[0], times[0] + rng.randint(3 * DAY, 8 * DAY), draw_shipping(rng))
    for name, when in zip(("packed", "shipped", "delivered"), times[1:], strict=False):
        advance(world, rng, order, name, when)
    later = at
    for name in ("packed", "shipped", "delivered")[reached:]:
        later += rng.randint(12 * HOUR, 40 * HOUR)
        order.pending.append((name, later))
    return order


def draw_shipping(rng: Random) -> int:
    """Shipping costs in minor units: parcels mostly, sometimes freight."""
    return rng.choice((490, 590, 690, 890, 990, 1290, 1490, 1990, 2490, 3900, 5900))
