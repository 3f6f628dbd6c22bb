"""The plug-in type of an export format, and what its reader writes into: events, marks, owners, links and quarantined rows.

A format is one file `ingest/sources/<format>.py` that exports `SOURCE`. Its `read` opens an `Output.row(...)` for each row of
the export and emits that row's events inside it; a `RowFault` raised there sends the whole row to quarantine and takes back what
it had emitted, so that rows in = rows out + quarantined + repeated, always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ingest.times import Stamp
from schemas.errors import SourceError
from schemas.events import EVENT_COLUMNS, EventType
from schemas.files import canonical_json
from schemas.records import CodeBook
from schemas.spec import SourceSpec

Order = tuple[str, int | None, int]
"""A stream of the system and two numbers in it, by which its own sequence is told; None: the system does not know the order."""

ORDER_COLUMNS: dict[str, str] = {"stream": "str", "order_1": "int", "order_2": "int", "row_at": "str"}
"""Beside EVENT_COLUMNS in a shard: the system's own sequence (stream, two numbers within it) and the place of the row read."""

STAGED_EVENT_COLUMNS: dict[str, str] = {**{k: v for k, v in EVENT_COLUMNS.items() if k != "seq"}, **ORDER_COLUMNS}
MARK_COLUMNS: dict[str, str] = {
    "system": "str",
    "kind": "str",
    "record_id": "str",
    "mark": "str",
    "value": "str",
    "ts": "ts",
    **ORDER_COLUMNS,
}
"""What records.parquet is made of.

mark: opened | opening (the opening event has the same order) | closed | reopened | ended (closed for good, perhaps without
having been closed before) | outcome (value = the code)
"""
OWNER_COLUMNS: dict[str, str] = {
    "system": "str",
    "kind": "str",
    "record_id": "str",
    "organisation": "str",
    "parent_system": "str",
    "parent_kind": "str",
    "parent_id": "str",
    "row_at": "str",
}
"""Whose a record is: its organisation, or the record that knows it."""
ROW_COLUMNS: dict[str, str] = {
    "source": "str",
    "unit": "str",
    "source_file": "str",
    "source_pos": "str",
    "row_at": "str",
    "row_key": "str",
    "version": "str",
    "place": "int",
    "quarantined": "bool",
}
"""Every row read. Rows of one row_key are one row of the export told several times: the highest (version, file, place) counts."""


