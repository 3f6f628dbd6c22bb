"""The simulation: who writes when about what, what happened to their orders, how each ticket was handled. Linear in tickets."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from pipeline.progress import progress
from samples import mess, phrases
from samples.cases import CASES, IDENTITY_KINDS
from samples.cases.case import Case, lateness_days
from samples.clock import DAY, HOUR, YEAR_END, YEAR_START, local_text
from samples.conversation import converse, merge
from samples.ledger import Ledger
from samples.people import AGENTS, PeopleMaker, Person, make_organisations
from samples.settings import KIND_SHARES, OBSTACLES, PEOPLE_PER_TICKET, PLANTS, SECOND_ADDRESS, Settings
from samples.wording import expand
from samples.world import ANY_PRICE, Ticket, World, delivered_order, draw_lines, finish_life, id_makers, open_account, open_order

BETWEEN_TICKETS = 8 * DAY
"""One person does not open a second matter before the first is over."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Nothing here is thrown away, so each pass of the garbage collector over all of it is lost time, more with every ticket."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def simulate(settings: Settings, *, quiet: bool = True) -> World:
    """Runs the supplier's year. The same settings give the same world."""
    with collector_paused():
        return _simulated(settings, quiet=quiet)


def _simulated(settings: Settings, *, quiet: bool) -> World:
    rng = Random(f"recordgym-sample-{settings.seed}")
    organisations = make_organisations(rng)
    maker = PeopleMaker(rng)
    agents = [maker.agent(first, last) for first, last in AGENTS]
    world = World(settings.seed, organisations, agents, [], Ledger(), id_makers(rng))
    hire(world, maker, rng, max(48, round(settings.tickets * PEOPLE_PER_TICKET)))
    world.tickets = draw_tickets(world, maker, rng, settings)
    open_accounts(world, rng)
    with progress("samples: orders", len(world.tickets), quiet=quiet) as advance:
        for ticket in world.tickets:
            prepare(world, ticket)
            advance(1)
    with progress("samples: tickets", len(world.tickets), quiet=quiet) as advance:
        for ticket in world.tickets:
            converse(world, ticket)
            advance(1)
    by_number = {ticket.number: ticket for ticket in world.tickets}
    for ticket in world.tickets:
        if ticket.merged_into:
            merge(ticket, by_number[ticket.merged_into])
    for ticket in world.tickets:
        mess.after(world, ticket)
    mess.legacy(world, maker, rng)
    return world


def deck(rng: Random, shares: dict[tuple[str, ...], float], count: int, *, at_least: int = 0) -> list[tuple[str, ...]]:
    """`count` cards with the given shares as nearly as whole numbers allow, shuffled."""
    total = sum(shares.values())
    exact = {card: count * share / total for card, share in shares.items()}
    whole = {card: max(at_least, int(value)) for card, value in exact.items()}
    left = count - sum(whole.values())
    for card in sorted(exact, key=lambda card: (int(exact[card]) - exact[card], card))[: max(0, left)]:
        whole[card] += 1
    cards = [card for card, number in whole.items() for _ in range(number)]
    rng.shuffle(cards)
    return cards[:count]


def hire(world: World, maker: PeopleMaker, rng: Random, count: int) -> None:
    weights = [organisation.weight for organisation in world.organisations]
    for organisation in [*world.organisations, *rng.choices(world.organisations, weights, k=count - len(world.organisations))]:
        world.people.append(maker.customer(organisation))


def arrival_times(rng: Random, count: int) -> list[int]:
    """Evenly over the year; few at weekends; from early morning to late evening."""
    times = []
    for index in range(count):
        day = (YEAR_START + int((YEAR_END - YEAR_START) * (index + rng.random()) / count)) // DAY
        weekday = (day + 3) % 7
        if weekday >= 5 and rng.random() < 0.8:
            day += 7 - weekday
        times.append(day * DAY + int(rng.triangular(5.3, 20, 9.5) * HOUR) + rng.randrange(60))
    return sorted(times)


