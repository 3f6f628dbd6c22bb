"""Writes the helpdesk as the pages of its incremental exports: one API object a line, final values and all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samples.clock import EXPORTED_AT, iso
from samples.conversation import ABOUT_FIELD, CODE_FIELD, GROUP, KIND_FIELD, SUPPORT, SYSTEM_USER, UNKNOWN_CODE
from samples.people import SUPPLIER_DOMAIN, Person
from samples.settings import PAGE_ROWS, REPEATED_ROWS
from samples.truth import BadRow, Mention
from samples.wording import Piece, flatten, html, mojibake
from samples.world import Audit, Comment, Ticket, World

API = f"https://{SUPPLIER_DOMAIN}/api/v2"


@dataclass(slots=True)
class Export:
    """What was written, for the truth."""

    mentions: list[Mention] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """True text of comments whose export has no plain text or a broken one."""
    bad: list[BadRow] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    last_comment: dict[int, int] = field(default_factory=dict)


def write_helpdesk(world: World, folder: Path) -> Export:
    """Writes every page below `folder` and returns what the truth needs to know of it."""
    folder.mkdir(parents=True, exist_ok=True)
    export = Export()
    audits = ordered_audits(world)
    pages(folder, "ticket_audits", audit_objects(audits, export), export, audit_spoils(audits))
    pages(folder, "tickets", ticket_objects(world), export, {})
    pages(folder, "users", user_objects(world), export, {})
    pages(folder, "organizations", organization_objects(world), export, {})
    pages(folder, "ticket_metrics", metric_objects(world), export, {metric_id(11): "truncated"})
    pages(folder, "satisfaction_ratings", rating_objects(world), export, {rating_id(7): "no_charset"})
    return export


FLAWS = {
    "truncated": "a JSON line cut off",
    "no_charset": "bytes of no charset",
    "unknown_code": "a value that is not in the code book",
}


def spoiled(raw: bytes, how: str) -> bytes:
    """The line as it reaches the export: cut off, with bytes of no charset, or in Windows-1252 (still readable)."""
    if how == "truncated":
        return raw[: len(raw) // 2].rstrip() + b"\n"
    if how == "no_charset":
        return raw.replace(b'"reason":"', b'"reason":"\x81\x8d', 1)
    return raw.decode().encode("cp1252", "ignore") if how == "cp1252" else raw


def pages(folder: Path, name: str, objects: Iterator[dict[str, Any]], export: Export, spoils: dict[int, str]) -> None:
    """Writes pages of PAGE_ROWS rows; the next page begins with the last rows of the one before. `spoils`:
    row id -> how it is spoiled."""
    page = line = rows = 0
    handle = None
    tail: list[bytes] = []
    try:
        for row in objects:
            if rows % PAGE_ROWS == 0:
                if handle:
                    handle.close()
                page, line = page + 1, len(tail)
                handle = (folder / f"{name}-{page:04d}.ndjson").open("wb")
                handle.writelines(tail)
                tail = []
            assert handle is not None
            how = spoils.get(row["id"], "")
            raw = spoiled(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n", how)
            line += 1
            if how in FLAWS:
                place = BadRow(f"helpdesk/{name}-{page:04d}.ndjson", str(line), FLAWS[how], str(row.get("ticket_id", row["id"])))
                export.bad.append(place)
            else:
                tail = [*tail, raw][-REPEATED_ROWS:]
            handle.write(raw)
            rows += 1
    finally:
        if handle:
            handle.close()
    export.counts[name] = rows


def audit_spoils(audits: list[tuple[Ticket, Audit]]) -> dict[int, str]:
    """Which audits (by id) are spoiled: the last of a broken ticket, an unknown code, an opening in another charset."""
    spoils: dict[int, str] = {}
    last: dict[int, int] = {}
    for number, (ticket, audit) in enumerate(audits):
        if ticket.obstacle == "broken_line":
            last[ticket.number] = audit_id(number)
        elif ticket.obstacle == "unknown_code" and any(event.get("value") == UNKNOWN_CODE for event in audit.events):
            spoils[audit_id(number)] = "unknown_code"
        elif "cp1252_line" in ticket.plants and audit is ticket.audits[0]:
            spoils[audit_id(number)] = "cp1252"
    return spoils | dict.fromkeys(last.values(), "truncated")


def ordered_audits(world: World) -> list[tuple[Ticket, Audit]]:
    everything = [(ticket, audit) for ticket in world.tickets for audit in ticket.audits if ticket.obstacle != "deleted"]
    everything.sort(key=lambda pair: pair[1].at)
    return everything


def audit_id(number: int) -> int:
    return 1_904_100_000_000 + number * 40


def audit_objects(audits: list[tuple[Ticket, Audit]], export: Export) -> Iterator[dict[str, Any]]:
    for number, (ticket, audit) in enumerate(audits):
        key = audit_id(number)
        events = []
        for index, event in enumerate(audit.events, 1):
            made = {"id": key + index, "type": event["type"]}
            if event["type"] == "Comment":
                made |= comment_event(ticket, event["comment"], key, key + index, export)
            else:
                made |= {name: event[name] for name in ("field_name", "value", "previous_value") if name in event}
            events.append(made)
        yield {
            "id": key, "ticket_id": ticket.number, "created_at": iso(audit.at), "author_id": audit.author,
            "metadata": {"system": {"client": None, "location": None}, "custom": {}},
            "via": {"channel": audit.channel, "source": audit.source or {"from": {}, "to": {}, "rel": None}}, "events": events,
        }  # fmt: skip


def comment_event(ticket: Ticket, comment: Comment, audit: int, event: int, export: Export) -> dict[str, Any]:
    """A Comment event; its mentions' offsets are taken from the plain text as it was written."""
    parts = list(comment.parts)
    true_text, _ = flatten([*parts, *comment.quoted])
    own, quoted = parts, comment.quoted
    if "mojibake" in ticket.plants and comment.author == ticket.user_id and comment.public:
        own, quoted = mojibake(own), mojibake(quoted)
    text, spans = flatten([*own, *quoted])
    export.mentions.extend(Mention(ticket.number, audit, event, span) for span in spans)
    if text != true_text or comment.dress == "html_only":
        export.bodies.append(
            {"ticket_id": str(ticket.number), "audit_id": str(audit), "event_id": str(event), "plain": text, "true": true_text}
        )
    return {
        "author_id": comment.author, "body": None if comment.dress == "html_only" else text, "html_body": html_of(own, quoted),
        "plain_body": None if comment.dress == "html_only" else text, "public": comment.public, "attachments": [],
        "audit_id": audit,
    }  # fmt: skip


