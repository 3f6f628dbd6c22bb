"""What a kind of request hands to the conversation, and the acts that a granted request leads to."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from samples.clock import DAY, policy_version
from samples.people import Person
from samples.policies import APPROVED_UP_TO, NUMBERS
from samples.world import Line, Order, Ticket, clear_of_cuts


@dataclass(slots=True)
class Case:
    """The facts of one request."""

    about: str
    """The order or account that the decision is about."""
    needs: tuple[str, ...]
    """What only the requester can tell, in the order of asking: order_id, product, new_sku, new_address, identity, account_id."""
    writes: list[dict[str, Any]] = field(default_factory=list)
    """Tool calls that change something, in order: {"tool", "arguments"}."""
    order: Order | None = None
    line: Line | None = None
    new_sku: str = ""
    new_address: str = ""
    told_postcode: str = ""
    told_phone: str = ""
    """As the requester knows them: for an identity that does not match, at least the postcode is wrong."""


def granted(ticket: Ticket, grant: str) -> bool:
    """Whether the agent grants: by right, or against a rule."""
    return ticket.code == grant or ticket.obstacle == "broke_rule"


def age_days(ticket: Ticket, rng: Random, window: int, *, inside: bool) -> float:
    """Days between delivery and request, well on one side of a window of `window` days."""
    return rng.uniform(1.2, window - 1.6) if inside else rng.uniform(window + 1.6, window + 40)


def lateness_days(ticket: Ticket, rng: Random, *, late: bool) -> float:
    """Days between the promised time and delivery, well on one side of the policy's limit."""
    limit = NUMBERS[policy_version(ticket.opened_at)].late_days
    return rng.uniform(limit + 0.5, limit + 7) if late else rng.uniform(-3, limit - 0.5)


def delivered_at(ticket: Ticket, age: float) -> int:
    return clear_of_cuts(ticket.person, ticket.opened_at - int(age * DAY))


def approval_limit(person: Person, at: int) -> int:
    """Refunds above this (minor units) need an approval."""
    return NUMBERS[policy_version(at)].approval_above[person.tier]


def refund_bounds(ticket: Ticket, rng: Random, *, denied: bool) -> tuple[int, int]:
    """Bounds of an amount that is denied by the approver, or that is refunded (some of these need an approval)."""
    if denied:
        return APPROVED_UP_TO + 200, APPROVED_UP_TO + 60000
    limit = approval_limit(ticket.person, ticket.opened_at)
    return (limit + 300, APPROVED_UP_TO) if rng.random() < 0.4 else (2200, limit)


def tell_identity(case: Case, ticket: Ticket, rng: Random, *, right: bool) -> None:
    """Postcode and phone as the requester will tell them."""
    person = ticket.person
    assert person.billing is not None
    case.told_postcode, case.told_phone = person.billing.postcode, person.national_phone
    if right:
        return
    digits = list(person.billing.postcode)
    at = rng.randrange(2, 5)
    digits[at] = str((int(digits[at]) + rng.randint(1, 8)) % 10)
    case.told_postcode = "".join(digits)
    if rng.random() < 0.4:
        told = person.national_phone
        case.told_phone = told[:-1] + str((int(told[-1]) + rng.randint(1, 8)) % 10)


def write(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}
