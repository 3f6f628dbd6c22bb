"""Above an amount, an approval for the same record and at least that amount must have been given first."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from rewards.rule import Lookup, Parameters, Rule, RuleTrace, When, applies, by_table, conditions, last_field, money
from rewards.values import same
from rewards.view import JournalView, NotThere
from schemas.episode import JournalEntry, RowRef, ToolCall, Violation
from schemas.errors import GraderError


class Approval(Parameters):
    when: When = Field(default_factory=dict)
    argument: str = Field(min_length=1)
    """Argument of the judged call that holds the amount, in minor units."""
    about: str = Field(min_length=1)
    """Argument of the judged call that names the record, which the approval must be about."""
    above: int | dict[str, int]
    """Largest amount that needs no approval, in minor units; by the value of `by` where it is a table."""
    by: Lookup | None = None
    request_tool: str = "request_approval"

    @model_validator(mode="after")
    def _table_has_key(self) -> Self:
        amounts = self.above.values() if isinstance(self.above, dict) else [self.above]
        if isinstance(self.above, dict) != (self.by is not None) or not amounts:
            raise ValueError("a table of amounts needs `by`, a single amount has none")
        if min(amounts) < 0:
            raise ValueError("amounts are zero or more")
        return self


def sentence(p: Approval) -> str:
    if isinstance(p.above, dict) and p.by is not None:
        limit = by_table(p.above, p.by)
    else:
        limit = money(p.above if isinstance(p.above, int) else 0)
    act = f"Before {p.tool}{conditions(p.when)} with {p.argument} above {limit}"
    return f"{act}, call {p.request_tool} with its {p.about} as about, for at least that amount (it must be approved)."


def check(p: Approval, view: JournalView, step: int) -> list[Violation]:
    arguments = view.entries[step].call.arguments
    if not applies(p.when, arguments):
        return []
    amount = arguments.get(p.argument)
    if isinstance(amount, bool) or not isinstance(amount, int):
        raise GraderError(f"{p.tool} at step {step}: {p.argument} is no whole number of minor units")
    rows: tuple[RowRef, ...] = ()
    limit = p.above
    if isinstance(limit, dict):
        if p.by is None:
            raise GraderError("approval has no form")
        try:
            key, rows = view.follow(p.by, arguments, step)
            if not isinstance(key, str) or key not in limit:
                raise NotThere(rows[-1], f"{last_field(p.by)} of the table")
        except NotThere as missing:
            return [Violation(rule="approval", step=step, message=str(missing), evidence=(missing.ref,))]
        limit = limit[key]
    if amount <= limit or any(_covers(p, arguments, amount, entry) for _, entry in view.calls(p.request_tool, step)):
        return []
    message = f"{p.tool} at step {step}: {amount} is above {limit} and was not approved before for {arguments.get(p.about)}"
    return [Violation(rule="approval", step=step, message=message, evidence=rows)]


def _covers(p: Approval, arguments: dict[str, Any], amount: int, entry: JournalEntry) -> bool:
    asked, result = entry.call.arguments, entry.result
    enough = isinstance(asked.get("amount_minor"), int) and asked["amount_minor"] >= amount
    approved = isinstance(result, dict) and result.get("decision") == "approved"
    return enough and approved and same(asked.get("about"), arguments.get(p.about))


_TIME = "2025-03-01T09:00:00Z"
_PARAMETERS = {
    "tool": "create_refund",
    "argument": "amount_minor",
    "about": "order_id",
    "above": {"standard": 8000, "gold": 15000},
    "by": {
        "argument": "order_id",
        "system": "orders",
        "kind": "order",
        "field": "account_id",
        "then": {"system": "accounts", "kind": "account", "field": "tier"},
    },
}
_BASE = {
    "orders": {"order": {"A-000001": {"account_id": "C-00001"}}},
    "accounts": {"account": {"C-00001": {"tier": "standard"}}},
}


def _asked(amount: int) -> JournalEntry:
    call = ToolCall(tool="request_approval", arguments={"about": "A-000001", "amount_minor": amount})
    result = {"about": "A-000001", "amount_minor": amount, "decision": "approved"}
    return JournalEntry(step=0, call=call, ok=True, result=result, clock=_TIME)


_REFUND = JournalEntry(
    step=1, call=ToolCall(tool="create_refund", arguments={"order_id": "A-000001", "amount_minor": 8001}), ok=True, clock=_TIME
)

RULE = Rule(
    name="approval",
    parameters=Approval,
    sentence=sentence,
    check=check,
    passing=RuleTrace(_PARAMETERS, _TIME, _BASE, (_asked(8001), _REFUND)),
    violating=RuleTrace(_PARAMETERS, _TIME, _BASE, (_asked(8000), _REFUND)),
)