def html_of(own: list[Piece], quoted: list[Piece]) -> str:
    body = html(flatten(own)[0])
    if not quoted:
        return body
    lines = flatten(quoted)[0].strip().split("\n")
    inner = html("\n".join(line.removeprefix("> ") for line in lines[1:]))
    head = html(lines[0]).removeprefix('<div class="zd-comment" dir="auto">').removesuffix("</div>")
    return body + f'<div class="gmail_quote">{head}<blockquote>{inner}</blockquote></div>'


def ticket_objects(world: World) -> Iterator[dict[str, Any]]:
    """By the time of the last update, as incremental exports come; some tickets had been exported before, as they stood then."""
    rows = [(updated_at(ticket), ticket.number, ticket) for ticket in world.tickets]
    rows += [(t.opened_at + 1, t.number, t) for t in world.tickets if "older_row" in t.plants]
    for at, _, ticket in sorted(rows, key=lambda row: row[:2]):
        row = ticket_object(ticket)
        if at == ticket.opened_at + 1:
            row |= {
                "status": "new",
                "updated_at": iso(at),
                "generated_timestamp": at,
                "tags": [],
                "assignee_id": None,
                "subject": ticket.subject,
            }
            row["custom_fields"] = row["fields"] = [{**entry, "value": None} for entry in row["fields"]]
        yield row


