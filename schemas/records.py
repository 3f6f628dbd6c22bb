"""The code book of a supplier: what each field is, when it is known, and what each outcome code means."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.episode import Frozen

FieldType = Literal[
    "code", "text", "money", "int", "number", "bool", "time", "date", "id",
    "name", "email", "phone", "address", "postcode", "login", "tags", "json",
]  # fmt: skip
"""Closed set. `money` is integer minor units. `id` needs `identity`. name/email/phone/address/postcode/login are personal
data (tokenised by deid); `text` is free text (detected and rewritten by deid); `code`, numbers, times and bools pass (times
shifted)."""

KnownAt = Literal["start", "history", "static", "post_hoc", "never"]
"""When a field's value may be known: see `FieldRule.known_at`."""


AGGREGATE = r"^(count \w+\.\w+|sum \w+\.\w+\.\w+) by \w+$"
"""Records of a kind (or an amount of theirs) by the field of theirs that names the record with the counter."""


class FieldRule(Frozen):
    """What one field is and when its value is known. A field without a rule is left out of everything, and counted."""

    type: FieldType
    """What its values are. money: whole number of the smallest unit (590 = 5.90). id: names a record or person, and needs
    `identity`. name, email, phone, address, postcode, login: personal data, which becomes tokens. text: free text, searched for
    personal data. code: one of a list (`codes`). time: an instant; date: a day; both are shifted. tags: list of codes. json:
    anything else, searched like text."""
    identity: str | None = None
    """For type `id`: what it identifies ("order", "account", "ticket", "person", "organisation", "payment"...)."""
    known_at: KnownAt = "history"
    """When its value is known, so what an agent may see of it at the start of a task.
    start: the opening of the request itself gives it (subject, requester).
    history: it changes, and the export tells each change with its time; shown is its value at the start. For a table without a
    history it is left out.
    static: it never changes, on your word; the present value holds from the record's creation on.
    post_hoc: it is decided by handling the request (status, outcome code, time to solve); it is never shown, and the outcome may
    be read from it.
    never: when it was known cannot be told; it is left out."""
    planned_future: bool = False
    """A due date or renewal: may lie after the cut and still be known before it."""
    aggregate: str | None = Field(default=None, pattern=AGGREGATE)
    """What a counter counts or a total adds up: "count orders.order by account_id", "sum payments.refund.amount_minor by
    order_id". Its value at the cut is recomputed from those records, whatever the export says; a counter without this is only
    what the change history says it was."""
    meaning: str = ""
    """For people, in a few words; nothing reads it."""


class OutcomeCode(Frozen):
    """What a code of the outcome field means."""

    workflow: str
    """Workflow of the spec that it ends."""
    outcome_class: str
    """"grant", "refuse" or another class of the workflow."""
    label: str
    """For people, in a few words."""


class CodeBook(Frozen):
    """What each field of the export is, and what each outcome code means: one JSON file, named by `code_book` of the spec."""

    supplier: str
    """The same as in the spec."""
    fields: dict[str, FieldRule]
    """Key "system.kind.field", e.g. "orders.order.status": the names that the spec gives to systems, kinds and columns."""
    outcomes: dict[str, OutcomeCode] = Field(default_factory=dict)
    """Value of the field that tells the outcome -> what it means. A record with another value becomes no task."""
    codes: dict[str, list[str]] = Field(default_factory=dict)
    """Key "system.kind.field" of a `code` field -> its allowed values; another value goes to quarantine."""

    def rule(self, system: str, kind: str, field: str) -> FieldRule | None:
        """The rule of a field, or None: ingest leaves such a field out, and deid sends a row that holds one to quarantine."""
        return self.fields.get(f"{system}.{kind}.{field}")
