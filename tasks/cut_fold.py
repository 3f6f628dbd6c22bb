"""Folding changes into the texts of a state: each record is written anew only where one of its fields has changed.

What arrives has been ranked by one window of DuckDB (`tasks.cut`): a change counts from an instant on, and of those that count
the highest rank holds. So a record moves forward through its changes, an organisation through the months and cuts of its cases,
and the work grows with the changes and with the bytes written, not with their product. An organisation's changes are held in
memory, some 500 bytes each.
"""

from __future__ import annotations

import json
from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

EXISTENCE = -1
"""Stands where a change has its field: the record was made (its value is not None) or deleted."""

Texts = tuple[str, str]
"""A record within its kind, as canonical JSON: (its values, their sources)."""


@dataclass(slots=True)
class Changes:
    """What fields of records (or whether these exist) are from an instant on, unless a higher rank counts: columns, by record
    and instant. No tuple a row: Python's collector would go through millions of them again and again."""

    at: list[int] = field(default_factory=list)
    """First cut that sees it, in microseconds since 1970."""
    fld: list[int] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    value: list[Any] = field(default_factory=list)
    """Canonical JSON, or `Tied`; of EXISTENCE None where the record is gone."""
    source: list[str | None] = field(default_factory=list)
    """As JSON; None: it has none."""


class Tied(NamedTuple):
    """Value of a change whose rank does not say which of several values holds."""

    value: str
    """That of the highest rank."""
    source: str | None
    """That of the highest rank."""
    sources: str | None
    """Those of all rows that tie, as a JSON list."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A field counted from other records (see `tasks.cut_totals`), by numbers of fields."""

    fld: int
    by_fld: int
    of_fld: int | None


@dataclass(slots=True)
class Kind:
    """A kind of record: its fields that a state may show, in the order in which they are written."""

    system: str
    name: str
    """Both as JSON, like `labels`."""
    labels: dict[int, str] = field(default_factory=dict)
    """Number of the field -> '"name":'."""
    places: dict[int, int] = field(default_factory=lambda: {EXISTENCE: 0})
    """Number of the field -> its place in a record's lists."""
    cells: list[str] = field(default_factory=list)
    """Of a record of which nothing is known."""
    counters: list[Counter] = field(default_factory=list)

    def add(self, fld: int, label: str) -> None:
        self.labels[fld] = label
        self.places[fld] = len(self.places)
        self.cells.append(f"{label}null")


UNTOLD = Changes()
NONE_COUNTED: dict[int, list[Record]] = {}
NONE_TIED: set[int] = set()
"""What most records have; never added to."""


class Record:
    """One record and its changes, at the cut that it was last moved to."""

    __slots__ = (
        "alive",
        "at",
        "cells",
        "changes",
        "counted",
        "end",
        "first",
        "held",
        "kept",
        "key",
        "kind",
        "name",
        "next",
        "number",
        "ranks",
        "sources",
        "texts",
        "tied",
    )

    def __init__(self, number: int, kind: Kind, name: str, key: str) -> None:
        self.number = number
        self.kind = kind
        self.name = name
        self.key = f"{key}:{{"
        self.changes = UNTOLD
        self.first = self.end = 0
        """Where its changes stand among all."""
        self.kept = False
        """Whether `held` is."""
        self.counted = NONE_COUNTED
        """Counter's field -> records that may ever count for it."""
        self.at: int | None = None
        """The cut that it was last moved to."""
        self.tied: set[int] = NONE_TIED

    def tell(self, changes: Changes, first: int, end: int) -> None:
        """Gives it its changes, before it is first moved."""
        self.changes, self.first, self.end, self.at = changes, first, end, None

    def counts(self, counter: int, other: Record) -> None:
        if not self.counted:
            self.counted = {}
        self.counted.setdefault(counter, []).append(other)
        other.kept = True

    def _restart(self) -> None:
        self.next = self.first
        self.alive = False
        self.texts: Texts | None = None
        self.cells = self.kind.cells.copy()
        self.sources = [""] * (len(self.cells) + 1)
        self.ranks = [0] * len(self.sources)
        if self.tied:
            self.tied = NONE_TIED
        if self.kept:
            self.held: dict[int, Any] = {}
            """Field -> (value or `Tied`, source), of a record that is counted."""

    def move(self, cut: int) -> Texts | None:
        """The record as a state at `cut` shows it; None where it shows none."""
        if self.at is None or cut < self.at:
            self._restart()
        self.at = cut
        number, end = self.next, self.end
        if number < end:
            at = self.changes.at
            while number < end and at[number] <= cut:
                self._take(number)
                number += 1
            if number > self.next:
                self.next, self.texts = number, None
        if not self.alive or not self.cells:
            return None
        if self.kind.counters:
            for counter in self.kind.counters:
                self._count(counter)
            self.texts = None
        if self.texts is None:
            sources = ",".join([source for source in self.sources if source])
            self.texts = (f"{self.key}{','.join(self.cells)}}}", f"{self.key}{sources}}}")
        return self.texts

    def _take(self, number: int) -> None:
        changes = self.changes
        fld, rank = changes.fld[number], changes.rank[number]
        place = self.kind.places[fld]
        if self.ranks[place] >= rank:
            return
        self.ranks[place] = rank
        value, source = changes.value[number], changes.source[number]
        if fld == EXISTENCE:
            self.alive = value is not None
            self.sources[0] = source or ""
            return
        if self.kept:
            self.held[fld] = (value, source)
        if isinstance(value, Tied):
            self._write(fld, "null", value.sources or value.source)
            self._tie(fld)
        else:
            self._write(fld, value, source)
            if self.tied:
                self.tied.discard(fld)

    def _write(self, fld: int, value: str, source: str | None) -> None:
        place, label = self.kind.places[fld], self.kind.labels[fld]
        self.cells[place - 1] = label + value
        self.sources[place] = "" if source is None else label + source

    def _tie(self, fld: int) -> None:
        if not self.tied:
            self.tied = set()
        self.tied.add(fld)

    def _count(self, counter: Counter) -> None:
        """Writes the counter as the records that it counts stand at the same cut."""
        from tasks.cut_totals import total

        seen = []
        assert self.at is not None
        for other in self.counted.get(counter.fld, ()):
            other.move(self.at)
            if other.alive:
                seen.append((other.held.get(counter.by_fld), other.held.get(counter.of_fld) if counter.of_fld else None))
        value, source, unclear = total(self.name, counter.of_fld is not None, seen)
        self._write(counter.fld, "null" if unclear else value, source)
        if unclear:
            self._tie(counter.fld)
        elif self.tied:
            self.tied.discard(counter.fld)


