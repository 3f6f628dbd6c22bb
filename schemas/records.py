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
"""When a field's value may be known.

start      given by the opening itself
history    rebuilt from the change history
static     the supplier declares that it never changes, so the current row's value holds from the record's creation
post_hoc   decided by the handling, never shown
never      cannot be rebuilt, dropped
"""


AGGREGATE = r"^(count \w+\.\w+|sum \w+\.\w+\.\w+) by \w+$"
"""Records of a kind (or an amount of theirs) by the field of theirs that names the record with the counter."""


class FieldRule(Frozen):
    type: FieldType
    identity: str | None = None
    """For type `id`: what it identifies ("order", "account", "ticket", "person", "organisation", "payment"...)."""
    known_at: KnownAt = "history"
    planned_future: bool = False
    """A due date or renewal: may lie after the cut and still be known before it."""
    aggregate: str | None = Field(default=None, pattern=AGGREGATE)
    """What a counter counts or a total adds up: "count orders.order by account_id", "sum payments.refund.amount_minor by
    order_id". Its value at the cut is recomputed from those records, whatever the export says; a counter without this is only
    what the change history says it was."""
    meaning: str = ""


class OutcomeCode(Frozen):
    workflow: str
    outcome_class: str
    """"grant", "refuse" or another class of the workflow."""
    label: str


class CodeBook(Frozen):
    supplier: str
    fields: dict[str, FieldRule]
    """Key "system.kind.field"."""
    outcomes: dict[str, OutcomeCode] = Field(default_factory=dict)
    codes: dict[str, list[str]] = Field(default_factory=dict)
    """Key "system.kind.field" of a `code` field -> its allowed values; another value goes to quarantine."""

    def rule(self, system: str, kind: str, field: str) -> FieldRule | None:
        """The rule of a field, or None: an unknown field fails closed (quarantine in deid)."""
        return self.fields.get(f"{system}.{kind}.{field}")
