"""Any database that SQLAlchemy reads: tables with declared columns, and for each a history table that tells every change.

A table may instead hold its own history: every row one version of a record with the interval in which it was valid (`validity`).

History is fed, never the current row: that is read only to see whether the history ends in it (a difference is counted as
`history_gap`). Of a table without history only the fields that the code book calls static become events, at the row's creation;
the others cannot be rebuilt and are left out, listed in findings.json.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy.engine import Connection

from ingest.source import Context, Output, Part, Row, RowFault, Source
from ingest.sources import _sql_read as db
from ingest.sources._sql_options import HistoryLayout, SqlOptions, TableOptions, check, named_by, place
from ingest.sources._sql_validity import Link, Validity, Version, chain, order_of
from ingest.times import Stamp, TimeFault, from_iso, from_local, instant, to_utc, utc_text
from ingest.values import checked, shown_code, shown_name, type_of
from schemas.events import EventType
from schemas.records import FieldRule

OPS = {"insert": EventType.create, "update": EventType.change, "delete": EventType.delete}


def _url(context: Context) -> Any:
    options = context.options
    return db.database_url(options.url, options.url_env, context.root, context.spec_file, place(context))


def _tables(context: Context) -> list[str]:
    suffix = context.options.history.suffix if context.options.history else ""
    return [
        name
        for table in context.options.tables
        for name in ((table.table, table.table + suffix) if table.logged else (table.table,))
    ]


def inputs(context: Context) -> dict[str, str]:
    check(context)
    url = _url(context)
    name = db.shown(url, context.export)
    return {name: db.digest(url, name, _tables(context), context.options.schema_name)}


def parts(context: Context) -> list[Part]:
    """One a table, with its history; every missing table or column is found before anything is read."""
    url = _url(context)
    name = db.shown(url, context.export)
    history, schema = context.options.history, context.options.schema_name
    with db.connected(url, name) as connection:
        for table in context.options.tables:
            db.require_columns(connection, name, table.table, named_by(context, table.table), schema)
            if table.logged:
                there = table.table + history.suffix
                db.require_columns(connection, name, there, named_by(context, there), schema)
    return [Part(table.table, index) for index, table in enumerate(context.options.tables)]


def read(context: Context, part: Part, output: Output) -> None:
    url = _url(context)
    name = db.shown(url, context.export)
    with db.connected(url, name) as connection:
        reader = TableReader(context, output, connection, name, context.options.tables[part.payload])
        if reader.table.validity is not None:
            reader.versions(reader.table.validity)
            return
        if reader.table.logged:
            reader.history()
        reader.current()


@dataclass(slots=True)
class TableReader:
    """One table while it is read."""

    context: Context
    output: Output
    connection: Connection
    file: str
    table: TableOptions
    ends: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    """Key -> canonical field -> the values that the history may end in: last as recorded, last as it was."""
    last: dict[tuple[str, str], list[tuple[Any, ...]]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    @property
    def kind(self) -> tuple[str, str]:
        return self.table.system, self.table.kind

    def record(self, key: str) -> tuple[str, str, str]:
        return self.table.system, self.table.kind, key

    # --- history -----------------------------------------------------------------------------------------------------

    def history(self) -> None:
        layout = self.context.options.history
        name = self.table.table + layout.suffix
        columns = layout.columns()
        found = [
            dict(zip(columns, row, strict=True))
            for row in db.select(self.connection, name, columns, self.context.options.schema_name)
        ]
        found.sort(key=lambda row: (*_sortable(row[layout.seq]), str(list(row.values()))))
        unnumbered = 0
        for number, told in enumerate(found, 1):
            unnumbered += told[layout.seq] is None
            seq = told[layout.seq]
            label = f"unnumbered-{unnumbered}" if seq is None else str(seq) if isinstance(seq, int) else f"{number}-th"
            with self.output.row(self.file, f"row:{name}:{label}", number, unit=name) as row:
                self.change(row, layout, told)

    def change(self, row: Row, layout: HistoryLayout, told: dict[str, Any]) -> None:
        key = self.key(told[layout.key], layout.key)
        record = self.record(key)
        seq = told[layout.seq]
        if seq is not None and (not isinstance(seq, int) or isinstance(seq, bool)):
            raise RowFault("not a whole number", field=layout.seq, found=type_of(seq), allowed="a whole number")
        if told[layout.op] not in OPS:
            raise RowFault("unknown code", field=layout.op, found=shown_code(told[layout.op], OPS), allowed=", ".join(OPS))
        kind = OPS[told[layout.op]]
        at = self.stamp(told[layout.event_ts], layout.event_ts)
        recorded = self.stamp(told[layout.recorded_ts], layout.recorded_ts) if layout.recorded_ts else at
        actor = _text(told[layout.actor], layout.actor) if layout.actor else None
        reference = _text(told[layout.reference], layout.reference) if layout.reference else None
        order = (self.table.table, seq, 0)
        column = told[layout.field]
        if kind is EventType.delete or column is None:
            if kind is EventType.change:
                raise RowFault(
                    "an update without a field", field=layout.field, found="null", allowed=", ".join(self.table.columns)
                )
            row.event(record, kind, at, order=order, recorded=recorded, actor=actor, reference=reference)
            if kind is EventType.delete:
                self.gone.add(key)
            else:
                self.gone.discard(key)
                row.mark(record, "opened", at, order)
            self.ends.setdefault(key, {})
            return
        if not isinstance(column, str):
            raise RowFault("not the name of a column", field=layout.field, found=type_of(column), allowed="text or null")
        if column not in self.table.columns:
            self.output.drop_undeclared(f"{'.'.join(self.kind)}.{shown_name(column)}")
            return
        name, rule = self.rule(column)
        value = self.value(rule, name, told[layout.value], written=True)
        if rule.known_at == "never":
            self.output.drop(f"{'.'.join(self.kind)}.{name}")
            return
        row.event(
            record,
            kind,
            at,
            order=order,
            recorded=recorded,
            actor=actor,
            field=name,
            value=value,
            reference=reference,
        )
        self.owner(row, record, column, value)
        self.ends.setdefault(key, {})
        self.last.setdefault((key, name), []).append((at.at, recorded.at, seq is None, seq or 0, value))

    # --- a table of versions -----------------------------------------------------------------------------------------

    def versions(self, layout: Validity) -> None:
        """Reads all rows first: whether one can be taken depends on the others of its record."""
        columns = list(self.table.roles())
        rows = list(db.select(self.connection, self.table.table, columns, self.context.options.schema_name))
        rows.sort(key=lambda row: [_sortable(value) for value in row])
        read: list[Version | RowFault] = [self.version(layout, dict(zip(columns, row, strict=True))) for row in rows]
        by_key: dict[str, list[Version]] = {}
        for version in read:
            if isinstance(version, Version):
                by_key.setdefault(version.key, []).append(version)
        judged = {
            id(version): link
            for versions in by_key.values()
            for version, link in zip(order_of(versions), chain(versions), strict=True)
        }
        for number, found in enumerate(read, 1):
            with self.output.row(self.file, f"row:{self.table.table}:{number}-th", number, unit=self.table.table) as row:
                link = found if isinstance(found, RowFault) else judged[id(found)]
                if isinstance(link, RowFault):
                    raise link
                self.valid(row, link)

    def version(self, layout: Validity, told: dict[str, Any]) -> Version | RowFault:
        """One row, or why it cannot be read."""
        try:
            key = self.key(told[self.table.key], self.table.key)
            start, until = self.stamp(told[layout.start], layout.start), told[layout.end]
            end = None if until is None or until in layout.forever else self.stamp(until, layout.end)
            if end is not None and end.at is not None and start.at is not None and end.at <= start.at:
                raise RowFault(
                    "ends before it begins", field=layout.end, found="an earlier time", allowed=f"after {layout.start}"
                )
            recorded = self.stamp(told[layout.recorded], layout.recorded) if layout.recorded else None
            named = [(column, *self.rule(column)) for column in self.table.columns]
            fields = {name: self.value(rule, name, told[column], written=False) for column, name, rule in named}
        except RowFault as fault:
            return fault
        return Version(key, start, end, recorded, told, fields)

    def valid(self, row: Row, link: Link) -> None:
        """Events of a version: its values from its start on, and the record's end where no other row goes on from its own."""
        version = link.version
        record, stream = self.record(version.key), f"{self.table.table}:{version.key}"
        kind = EventType.create if link.begins_record else EventType.change
        order = (stream, link.number, 0)
        if link.gap_s:
            self.output.finding(f"validity_gap:{row.at}: found {link.gap_s} s in which no row is valid, allowed 0 s")
        if link.begins_record:
            row.event(record, EventType.create, version.start, order=order, recorded=version.recorded)
        if link.number == 0:
            row.mark(record, "opened", version.start, order)
        for number, column in enumerate(self.table.columns, 1):
            name, rule = self.rule(column)
            self.owner(row, record, column, version.fields[name])
            if rule.known_at == "never":
                self.output.drop(f"{'.'.join(self.kind)}.{name}")
                continue
            place, value = (stream, link.number, number), version.fields[name]
            row.event(record, kind, version.start, order=place, recorded=version.recorded, field=name, value=value)
        if version.end is not None and not link.goes_on:
            # An end is told by closing the row, at a time of its own that the table does not keep.
            row.event(record, EventType.delete, version.end, order=(stream, link.number, len(self.table.columns) + 1))

    # --- the table itself --------------------------------------------------------------------------------------------

    def current(self) -> None:
        columns = list(self.table.roles())
        rows = list(db.select(self.connection, self.table.table, columns, self.context.options.schema_name))
        rows.sort(key=lambda row: [_sortable(value) for value in row])
        present: set[str] = set()
        for number, values in enumerate(rows, 1):
            told = dict(zip(columns, values, strict=True))
            label = told[self.table.key] if isinstance(told[self.table.key], str | int) else type_of(told[self.table.key])
            with self.output.row(self.file, f"row:{self.table.table}:{label}", number, unit=self.table.table) as row:
                key = self.key(told[self.table.key], self.table.key)
                if key in present:
                    raise RowFault("the key is used twice", field=self.table.key, found="a repeated key")
                present.add(key)
                fields = {
                    name: self.value(rule, name, told[column], written=False)
                    for column in self.table.columns
                    for name, rule in [self.rule(column)]
                }
                if self.table.logged:
                    self.compare(key, fields)
                else:
                    self.begin(row, key, told, fields)
        if self.table.logged:
            for _ in set(self.ends) - present - self.gone:
                self.gap("deletion")

    def begin(self, row: Row, key: str, told: dict[str, Any], fields: dict[str, Any]) -> None:
        """Events of a row without history: that it began, and what never changes."""
        record, created = self.record(key), self.table.created or ""
        at = self.stamp(told[created], created)
        row.event(record, EventType.create, at, order=(self.table.table, None, 0))
        row.mark(record, "opened", at, (self.table.table, None, 0))
        for column in self.table.columns:
            name, rule = self.rule(column)
            self.owner(row, record, column, fields[name])
            if rule.known_at == "static":
                row.event(record, EventType.create, at, order=(self.table.table, None, 0), field=name, value=fields[name])
            else:
                self.output.drop(f"{'.'.join(self.kind)}.{name}")

    def compare(self, key: str, fields: dict[str, Any]) -> None:
        """Counts each field whose present value is not what the history ends in, by its order or by the times it tells."""
        if key not in self.ends:
            self.gap("record")
            return
        for name, value in fields.items():
            rule = self.context.code_book.rule(*self.kind, name)
            if rule is None or rule.known_at == "never":
                if value is not None:
                    self.output.drop(f"{'.'.join(self.kind)}.{name}")
                continue
            told = self.last.get((key, name), [])
            if not told:
                if value is not None:
                    self.gap(name)
                continue
            as_recorded = max(told, key=lambda change: (change[1], not change[2], change[3]))
            as_written = max(told, key=lambda change: (not change[2], change[3]))
            as_it_was = max(told, key=lambda change: (change[0], not change[2], change[3]))
            if value not in (as_recorded[-1], as_written[-1], as_it_was[-1]):
                self.gap(name)

    def gap(self, name: str) -> None:
        self.output.finding(f"history_gap:{'.'.join(self.kind)}.{name}")

    # --- values ------------------------------------------------------------------------------------------------------

    def owner(self, row: Row, record: tuple[str, str, str], column: str, value: Any) -> None:
        if value is None:
            return
        if column == self.table.organisation:
            row.owner(record, organisation=str(value))
        if self.table.parent is not None and column == self.table.parent.column:
            above = next(table for table in self.context.options.tables if table.table == self.table.parent.table)
            row.owner(record, parent=(above.system, above.kind, str(value)))

    def key(self, raw: Any, column: str) -> str:
        if isinstance(raw, str) and raw:
            return raw
        if isinstance(raw, int) and not isinstance(raw, bool):
            return str(raw)
        raise RowFault("not a key", field=column, found=type_of(raw), allowed="text or a whole number")

    def rule(self, column: str) -> tuple[str, FieldRule]:
        name = self.table.columns[column]
        rule = self.context.code_book.rule(*self.kind, name)
        assert rule is not None  # check() has seen every declared column in the code book
        return name, rule

    def stamp(self, raw: Any, column: str) -> Stamp:
        """A time of the database: text by the declared format, or the driver's own datetime; without a zone it is local."""
        try:
            if isinstance(raw, str):
                if self.context.spec.time_format is None:
                    return from_iso(raw)
                return from_local(raw, self.context.spec.zone, self.context.spec.time_format)
            if isinstance(raw, datetime):
                text, zone = raw.isoformat(" "), self.context.spec.zone
                return Stamp(instant(raw, zone) if raw.tzinfo is None else to_utc(raw, text), text, zone, 0)
        except TimeFault as fault:
            raise RowFault(fault.reason, field=column, found=fault.found, allowed=fault.allowed) from fault
        raise RowFault("time is missing" if raw is None else "not a time", field=column, found=type_of(raw), allowed="a time")

    def value(self, rule: FieldRule, name: str, raw: Any, *, written: bool) -> Any:
        """A value as the code book types it. `written`: a history keeps all values as text; numbers are read from it."""
        field_name = ".".join((*self.kind, name))
        if raw is None:
            return None
        if rule.type == "time":
            at = self.stamp(raw, field_name).at
            assert at is not None  # a stamp of a text or datetime always has an instant
            return utc_text(at)
        raw = native(rule.type, raw, written)
        return checked(self.context.code_book, self.kind, name, raw)


