"""What the draft knows of an export: files, tables, columns, and what was noticed, in counts and row numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal[
    "zendesk", "sqlite", "sql_dump", "csv", "ndjson", "json", "xlsx", "parquet", "mbox", "eml", "archive", "policy",
    "code_book", "text", "empty", "unknown", "link", "unreadable",
]  # fmt: skip
"""What a file is, by its content."""

ColumnType = Literal["empty", "int", "number", "bool", "time", "date", "json", "code", "id", "text"]
"""What a column's values are; `id`: names something, `code`: one of a few values."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the export."""

    path: Path
    name: str
    """Relative to the export."""
    kind: Kind
    size: int
    """Bytes."""
    note: str = ""
    """What is odd about it, or what tells its kind."""
    gzipped: bool = False
    extra: dict[str, Any] = field(default_factory=dict)
    """What reading needs: delimiter and charset of a CSV."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How a column writes times."""

    time_format: str | None
    """strptime format; None: ISO 8601 with an offset, or Unix seconds (`unit`)."""
    offset: bool
    """Whether the values carry their zone."""
    sql: str
    """duckdb expression that reads `{}` as a timestamp, null where it cannot."""
    share: float
    """Share of the values that it reads, in [0, 1]."""
    evidence: str
    """Counts that decide it."""
    decided: bool = True
    """False: nothing tells the order of day and month."""
    grain_s: int = 0
    """0 exact to the second, 60 or 86400."""


@dataclass(slots=True)
class Column:
    """A column of a table, in numbers."""

    name: str
    filled: int
    """Rows with a value (null words and blanks are none)."""
    distinct: int
    type: ColumnType
    evidence: str
    """Counts behind `type`."""
    null_words: dict[str, int] = field(default_factory=dict)
    """Word that stands for no value -> rows."""
    longest: int = 0
    """Characters of the longest value."""
    person: str = ""
    """Field type of personal data (name, email, phone, address, postcode, login), "" for none found."""
    person_evidence: str = ""
    language: str = ""
    """Of texts: ISO 639-1 code, "mixed" or "" (not told)."""
    language_evidence: str = ""
    clock: Clock | None = None
    values: dict[str, int] = field(default_factory=dict)
    """Values of a code column that stand in two rows or more -> rows. Never of a column that may name people."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A column that tells at a row what was known only later, or may do so."""

    column: str
    grade: Literal["evidence", "suspect", "planned", "constant"]
    """evidence: by its own times; suspect: filled throughout and named or filled like such a column; planned: a later time
    that may be a plan; constant: never varies within a record, which alone proves nothing."""
    why: str


@dataclass(frozen=True, slots=True)
class RowHistory:
    """A table that holds several rows of one record, in an order."""

    record: str
    order: str
    time: str | None
    """Column with the time of the row itself."""
    records: int
    evidence: str
    changing: tuple[str, ...]
    suspicions: tuple[Suspicion, ...]


@dataclass(frozen=True, slots=True)
class FieldChanges:
    """One field of a change log."""

    name: str
    rows: int
    records: int
    changed: int
    """Records in which it has had two values or more."""
    late: int
    """Records in which it was first set after the record's first moment."""
    place: float
    """Mean place of its first setting among the record's moments, in [0, 1]; 1 is the last."""
    distinct: int
    column: Column | None
    """Its values as a column, where no table has it as one or it is a code's (values that nothing has any more count)."""


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """A table with one row a field that an act set."""

    record: str
    field: str
    value: str
    op: str | None
    seq: str | None
    times: tuple[str, ...]
    actor: str | None
    reference: str | None
    of: str | None
    """Table whose changes it holds, where there is one."""
    evidence: str
    fields: dict[str, FieldChanges]


@dataclass(slots=True)
class Table:
    """A table that a file holds."""

    name: str
    relation: str
    """Quoted name in the store."""
    file: str
    kind: Kind
    rows: int
    columns: dict[str, Column] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    """What could not be read -> count and places."""
    keys: list[str] = field(default_factory=list)
    """Columns whose values are all there and all different."""
    history: RowHistory | None = None
    log: ChangeLog | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """Values of a column that stand in another table's key."""

    table: str
    column: str
    to_table: str
    to_column: str
    matched: int
    """Distinct values that stand there."""
    distinct: int
    """Distinct values of the column."""
    field: str = ""
    """Of a change log: the field whose values they are."""

    @property
    def share(self) -> float:
        return self.matched / self.distinct


@dataclass(frozen=True, slots=True)
class Outcome:
    """A column that may tell how a record ended."""

    table: str
    column: str
    """Column, or field of the change log."""
    values: dict[str, int]
    evidence: str
    records: int
    """Records that have a value."""
    filled_late: bool
    """Whether the records themselves show that it is filled at the end."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What may open a record."""

    table: str
    record: str
    evidence: str
    words: bool
    """Whether it holds the requester's own words."""


@dataclass(slots=True)
class Profile:
    """All that was found."""

    export: Path
    files: list[FoundFile]
    tables: dict[str, Table] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)
    kinds: tuple[str, dict[str, tuple[str, int, int]], str] = ("", {}, "")
    """Field that tells the kind of a request, outcome value -> (kind, records of it, records), evidence."""
    findings: list[str] = field(default_factory=list)
    """What is odd or missing, in plain words."""
