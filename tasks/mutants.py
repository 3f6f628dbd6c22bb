"""Wrong variants of a reference path: what a sound grader must not accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from environments.tool import Tool
from schemas.episode import Journal, ToolCall
from schemas.records import OutcomeCode
from schemas.task import Answer, RuleRef, TaskSpec
from schemas.taskset import State

OTHERS = 2
"""How many other records of a kind stand in for "another order"."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """Calls to play instead of the reference's."""

    label: str
    """What was changed, e.g. "create_refund.amount_minor": names, never values."""
    calls: tuple[ToolCall, ...]
    step: int
    """Index of the changed, added or dropped call."""


def is_write(tool: Tool) -> bool:
    """True for a tool that changes records and does not finish the case."""
    return tool.effect is not None and not tool.finishing


def without(calls: Sequence[ToolCall], step: int) -> Mutant:
    """The path without the call at `step` and without its repetitions."""
    left = tuple(c for i, c in enumerate(calls) if i != step and c != calls[step])
    return Mutant(f"without {calls[step].tool} (step {step})", left, step)


def kind_ids(state: State, journal: Journal) -> dict[str, list[str]]:
    """Kind -> ids of the records that the reference looked at or wrote, then up to OTHERS others of the state, sorted."""
    found: dict[str, list[str]] = {}
    for entry in journal.entries:
        touched = [(ref.kind, ref.record_id) for ref in entry.reads]
        touched += [(change.kind, change.record_id) for change in entry.changes if change.record_id is not None]
        for kind, record_id in touched:
            if record_id not in found.setdefault(kind, []):
                found[kind].append(record_id)
    for kinds in state.values():
        for kind, rows in kinds.items():
            known = found.setdefault(kind, [])
            known += nsmallest(OTHERS, (record_id for record_id in rows if record_id not in known))
    return found


def kind_of(ids: Mapping[str, Sequence[str]], state: State, value: Any) -> str | None:
    """The kind of record that `value` is the id of, or None."""
    if not isinstance(value, str):
        return None
    for kind, known in ids.items():
        if value in known:
            return kind
    return next((kind for kinds in state.values() for kind, rows in kinds.items() if value in rows), None)


def extra_acts(
    calls: Sequence[ToolCall], tools: Mapping[str, Tool], answer: Answer, ids: Mapping[str, Sequence[str]]
) -> Iterator[list[Mutant]]:
    """For each write tool the ways to add one more of its acts before the finish, likeliest accepted first."""
    end = len(calls) - 1
    for tool in tools.values():
        if not is_write(tool):
            continue
        made = [c for c in calls if c.tool == tool.name]
        acts = [*made, *_acts(tool, answer, ids)]
        yield [Mutant(f"plus {tool.name}", (*calls[:end], act, *calls[end:]), end) for act in acts]


def _acts(tool: Tool, answer: Answer, ids: Mapping[str, Sequence[str]]) -> list[ToolCall]:
    """A few calls of `tool` with arguments taken from the case's own records."""
    properties: dict[str, dict[str, Any]] = tool.parameters["properties"]
    named = [name for name in properties if name == "about" or name.removesuffix("_id") in ids]
    acts = []
    for turn in range(1 + OTHERS):
        arguments: dict[str, Any] = {}
        for name in tool.parameters.get("required", ()):
            arguments[name] = _value(name, properties[name], tool, answer, ids, turn if name in named else 0)
        call = ToolCall(tool=tool.name, arguments=arguments)
        if call not in acts:
            acts.append(call)
    return acts


def _value(name: str, schema: dict[str, Any], tool: Tool, answer: Answer, ids: Mapping[str, Sequence[str]], turn: int) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "integer":
        # The amount that the case is about, where some call of the path names one: likelier to be judged than 1.
        named = [step.call.arguments[name] for step in answer.reference if name in step.call.arguments]
        return named[0] if named else max(1, schema.get("minimum", 1))
    if schema["type"] != "string":
        return {"boolean": False, "object": {}}[schema["type"]]
    if name == "about" and turn == 0 and answer.outcome.about is not None:
        return answer.outcome.about
    kind = "order" if name == "about" else name.removesuffix("_id")
    known = ids.get(kind, ())
    return known[turn % len(known)] if known else "another value"