def draw_tickets(world: World, maker: PeopleMaker, rng: Random, settings: Settings) -> list[Ticket]:
    """Who opens which ticket when; numbered by arrival."""
    count = settings.tickets
    shares: dict[tuple[str, ...], float] = {
        (kind, sub, code): KIND_SHARES[kind] * share / sum(t[2] for t in module.TARGETS)
        for kind, module in CASES.items()
        for sub, code, share in module.TARGETS
    }
    targets = deck(rng, shares, count)
    planned: dict[tuple[str, ...], float] = {(name,): share for name, share in OBSTACLES.items()}
    obstacles = [
        card[0] for card in deck(rng, {**planned, ("",): 1 - sum(OBSTACLES.values())}, count, at_least=1 if count >= 100 else 0)
    ]
    tickets: list[Ticket] = []
    for index, opened in enumerate(arrival_times(rng, count)):
        kind, sub, code = targets[index]
        ticket = Ticket(0, opened, world.people[0], kind, sub, code, Random(f"{settings.seed}/{index}"), obstacles[index])
        mess.aim(ticket)
        if ticket.obstacle == "merged" and not follow(ticket, tickets):
            ticket.obstacle = ""
        if ticket.obstacle != "merged":
            ticket.person = choose_person(world, maker, rng, ticket)
            ticket.person.cuts.append(opened)
            ticket.person.kinds.add(ticket.kind)
        if ticket.obstacle == "off_system":
            mess.choose_off_system(ticket, maker)
        address(ticket)
        ticket.plants |= {name for name, share in PLANTS.items() if ticket.rng.random() < share}
        ticket.agent = ticket.rng.choice(world.agents)
        tickets.append(ticket)
    number = 48_210_000
    for ticket in sorted(tickets, key=lambda t: t.opened_at):
        number += rng.randint(1, 4)
        ticket.number = number
    for ticket in tickets:
        if ticket.obstacle == "merged":
            ticket.merged_into = ticket.case.number
    tickets.sort(key=lambda t: t.number)
    return tickets


def follow(ticket: Ticket, earlier: list[Ticket]) -> bool:
    """Makes `ticket` a second mail about a recent ticket (kept in `case` until there are numbers); False where none fits."""
    for target in reversed(earlier[-60:]):
        if not target.obstacle and "merge_target" not in target.plants:
            target.plants.add("merge_target")
            ticket.case, ticket.person, ticket.kind, ticket.sub, ticket.code = (
                target,
                target.person,
                target.kind,
                target.sub,
                target.code,
            )
            ticket.opened_at = target.opened_at + ticket.rng.randint(15 * 60, 80 * 60)
            return True
    return False


def choose_person(world: World, maker: PeopleMaker, rng: Random, ticket: Ticket) -> Person:
    """Somebody without a ticket of these days, and without an earlier one that would spoil this kind."""

    def fit(person: Person) -> bool:
        if person.cuts and ticket.opened_at - person.cuts[-1] < BETWEEN_TICKETS:
            return False
        if ticket.obstacle == "off_system" and person.second_used:
            return False
        if ticket.kind in IDENTITY_KINDS:
            return not person.kinds & IDENTITY_KINDS
        return ticket.kind != "goodwill" or "goodwill" not in person.kinds

    for _ in range(40):
        person = rng.choice(world.people)
        if fit(person):
            return person
    person = maker.customer(rng.choice(world.organisations))
    world.people.append(person)
    return person


def address(ticket: Ticket) -> None:
    """Which of the person's addresses the ticket comes from."""
    person = ticket.person
    by_second = ticket.off_system is not None and ticket.off_system[0] in ("order_id", "account_id")
    if by_second or (person.second_email and ticket.obstacle != "trivial" and ticket.rng.random() < SECOND_ADDRESS):
        ticket.user_id, ticket.address = person.second_user_id, person.second_email
        person.second_used = True
        ticket.plants.add("second_address")
    else:
        ticket.user_id, ticket.address = person.user_id, person.email
    ticket.subject = expand(ticket.rng, ticket.rng.choice(phrases.SUBJECTS[ticket.sub or ticket.kind]))


def open_accounts(world: World, rng: Random) -> None:
    """Every account as it was opened, and a note on each that the order system overwrites without history."""
    for person in world.people:
        open_account(world, person)
        note = rng.choice(("none", "none", "late payer", "frequent returns", f"reviewed {local_text(YEAR_END)[:10]}"))
        world.ledger.unlogged[("accounts", person.account)] = {"risk_note": note}


def prepare(world: World, ticket: Ticket) -> None:
    """The facts of a ticket, and the person's other orders."""
    mess.settle(ticket)
    if ticket.obstacle == "out_of_scope":
        ticket.case = Case("", ())
        return
    if ticket.obstacle == "merged":
        ticket.case = ticket.case.case
        return
    ticket.case = CASES[ticket.kind].plan(world, ticket)
    if ticket.obstacle == "deleted":
        ticket.case.writes = []
    others(world, ticket)
    mess.before(world, ticket)


def others(world: World, ticket: Ticket) -> None:
    """Further orders of the same person, most of them delivered long ago; as many in grants as in refusals."""
    rng, person = ticket.rng, ticket.person
    for _ in range(rng.choices((0, 1, 2, 3), (42, 32, 18, 8))[0]):
        lines = draw_lines(world, rng, [ANY_PRICE] * rng.choice((1, 1, 2)))
        if rng.random() < 0.25:
            order = open_order(world, rng, person, lines, rng.choice(("placed", "packed", "shipped")), ticket.opened_at)
            finish_life(world, rng, order, ticket.opened_at + HOUR)
        else:
            delivered = ticket.opened_at - rng.randint(3, 150) * DAY + rng.randint(0, 9) * HOUR
            order = delivered_order(
                world, rng, person, lines, mess.clear(person, delivered), lateness_days(ticket, rng, late=rng.random() < 0.3)
            )
