"""A first rule for a column: its type and when its value is known, with what speaks for both."""

from __future__ import annotations

import re
from typing import Any

from ingest.draft.links import AMOUNT
from ingest.draft.model import Column, FieldChanges, Link, Profile, Suspicion, Table
from ingest.draft.outcomes import STATE
from ingest.draft.people import snake

PEOPLE = re.compile(
    r"user|requester|assignee|author|agent|caller|person|contact|submitter|(opened|created|updated|resolved|closed)_by|assigned_to"
)
TEXT_NAME = re.compile(r"subject|title|description|comment|note|message|body|summary")
CREATED = re.compile(r"creat|opened|placed|ordered|received|inserted|registered|started")


def singular(table: str) -> str:
    """A record's kind from a table's name: orders -> order, order_lines -> order_line."""
    plain = snake(table)
    if plain.endswith("ies"):
        return plain[:-3] + "y"
    return plain[:-1] if plain.endswith("s") and not plain.endswith("ss") else plain


def identity(name: str, link: Link | None) -> str:
    """What an id names, by what it links to, else by its name."""
    plain = snake(name)
    if re.search(r"organi[sz]ation|(^|_)org(_|$)|company", plain):
        return "organisation"
    if link is not None:
        kind = singular(link.to_table)
        return {"user": "person", "organization": "organisation", "organisation": "organisation"}.get(kind, kind)
    if PEOPLE.search(plain):
        return "person"
    return re.sub(r"_(id|no|nr|number|ref|key)$", "", plain) or "record"


def field_type(column: Column, link: Link | None) -> tuple[dict[str, Any], str]:
    """The rule's type (with the identity of an id), and the counts."""
    plain = snake(column.name)
    if column.type == "json" and plain.endswith("tags"):
        return {"type": "tags"}, column.evidence
    if link is not None and column.type in ("id", "code", "int"):
        told = f"{link.matched:,} of {link.distinct:,} values stand in {link.to_table}.{link.to_column}"
        return {"type": "id", "identity": identity(column.name, link)}, told
    if column.person and column.type != "id":
        return {"type": column.person}, column.person_evidence
    if TEXT_NAME.search(plain) and column.type in ("code", "text"):
        return {"type": "text"}, f"{column.evidence}; the name is one of somebody's words"
    if column.type == "id" or (column.type in ("code", "int") and PEOPLE.search(plain)):
        return {"type": "id", "identity": identity(column.name, None)}, column.evidence
    if column.type == "int" and re.search(r"amount|price|total_|_total|cost|fee|minor|cents", plain):
        return {"type": "money"}, f"{column.evidence}; the name is an amount's: are they whole cents?"
    if column.type == "text" and column.language:
        return {"type": "text"}, f"{column.evidence}; {column.language_evidence}"
    return {"type": "text" if column.type == "empty" else column.type}, column.evidence


def counted(column: Column) -> bool:
    """Whether a number may count other records."""
    return column.type == "int" and bool(AMOUNT.search(snake(column.name)))


def known_at_of_rows(column: Column, table: Table) -> tuple[dict[str, Any], str]:
    """When a column of a table with several rows a record is known."""
    history = table.history
    if history is None:
        return {"known_at": "never"}, "no history"
    told: Suspicion | None = next((one for one in history.suspicions if one.column == column.name), None)
    if told is None:
        if column.name == history.time:
            return {"known_at": "history"}, "the time of the row itself"
        return {"known_at": "history"}, f"it changes between the rows of one {history.record}"
    if told.grade in ("evidence", "suspect"):
        word = "BACK-FILLED by evidence" if told.grade == "evidence" else "SUSPECT of being back-filled"
        return {"known_at": "post_hoc"}, f"{word}: {told.why}"
    if told.grade == "planned":
        return {"known_at": "history", "planned_future": True}, told.why
    return {"known_at": "static"}, told.why


def known_at_of_log(change: FieldChanges | None) -> tuple[str, str]:
    """When a field of a change log is known."""
    if change is None:
        return "never", "no change of it is logged"
    return "history", f"{change.rows:,} logged settings in {change.records:,} records, {change.changed:,} with several values"


def known_at_of_single(column: Column, link: Link | None) -> tuple[str, str]:
    """When a column of a table without a history is known: only what cannot change is."""
    plain = snake(column.name)
    if column.clock is not None and CREATED.search(plain):
        return "static", "a time of the beginning; the table has no history"
    if column.person or link is not None:
        return "static", "no history: on your word that it never changes"
    if STATE.search(plain):
        return "post_hoc", "a state in a table without a history: its last value"
    return "never", "no history: when it got its value cannot be told; `static` only if it never changes"


def link_of(profile: Profile, table: str, column: str, field: str = "") -> Link | None:
    """The link of a column, or of a field of a change log."""
    for link in profile.links:
        if link.table == table and ((field and link.field == field) or (not field and not link.field and link.column == column)):
            return link
    return None


def listed_codes(column: Column, kind: str, change: FieldChanges | None = None) -> tuple[list[str] | None, str]:
    """Values for the code book, where a code's are few and stand in two rows or more; and how many rows hold others."""
    values = {**column.values, **(change.column.values if change and change.column else {})}
    if kind != "code" or not 1 < len(values) <= 40:
        return None, ""
    held = change.column if change and change.column else column
    others = held.filled - sum(held.values.values())
    rest = f"; {others:,} rows hold values that are not listed (they stand once): they would go to quarantine" if others else ""
    return sorted(values), f"; {len(values)} values are listed as its codes{rest}"
