"""Unlocking a locked account after an identity check."""

from __future__ import annotations

from samples.cases.case import Case, granted, tell_identity, write
from samples.clock import HOUR
from samples.world import Ticket, World, clear_of_cuts

KIND, GRANT = "account_recovery", "access_restored"
TARGETS: tuple[tuple[str, str, float], ...] = (("", "access_restored", 0.5), ("", "access_refused_identity", 0.5))
BREAKABLE = ("access_refused_identity",)


def plan(world: World, ticket: Ticket) -> Case:
    rng, person = ticket.rng, ticket.person
    locked = clear_of_cuts(person, ticket.opened_at - rng.randint(3 * HOUR, 90 * HOUR))
    world.ledger.update("accounts", person.account, {"status": "locked"}, locked, "login-guard")
    case = Case(person.account, ("account_id", "identity"))
    tell_identity(case, ticket, rng, right=ticket.code == GRANT)
    if granted(ticket, GRANT):
        case.writes.append(write("unlock_account", account_id=person.account))
    return case