def updated_at(ticket: Ticket) -> int:
    return max([audit.at for audit in ticket.audits] + [ticket.opened_at + 3600])


def ticket_object(ticket: Ticket) -> dict[str, Any]:
    deleted = ticket.obstacle == "deleted"
    subject = "SCRUBBED" if deleted else (ticket.final_subject or ticket.subject)
    description = "SCRUBBED" if deleted else flatten(first_comment(ticket).parts)[0]
    handled = ticket.obstacle not in ("merged", "deleted")
    fields = [
        {"id": int(KIND_FIELD), "value": ticket.kind if handled else None},
        {"id": int(CODE_FIELD), "value": ticket.recorded_code or None},
        {"id": int(ABOUT_FIELD), "value": ticket.recorded_about or None},
    ]
    source = {
        "from": {"address": ticket.address, "name": ticket.person.display},
        "to": {"address": SUPPORT, "name": "Halden Support"},
        "rel": None,
    }
    return {
        "url": f"{API}/tickets/{ticket.number}.json", "id": ticket.number, "external_id": None, "via": {"channel": "email",
        "source": source},
        "created_at": iso(ticket.opened_at), "updated_at": iso(updated_at(ticket)), "generated_timestamp": updated_at(ticket),
        "type": None, "subject": subject, "raw_subject": subject, "description": description, "priority": priority(ticket),
        "status": "deleted" if deleted else ticket.status, "recipient": SUPPORT, "requester_id": ticket.user_id,
        "submitter_id": ticket.user_id,
        "assignee_id": ticket.agent.user_id if ticket.agent and handled else None,
        "organization_id": ticket.organisation.zendesk_id,
        "group_id": GROUP, "collaborator_ids": [], "follower_ids": [], "email_cc_ids": [], "forum_topic_id": None,
        "problem_id": None,
        "has_incidents": False, "is_public": True, "due_at": None, "tags": ticket.tags, "custom_fields": fields,
        "satisfaction_rating": {"score": ticket.score, "comment": ticket.score_comment or None}, "sharing_agreement_ids": [],
        "custom_status_id": None, "fields": fields, "followup_ids": [], "ticket_form_id": 360000912331, "brand_id": 360002817419,
        "allow_channelback": False, "allow_attachments": True, "from_messaging_channel": False,
    }  # fmt: skip


def first_comment(ticket: Ticket) -> Comment:
    found: Comment = next(event["comment"] for event in ticket.audits[0].events if event["type"] == "Comment")
    return found


def priority(ticket: Ticket) -> str | None:
    found = None
    for audit in ticket.audits:
        for event in audit.events:
            if event.get("field_name") == "priority":
                found = event["value"]
    return found


def user_objects(world: World) -> Iterator[dict[str, Any]]:
    for agent in world.agents:
        yield user_object(agent, agent.user_id, agent.email, agent.display, "agent")
    for person in world.people:
        yield user_object(person, person.user_id, person.email, person.display, "end-user")
        if person.second_user_id:
            yield user_object(person, person.second_user_id, person.second_email, person.second_display, "end-user")


def user_object(person: Person, key: int, email: str, name: str, role: str) -> dict[str, Any]:
    created = iso(person.opened_at or 1_600_000_000)
    return {
        "id": key, "url": f"{API}/users/{key}.json", "name": name, "email": email, "created_at": created,
        "updated_at": iso(EXPORTED_AT),
        "time_zone": "Berlin", "iana_time_zone": "Europe/Berlin",
        "phone": person.phone if email == person.email else person.national_phone,
        "shared_phone_number": False, "photo": None, "locale_id": 1, "locale": "en-US",
        "organization_id": person.organisation.zendesk_id if person.organisation else None, "role": role, "verified": True,
        "external_id": person.login or None, "tags": [], "alias": None, "active": True, "shared": False, "shared_agent": False,
        "last_login_at": None, "two_factor_auth_enabled": None, "signature": None, "details": None, "notes": None,
        "role_type": None,
        "custom_role_id": None, "moderator": role == "agent", "ticket_restriction": "requested" if role == "end-user" else None,
        "only_private_comments": False, "restricted_agent": role == "end-user", "suspended": False,
        "default_group_id": GROUP if role == "agent" else None, "report_csv": False, "user_fields": {},
    }  # fmt: skip


