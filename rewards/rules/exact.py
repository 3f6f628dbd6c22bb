"""An amount that must be exactly what the state gives: a field, an amount from a table, or what rows of the record hold."""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import Any, Self

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
    listed,
    path_in_words,
)
from rewards.values import same
from rewards.view import JournalView, NotThere
from schemas.episode import JournalEntry, RowRef, ToolCall, Violation
from schemas.errors import GraderError


class Rows(BaseModel):
    """Rows of the record, each of which gives an amount."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    system: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    match: str = Field(min_length=1)
    """Field of the row that must equal the argument of the same name of the judged call."""
    where: When = Field(default_factory=dict)
    """Field -> values of the rows that count."""
    factors: list[str] = Field(min_length=1)
    """Fields whose product is the row's amount, in minor units."""
    at_least: int = Field(default=1, ge=1)
    """Rows that must give that very amount."""


class Exact(Parameters):
    """Exactly one of three forms: field, amounts + by, rows."""

    when: When = Field(default_factory=dict)
    argument: str = Field(min_length=1)
    """Argument that holds the amount, in minor units."""
    field: Lookup | None = None
    amounts: dict[str, int] | None = Field(default=None, min_length=1)
    """Value of `by` -> the amount, in minor units."""
    by: Lookup | None = None
    rows: Rows | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = {name for name in ("field", "amounts", "by", "rows") if getattr(self, name) is not None}
        if given not in ({"field"}, {"amounts", "by"}, {"rows"}):
            raise ValueError("give field, or amounts + by, or rows")
        return self


def sentence(p: Exact) -> str:
    if p.rows is not None:
        must = _of_rows_in_words(p.rows)
    elif p.field is not None:
        must = path_in_words(p.field)
    elif p.amounts is not None and p.by is not None:
        must = by_table(p.amounts, p.by)
    else:
        raise GraderError("exact has no form")
    return f"For {p.tool}{conditions(p.when)}, {p.argument} must be exactly {must}."


def _of_rows_in_words(rows: Rows) -> str:
    """Such as: the quantity times the unit_minor of at least 1 line with the same order_id."""
    which = "".join(f" and {name} {listed([str(v) for v in values], 'or')}" for name, values in sorted(rows.where.items()))
    amount = " times ".join(f"the {name}" for name in rows.factors)
    if rows.at_least > 1:
        return f"{amount} that at least {rows.at_least} {rows.kind} rows with the same {rows.match}{which} share"
    return f"{amount} of at least {rows.at_least} {rows.kind} with the same {rows.match}{which}"


def check(p: Exact, view: JournalView, step: int) -> list[Violation]:
    arguments = view.entries[step].call.arguments
    if not applies(p.when, arguments):
        return []
    amount = arguments.get(p.argument)
    if isinstance(amount, bool) or not isinstance(amount, int):
        raise GraderError(f"{p.tool} at step {step}: {p.argument} is no whole number of minor units")
    try:
        right, rows = _of_rows(p.rows, view, step) if p.rows is not None else _looked_up(p, view, arguments, step)
    except NotThere as missing:
        return [Violation(rule="exact", step=step, message=str(missing), evidence=(missing.ref,))]
    if amount in right:
        return []
    allowed = " or ".join(map(str, sorted(right))) or "none"
    message = f"{p.tool} at step {step}: {p.argument} {amount}, allowed is {allowed}"
    return [Violation(rule="exact", step=step, message=message, evidence=rows)]


def _looked_up(p: Exact, view: JournalView, arguments: dict[str, Any], step: int) -> tuple[set[int], tuple[RowRef, ...]]:
    lookup = p.field or p.by
    if lookup is None:
        raise GraderError("exact has no form")
    value, rows = view.follow(lookup, arguments, step)
    if p.amounts is not None:
        if not isinstance(value, str) or value not in p.amounts:
            raise NotThere(rows[-1], f"{last_field(lookup)} of the table")
        return {p.amounts[value]}, rows
    if value is None:
        raise NotThere(rows[-1], last_field(lookup))
    return {_whole(value, rows[-1])}, rows


def _of_rows(wanted: Rows, view: JournalView, step: int) -> tuple[set[int], tuple[RowRef, ...]]:
    """The amounts that enough rows give, and every row that counted; with no such row the evidence is the record named."""
    named = view.entries[step].call.arguments.get(wanted.match)
    found: dict[int, list[RowRef]] = defaultdict(list)
    for record_id, row, _ in view.rows(wanted.system, wanted.kind, step):
        if not same(row.get(wanted.match), named) or not applies(wanted.where, row):
            continue
        ref = RowRef(system=wanted.system, kind=wanted.kind, record_id=record_id)
        values = [row.get(name) for name in wanted.factors]
        if None not in values:  # a row whose amount is unknown gives none
            found[prod(_whole(value, ref) for value in values)].append(ref)
    evidence = tuple(ref for refs in found.values() for ref in refs)
    nothing = (RowRef(system=wanted.system, kind=wanted.kind, record_id=f"(none with {wanted.match} {named})"),)
    return {amount for amount, refs in found.items() if len(refs) >= wanted.at_least}, evidence or nothing


def _whole(value: Any, ref: RowRef) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise GraderError(f"rule exact: {ref.record_id} gives no whole number of minor units")
    return value


_TIME = "2025-03-22T09:00:00Z"
_PARAMETERS = {
    "tool": "create_refund",
    "when": {"reason": ["damaged_item"]},
    "argument": "amount_minor",
    "rows": {"system": "orders", "kind": "line", "match": "order_id", "factors": ["quantity", "unit_minor"], "at_least": 1},
}
_BASE = {
    "orders": {
        "line": {
            "L-000001": {"order_id": "A-000001", "quantity": 2, "unit_minor": 2500},
            "L-000002": {"order_id": "A-000002", "quantity": 1, "unit_minor": 2500},
        }
    }
}


def _refund(amount: int) -> JournalEntry:
    given = {"order_id": "A-000001", "amount_minor": amount, "reason": "damaged_item"}
    return JournalEntry(step=0, call=ToolCall(tool="create_refund", arguments=given), ok=True, clock=_TIME)


RULE = Rule(
    name="exact",
    parameters=Exact,
    sentence=sentence,
    check=check,
    passing=RuleTrace(_PARAMETERS, _TIME, _BASE, (_refund(5000),)),
    violating=RuleTrace(_PARAMETERS, _TIME, _BASE, (_refund(2500),)),
)
