"""One candidate record with what the clean records say about it: its turns, what was written on its account, how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.tables import polars_schema, read_table
from schemas.errors import StageError
from schemas.events import EVENT_COLUMNS, POLICY_COLUMNS, RECORD_COLUMNS
from schemas.files import read_json
from schemas.records import CodeBook
from schemas.spec import SelectSpec

if TYPE_CHECKING:
    import polars as pl

REQUESTER_FIELDS = ("requester_id", "requester")
"""Fields of a request's record that hold who made it, the first that the code book knows."""
US = 1_000_000


def iso(us: int) -> str:
    """ISO 8601 UTC with as many fraction digits as needed."""
    moment = datetime.fromtimestamp(us // US, UTC)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    rest = us % US
    return f"{text}.{rest:06d}Z" if rest else f"{text}Z"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the case."""

    at_us: int | None
    seq: int | None
    actor: str
    text: str
    public: bool
    by_requester: bool
    source: str
    """Reference of the message in the export (vault)."""


@dataclass(frozen=True, slots=True)
class Write:
    """Rows of one record written at one instant on the case's account."""

    system: str
    kind: str
    op: str
    """"create", "update" or "delete"."""
    record_id: str
    fields: dict[str, Any]
    at_us: int | None
    seq: int | None
    source: str = ""
    """Reference of its last row in the export (vault)."""


@dataclass(slots=True)
class Case:
    """A candidate; times are microseconds since 1970 in UTC, None where the export holds none."""

    record_id: str
    organisation: str | None
    opened_us: int | None
    opening_seq: int | None
    closed_us: int | None
    code: str | None
    requester: str | None = None
    requester_source: str = ""
    """Reference of the row that says who made the request (vault)."""
    turns: list[Turn] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)
    """Field -> last recorded value, post hoc ones too: for judging the outcome, never for showing."""
    decided_us: int | None = None
    """When the outcome's code was first recorded: what is said from then on knows it."""
    deleted: bool = False
    links: list[tuple[str, str]] = field(default_factory=list)
    """(name of the link, record id of the other end)."""

    @property
    def opening(self) -> Turn | None:
        """The requester's first public words."""
        return next((t for t in self.turns if t.by_requester and t.public and t.text.strip()), None)


@dataclass(slots=True)
class Clean:
    """`data/clean/<supplier>`: tables are read when asked for, by the shards that need them."""

    folder: Path
    codebook: CodeBook
    record: tuple[str, str]
    log: Path | None = None
    """Folder with `events/`, where it is not `folder`: those that one shard needs (see tasks.portions)."""

    def records(self) -> pl.DataFrame:
        """The candidates: one row a record of the request's kind, sorted by id."""
        import polars as pl

        table = read_table(self.folder / "records.parquet", RECORD_COLUMNS)
        return table.filter((pl.col("system") == self.record[0]) & (pl.col("kind") == self.record[1])).sort("record_id")

    def events(self) -> pl.LazyFrame:
        import polars as pl

        files = sorted((self.folder / "events").glob("*.parquet"))
        if not files:
            raise StageError(f"{self.folder / 'events'} holds no events; run `python -m deid` again")
        if self.log is not None:
            # A shard whose cases have no events reads an empty log, not the whole one.
            files = sorted((self.log / "events").glob("*.parquet"))
        if not files:
            return pl.LazyFrame(schema=polars_schema(EVENT_COLUMNS))
        return pl.scan_parquet(files).select(list(EVENT_COLUMNS))

    def policies(self) -> pl.DataFrame | None:
        """Clauses of every policy version, or None where the supplier has none."""
        path = self.folder / "policies.parquet"
        if not path.exists():
            return None
        table = read_table(path, POLICY_COLUMNS)
        return table if table.height else None

    def declarations(self) -> list[dict[str, Any]]:
        """Descriptions of declared systems as the supplier wrote them, [] where there are none."""
        path = self.folder / "declarations.json"
        found = read_json(path) if path.exists() else []
        return list(found.values()) if isinstance(found, dict) else list(found)

    def requester_field(self) -> str | None:
        return next((f for f in REQUESTER_FIELDS if self.codebook.rule(*self.record, f)), None)

    def owners(self) -> dict[str, str]:
        """Record id -> requester, from what each opening gave."""
        import polars as pl

        name = self.requester_field()
        if name is None:
            return {}
        rows = (
            self.events()
            .filter((pl.col("system") == self.record[0]) & (pl.col("kind") == self.record[1]))
            .filter((pl.col("type") == "create") & (pl.col("field") == name) & pl.col("value_json").is_not_null())
            .select("record_id", "value_json", "event_ts", "seq", "source_pos")
            .collect()
            .sort(["record_id", "event_ts", "seq", "source_pos"], nulls_last=True)
        )
        found = {rid: json.loads(value) for rid, value, *_ in rows.iter_rows()}
        return {rid: value for rid, value in found.items() if isinstance(value, str)}


