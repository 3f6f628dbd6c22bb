"""Recorded row changes turned back into tool calls, by what the tools declare that they do; and the outcome that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rewards.values import same
from schemas.episode import RowChange, ToolCall
from schemas.taskset import State
from tasks.case import Write

if TYPE_CHECKING:
    from environments.tool import Tool


class NoPath(Exception):  # noqa: N818 - the reason of a dropped record, answered by the builder
    """The recorded outcome cannot be made with the agent's tools; the message names the first change that none makes."""


@dataclass(frozen=True, slots=True)
class Target:
    """One recorded write as a call, with the row change that it makes."""

    call: ToolCall
    change: RowChange
    ignored: tuple[str, ...]
    """"system.kind.field" of the row's fields that no one decided."""


@dataclass(slots=True)
class _Row:
    system: str
    kind: str
    op: str
    record_id: str
    fields: dict[str, Any]


def invert(writes: Sequence[Write], tools: Mapping[str, Tool], state: State) -> list[Target]:
    """The calls that make the recorded changes, in the order in which they were recorded.

    Raises NoPath for a change that no tool makes, or that two tools make equally well.
    """
    targets = []
    for row in _folded(writes, state):
        makers = [t for t in tools.values() if t.effect and not t.finishing and _same_row(t, row)]
        makers = [t for t in makers if _makes(t, row)]
        if len(makers) != 1:
            found = "no tool makes it" if not makers else "several tools make it: " + ", ".join(t.name for t in makers)
            raise NoPath(f"{row.op} of {row.system}.{row.kind} ({', '.join(sorted(row.fields)) or 'no fields'}): {found}")
        targets.append(_target(makers[0], row))
    return targets


def _folded(writes: Sequence[Write], state: State) -> list[_Row]:
    """One row a record: later changes fold into the first; a change to what was there before is none."""
    rows: dict[tuple[str, str, str], _Row] = {}
    for write in writes:
        key = (write.system, write.kind, write.record_id)
        row = rows.get(key)
        if row is None:
            rows[key] = _Row(write.system, write.kind, write.op, write.record_id, dict(write.fields))
        elif write.op == "delete":
            if row.op == "create":
                del rows[key]
            else:
                row.op, row.fields = "delete", {}
        else:
            row.fields.update(write.fields)
    kept = []
    for (system, kind, record_id), row in rows.items():
        if row.op == "update":
            before = state.get(system, {}).get(kind, {}).get(record_id, {})
            row.fields = {name: value for name, value in row.fields.items() if not same(before.get(name), value)}
            if not row.fields:
                continue
        kept.append(row)
    return kept


def _same_row(tool: Tool, row: _Row) -> bool:
    effect = tool.effect
    return effect is not None and (effect.system, effect.kind, effect.op) == (row.system, row.kind, row.op)


def _makes(tool: Tool, row: _Row) -> bool:
    """True if the tool's effect sets all that was set, to what it was set to."""
    effect = tool.effect
    assert effect is not None
    given = {name for name, value in row.fields.items() if value is not None}
    known = {*effect.fields, *effect.fixed, *effect.decided, *effect.ignored}
    if not given <= known or not all(same(row.fields.get(name), value) for name, value in effect.fixed.items()):
        return False
    required = set(tool.parameters.get("required", ()))
    return all(name in given for name, argument in effect.fields.items() if argument in required)


def _target(tool: Tool, row: _Row) -> Target:
    effect = tool.effect
    assert effect is not None
    arguments = {argument: row.fields[name] for name, argument in effect.fields.items() if row.fields.get(name) is not None}
    if effect.record is not None:
        arguments[effect.record] = row.record_id
    fields = {name: row.fields[name] for name in effect.fields if row.fields.get(name) is not None}
    fields.update(effect.fixed)
    fields.update({name: row.fields[name] for name in effect.decided if row.fields.get(name) is not None})
    change = RowChange.model_validate(
        {
            "system": row.system,
            "kind": row.kind,
            "op": row.op,
            "record_id": None if row.op == "create" else row.record_id,
            "fields": {} if row.op == "delete" else fields,
        }
    )
    return Target(
        ToolCall(tool=tool.name, arguments=arguments), change, tuple(f"{row.system}.{row.kind}.{n}" for n in effect.ignored)
    )
