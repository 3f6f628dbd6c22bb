"""The journal as rules see it: the calls so far, and the state as it was at each step (shared base + the journal's changes)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from schemas.episode import JournalEntry, RowRef
from schemas.errors import GraderError
from schemas.taskset import State

if TYPE_CHECKING:
    from rewards.rule import Hop, Lookup
    from schemas.task import Fact, TaskSpec

Key = tuple[str, str, str]
"""(system, kind, record_id)."""
_WORD = re.compile(r"[\w+@.-]+")
_TOKEN = re.compile(r"[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_[A-Z]+\d*)?")
"""A pseudonym: its type is part of it."""


class NotThere(Exception):  # noqa: N818 - a signal inside the grader, answered by every rule, never seen outside
    """The agent's own call names a record, or leads to a value, that the state does not hold: nothing shows that the act is
    allowed, which a rule answers with a violation. A task whose own reference leads there is not certified."""

    def __init__(self, ref: RowRef, field: str = "") -> None:
        self.ref = ref
        what = f"has no {field} that the rule could be judged by" if field else "is not in the state"
        super().__init__(f"{ref.system}.{ref.kind} {ref.record_id} {what}")


@dataclass(slots=True)
class JournalView:
    """Grows by one entry a step. `base` is shared between episodes and never changed."""

    base: State
    started_at: str
    """ISO 8601 UTC instant at which the request arrived: windows are judged at it, not when the case is handled."""
    entries: list[JournalEntry] = field(default_factory=list)
    _by_tool: dict[str, list[int]] = field(default_factory=dict)
    _changed: dict[Key, list[tuple[int, dict[str, Any] | None]]] = field(default_factory=dict)
    """Record -> (step, its whole row after that step's change; None = deleted), in order."""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """What the requester can tell, by id."""
    opening: frozenset[str] = frozenset()
    """Words of the opening request, as written."""
    request: tuple[str, ...] = ()
    """Subject and text of the opening request."""

    @classmethod
    def of_task(cls, task: TaskSpec, base: State) -> JournalView:
        """The view in which the calls of an episode of `task` are judged."""
        words = _WORD.findall(f"{task.opening.subject} {task.opening.text}")
        opening = frozenset({*words, *(word.strip(".-") for word in words)})
        facts = {fact.id: fact for fact in task.requester.facts}
        return cls(base, task.started_at, facts=facts, opening=opening, request=(task.opening.subject, task.opening.text))

    def append(self, entry: JournalEntry) -> int:
        """Takes the next call in and returns its index in the view."""
        step = len(self.entries)
        self.entries.append(entry)
        if not entry.ok:
            return step
        self._by_tool.setdefault(entry.call.tool, []).append(step)
        for change in entry.changes:
            if change.record_id is None:
                raise GraderError(f"step {entry.step}: a change of {change.system}.{change.kind} names no record")
            key = (change.system, change.kind, change.record_id)
            history = self._changed.setdefault(key, [])
            if change.op == "delete":
                history.append((step, None))
            else:
                before = history[-1][1] if history else self._base_row(key)
                history.append((step, {**(before or {}), **change.fields}))
        return step

    def fork(self) -> JournalView:
        """A view that grows by itself from here on."""
        by_tool = {tool: list(steps) for tool, steps in self._by_tool.items()}
        changed = {key: list(history) for key, history in self._changed.items()}
        return JournalView(
            self.base, self.started_at, list(self.entries), by_tool, changed, self.facts, self.opening, self.request
        )

    def calls(self, tool: str, before: int) -> Iterator[tuple[int, JournalEntry]]:
        """Accepted calls of `tool` at steps earlier than `before`, oldest first."""
        for step in self._by_tool.get(tool, ()):
            if step >= before:
                return
            yield step, self.entries[step]

    def said(self, slot: str, value: Any, before: int) -> bool:
        """True if the requester had said `value` as their `slot` before the call at `before`: in a fact told by then, or, where
        none of their facts answers that slot, in the opening (a word with a digit in it; a pseudonym of that slot's own type)."""
        text = str(value)
        if not any(slot in fact.values for fact in self.facts.values()):
            typed = _TOKEN.fullmatch(text) is None or slot.upper() in text
            return typed and text in self.opening and any(c.isdigit() for c in text)
        told = {fact for entry in self.entries[:before] for fact in entry.told}
        return any(slot in (fact := self.facts[one]).values and fact.values[slot] == text for one in told if one in self.facts)

    def row(self, system: str, kind: str, record_id: str, step: int) -> dict[str, Any] | None:
        """The row as the call at `step` found it (changes of that call itself not included); None = not there."""
        key = (system, kind, record_id)
        found = self._base_row(key)
        for at, row in self._changed.get(key, ()):
            if at >= step:
                break
            found = row
        return found

    def rows(self, system: str, kind: str, step: int) -> Iterator[tuple[str, dict[str, Any], bool]]:
        """(record_id, row, whether this episode made it) of every row of a kind as the call at `step` found it."""
        base = self.base.get(system, {}).get(kind, {})
        for record_id in base:
            row = base[record_id] if (system, kind, record_id) not in self._changed else self.row(system, kind, record_id, step)
            if row is not None:
                yield record_id, row, False
        for s, k, record_id in self._changed:
            if s == system and k == kind and record_id not in base:
                row = self.row(system, kind, record_id, step)
                if row is not None:
                    yield record_id, row, True

    def follow(self, lookup: Lookup, arguments: dict[str, Any], step: int) -> tuple[Any, tuple[RowRef, ...]]:
        """The value at the end of `lookup` for a call with `arguments` (None where never set), and the rows passed on the way.

        Raises NotThere where a record on the way is not in the state.
        """
        named = arguments.get(lookup.argument)
        if not isinstance(named, str | int):
            raise NotThere(RowRef(system=lookup.system, kind=lookup.kind, record_id="(none)"))
        hop: Hop | None = lookup
        value: Any = str(named)
        rows: list[RowRef] = []
        field = ""
        while hop is not None:
            ref = RowRef(system=hop.system, kind=hop.kind, record_id=str(value))
            row = self.row(hop.system, hop.kind, str(value), step) if value is not None else None
            if row is None:
                raise NotThere(ref) if value is not None else NotThere(rows[-1], field)
            rows.append(ref)
            value, field = row.get(hop.field), hop.field
            hop = hop.then
        return value, tuple(rows)

    def _base_row(self, key: Key) -> dict[str, Any] | None:
        return self.base.get(key[0], {}).get(key[1], {}).get(key[2])


def instant(text: Any, what: str) -> datetime:
    """An ISO 8601 instant or day as UTC (a day starts at 00:00 UTC); GraderError names `what` where it is neither."""
    if not isinstance(text, str):
        raise GraderError(f"{what} is not a time (found {type(text).__name__})")
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise GraderError(f"{what} is not an ISO 8601 time") from error
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
