"""A goodwill credit, of the tier's amount, unless there was one lately."""

from __future__ import annotations

from samples.cases.case import Case, granted, write
from samples.clock import DAY, policy_version
from samples.policies import CREDIT_PAUSE_DAYS, NUMBERS
from samples.world import Ticket, World, clear_of_cuts

KIND, GRANT = "goodwill", "credit_granted"
TARGETS: tuple[tuple[str, str, float], ...] = (("", "credit_granted", 0.5), ("", "credit_refused_recent", 0.5))
BREAKABLE = ("credit_refused_recent",)


def plan(world: World, ticket: Ticket) -> Case:
    rng, person, at = ticket.rng, ticket.person, ticket.opened_at
    ages = [rng.uniform(CREDIT_PAUSE_DAYS + 4, CREDIT_PAUSE_DAYS + 200) for _ in range(rng.choice((0, 1, 1, 2)))]
    if ticket.code == "credit_refused_recent":
        ages = [*ages[1:], rng.uniform(4, CREDIT_PAUSE_DAYS - 4)]
    for age in sorted(ages, reverse=True):
        when = max(person.opened_at + DAY, clear_of_cuts(person, at - int(age * DAY)))
        fields = {
            "account_no": person.account, "amount_minor": rng.choice((500, 1000, 1500, 2000, 2500)),
            "reason": rng.choice(("goodwill", "service_recovery")), "created_at": when,
        }  # fmt: skip
        world.ledger.insert("credits", world.new_id("credit"), fields, when, "crm")
    amount = NUMBERS[policy_version(at)].credit[person.tier]
    case = Case(person.account, ("account_id",))
    if granted(ticket, GRANT):
        case.writes.append(write("grant_credit", account_id=person.account, amount_minor=amount, reason="goodwill"))
    return case
