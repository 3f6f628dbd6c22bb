"""How people's recorded acts fit the rules in force: the acts replayed through the rules, as far as the records can show.

Exports log writes and messages, seldom look-ups. So it is asked of each part of a rule whether the records could show it: a
demanded write (an approval asked) and a demanded query of a declared system are recorded; a check of what the requester said is
recorded in so far as a message says it; a look-up is not, and is neither kept nor broken by anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rewards.path import RuleInForce, rules_by_tool
from rewards.rule import applies
from rewards.rules.shown_before import judged
from rewards.seen import Seen, first_unseen
from rewards.view import JournalView
from schemas.episode import Frozen, JournalEntry, RowChange, ToolCall
from schemas.errors import GraderError
from schemas.task import TaskSpec
from schemas.taskset import State
from tasks.derive import told_values

if TYPE_CHECKING:
    from environments.tool import Tool

Recorded = Literal["whole", "messages", "no"]
"""How much of a demanded act the records can show."""


class Fit(Frozen):
    """One line of fit.jsonl: which rules in force a case's recorded acts fall under, and which of them they break."""

    record_id: str
    applied: tuple[str, ...]
    broken: tuple[str, ...]
    untold: tuple[str, ...] = ()
    """Rules that demand a check of what the requester said, where no message says it: made with what was said elsewhere, or
    never."""
    partly: tuple[str, ...] = ()
    """Of those applied: judged by a part of what they demand, because the records do not show the rest."""
    hidden: tuple[str, ...] = ()
    """Rules of which the records show nothing that they demand."""
    unjudged: tuple[str, ...] = ()
    """Rules that could not be judged: the state does not fit their parameters."""


@dataclass(frozen=True, slots=True)
class Act:
    """A recorded call, and what it is known to have changed and returned."""

    call: ToolCall
    change: RowChange | None = None
    result: Mapping[str, Any] | None = None


def recorded_as(need: Any, tools: Mapping[str, Tool], *, queries: bool) -> Recorded:
    """How much of one need of a required_before rule the records can show; `queries`: the system's queries are recorded too."""
    mine = [tools[name] for name in need.tools if name in tools]
    if mine and (queries or all(tool.effect is not None or tool.speaks for tool in mine)):
        return "whole"
    return "messages" if need.told else "no"


def fit_of(task: TaskSpec, state: State, acts: Sequence[Act], tools: Mapping[str, Tool], *, queries: bool) -> Fit:
    """Replays the acts in their order and says which rules they fall under and break."""
    rules = rules_by_tool(task.rules)
    view = JournalView.of_task(task, state)
    applied: set[str] = set()
    broken: set[str] = set()
    untold: set[str] = set()
    partly: set[str] = set()
    hidden: set[str] = set()
    unjudged: set[str] = set()
    for number, act in enumerate(acts):
        changes = (
            () if act.change is None else (act.change.model_copy(update={"record_id": act.change.record_id or f"#{number}"}),)
        )
        result = dict(act.result) if act.result is not None else None
        step = view.append(
            JournalEntry(step=number, call=act.call, ok=True, result=result, changes=changes, clock=task.started_at)
        )
        for rule in rules.get(act.call.tool, ()):
            if not applies(getattr(rule.parameters, "when", {}), act.call.arguments):
                continue
            try:
                verdict = _judged(rule, view, step, task, tools, queries=queries)
            except GraderError:
                unjudged.add(rule.ref.id)
                continue
            if verdict is None:
                hidden.add(rule.ref.id)
                continue
            if {recorded_as(need, tools, queries=queries) for need in getattr(rule.parameters, "needs", ())} - {"whole"}:
                partly.add(rule.ref.id)
            applied.add(rule.ref.id)
            broken.update({rule.ref.id} if verdict == "broken" else ())
            untold.update({rule.ref.id} if verdict == "untold" else ())
    return Fit(
        record_id=task.task_id,
        applied=tuple(sorted(applied)),
        broken=tuple(sorted(broken)),
        untold=tuple(sorted(untold - broken)),
        partly=tuple(sorted(partly)),
        hidden=tuple(sorted(hidden)),
        unjudged=tuple(sorted(unjudged)),
    )


def with_broken(fit: Fit, rule_id: str) -> Fit:
    """The fit of a case of which the search for a reference showed that the rule's demand could not be met."""
    return fit.model_copy(
        update={
            "applied": tuple(sorted({*fit.applied, rule_id})),
            "broken": tuple(sorted({*fit.broken, rule_id})),
            "untold": tuple(rule for rule in fit.untold if rule != rule_id),
        }
    )


def _judged(
    rule: RuleInForce, view: JournalView, step: int, task: TaskSpec, tools: Mapping[str, Tool], *, queries: bool
) -> Literal["kept", "broken", "untold"] | None:
    """None = the records can show nothing of what the rule demands."""
    parameters: Any = rule.parameters
    if rule.ref.rule == "shown_before":  # where no message says it, it was said elsewhere: a phone call leaves none
        said = Seen(*view.request, *(fact.answer for fact in task.requester.facts))
        for fact in task.requester.facts:
            said.add(fact.answer, fact.question)
        given = judged(parameters, view.entries[step].call.arguments)
        return "kept" if first_unseen(given, parameters.choices(), said) is None else "untold"
    if rule.ref.rule != "required_before":
        return "broken" if rule.rule.check(parameters, view, step) else "kept"
    seen = {recorded_as(need, tools, queries=queries) for need in parameters.needs}
    if seen == {"no"}:
        return None
    whole = [need for need in parameters.needs if recorded_as(need, tools, queries=queries) == "whole"]
    if whole and rule.rule.check(parameters.model_copy(update={"needs": whole}), view, step):
        return "broken"
    slots = [slot for need in parameters.needs if need not in whole for slot in need.told.values()]
    return "untold" if any(not told_values(task, slot) for slot in slots) else "kept"