def open_clean(folder: Path, select: SelectSpec) -> Clean:
    """Raises StageError where the folder lacks its code book or the code book does not fit."""
    codebook = CodeBook.model_validate(read_json(folder / "codebook.json"))
    return Clean(folder, codebook, (select.record_system, select.record_kind))


def us(value: datetime | None) -> int | None:
    return None if value is None else int(value.timestamp()) * US + value.microsecond


def read_cases(clean: Clean, ids: Iterable[str]) -> list[Case]:
    """The candidates `ids` with all that was recorded of them, sorted by id."""
    import polars as pl

    wanted = sorted(set(ids))
    system, kind = clean.record
    cases = {
        row["record_id"]: Case(
            row["record_id"],
            row["organisation"],
            us(row["opened_ts"]),
            row["opening_seq"],
            us(row["closed_ts"]),
            row["outcome_code"],
        )
        for row in clean.records().filter(pl.col("record_id").is_in(wanted)).iter_rows(named=True)
    }
    # The streaming order of a scan is not part of the contract: sort by what orders the log.
    keys = ["record_id", "event_ts", "seq", "field", "source_pos"]
    own = (
        clean.events()
        .filter((pl.col("system") == system) & (pl.col("kind") == kind) & pl.col("record_id").is_in(wanted))
        .collect()
        .sort(keys, nulls_last=True, maintain_order=True)
    )
    for (rid,), rows in own.group_by(["record_id"], maintain_order=True):
        # A log with an untimed row is read in its own sequence, where every row has its place.
        untimed = rows["event_ts"].null_count() and not rows["seq"].null_count()
        for row in (rows.sort("seq", maintain_order=True) if untimed else rows).iter_rows(named=True):
            _own_event(cases[str(rid)], row, clean)
    for case in cases.values():
        case.turns = [_with_author(turn, case.requester) for turn in case.turns]
    foreign = (
        clean.events()
        .filter(pl.col("reference").is_in(wanted) & (pl.col("system") != system))
        .filter(pl.col("type").is_in(["create", "change", "delete"]))
        .collect()
        .sort(["reference", "event_ts", "seq", "system", "kind", "record_id", "field"], nulls_last=True, maintain_order=True)
    )
    for (case_id,), rows in foreign.group_by(["reference"], maintain_order=True):
        cases[str(case_id)].writes = _writes(rows)
    return [cases[rid] for rid in sorted(cases)]


def _own_event(case: Case, row: dict[str, Any], clean: Clean) -> None:
    if row["type"] == "message":
        public = row["visibility"] == "public"
        case.turns.append(
            Turn(
                us(row["event_ts"]), row["seq"], row["actor_id"] or "", row["text"] or "", public, False, row["source_pos"] or ""
            )
        )
    elif row["type"] == "delete":
        case.deleted = True
    elif row["type"] == "link":
        other = json.loads(row["value_json"]) if row["value_json"] else {}
        case.links.append((row["field"] or "", str(other.get("record_id", ""))))
    elif row["field"] is not None:
        value = json.loads(row["value_json"]) if row["value_json"] is not None else None
        case.last[row["field"]] = value
        at = us(row["event_ts"])
        if case.code is not None and value == case.code and at is not None:
            case.decided_us = at if case.decided_us is None else min(case.decided_us, at)
        if row["field"] == clean.requester_field() and row["type"] == "create" and isinstance(value, str):
            case.requester, case.requester_source = value, row["source_pos"] or ""


def _with_author(turn: Turn, requester: str | None) -> Turn:
    by = requester is not None and turn.actor.rpartition(":")[2] == requester
    return Turn(turn.at_us, turn.seq, turn.actor, turn.text, turn.public, by, turn.source)


def _writes(rows: pl.DataFrame) -> list[Write]:
    """Rows of one record at one instant, together, in the order in which they were made."""
    found: dict[tuple[Any, ...], Write] = {}
    ops = {"create": "create", "change": "update", "delete": "delete"}
    for row in rows.iter_rows(named=True):
        at = us(row["event_ts"])
        key = (row["system"], row["kind"], row["record_id"], row["type"], at)
        write = found.get(key)
        if write is None:
            source = row["source_pos"] or ""
            write = found[key] = Write(row["system"], row["kind"], ops[row["type"]], row["record_id"], {}, at, row["seq"], source)
        if row["field"] is not None:
            write.fields[row["field"]] = json.loads(row["value_json"]) if row["value_json"] is not None else None
    return list(found.values())
