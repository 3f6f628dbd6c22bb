"""An act that is never allowed, or not while a field of the state has one of some values."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from rewards.rule import Lookup, Parameters, Rule, RuleTrace, When, applies, conditions, last_field, listed, path_in_words
from rewards.values import same
from rewards.view import JournalView, NotThere
from schemas.episode import JournalEntry, ToolCall, Violation


class Forbidden(Parameters):
    when: When = Field(default_factory=dict)
    state: Lookup | None = None
    """Where to look; null = the act itself is forbidden (under `when`)."""
    values: list[str | int | bool] = Field(default_factory=list)
    """Values of `state` under which the act is forbidden."""

    @model_validator(mode="after")
    def _values_with_state(self) -> Self:
        if (self.state is None) != (not self.values):
            raise ValueError("`state` and `values` come together")
        return self


def sentence(p: Forbidden) -> str:
    if p.state is None:
        return f"Never {p.tool}{conditions(p.when)}."
    values = listed([str(v).lower() for v in p.values], "or")
    return f"Never {p.tool}{conditions(p.when)} while {path_in_words(p.state)} is {values}."


def check(p: Forbidden, view: JournalView, step: int) -> list[Violation]:
    call = view.entries[step].call
    if not applies(p.when, call.arguments):
        return []
    if p.state is None:
        return [Violation(rule="forbidden", step=step, message=f"{p.tool} at step {step} is forbidden")]
    try:
        value, rows = view.follow(p.state, call.arguments, step)
        if value is None:
            raise NotThere(rows[-1], last_field(p.state))
    except NotThere as missing:
        return [Violation(rule="forbidden", step=step, message=str(missing), evidence=(missing.ref,))]
    if not any(same(value, bad) for bad in p.values):
        return []
    message = f"{p.tool} at step {step} while {rows[-1].record_id} has {str(value).lower()}"
    return [Violation(rule="forbidden", step=step, message=message, evidence=rows)]


_TIME = "2025-03-01T09:00:00Z"
_PARAMETERS = {
    "tool": "cancel_order",
    "state": {"argument": "order_id", "system": "orders", "kind": "order", "field": "status"},
    "values": ["shipped", "delivered", "cancelled"],
}
_ENTRY = JournalEntry(step=0, call=ToolCall(tool="cancel_order", arguments={"order_id": "A-000001"}), ok=True, clock=_TIME)

RULE = Rule(
    name="forbidden",
    parameters=Forbidden,
    sentence=sentence,
    check=check,
    passing=RuleTrace(_PARAMETERS, _TIME, {"orders": {"order": {"A-000001": {"status": "placed"}}}}, (_ENTRY,)),
    violating=RuleTrace(_PARAMETERS, _TIME, {"orders": {"order": {"A-000001": {"status": "shipped"}}}}, (_ENTRY,)),
)