INTEGER = re.compile(r"-?(?:0|[1-9]\d*)")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
MOST_DIGITS = 38
"""Digits of the longest whole number of a database (a 128-bit decimal); longer ones are no number of anything."""


def native(kind: str, raw: Any, written: bool) -> Any:
    """A driver's value as JSON would have it, where that loses nothing; anything else as it is, for the type check to refuse."""
    text = raw if written and isinstance(raw, str) else ""
    if kind == "bool":
        flags = {"0": False, "1": True}
        return flags.get(text or (str(raw) if type(raw) is int else ""), raw)
    if kind in {"money", "int"}:
        exact = isinstance(raw, Decimal) and raw.as_tuple().exponent == 0
        return int(raw) if (INTEGER.fullmatch(text) and len(text) <= MOST_DIGITS) or exact else raw
    if kind == "number":
        return float(raw) if NUMBER.fullmatch(text) or isinstance(raw, Decimal) else raw
    if kind == "date" and isinstance(raw, date) and not isinstance(raw, datetime):
        return raw.isoformat()
    return raw


def _text(raw: Any, column: str) -> str | None:
    if isinstance(raw, bytes):
        raise RowFault("bytes are no text", field=column, found=type_of(raw), allowed="UTF-8")
    return None if raw is None else str(raw)


def _sortable(value: Any) -> tuple[str, Any]:
    """An order over values of mixed types: numbers first, by value; then by type and text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ("", value)
    return (type(value).__name__, str(value))


def declared_at(context: Context, table: str, column: str) -> str:
    """The options that name the column, for a fault in it."""
    return ", ".join(named_by(context, table).get(column, ()))


SOURCE = Source(options=SqlOptions, inputs=inputs, parts=parts, read=read, declared_at=declared_at)