class RowFault(Exception):  # noqa: N818 - a fault of a row is data, not an error of the program
    """A row cannot be taken: it goes to quarantine. `found` is a type, a code or a shape, never text of a person."""

    def __init__(self, reason: str, *, field: str = "", found: str = "", allowed: str = "", pos: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.field, self.found, self.allowed, self.pos = reason, field, found, allowed, pos


class SourceOptions(BaseModel):
    """Options that every format has; a format's own model extends it."""

    model_config = {"frozen": True, "extra": "forbid"}

    max_quarantined_share: float = 0.2
    """Share of one file's or table's rows, in [0, 1], above which the run stops: the export is not what the spec says."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a source may know: its declaration, the export folder and the code book. Picklable."""

    spec: SourceSpec
    spec_file: str
    export: Path
    code_book: CodeBook
    options: Any
    """The validated options model of the format."""

    @property
    def root(self) -> Path:
        """Folder of this source inside the export."""
        return self.export / self.spec.path

    def file(self, path: Path) -> str:
        """Name of a file as events carry it: relative to the export."""
        return path.relative_to(self.export).as_posix()


@dataclass(frozen=True, slots=True)
class Part:
    """A unit of reading that one worker takes: a file, a table, a slice of an archive."""

    name: str
    """File-name safe and unique within the source."""
    payload: Any
    """Picklable; read by the source's own `read`."""
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Source:
    """A format. All callables are module-level functions (they run in worker processes)."""

    options: type[SourceOptions]
    inputs: Callable[[Context], dict[str, str]]
    """Name -> digest of everything read, so that an unchanged export is not read again. SourceError for what is missing."""
    parts: Callable[[Context], list[Part]]
    read: Callable[[Context, Part, Output], None]
    declarations: Callable[[Context], list[Any]] | None = None
    """Descriptions of the systems' own calls, where the export carries them (for `declared` systems)."""
    declared_at: Callable[[Context, str, str], str] | None = None
    """(context, unit of the rows, field of a fault) -> dotted paths of the spec that say what that field is, "" for none: where a
    whole file cannot be read, mostly they are wrong."""


class Row:
    """One row of the export while it is being read."""

    def __init__(self, output: Output, file: str, pos: str, key: str | None) -> None:
        self.file, self.pos, self.key = file, pos, key
        self.at = f"{file}#{pos}"
        self.version = ""
        self._output = output

    def event(
        self,
        record: tuple[str, str, str],
        type: EventType,
        at: Stamp | None,
        *,
        order: Order,
        recorded: Stamp | None = None,
        actor: str | None = None,
        field: str | None = None,
        value: Any = None,
        text: str | None = None,
        visibility: str | None = None,
        reference: str | None = None,
        pos: str | None = None,
    ) -> None:
        """Emits one event of `record` (system, kind, id). `recorded` None = one clock; `value` counts where `field` is set."""
        stamp = at or Stamp(None, "", "", 0)
        self._output.events.append(
            {
                "organisation": None,
                "system": record[0],
                "kind": record[1],
                "record_id": record[2],
                "event_ts": stamp.at,
                "recorded_ts": (recorded or stamp).at,
                "actor_id": actor,
                "type": type.value,
                "field": field,
                "value_json": canonical_json(value) if field is not None else None,
                "text": text,
                "visibility": visibility,
                "source_file": self.file,
                "source_pos": pos or self.pos,
                "ts_text": stamp.text or None,
                "ts_zone": stamp.zone or None,
                "ts_grain_s": stamp.grain_s,
                "reference": reference,
                **self._order(order),
            }
        )

    def mark(self, record: tuple[str, str, str], mark: str, at: Stamp | None, order: Order, value: str | None = None) -> None:
        """Notes for records.parquet when a record was opened, closed or decided (see MARK_COLUMNS)."""
        named = dict(zip(("system", "kind", "record_id"), record, strict=True))
        # Whoever opens a case sets its cut: of a repeated local hour the earlier instant, where the event itself takes the later.
        ts = (at.as_cut if mark == "opened" else at.at) if at else None
        self._output.marks.append({**named, "mark": mark, "value": value, "ts": ts, **self._order(order)})

    def owner(
        self, record: tuple[str, str, str], *, organisation: str | None = None, parent: tuple[str, str, str] | None = None
    ) -> None:
        """Says whose the record is: an organisation, or the record to ask."""
        named = dict(zip(("system", "kind", "record_id"), record, strict=True))
        above = dict(zip(("parent_system", "parent_kind", "parent_id"), parent or (None, None, None), strict=True))
        self._output.owners.append({**named, "organisation": organisation, **above, "row_at": self.at})

    def _order(self, order: Order) -> dict[str, Any]:
        return {"stream": order[0], "order_1": order[1], "order_2": order[2], "row_at": self.at}


@dataclass(slots=True)
class Output:
    """What a source reads into. Rows only; tables are made when a shard is written."""

    source: str
    events: list[dict[str, Any]] = field(default_factory=list)
    marks: list[dict[str, Any]] = field(default_factory=list)
    owners: list[dict[str, Any]] = field(default_factory=list)
    quarantine: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    """"system.kind.field" (or a documented key that is not used) -> how many values were left out on purpose."""
    undeclared: dict[str, int] = field(default_factory=dict)
    """Of these, the ones that nobody declared: not the code book, and not the spec."""
    findings: dict[str, int] = field(default_factory=dict)
    """What is odd but not unreadable, e.g. "history_gap:orders.order.status" -> how many."""

    @contextmanager
    def row(
        self, file: str, pos: str, place: int, *, key: str | None = None, unit: str | None = None, folder: str | None = None
    ) -> Iterator[Row]:
        """Reads one row: a RowFault inside sends it to quarantine and takes back all that it had emitted.

        `place` is the row's number within the file or table; `unit` names a table, whose rows are counted apart; `folder` the
        folder whose files are counted together, where a file holds a single row.
        Set `row.key` (and `row.version`) where an export may tell a row twice.
        """
        before = (len(self.events), len(self.marks), len(self.owners))
        row = Row(self, file, pos, key)
        fault: RowFault | None = None
        try:
            yield row
        except RowFault as caught:
            fault = caught
            del self.events[before[0] :], self.marks[before[1] :], self.owners[before[2] :]
            self.quarantine.append(
                {
                    "source": self.source,
                    "source_file": file,
                    "source_pos": caught.pos or pos,
                    "field": caught.field or None,
                    "reason": caught.reason,
                    "found": caught.found or None,
                    "allowed": caught.allowed or None,
                }
            )
        self.rows.append(
            {
                "source": self.source,
                "unit": folder or (f"{file}/{unit}" if unit else file),
                "source_file": file,
                "source_pos": pos,
                "row_at": row.at,
                "row_key": row.key if fault is None else None,
                "version": row.version,
                "place": place,
                "quarantined": fault is not None,
            }
        )

    def drop(self, name: str, count: int = 1) -> None:
        self.dropped[name] = self.dropped.get(name, 0) + count

    def drop_undeclared(self, name: str) -> None:
        """Leaves out a value of a field that neither the code book nor the spec knows, and says so."""
        self.drop(name)
        self.undeclared[name] = self.undeclared.get(name, 0) + 1

    def finding(self, name: str, count: int = 1) -> None:
        self.findings[name] = self.findings.get(name, 0) + count


def require_folder(path: Path, what: str) -> None:
    """SourceError in one clear line where a folder of the export is missing."""
    if not path.is_dir():
        found = "a file" if path.exists() else "nothing"
        raise SourceError(str(path), "", f"{what} is missing", found=found, allowed="a folder")


def require_file(path: Path, what: str) -> None:
    """SourceError in one clear line where a file of the export is missing or empty."""
    if not path.is_file():
        raise SourceError(str(path), "", f"{what} is missing", found="a folder" if path.exists() else "nothing", allowed="a file")
    if path.stat().st_size == 0:
        raise SourceError(str(path), "", f"{what} is empty", found="0 bytes")
