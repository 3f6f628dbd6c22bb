"""What a spec says of a database: its tables, the columns of their histories, and whose the records are.

A column may have two roles (a history with one time); whatever is wrong with a column names the options that point at it.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from ingest.source import Context, SourceOptions
from ingest.sources._sql_validity import Validity
from ingest.times import format_faults
from schemas.errors import SpecError

ROLES = ("seq", "key", "op", "field", "value", "event_ts", "recorded_ts", "actor", "reference")
"""Options of a history that name a column."""


def _by_column(named: Iterable[tuple[str, str | None]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for role, column in named:
        if column is not None:
            found.setdefault(column, []).append(role)
    return found


class _Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class HistoryLayout(_Options):
    """Columns of `<table><suffix>`: one row a field that an act set; one without a field says that the record began or ended."""

    suffix: str = "_history"
    seq: str
    """Whole number that orders the changes; null in rows whose order the system does not know."""
    key: str
    op: str
    """insert | update | delete"""
    field: str
    """Name of a column of the table, or null."""
    value: str
    """New value, typed or as text."""
    event_ts: str
    recorded_ts: str | None = None
    actor: str | None = None
    reference: str | None = None

    def roles(self) -> dict[str, list[str]]:
        """Column -> the options that name it: one column may have two roles (a table with a single time)."""
        return _by_column((role, getattr(self, role)) for role in ROLES)

    def columns(self) -> list[str]:
        """Each once, in the order of the roles."""
        return list(self.roles())


class ParentColumn(_Options):
    column: str
    table: str


class TableOptions(_Options):
    table: str
    system: str
    kind: str
    key: str
    columns: dict[str, str]
    """Column -> canonical field."""
    organisation: str | None = None
    """Column that holds the record's organisation."""
    parent: ParentColumn | None = None
    """Column that holds the key of the record whose organisation it shares."""
    history: bool = True
    """False: the table has no history; `created` names the column with the time at which a row began."""
    created: str | None = None
    validity: Validity | None = None
    """The rows are versions, each valid in an interval of its own: there is no other history (`history` is not looked at)."""

    def roles(self) -> dict[str, list[str]]:
        """Column of the table itself -> the options that name it."""
        named: list[tuple[str, str | None]] = [("key", self.key), *((f"columns.{column}", column) for column in self.columns)]
        named += [("organisation", self.organisation), ("parent.column", self.parent.column if self.parent else None)]
        named += [("created", self.created), *(self.validity.named() if self.validity else ())]
        return _by_column(named)

    @property
    def logged(self) -> bool:
        """True: its changes stand in a history table."""
        return self.history and self.validity is None


class SqlOptions(SourceOptions):
    url: str | None = None
    """SQLAlchemy URL; {path} stands for the source's folder. One with a password belongs in the environment: url_env."""
    url_env: str | None = None
    schema_name: str | None = None
    history: HistoryLayout | None = None
    tables: tuple[TableOptions, ...] = Field(min_length=1)


def place(context: Context) -> str:
    """Dotted path of the options in the spec, for its faults."""
    return f"sources.{context.spec.name}.options"


def check(context: Context) -> None:
    """SpecError with every fault of the declaration against itself and the code book."""
    options, faults = context.options, []
    if context.spec.time_format is not None and (why := format_faults(context.spec.time_format)):
        faults.append(f"sources.{context.spec.name}.time_format: {why}")
    names = [table.table for table in options.tables]
    faults += [f"{place(context)}.tables.{name}: is declared twice" for name in sorted({n for n in names if names.count(n) > 1})]
    for table in options.tables:
        where = f"{place(context)}.tables.{table.table}"
        for column, name in table.columns.items():
            if first := next((c for c, n in table.columns.items() if n == name and c != column), None):
                faults.append(f"{where}.columns.{column}: {name!r} is given by column {first!r} too; one of them")
            if context.code_book.rule(table.system, table.kind, name) is None:
                faults.append(f"{where}.columns.{column}: {table.system}.{table.kind}.{name} is not in the code book")
        if table.parent is not None and table.parent.table not in names:
            faults.append(f"{where}.parent.table: {table.parent.table!r} is not one of {', '.join(names)}")
        if table.logged and options.history is None:
            faults.append(f"{where}.history: no [sources.options.history] is declared; say history = false where there is none")
        if not table.history and table.validity is None and table.created is None:
            faults.append(f"{where}.created: a table without history needs the column with the time at which a row began")
    if faults:
        raise SpecError(context.spec_file, faults)


def named_by(context: Context, table: str) -> dict[str, list[str]]:
    """Column of the table, or of the history, of that name -> dotted paths of the options that name it; {} for another name."""
    history = context.options.history
    for declared in context.options.tables:
        if declared.table == table:
            return {c: [f"{place(context)}.tables.{table}.{role}" for role in roles] for c, roles in declared.roles().items()}
        if history is not None and declared.table + history.suffix == table:
            return {c: [f"{place(context)}.history.{role}" for role in roles] for c, roles in history.roles().items()}
    return {}