class Row(NamedTuple):
    """A row of the log of a field in which stamps may tie."""

    rec: int
    fld: int
    seen_from: int
    rank: int
    seq: int | None
    t: int
    grain: int
    value: str
    source: str | None


def untied(rows: Iterable[Row], into: list[tuple[Any, ...]]) -> None:
    """Appends the changes of one field of one record as (at, field, rank, value, source), the value `Tied` where at an instant
    nothing orders differing ones: they stand at one time (or in overlapping intervals of their stamps), and not each has a
    number of its own."""
    visible: list[tuple[int, Row]] = []
    widest, top_seq = 1, None
    for at, now in groupby(sorted(rows, key=lambda r: r.seen_from), key=lambda r: r.seen_from):
        for row in now:
            insort(visible, (row.rank, row))
            widest = max(widest, row.grain)
            if row.seq is not None and (top_seq is None or row.seq > top_seq):
                top_seq = row.seq
        top = visible[-1][1]
        near = []
        for _, row in reversed(visible):
            if row.t + widest <= top.t:
                break
            if row.t + max(row.grain, 1) > top.t:
                near.append(row)
        ordered = all(row.seq is not None for row in near) and len({r.value for r in near if r.seq == top_seq}) <= 1
        value: Any = top.value
        if len({row.value for row in near}) > 1 and not ordered:
            sources = sorted({row.source for row in near if row.source is not None})
            value = Tied(top.value, top.source, f"[{','.join(sources)}]" if sources else None)
        # Later instants outrank earlier ones here: each tells all that it knows.
        into.append((at, top.fld, len(visible), value, top.source))


Shown = tuple[Record, Texts]


def written(rows: Sequence[Shown]) -> Texts | None:
    """Records, in the order of their numbers, as one layer: canonical JSON of the values and of their sources; None of none."""
    if not rows:
        return None
    systems: dict[str, list[Kind]] = {}
    of_kind: dict[int, tuple[list[str], list[str]]] = {}
    last: Kind | None = None
    for record, (values, sources) in rows:
        if record.kind is not last:
            last = record.kind
            systems.setdefault(last.system, []).append(last)
            said, rest = of_kind[id(last)] = ([], [])
        said.append(values)
        rest.append(sources)
    layers = []
    for side in (0, 1):
        inner = (
            (system, ",".join([f"{kind.name}:{{{','.join(of_kind[id(kind)][side])}}}" for kind in kinds]))
            for system, kinds in systems.items()
        )
        layers.append("{" + ",".join([f"{system}:{{{kinds}}}" for system, kinds in inner]) + "}")
    return layers[0], layers[1]


class Organisation:
    """The records of one organisation, moved through its cases in the order of their cuts."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = {record.number: record for record in records}
        owners: dict[int, list[int]] = {}
        for record in self.records.values():
            for counted in record.counted.values():
                for other in counted:
                    owners.setdefault(other.number, []).append(record.number)
        self.now: dict[int, Texts] = {}
        """Record -> how a state shows it, at the instant last moved to."""
        self.before: dict[int, Texts | None] = {}
        """Records that have changed since `mark`, as they were then."""
        self.tied: dict[int, frozenset[int]] = {}
        self.owners = owners
        moments = [(at, r.number) for r in self.records.values() for at in set(r.changes.at[r.first : r.end])]
        self.moments = sorted(moments)
        self.next = 0

    def move(self, cut: int) -> None:
        end = bisect_right(self.moments, (cut, 2**63), self.next)
        changed = {number for _, number in self.moments[self.next : end]}
        self.next = end
        if self.owners:
            changed |= {owner for number in changed for owner in self.owners.get(number, ())}
        for number in changed:
            self.before.setdefault(number, self.now.get(number))
            record = self.records[number]
            texts = record.move(cut)
            if texts is None:
                self.now.pop(number, None)
            else:
                self.now[number] = texts
            if texts is not None and record.tied:
                self.tied[number] = frozenset(record.tied)
            elif self.tied:
                self.tied.pop(number, None)

    def mark(self) -> None:
        """From here on `before` says what has changed."""
        self.before.clear()

    def everything(self) -> list[Shown]:
        return [(self.records[number], self.now[number]) for number in sorted(self.now)]

    def changed(self) -> list[Shown] | None:
        """Records that a layer over the state at `mark` has to show; None where one of that state is gone."""
        now = self.now
        found: list[Shown] = []
        for number in sorted(self.before):
            was, texts = self.before[number], now.get(number)
            if texts is not None:
                if texts != was:
                    found.append((self.records[number], texts))
            elif was is not None:
                return None
        return found


def text_of(value: str | None) -> str | None:
    """A JSON string's text, any other value's JSON; None for null: what a field that names a record names."""
    if value is None or value == "null":
        return None
    return str(json.loads(value)) if value.startswith('"') else value
