"""An act that is only allowed within a number of days of something, judged at the time the request arrived."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from rewards.rule import Lookup, Parameters, Rule, RuleTrace, When, applies, conditions, path_in_words
from rewards.view import JournalView, NotThere, instant
from schemas.episode import JournalEntry, ToolCall, Violation


class Window(Parameters):
    when: When = Field(default_factory=dict)
    days: int = Field(ge=0)
    """Whole days of 24 hours; exactly that many is still within."""
    since: Lookup
    """The time from which the days count; never set = the window has not begun and nothing is late."""


def sentence(p: Window) -> str:
    return f"{p.tool}{conditions(p.when)} only if the request arrived within {p.days} days after {path_in_words(p.since)}."


def check(p: Window, view: JournalView, step: int) -> list[Violation]:
    call = view.entries[step].call
    if not applies(p.when, call.arguments):
        return []
    try:
        since, rows = view.follow(p.since, call.arguments, step)
    except NotThere as missing:
        return [Violation(rule="window", step=step, message=str(missing), evidence=(missing.ref,))]
    if since is None:
        return []
    late = instant(view.started_at, "started_at") - instant(since, f"{rows[-1].record_id}.{p.since.field}")
    if late <= timedelta(days=p.days):
        return []
    passed = late.total_seconds() / 86400
    message = f"{p.tool} at step {step}: {passed:.1f} days after {p.since.field} of {rows[-1].record_id}, allowed are {p.days}"
    return [Violation(rule="window", step=step, message=message, evidence=rows)]


_PARAMETERS = {
    "tool": "create_exchange",
    "days": 21,
    "since": {"argument": "order_id", "system": "orders", "kind": "order", "field": "delivered_at"},
}
_ENTRY = JournalEntry(
    step=0, call=ToolCall(tool="create_exchange", arguments={"order_id": "A-000001"}), ok=True, clock="2025-03-22T09:00:00Z"
)


def _delivered(at: str) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    return {"orders": {"order": {"A-000001": {"delivered_at": at}}}}


RULE = Rule(
    name="window",
    parameters=Window,
    sentence=sentence,
    check=check,
    passing=RuleTrace(_PARAMETERS, "2025-03-22T09:00:00Z", _delivered("2025-03-01T09:00:00Z"), (_ENTRY,)),
    violating=RuleTrace(_PARAMETERS, "2025-03-22T09:00:01Z", _delivered("2025-03-01T09:00:00Z"), (_ENTRY,)),
)
