"""The state of an episode: a read-only base that all episodes share, an overlay of the rows this one wrote, and its changes.

A row in the overlay is replaced, never changed in place, so a fork copies one small dictionary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.episode import RowChange, RowRef
from schemas.files import sha256_json
from schemas.taskset import State

Key = tuple[str, str, str]
"""(system, kind, record_id)"""
NO_ROWS: dict[str, dict[str, Any]] = {}


class Layer:
    """One stored content of rows with the look-up tables that were asked for so far; shared by every task that names it."""

    __slots__ = ("_indexes", "digest", "rows")

    def __init__(self, digest: str, rows: State) -> None:
        self.digest, self.rows = digest, rows
        self._indexes: dict[Key, dict[Any, list[str]]] = {}

    def kind(self, system: str, kind: str) -> dict[str, dict[str, Any]]:
        kinds = self.rows.get(system)
        return kinds.get(kind, NO_ROWS) if kinds else NO_ROWS

    def matching(self, index: Key, value: Any) -> list[str]:
        """Ids of the rows whose field equals `value`, in the order of the content; `index` is (system, kind, field)."""
        table = self._indexes.get(index)
        if table is None:
            system, kind, field = index
            table = {}
            for record_id, row in self.kind(system, kind).items():
                held = row.get(field)
                if isinstance(held, str | int | bool):
                    table.setdefault(held, []).append(record_id)
            self._indexes[index] = table
        return table.get(value, [])


class Base:
    """The layers of a task, later ones over earlier ones. Read-only; its row references are made once."""

    __slots__ = ("_found", "digests", "layers", "refs", "reversed")

    def __init__(self, layers: tuple[Layer, ...]) -> None:
        self.layers = layers
        self.reversed = tuple(reversed(layers))
        self.digests = tuple(layer.digest for layer in layers)
        self.refs: dict[Key, RowRef] = {}
        self._found: dict[tuple[str, str, str, Any], list[tuple[str, Mapping[str, Any]]]] = {}

    def where(self, system: str, kind: str, field: str, value: Any) -> list[tuple[str, Mapping[str, Any]]]:
        """(id, row) of the rows whose `field` equals `value`; not to be changed. Remembered where there are any, so the memory is
        bounded by the rows."""
        asked = (system, kind, field, value)
        held = self._found.get(asked)
        if held is not None:
            return held
        names = dict.fromkeys(i for layer in self.layers for i in layer.matching((system, kind, field), value))
        rows = [(i, row) for i in names if (row := self.get(system, kind, i)) is not None and row.get(field) == value]
        if rows:
            self._found[asked] = rows
        return rows

    def get(self, system: str, kind: str, record_id: str) -> Mapping[str, Any] | None:
        for layer in self.reversed:
            row = layer.kind(system, kind).get(record_id)
            if row is not None:
                return row
        return None

    def ref(self, system: str, kind: str, record_id: str) -> RowRef:
        key = (system, kind, record_id)
        found = self.refs.get(key)
        if found is None:
            found = self.refs[key] = RowRef(system=system, kind=kind, record_id=record_id)
        return found


class EpisodeState:
    """One episode's view. `changes` and `reads` collect what the call in progress wrote and showed."""

    __slots__ = ("base", "changes", "created", "overlay", "reads")

    def __init__(self, base: Base) -> None:
        self.base = base
        self.overlay: dict[Key, dict[str, Any] | None] = {}
        self.changes: list[RowChange] = []
        self.reads: dict[Key, RowRef] = {}
        self.created = 0

    def fork(self) -> EpisodeState:
        """An independent copy (between calls)."""
        other = EpisodeState(self.base)
        other.overlay = self.overlay.copy()
        other.created = self.created
        return other

    def get(self, system: str, kind: str, record_id: str) -> Mapping[str, Any] | None:
        """The row, or None. Does not count as shown."""
        if self.overlay:
            key = (system, kind, record_id)
            if key in self.overlay:
                return self.overlay[key]
        return self.base.get(system, kind, record_id)

    def look(self, system: str, kind: str, record_id: str) -> Mapping[str, Any] | None:
        """The row, or None; the journal will say that the call looked at it."""
        row = self.get(system, kind, record_id)
        if row is not None:
            self.reads[(system, kind, record_id)] = self.base.ref(system, kind, record_id)
        return row

    def note(self, system: str, kind: str, record_id: str) -> None:
        """The journal will say that the call looked at this row."""
        self.reads[(system, kind, record_id)] = self.base.ref(system, kind, record_id)

    def where(self, system: str, kind: str, field: str, value: Any) -> list[tuple[str, Mapping[str, Any]]]:
        """(id, row) of the rows whose `field` equals `value`; those of the base first, then new ones. Does not count as shown.

        The list is the caller's own, the rows are not.
        """
        held = self.base.where(system, kind, field, value)
        if not self.overlay:
            return held.copy()
        found: list[tuple[str, Mapping[str, Any]]] = []
        for record_id, row in held:
            key = (system, kind, record_id)
            now = self.overlay.get(key, row)
            if now is not None and now.get(field) == value:
                found.append((record_id, now))
        names = {record_id for record_id, _ in held}
        for (s, k, record_id), new in self.overlay.items():
            if k == kind and s == system and record_id not in names and new is not None and new.get(field) == value:
                found.append((record_id, new))
        return found

    def all(self, system: str, kind: str) -> list[tuple[str, Mapping[str, Any]]]:
        """(id, row) of every row of a kind, sorted by id. For kinds with few rows. Does not count as shown."""
        rows: dict[str, Mapping[str, Any] | None] = {}
        for layer in self.base.layers:
            rows.update(layer.kind(system, kind))
        for (held_system, held_kind, record_id), row in self.overlay.items():
            if held_system == system and held_kind == kind:
                rows[record_id] = row
        return [(record_id, row) for record_id, row in sorted(rows.items()) if row is not None]

    def create(self, system: str, kind: str, fields: dict[str, Any]) -> str:
        """Writes a new row and returns its id, which depends on nothing but the order of the writes."""
        while True:
            self.created += 1
            record_id = f"{kind.upper()}_{self.created:08X}"
            if self.get(system, kind, record_id) is None:
                break
        self.overlay[(system, kind, record_id)] = fields
        self.changes.append(RowChange(system=system, kind=kind, op="create", record_id=record_id, fields=fields))
        return record_id

    def update(self, system: str, kind: str, record_id: str, fields: dict[str, Any]) -> None:
        """Sets fields of a row that exists (a row that the base does not hold is begun empty: the opening's own case)."""
        row = self.get(system, kind, record_id) or {}
        self.overlay[(system, kind, record_id)] = {**row, **fields}
        before = {name: row[name] for name in fields if name in row}
        self.changes.append(
            RowChange(system=system, kind=kind, op="update", record_id=record_id, fields=fields, before=before)
        )  # fmt: skip

    def delete(self, system: str, kind: str, record_id: str) -> None:
        self.overlay[(system, kind, record_id)] = None
        self.changes.append(RowChange(system=system, kind=kind, op="delete", record_id=record_id, fields={}))

    def digest(self) -> str:
        """Names the whole state: the base's contents and the overlay, whatever the order of its writes."""
        rows = sorted([*key, row] for key, row in self.overlay.items())
        return sha256_json([list(self.base.digests), rows])
