"""Why a demanded look-up gave nothing, in words that repeat no value: mostly the record that it asks for is in no state at all,
because the export does not say whose it is. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable

from environments.tool import Tool
from schemas.episode import Refusal, RefusalKind
from schemas.taskset import State

WORDS = {
    RefusalKind.unknown_tool: "there is no such tool",
    RefusalKind.bad_arguments: "an argument does not fit",
    RefusalKind.forbidden_by_system: "the system does not do this in the record's state",
    RefusalKind.conflict: "it is there already",
}
"""What a refusal says without its message, which names records."""


def held(state: State, system: str, kind: str) -> str:
    """How many records of a kind the state holds: "the state holds 0 orders.order"."""
    return f"the state holds {len(state.get(system, {}).get(kind, {}))} {system}.{kind}"


def why_refused(tool: Tool, argument: str, refusal: Refusal | None, state: State, tools: Iterable[Tool] = ()) -> str:
    """Of a look-up by `argument` that was refused, or that answered something else than the rule demands (no refusal)."""
    if refusal is None:
        return "does not give what the rule demands"
    if refusal.kind is not RefusalKind.not_found:
        return f"{tool.name} refused: {WORDS.get(refusal.kind, 'it cannot be made')}"
    kind = argument.removesuffix("_id")
    system = system_of(kind, state, tools) or tool.system
    return f"{tool.name} refused: no such {kind}; {held(state, system, kind)}"


def system_of(kind: str, state: State, tools: Iterable[Tool]) -> str | None:
    """The system whose records are of that kind: as the state has it, else as the tools write it."""
    named = [system for system, kinds in sorted(state.items()) if kind in kinds]
    named += [tool.effect.system for tool in tools if tool.effect is not None and tool.effect.kind == kind]
    return next(iter(named), None)
