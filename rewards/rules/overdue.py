"""An act that is only allowed where something came more than a number of days after it was due."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from rewards.rule import Lookup, Parameters, Rule, RuleTrace, When, applies, conditions, last_field, path_in_words
from rewards.view import JournalView, NotThere, instant
from schemas.episode import JournalEntry, RowRef, ToolCall, Violation


class Overdue(Parameters):
    when: When = Field(default_factory=dict)
    days: int = Field(ge=0)
    """Whole days of 24 hours; exactly that many is not yet overdue."""
    due: Lookup
    """When it was to come."""
    came: Lookup
    """When it came; never set = it did not, and nothing shows that the act is allowed."""


def sentence(p: Overdue) -> str:
    alike = p.due.model_copy(update={"field": p.came.field}) == p.came
    due = f"its {p.due.field}" if alike and p.due.then is None else path_in_words(p.due)
    return f"{p.tool}{conditions(p.when)} only if {path_in_words(p.came)} is more than {p.days} days after {due}."


def check(p: Overdue, view: JournalView, step: int) -> list[Violation]:
    arguments = view.entries[step].call.arguments
    if not applies(p.when, arguments):
        return []
    found: list[tuple[object, str]] = []
    evidence: list[RowRef] = []
    for lookup in (p.due, p.came):
        try:
            value, rows = view.follow(lookup, arguments, step)
            if value is None:
                raise NotThere(rows[-1], last_field(lookup))
        except NotThere as missing:
            return [Violation(rule="overdue", step=step, message=str(missing), evidence=(missing.ref,))]
        found.append((value, last_field(lookup)))
        evidence += [row for row in rows if row not in evidence]
    due, came = (instant(value, name) for value, name in found)
    if came - due > timedelta(days=p.days):
        return []
    after = (came - due).total_seconds() / 86400
    message = (
        f"{p.tool} at step {step}: {last_field(p.came)} is {after:.1f} days after {last_field(p.due)}, not more than {p.days}"
    )
    return [Violation(rule="overdue", step=step, message=message, evidence=tuple(evidence))]


_TIME = "2025-03-22T09:00:00Z"
_ORDER = {"argument": "order_id", "system": "orders", "kind": "order"}
_PARAMETERS = {
    "tool": "create_refund",
    "when": {"reason": ["late_delivery"]},
    "days": 3,
    "due": {**_ORDER, "field": "promised_at"},
    "came": {**_ORDER, "field": "delivered_at"},
}
_CALL = ToolCall(tool="create_refund", arguments={"order_id": "A-000001", "amount_minor": 590, "reason": "late_delivery"})
_ENTRY = JournalEntry(step=0, call=_CALL, ok=True, clock=_TIME)


def _delivered(at: str) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    return {"orders": {"order": {"A-000001": {"promised_at": "2025-03-10T12:00:00Z", "delivered_at": at}}}}


RULE = Rule(
    name="overdue",
    parameters=Overdue,
    sentence=sentence,
    check=check,
    passing=RuleTrace(_PARAMETERS, _TIME, _delivered("2025-03-13T12:00:01Z"), (_ENTRY,)),
    violating=RuleTrace(_PARAMETERS, _TIME, _delivered("2025-03-13T12:00:00Z"), (_ENTRY,)),
)
