"""The truth beside the export: who is who, what was so and what was recorded when, right outcomes, plants.

No stage reads this; tests and benchmarks do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from samples.cases import CASES
from samples.clock import iso
from samples.conversation import SUPPORT
from samples.ledger import CANONICAL, FLAGS, TABLES, TIME_COLUMNS, Value
from samples.people import Person
from samples.wording import Span
from samples.world import Ticket, World

UNSOLVABLE = {
    "off_system": "off_system", "broke_rule": "broke_rule", "merged": "merged", "deleted": "deleted", "no_outcome": "no_outcome",
    "unknown_code": "unknown_code", "out_of_scope": "out_of_scope", "redacted": "redacted", "ambiguous_tie": "ambiguous_tie",
    "late_fact": "late_fact", "broken_line": "broken_line",
}  # fmt: skip
"""Obstacle -> why the ticket cannot be solved by an agent with the tools. A trivial opening can be solved; it is only no task."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row of the export that must end in quarantine."""

    file: str
    place: str
    """Line number, or table:number in the history's sequence."""
    reason: str
    record: str
    """Id that the row is about."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A comment's mention, once it has its ids."""

    ticket: int
    audit: int
    event: int
    span: Span


def ticket_rows(world: World) -> Iterator[dict[str, Any]]:
    for ticket in world.tickets:
        in_scope = ticket.kind in CASES
        grant = CASES[ticket.kind].GRANT if in_scope else None
        code = ticket.recorded_code or None
        planted = sorted({*ticket.plants, *([ticket.obstacle] if ticket.obstacle else [])})
        yield {
            "ticket_id": str(ticket.number),
            "workflow": ticket.kind if in_scope else None,
            "outcome_class": None if code is None else ("grant" if code == grant else "refuse"),
            "code": code,
            "right_code": (ticket.code or None) if ticket.obstacle != "merged" else None,
            "about": ticket.recorded_about or None,
            "writes": ticket.writes,
            "solvable": ticket.obstacle in ("", "trivial"),
            "unsolvable_reason": UNSOLVABLE.get(ticket.obstacle),
            "clean": not ticket.obstacle,
            "planted": planted,
            "opened_at": iso(ticket.opened_at),
            "solved_at": iso(ticket.solved_at) if ticket.solved_at else None,
            "group": ticket.organisation.number,
        }


def identity_rows(world: World) -> Iterator[dict[str, Any]]:
    for person in [*world.agents, *world.people]:
        yield person_row(person)
    for kind, system, numbers in (
        ("account", "accounts", [p.account for p in world.people]),
        ("order", "orders", list(world.orders)),
        ("ticket", "helpdesk", [str(t.number) for t in world.tickets]),
    ):
        for number in numbers:
            record = {"system": system, "kind": kind, "record_id": number}
            yield {
                "identity": f"{kind}:{number}",
                "kind": kind,
                "records": [record],
                "names": [],
                "emails": [],
                "phones": [],
                "logins": [],
            }
    for organisation in world.organisations:
        record = {"system": "helpdesk", "kind": "organization", "record_id": str(organisation.zendesk_id)}
        yield {
            "identity": f"organisation:{organisation.number}", "kind": "organisation", "records": [record],
            "names": [organisation.name],
            "emails": [], "phones": [], "logins": [],
        }  # fmt: skip

    yield {
        "identity": "organisation:supplier", "kind": "organisation", "records": [], "names": ["Halden Support"],
        "emails": [SUPPORT],
        "phones": [], "logins": [],
    }  # fmt: skip


def person_row(person: Person) -> dict[str, Any]:
    records = [{"system": "helpdesk", "kind": "user", "record_id": str(person.user_id)}]
    names = {person.name, person.display}
    emails = [person.email]
    if person.second_user_id:
        records.append({"system": "helpdesk", "kind": "user", "record_id": str(person.second_user_id)})
        names.add(person.second_display)
        emails.append(person.second_email)
    if person.account:
        records.append({"system": "accounts", "kind": "account", "record_id": person.account})
    return {
        "identity": person.identity, "kind": "person", "records": records, "names": sorted(names), "emails": emails,
        "phones": [person.phone],
        "logins": [person.login] if person.login else [],
    }  # fmt: skip


def canonical(column: str, value: Value) -> Any:
    """A value as the canonical events hold it: instants in ISO 8601 UTC, flags as booleans."""
    if column in TIME_COLUMNS and isinstance(value, int):
        return iso(value)
    return bool(value) if column in FLAGS and value is not None else value


def fact_rows(world: World) -> Iterator[dict[str, Any]]:
    """Every value with the time from which it was true and the time from which it was recorded; in the order of recording."""
    for change in world.ledger.ordered():
        if change.flaw:
            continue
        system, kind, _, _ = TABLES[change.table]
        base = {
            "system": system,
            "kind": kind,
            "record_id": change.key,
            "true_ts": iso(change.true_at),
            "recorded_ts": iso(change.recorded_at),
        }
        if change.op == "delete":
            yield {**base, "field": None, "value": None, "deleted": True}
        for column, value in change.fields.items():
            yield {**base, "field": CANONICAL.get(column, column), "value": canonical(column, value), "deleted": False}
    for ticket in world.tickets:
        if ticket.obstacle == "deleted":
            continue
        base = {"system": "helpdesk", "kind": "ticket", "record_id": str(ticket.number)}
        for audit in ticket.audits:
            for event in audit.events:
                name = event.get("field_name")
                if name in ("subject", "requester_id"):
                    at, value = iso(audit.at), event["value"]
                    shown = str(value) if name == "requester_id" else value
                    yield {**base, "true_ts": at, "recorded_ts": at, "field": name, "value": shown, "deleted": False}


def leak_rows(world: World) -> Iterator[dict[str, Any]]:
    for ticket in world.tickets:
        for kind, where, literal in ticket.leaks:
            yield {"ticket_id": str(ticket.number), "kind": kind, "where": where, "literal": literal}


def off_system_value(ticket: Ticket) -> str:
    """The value that nothing in the systems or texts shows."""
    assert ticket.off_system is not None
    case = ticket.case
    values: dict[str, str] = {
        "order_id": case.about, "account_id": case.about, "new_sku": case.new_sku, "new_address": case.new_address,
        "identity": case.told_postcode,
    }  # fmt: skip
    return values[ticket.off_system[0]]


def off_system_rows(world: World) -> Iterator[dict[str, Any]]:
    for ticket in world.tickets:
        if ticket.off_system is not None:
            yield {"ticket_id": str(ticket.number), "kind": ticket.off_system[0], "underivable_value": off_system_value(ticket)}


def mention_rows(mentions: list[Mention]) -> Iterator[dict[str, Any]]:
    for m in mentions:
        yield {
            "ticket_id": str(m.ticket), "audit_id": str(m.audit), "event_id": str(m.event), "start": m.span.start,
            "end": m.span.end,
            "text": m.span.text, "identity": m.span.identity, "form": m.span.form,
        }  # fmt: skip


def bad_rows(bad: list[BadRow]) -> Iterator[dict[str, Any]]:
    for row in bad:
        yield asdict(row)
