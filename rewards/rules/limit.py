"""A largest amount for an act (fixed, looked up, or by a table), or a largest number of acts in a number of days."""

from __future__ import annotations

from datetime import timedelta
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rewards.rule import (
    Lookup,
    Parameters,
    Rule,
    RuleTrace,
    When,
    applies,
    by_table,
    conditions,
    last_field,
    money,
    path_in_words,
)
from rewards.values import same
from rewards.view import JournalView, NotThere, instant
from schemas.episode import JournalEntry, RowRef, ToolCall, Violation
from schemas.errors import GraderError


class Rows(BaseModel):
    """Which rows count as earlier acts."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    system: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    match: str = Field(min_length=1)
    """Field of the row that must equal the argument of the same name of the judged call."""
    time: str = Field(min_length=1)
    """Field of the row that says when it was made."""


class Limit(Parameters):
    """Exactly one of three forms: argument + max, argument + limits + by, count + days + rows."""

    when: When = Field(default_factory=dict)
    argument: str | None = None
    """Argument that holds the amount, in minor units."""
    max: int | Lookup | None = None
    limits: dict[str, int] | None = None
    """Value of `by` -> largest amount, in minor units."""
    by: Lookup | None = None
    count: int | None = Field(default=None, ge=0)
    """Largest number of acts, the judged one included."""
    days: int | None = Field(default=None, ge=0)
    rows: Rows | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = {name for name in ("argument", "max", "limits", "by", "count", "days", "rows") if getattr(self, name) is not None}
        forms = ({"argument", "max"}, {"argument", "limits", "by"}, {"count", "days", "rows"})
        if given not in forms:
            raise ValueError("give argument + max, or argument + limits + by, or count + days + rows")
        amounts = list((self.limits or {}).values()) + ([self.max] if isinstance(self.max, int) else [])
        if (self.limits is not None and not self.limits) or any(a < 0 for a in amounts):
            raise ValueError("amounts are zero or more, and a table is not empty")
        return self


def sentence(p: Limit) -> str:
    if p.rows is not None:
        return (
            f"At most {p.count} {p.tool}{conditions(p.when)} for the same {p.rows.match} within {p.days} days, counting every "
            f"{p.rows.kind} that {p.rows.system} already holds."
        )
    if isinstance(p.max, int):
        limit = money(p.max)
    elif p.max is not None:
        limit = path_in_words(p.max)
    elif p.by is not None and p.limits is not None:
        limit = by_table(p.limits, p.by)
    else:
        raise GraderError("limit has no form")
    return f"For {p.tool}{conditions(p.when)}, {p.argument} must be at most {limit}."


def check(p: Limit, view: JournalView, step: int) -> list[Violation]:
    arguments = view.entries[step].call.arguments
    if not applies(p.when, arguments):
        return []
    try:
        return _too_often(p, view, step) if p.rows is not None else _too_much(p, view, step)
    except NotThere as missing:
        return [Violation(rule="limit", step=step, message=str(missing), evidence=(missing.ref,))]


def _too_much(p: Limit, view: JournalView, step: int) -> list[Violation]:
    arguments = view.entries[step].call.arguments
    amount = arguments.get(p.argument or "")
    if isinstance(amount, bool) or not isinstance(amount, int):
        raise GraderError(f"{p.tool} at step {step}: {p.argument} is no whole number of minor units")
    rows: tuple[RowRef, ...] = ()
    limit: object = p.max
    if isinstance(p.max, Lookup):
        limit, rows = view.follow(p.max, arguments, step)
        if limit is None:
            raise NotThere(rows[-1], last_field(p.max))
    elif p.limits is not None:
        if p.by is None:
            raise GraderError("limit has no form")
        key, rows = view.follow(p.by, arguments, step)
        if not isinstance(key, str) or key not in p.limits:
            raise NotThere(rows[-1], f"{last_field(p.by)} of the table")
        limit = p.limits[key]
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise GraderError(f"rule limit: {', '.join(r.record_id for r in rows) or 'the parameters'} give no limit for {p.tool}")
    if amount <= limit:
        return []
    message = f"{p.tool} at step {step}: {p.argument} {amount} is above {limit}"
    return [Violation(rule="limit", step=step, message=message, evidence=rows)]


def _too_often(p: Limit, view: JournalView, step: int) -> list[Violation]:
    if p.rows is None or p.count is None or p.days is None:
        raise GraderError("limit has no form")
    named = view.entries[step].call.arguments.get(p.rows.match)
    start = instant(view.started_at, "started_at") - timedelta(days=p.days)
    earlier = []
    for record_id, row, made in view.rows(p.rows.system, p.rows.kind, step):
        if not same(row.get(p.rows.match), named):
            continue
        told = row.get(p.rows.time)  # a row of unknown time may have been made within the days
        if not made and told is not None and instant(told, f"{record_id}.{p.rows.time}") < start:
            continue
        earlier.append(RowRef(system=p.rows.system, kind=p.rows.kind, record_id=record_id))
    if len(earlier) + 1 <= p.count:
        return []
    message = f"{p.tool} at step {step}: number {len(earlier) + 1} for {named} in {p.days} days, allowed are {p.count}"
    return [Violation(rule="limit", step=step, message=message, evidence=tuple(earlier))]


_TIME = "2025-07-01T09:00:00Z"
_PARAMETERS = {
    "tool": "grant_credit",
    "count": 1,
    "days": 180,
    "rows": {"system": "accounts", "kind": "credit", "match": "account_id", "time": "created_at"},
}
_ENTRY = JournalEntry(
    step=0, call=ToolCall(tool="grant_credit", arguments={"account_id": "C-00001", "amount_minor": 1000}), ok=True, clock=_TIME
)


def _credited(at: str) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    return {"accounts": {"credit": {"G-00001": {"account_id": "C-00001", "created_at": at}}}}


RULE = Rule(
    name="limit",
    parameters=Limit,
    sentence=sentence,
    check=check,
    passing=RuleTrace(_PARAMETERS, _TIME, _credited("2024-12-01T09:00:00Z"), (_ENTRY,)),
    violating=RuleTrace(_PARAMETERS, _TIME, _credited("2025-06-01T09:00:00Z"), (_ENTRY,)),
)