def organization_objects(world: World) -> Iterator[dict[str, Any]]:
    for organisation in world.organisations:
        yield {
            "url": f"{API}/organizations/{organisation.zendesk_id}.json", "id": organisation.zendesk_id,
            "name": organisation.name,
            "shared_tickets": False, "shared_comments": False, "external_id": organisation.number,
            "created_at": "2021-03-01T08:00:00Z",
            "updated_at": "2024-11-05T09:30:00Z", "domain_names": [organisation.domain], "details": None, "notes": None,
            "group_id": None,
            "tags": [], "organization_fields": {},
        }  # fmt: skip


def metric_objects(world: World) -> Iterator[dict[str, Any]]:
    for index, ticket in enumerate(ticket for ticket in world.tickets if ticket.obstacle != "deleted"):
        replies = [
            a.at
            for a in ticket.audits
            if a.author not in (ticket.user_id, SYSTEM_USER) and any(e["type"] == "Comment" for e in a.events)
        ]
        comments = [a.at for a in ticket.audits if any(e["type"] == "Comment" for e in a.events)]
        assigned = next((a.at for a in ticket.audits if any(e.get("field_name") == "assignee_id" for e in a.events)), None)
        solved = iso(ticket.solved_at) if ticket.solved_at else None
        resolution = minutes(ticket, ticket.solved_at)
        yield {
            "url": f"{API}/ticket_metrics/{index}.json", "id": metric_id(index), "ticket_id": ticket.number,
            "created_at": iso(ticket.opened_at), "updated_at": iso(updated_at(ticket)), "group_stations": 1,
            "assignee_stations": 1 if assigned else 0, "reopens": 1 if "thanks" in ticket.plants and ticket.solved_at else 0,
            "replies": len(replies), "assignee_updated_at": iso(assigned) if assigned else None,
            "requester_updated_at": iso(comments[-1]),
            "status_updated_at": iso(updated_at(ticket)), "initially_assigned_at": iso(assigned) if assigned else None,
            "assigned_at": iso(assigned) if assigned else None, "solved_at": solved, "latest_comment_added_at": iso(comments[-1]),
            "reply_time_in_minutes": minutes(ticket, replies[0] if replies else None),
            "first_resolution_time_in_minutes": resolution,
            "full_resolution_time_in_minutes": resolution, "agent_wait_time_in_minutes": minutes(ticket, assigned),
            "requester_wait_time_in_minutes": resolution, "on_hold_time_in_minutes": {"calendar": 0, "business": 0},
            "custom_status_updated_at": iso(updated_at(ticket)),
        }  # fmt: skip


def metric_id(index: int) -> int:
    return 480_000_000_000 + index * 7


def rating_id(index: int) -> int:
    return 490_000_000_000 + index * 3


def minutes(ticket: Ticket, at: int | None) -> dict[str, int | None]:
    calendar = None if at is None else (at - ticket.opened_at) // 60
    return {"calendar": calendar, "business": None if calendar is None else calendar // 3}


def rating_objects(world: World) -> Iterator[dict[str, Any]]:
    rated = [ticket for ticket in world.tickets if ticket.score != "unoffered"]
    for index, ticket in enumerate(rated):
        assert ticket.agent is not None
        at = iso((ticket.solved_at or ticket.opened_at) + 86400)
        yield {
            "url": f"{API}/satisfaction_ratings/{index}.json", "id": rating_id(index), "assignee_id": ticket.agent.user_id,
            "group_id": GROUP, "requester_id": ticket.user_id, "ticket_id": ticket.number, "score": ticket.score,
            "created_at": at, "updated_at": at, "comment": ticket.score_comment or None, "reason": "No reason provided",
            "reason_id": 1000,
        }  # fmt: skip