def wrong_parameters(
    calls: Sequence[ToolCall],
    tools: Mapping[str, Tool],
    task: TaskSpec,
    answer: Answer,
    ids: Mapping[str, Sequence[str]],
    state: State,
    codes: Mapping[str, OutcomeCode],
) -> Iterator[Mutant]:
    """The path with one compared argument of one write, or of the finishing act, changed."""
    for step, call in enumerate(calls):
        tool = tools[call.tool]
        if tool.effect is None:
            continue
        for name, value in call.arguments.items():
            if not _compared(tool, name, answer):
                continue
            if name == "answer" and tool.finishing and isinstance(value, dict):
                wrong: list[Any] = [{**value, key: _other(value[key])} for key in answer.outcome.answer if key in value]
            elif name == "code" and tool.finishing:
                wrong = [c for c, about in codes.items() if c != value and about.workflow == task.workflow]
                wrong = wrong or [c for c in tool.parameters["properties"]["code"].get("enum", ()) if c != value][:1]
            else:
                wrong = wrong_values(tool.parameters["properties"][name], value, ids, state)
            for other in wrong:
                changed = ToolCall(tool=call.tool, arguments={**call.arguments, name: other})
                yield Mutant(f"{call.tool}.{name} (step {step})", (*calls[:step], changed, *calls[step + 1 :]), step)


def _compared(tool: Tool, name: str, answer: Answer) -> bool:
    """True for an argument that decides something: it names a record or sets a field (which no outcome may ignore)."""
    effect, outcome = tool.effect, answer.outcome
    if name in tool.prose or effect is None:
        return False
    if tool.finishing:
        return (
            name == "code" or (name == "about" and outcome.about is not None) or (name == "answer" and outcome.kind == "answer")
        )
    return name == effect.record or name in effect.fields.values()


def unmet(
    calls: Sequence[ToolCall],
    step: int,
    tools: Mapping[str, Tool],
    rules: Sequence[RuleRef],
    ids: Mapping[str, Sequence[str]],
    state: State,
) -> Iterator[Mutant]:
    """The path with the required check at `step` left out, refused, made about another record, or made too late.

    `rules` are those that demand it.
    """
    yield without(calls, step)
    check = calls[step]
    before, after = tuple(c for c in calls[:step] if c != check), tuple(c for c in calls[step + 1 :] if c != check)

    def instead(arguments: dict[str, Any]) -> tuple[ToolCall, ...]:
        return (*before, ToolCall(tool=check.tool, arguments={**check.arguments, **arguments}), *after)

    yield Mutant(f"{check.tool} refused (step {step})", instead({"no_such_argument": 1}), len(before))
    needs = [need for rule in rules for need in rule.parameters.get("needs", ()) if check.tool in need.get("tools", ())]
    for name in dict.fromkeys(name for need in needs for name in (*need.get("same", {}), *need.get("told", {}))):
        if name in check.arguments:
            for other in wrong_values(tools[check.tool].parameters["properties"][name], check.arguments[name], ids, state)[:1]:
                yield Mutant(f"{check.tool} with another {name} (step {step})", instead({name: other}), len(before))
    acts = [at for at, call in enumerate(after) if any(call.tool == rule.parameters.get("tool") for rule in rules)]
    if acts and not tools[after[acts[0]].tool].finishing:
        late = (*before, *after[: acts[0] + 1], check, *after[acts[0] + 1 :])
        yield Mutant(f"{check.tool} too late (step {step})", late, len(before))


def wrong_values(schema: dict[str, Any], value: Any, ids: Mapping[str, Sequence[str]], state: State) -> list[Any]:
    if "enum" in schema:
        return [other for other in schema["enum"] if other != value][:2]
    kind = kind_of(ids, state, value)
    if kind is not None:
        return [other for other in ids.get(kind, ()) if other != value][:OTHERS] or [_other(value)]
    return [_other(value)]


def _other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value} x"
    if isinstance(value, list):
        return [*value, "x"]
    return {**value, "x": 1} if isinstance(value, dict) else "x"
