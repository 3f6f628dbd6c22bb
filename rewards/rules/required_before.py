"""A look-up, check or confirmation that must come before an act, about the same record."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from rewards.rule import Lookup, Parameters, Rule, RuleTrace, When, applies, conditions, listed, path_in_words
from rewards.values import same
from rewards.view import JournalView, NotThere
from schemas.episode import JournalEntry, RowRef, ToolCall, Violation

NOTHING_FOUND = {"result": "no_record"}
"""What a system of recorded queries answers where none was recorded."""


class Need(BaseModel):
    """One thing that must have happened before."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    tools: list[str] = Field(min_length=1)
    """Any one of these tools."""
    same: dict[str, str | Lookup] = Field(default_factory=dict)
    """Argument of the earlier call -> argument of the judged call that it must equal, or a look-up from it."""
    returned: dict[str, str | int | bool | None] = Field(default_factory=dict)
    """Field of what the earlier call returned -> the value it must have."""
    told: dict[str, str] = Field(default_factory=dict)
    """Argument of the earlier call -> the slot of which the requester must have said that value: a check of values that nobody
    gave is no check, whatever it returns."""


class RequiredBefore(Parameters):
    when: When = Field(default_factory=dict)
    needs: list[Need] = Field(min_length=1)
    """All of these."""


def sentence(p: RequiredBefore) -> str:
    return f"Before {p.tool}{conditions(p.when)}, {listed([f'call {_in_words(need)}' for need in p.needs])}."


def _in_words(need: Need) -> str:
    """Such as: verify_identity with the postcode that the requester told (it must return verified true)."""
    about = []
    for name, to in sorted(need.same.items()):
        if isinstance(to, Lookup):
            about.append(f"{path_in_words(to)} as {name}")
        else:
            about.append(f"the same {name}" if to == name else f"its {to} as {name}")
    told = [slot if slot == name else f"{slot} (as {name})" for name, slot in sorted(need.told.items())]
    if told:
        about.append(f"the {listed(told)} that the requester told")
    text = " or ".join(need.tools) + (f" with {listed(about)}" if about else "")
    if need.returned:
        text += f" (it must return {listed([f'{name} {str(v).lower()}' for name, v in sorted(need.returned.items())])})"
    return text


def check(p: RequiredBefore, view: JournalView, step: int) -> list[Violation]:
    call = view.entries[step].call
    if not applies(p.when, call.arguments):
        return []
    found: list[Violation] = []
    for need in p.needs:
        wanted: dict[str, object] = {}
        evidence: list[RowRef] = []
        try:
            for name, to in need.same.items():
                if isinstance(to, Lookup):
                    wanted[name], rows = view.follow(to, call.arguments, step)
                    evidence += rows
                else:
                    wanted[name] = call.arguments.get(to)
        except NotThere as missing:
            found.append(Violation(rule="required_before", step=step, message=str(missing), evidence=(missing.ref,)))
            continue
        if not any(_meets(need, wanted, view, at) for tool in need.tools for at, _ in view.calls(tool, step)):
            about = ", ".join(f"{name}={value}" for name, value in sorted(wanted.items()))
            what = " or ".join(need.tools) + (f" ({about})" if about else "")
            if need.told:
                what += f" with the {' and '.join(need.told[name] for name in sorted(need.told))} that the requester said"
            if need.returned:
                what += " returning " + ", ".join(f"{name}={str(v).lower()}" for name, v in sorted(need.returned.items()))
            message = f"{p.tool} at step {step} without an earlier {what}"
            found.append(Violation(rule="required_before", step=step, message=message, evidence=tuple(evidence)))
    return found


def _meets(need: Need, wanted: dict[str, object], view: JournalView, at: int) -> bool:
    """Whether the call at `at` is what `need` asks for."""
    entry = view.entries[at]
    if entry.result == NOTHING_FOUND and not entry.reads:
        return False  # a look-up that found nothing was about no record
    if not all(view.said(slot, entry.call.arguments.get(name), at) for name, slot in need.told.items()):
        return False
    if not all(same(entry.call.arguments.get(name), value) for name, value in wanted.items()):
        return False
    result = entry.result if isinstance(entry.result, dict) else {}
    return all(name in result and same(result[name], value) for name, value in need.returned.items())


_TIME = "2025-03-01T09:00:00Z"
_PARAMETERS = {
    "tool": "change_address",
    "needs": [
        {
            "tools": ["verify_identity"],
            "same": {"account_id": {"argument": "order_id", "system": "orders", "kind": "order", "field": "account_id"}},
            "returned": {"verified": True},
        }
    ],
}
_BASE = {"orders": {"order": {"A-000001": {"account_id": "C-00001"}}}}


def _verified(account: str, *, step: int) -> JournalEntry:
    call = ToolCall(tool="verify_identity", arguments={"account_id": account, "postcode": "10115", "phone": "+491"})
    read = RowRef(system="accounts", kind="account", record_id=account)
    result = {"account_id": account, "verified": True}
    return JournalEntry(step=step, call=call, ok=True, result=result, reads=(read,), clock=_TIME)


_CHANGE = JournalEntry(
    step=1, call=ToolCall(tool="change_address", arguments={"order_id": "A-000001", "new_address": "x"}), ok=True, clock=_TIME
)

RULE = Rule(
    name="required_before",
    parameters=RequiredBefore,
    sentence=sentence,
    check=check,
    passing=RuleTrace(_PARAMETERS, _TIME, _BASE, (_verified("C-00001", step=0), _CHANGE)),
    violating=RuleTrace(_PARAMETERS, _TIME, _BASE, (_verified("C-00002", step=0), _CHANGE)),
)
