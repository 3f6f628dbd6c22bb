"""What a call is given was said by the requester or shown by a system before: an agent that tries through the values of a list,
or through numbers, until a system answers has not asked.

It judges arguments whose values could be tried through: those that choose from a list, and whole numbers. Other texts a system
knows only by their exact letters.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from rewards.rule import Parameters, Rule, RuleTrace, listed
from rewards.seen import Choice, Seen, first_unseen
from rewards.view import JournalView
from schemas.episode import JournalEntry, RowRef, ToolCall, Violation

MESSAGE = "reply_to_requester"
"""The tool through which the requester is asked: its answers are read beside its `text`."""


class ShownBefore(Parameters):
    listed: dict[str, list[str]] = Field(default_factory=dict)
    """Argument that chooses from a list -> the list; ["yes", "no"] of a boolean."""
    asked_by: dict[str, list[str]] = Field(default_factory=dict)
    """Argument -> phrases one of which a message holds that asks for it: of a yes or no, and where `unknown` says something."""
    unknown: dict[str, str] = Field(default_factory=dict)
    """Argument -> the value that the tool takes for "the requester does not know", where it says so."""
    numbers: list[str] = Field(default_factory=list)
    """Arguments that are whole numbers."""

    @model_validator(mode="after")
    def _judges_something(self) -> Self:
        if not self.listed and not self.numbers:
            raise ValueError("`listed` or `numbers` names an argument")
        return self

    def choices(self) -> dict[str, Choice]:
        return {
            name: Choice(tuple(values), tuple(self.asked_by.get(name, ())), self.unknown.get(name, ""))
            for name, values in self.listed.items()
        }


def sentence(p: ShownBefore) -> str:
    names = sorted({*p.listed, *p.numbers})
    return f"For {p.tool}, {listed(names)} must be what the requester said or a system showed before; none of it is guessed."


def check(p: ShownBefore, view: JournalView, step: int) -> list[Violation]:
    entry = view.entries[step]
    given = judged(p, entry.call.arguments)
    if not given or (name := first_unseen(given, p.choices(), _seen(view, step))) is None:
        return []
    message = f"{p.tool} at step {step} with a guess: {name} was neither said nor shown before"
    written = [RowRef(system=c.system, kind=c.kind, record_id=c.record_id or "") for c in entry.changes]
    return [Violation(rule="shown_before", step=step, message=message, evidence=(*entry.reads, *written))]


def judged(p: ShownBefore, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call that the rule is about."""
    return {name: value for name, value in arguments.items() if name in p.listed or name in p.numbers}


def _seen(view: JournalView, step: int) -> Seen:
    """What the opening and the calls before `step` showed."""
    seen = Seen(*view.request)
    for entry in view.entries[:step]:
        if entry.ok:
            seen.add_result(entry.result, str(entry.call.arguments.get("text", "")) if entry.call.tool == MESSAGE else "")
    return seen


_TIME = "2025-03-01T09:00:00Z"
_DAYS = ["Monday", "Tuesday"]
_READ = RowRef(system="rooms", kind="room", record_id="R-1")
_BOOK = JournalEntry(step=1, call=ToolCall(tool="book_room", arguments={"day": "Monday"}), ok=True, reads=(_READ,), clock=_TIME)


def _answered(words: str) -> JournalEntry:
    call = ToolCall(tool=MESSAGE, arguments={"text": "Which day?"})
    return JournalEntry(step=0, call=call, ok=True, result={"requester": words}, clock=_TIME)


RULE = Rule(
    name="shown_before",
    parameters=ShownBefore,
    sentence=sentence,
    check=check,
    passing=RuleTrace({"tool": "book_room", "listed": {"day": _DAYS}}, _TIME, {}, (_answered("Monday, please."), _BOOK)),
    violating=RuleTrace({"tool": "book_room", "listed": {"day": _DAYS}}, _TIME, {}, (_answered("I do not know."), _BOOK)),
)
