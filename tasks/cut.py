"""The cut: what the systems had recorded when a request arrived, for many requests from one DuckDB window query.

State(cut) = per (system, record, field) the last row by (event_ts, seq) among those stamped *and* recorded before the cut, plus
the opening record by its id, then deletes. A window (`row_number`) and not an as-of join: as-of joins return either of two tied
rows. DuckDB ranks and sorts the log under its memory limit; `tasks.cut_fold` writes each record anew only where it has changed.
Times are compared as integer microseconds: no session time zone takes part. Does not cover: folds of daylight saving (`ingest`
decides them when it reads a time).
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

from schemas.errors import StageError
from schemas.files import canonical_json, sha256_text
from schemas.records import CodeBook
from tasks import cut_totals
from tasks.cut_fold import EXISTENCE, Changes, Kind, Organisation, Record, Row, Shown, untied, written
from tasks.merged import members

VISIBLE = ("start", "history", "static")
"""`known_at` values that may enter a state; post_hoc and never do not, nor does a field without a rule."""


def snapshot_us(cut_us: int) -> int:
    """Start of the cut's month: the state then is one content that the month's cases of an organisation share, and each adds
    the rows that have changed since. It lies before the cut, so that nothing of the sharing tells what came after."""
    moment = datetime.fromtimestamp(cut_us // 1_000_000, UTC)
    return int(datetime(moment.year, moment.month, 1, tzinfo=UTC).timestamp()) * 1_000_000


@dataclass(frozen=True, slots=True)
class CutCase:
    """One request whose state is wanted."""

    case_id: str
    """Record id of the request's own record."""
    organisation: str | None
    """Whose records the agent's tools reach; None: no records but the opening one."""
    requester: str | None
    """Owner of the earlier records of the request's own kind; None: none of them."""
    cut_us: int
    """Microseconds since 1970 in UTC."""


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A field of a record whose value at the cut the log does not decide."""

    system: str
    kind: str
    record_id: str
    field: str


@dataclass(slots=True)
class StateAtCut:
    """Digests of the layers of one state, later ones over earlier ones (and of their provenance), and why it cannot be trusted,
    if so."""

    parts: list[str] = field(default_factory=list)
    provenance: list[str] = field(default_factory=list)
    ambiguous: list[Ambiguity] = field(default_factory=list)
    """Fields whose last two rows tie with nothing to order them; they are unknown (null) in the state."""
    late: set[str] = field(default_factory=set)
    """Records of which something true before the cut was recorded only after it: whoever handled the case may have known it,
    and the state does not."""
    unrebuildable: list[str] = field(default_factory=list)
    """"system.kind record": deleted after the cut, and its log does not say what it was."""


@dataclass(slots=True)
class Cuts:
    """States of all cases asked for; `texts` holds each layer's canonical JSON by digest, once."""

    states: dict[str, StateAtCut]
    texts: dict[str, str]
    untimed: int
    """Rows excluded because they carry no time."""


_databases: dict[tuple[int, str, int], Any] = {}
"""(Process, memory limit, threads) -> its DuckDB database, the last one: making one costs as much as folding a small shard."""


def connect(
    folder: Path | None = None, *, memory_limit: str = "1GB", threads: int = 1, spill: Path | None = None, apart: bool = False
) -> Any:
    """A DuckDB connection whose answers do not depend on the process's zone; with `folder`, `events` is a view of its files.

    What does not fit into `memory_limit` goes to `spill` (a folder), where one is given. Connections of a process share a
    database and its limit, but no table; `apart`: one of its own, gone with all its memory when it is closed.
    """
    con = _database(memory_limit, threads, spill) if apart else _connection(memory_limit, threads, spill)
    if folder is not None:
        files = sorted((folder / "events").glob("*.parquet"))
        if not files:
            con.close()
            raise StageError(f"{folder / 'events'} holds no events; run `python -m deid` again")
        names = ", ".join(f"'{_quoted(file)}'" for file in files)
        con.execute(f"CREATE TEMP VIEW events AS SELECT * FROM read_parquet([{names}])")
    return con


def _connection(memory_limit: str, threads: int, spill: Path | None) -> Any:
    import duckdb

    # Between processes nothing is shared: a forked child makes its own, and leaves the one of its parent alone.
    made_for = (os.getpid(), memory_limit, threads)
    if made_for in _databases:
        con = _databases[made_for].cursor()
        if spill is None:
            return con
        try:
            con.execute(f"SET temp_directory='{_quoted(spill)}'")
            return con
        except duckdb.Error:
            # It has spilled elsewhere, and then keeps to that folder.
            con.close()
    for earlier in [key for key in _databases if key[0] == os.getpid()]:
        del _databases[earlier]
    _databases[made_for] = _database(memory_limit, threads, spill)
    return _databases[made_for].cursor()


def _database(memory_limit: str, threads: int, spill: Path | None) -> Any:
    import duckdb

    database = duckdb.connect(":memory:", config={"memory_limit": memory_limit, "threads": threads})
    database.execute("SET preserve_insertion_order=false")
    database.execute("SET enable_progress_bar=false")
    if spill is not None:
        database.execute(f"SET temp_directory='{_quoted(spill)}'")
    return database


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _canonical(con: Any) -> None:
    """Value texts that may have more than one form (nested, escaped, fractions) are written in the one canonical form."""
    odd = con.execute(
        r"SELECT DISTINCT v FROM ev WHERE v LIKE '{%' OR v LIKE '[%' OR v LIKE '%\%'"
        r" OR regexp_matches(v, '^\s|\s$|^-?[0-9.]+[.eE]')"
    ).fetchall()
    changed = [(v, text) for (v,) in odd if (text := canonical_json(json.loads(v))) != v]
    if changed:
        con.execute("CREATE OR REPLACE TEMP TABLE canon(v VARCHAR, text VARCHAR)")
        con.executemany("INSERT INTO canon VALUES (?, ?)", changed)
        con.execute("UPDATE ev SET v = canon.text FROM canon WHERE ev.v = canon.v")


_EVENTS = """
CREATE OR REPLACE TEMP TABLE picked AS
SELECT e.system, e.kind, e.record_id, coalesce(w.customer, e.organisation) AS organisation, e.seq, epoch_us(e.event_ts) AS t,
  epoch_us(e.recorded_ts) AS k, coalesce(e.ts_grain_s, 0) * 1000000 AS g,
  CASE e.type WHEN 'create' THEN 1 WHEN 'delete' THEN 2 ELSE 0 END AS op, coalesce(e.value_json, 'null') AS v,
  e.source_pos AS p, r.fld, r.known, CASE
    WHEN e.event_ts IS NULL OR e.recorded_ts IS NULL THEN NULL
    WHEN r.planned THEN epoch_us(e.recorded_ts) + 1
    ELSE greatest(epoch_us(e.event_ts) + greatest(coalesce(e.ts_grain_s, 0) * 1000000, 1, {skew}),
      epoch_us(e.recorded_ts) + greatest(1, {skew}))
  END AS seen_from
FROM events e LEFT JOIN rules r ON r.system = e.system AND r.kind = e.kind AND r.field = e.field
LEFT JOIN (SELECT unnest($organisations) AS organisation, unnest($customers) AS customer) w ON w.organisation = e.organisation
LEFT JOIN (SELECT unnest($records) AS record_id) o ON o.record_id = e.record_id AND e.system = $system AND e.kind = $kind
WHERE e.type IN ('create', 'change', 'delete') AND (e.field IS NULL OR r.known IN ('start', 'history', 'static'))
  AND (o.record_id IS NOT NULL OR (w.organisation IS NOT NULL AND NOT (e.system = $system AND e.kind = $kind)));
CREATE OR REPLACE TEMP TABLE recs AS
SELECT row_number() OVER (ORDER BY system, kind, record_id) AS rec, system, kind, record_id, max(organisation) AS organisation,
  system = $system AND kind = $kind AS own, min(seen_from) FILTER (op > 0) AS made,
  CASE WHEN bool_and(op = 2) THEN max(seen_from) END AS gone,
  bool_or(k > t AND NOT (known IS NOT DISTINCT FROM 'static')) AS late,
  count(*) FILTER (seen_from IS NULL) AS untimed
FROM picked GROUP BY system, kind, record_id;
CREATE OR REPLACE TEMP TABLE ev AS
SELECT r.rec, r.own, r.made, p.fld, p.seq, p.t, p.k, p.g, p.op, p.v, p.p, p.known, p.seen_from
FROM picked p JOIN recs r ON r.system = p.system AND r.kind = p.kind AND r.record_id = p.record_id;
DROP TABLE picked;
"""
"""`seen_from` is the first instant at which a cut sees the row: stamped and recorded before it (a stamp with a grain only when
its interval is over, another system's only when its clock's skew d is), a planned field as soon as it was recorded. So a state
is all rows with seen_from <= cut."""


def load(
    con: Any,
    codebook: CodeBook,
    organisations: Iterable[str],
    records: Iterable[str],
    record: tuple[str, str],
    *,
    skew_us: Mapping[str, int] | None = None,
    groups: Mapping[str, str] | None = None,
) -> None:
    """Makes the tables `ev` and `recs`: rows of these organisations and, of the request's own kind, of these records, with the
    code book's word on each field. `skew_us` is d of each other system (see `measure_skew`). `groups` names the group of each
    organisation that was ever merged with another (see `tasks.merged`): its cases see the records of all of them, as they
    were."""
    rules = sorted(
        (
            *key.split(".", 2),
            cut_totals.COUNTED if rule.aggregate and rule.known_at in VISIBLE else rule.known_at,
            rule.planned_future,
        )
        for key, rule in codebook.fields.items()
    )
    columns = (
        "fld INTEGER",
        "system VARCHAR",
        "kind VARCHAR",
        "field VARCHAR",
        "label VARCHAR",
        "known VARCHAR",
        "planned BOOLEAN",
    )
    table = [(number, *rule[:3], f"{canonical_json(rule[2])}:", *rule[3:]) for number, rule in enumerate(rules)]
    _fill(con, "rules", columns, table)
    cut_totals.declare(con, codebook, record)
    _fill(con, "customers", ("organisation VARCHAR", "customer VARCHAR"), sorted((groups or {}).items()))
    wanted = sorted(members(groups or {}, organisations))
    delays = sorted((skew_us or {}).items())
    said = " ".join(f"WHEN $system{number} THEN {int(d)}" for number, (_, d) in enumerate(delays))
    given = {
        "system": record[0],
        "kind": record[1],
        "organisations": wanted,
        "customers": [(groups or {}).get(name, name) for name in wanted],
        "records": sorted(set(records)),
        **{f"system{number}": system for number, (system, _) in enumerate(delays)},
    }
    for statement in _EVENTS.format(skew=f"CASE e.system {said} ELSE 0 END" if said else "0").split(";\n"):
        if statement.strip():
            con.execute(statement, {name: value for name, value in given.items() if re.search(rf"\${name}\b", statement)} or None)
    _canonical(con)


_EVER = -(2**62)
"""Before every time."""
_CHANGES = f"""
WITH told AS (
  SELECT rec, CASE WHEN known = 'static' THEN {_EVER} ELSE seen_from END AS seen, fld, false AS decides, t, seq, 0 AS o, v, p,
    CASE WHEN known <> 'static' THEN t + greatest(g, 1) END AS until
  FROM ev WHERE fld IS NOT NULL AND op <> 2 AND (known = 'static' OR seen_from IS NOT NULL)
  UNION ALL
  SELECT rec, seen_from, {EXISTENCE}, op > 0, t, seq, -op, CASE WHEN op <> 2 THEN '' END, p, NULL
  FROM ev WHERE seen_from IS NOT NULL AND (op > 0 OR made IS NULL OR seen_from < made)
)
SELECT rec, seen, fld, row_number() OVER latest AS rank, v,
  CASE WHEN fld = {EXISTENCE} THEN '"record/id":' || to_json(p) ELSE to_json(p)::VARCHAR END AS source,
  coalesce(lead(rec) OVER latest = rec AND lead(fld) OVER latest = fld AND until > lead(t) OVER latest, false) AS near
FROM told
WINDOW latest AS (ORDER BY rec, fld, decides, t NULLS FIRST, seq NULLS FIRST, o, v DESC, p DESC NULLS FIRST)
ORDER BY rec, seen
"""
"""Changes of fields (`near`: the next row of the field may tie with it; a static field is what it was whenever it was told) and
of existence: a record is there from the first row that tells of it on, and from its creation on as those and deletions say.
One order, no partitions: sorting each for itself costs twice as much, and ranks are compared within a field only."""
_RECORDS = """
SELECT system, kind, record_id, to_json(record_id)::VARCHAR, organisation, own, gone, late, untimed FROM recs ORDER BY rec
"""
_TIES = """
SELECT rec, fld, seen_from, row_number() OVER (
    PARTITION BY rec, fld ORDER BY t, seq NULLS FIRST, v DESC, p DESC NULLS FIRST), seq, t, g, v, to_json(p)::VARCHAR
FROM ev SEMI JOIN (SELECT unnest($recs) AS rec, unnest($flds) AS fld) n USING (rec, fld)
WHERE op <> 2 AND seen_from IS NOT NULL
"""
_LATE = """
SELECT DISTINCT rec, t, k FROM ev WHERE NOT own AND k > t AND NOT (known IS NOT DISTINCT FROM 'static')
"""
_OWN = """
SELECT record_id, string_agg(to_json(field) || ':' || v, ',' ORDER BY field), string_agg(to_json(field) || ':' || to_json(p),
  ',' ORDER BY field)
FROM (SELECT r.record_id, u.field, e.v, e.p,
             row_number() OVER (PARTITION BY e.rec, e.fld ORDER BY e.t NULLS LAST, e.seq NULLS LAST, e.v, e.p) AS rn
      FROM ev e JOIN recs r ON r.rec = e.rec JOIN rules u ON u.fld = e.fld
      WHERE r.own AND e.op = 1 AND e.known IN ('start', 'static'))
WHERE rn = 1 GROUP BY record_id ORDER BY record_id
"""


FETCHED = 500
"""Rows of the log that are taken over at a time: so few that Python's collector never looks at their tuples twice."""


@dataclass(slots=True)
class _Log:
    """The tables of `load` as records with their changes."""

    own: dict[str, Record] = field(default_factory=dict)
    """Record id -> the request, or an earlier one."""
    others: dict[str | None, list[Record]] = field(default_factory=dict)
    """Organisation (or its group) -> its records."""
    late: dict[str | None, list[tuple[str, int, int]]] = field(default_factory=dict)
    """Organisation -> (record id, when it was true, when it was recorded)."""
    deleted: list[tuple[Record, str | None, bool, int]] = field(default_factory=list)
    """(Record, its organisation, whether it is of the requests' kind, deleted when)."""
    names: dict[int, str] = field(default_factory=dict)
    """Number of a field -> its name."""
    untimed: int = 0


def cut_states(con: Any, cases: Iterable[CutCase], *, owners: Mapping[str, str] | None = None) -> Cuts:
    """State(cut) of every case from the tables of `load`.

    Other records of the requests' own kind enter a state where `owners` (record id -> requester) names the same requester; a
    request's own record never does (see `opening_rows`).
    """
    customers = dict(con.execute("SELECT organisation, customer FROM customers").fetchall())
    by_organisation: dict[str | None, list[CutCase]] = {}
    cases = sorted(cases, key=lambda c: (c.cut_us, c.case_id))
    for case in cases:
        by_organisation.setdefault(customers.get(case.organisation, case.organisation), []).append(case)
    log = _read(con)
    earlier: dict[str, list[Record]] = {}
    for record_id, requester in (owners or {}).items():
        if record_id in log.own:
            earlier.setdefault(requester, []).append(log.own[record_id])
    result = Cuts({c.case_id: StateAtCut() for c in cases}, {}, log.untimed)
    for organisation, mine in by_organisation.items():
        _fold(organisation, mine, log, earlier, result)
        _say_late(mine, log.late.get(organisation, ()) if organisation is not None else (), result)
    for case in cases:
        organisation = customers.get(case.organisation, case.organisation)
        found = set()
        for record, where, own, at in log.deleted:
            reached = (owners or {}).get(record.name) if own else where
            if reached is not None and reached == (case.requester if own else organisation) and at > case.cut_us:
                found.add(f"{json.loads(record.kind.system)}.{json.loads(record.kind.name)} {record.name}")
        result.states[case.case_id].unrebuildable += sorted(found)
    return result


def _read(con: Any) -> _Log:
    log = _Log()
    kinds: dict[tuple[str, str], Kind] = {}
    for fld, system, kind, name, label, known in con.execute(
        "SELECT fld, system, kind, field, label, known FROM rules ORDER BY fld"
    ).fetchall():
        log.names[fld] = name
        if known in (*VISIBLE, cut_totals.COUNTED):
            kinds.setdefault((system, kind), Kind(canonical_json(system), canonical_json(kind))).add(fld, label)
    by_field = {fld: kind for kind in kinds.values() for fld in kind.labels}
    counters = cut_totals.counters(con)
    for counter in counters:
        by_field[counter.fld].counters.append(counter)
    records: list[Any] = [None]
    organisations: list[Any] = [None]
    any_late = False
    for system, kind, name, key, organisation, own, gone, late, untimed in con.execute(_RECORDS).fetchall():
        of = kinds.get((system, kind)) or kinds.setdefault((system, kind), Kind(canonical_json(system), canonical_json(kind)))
        record = Record(len(records), of, name, key)
        records.append(record)
        organisations.append(organisation)
        if own:
            log.own[name] = record
        else:
            log.others.setdefault(organisation, []).append(record)
        if gone is not None:
            log.deleted.append((record, organisation, own, gone))
        any_late |= bool(late)
        log.untimed += untimed
    _tell(con, records)
    if counters:
        for fld, owner, counted in cut_totals.counting(con):
            records[owner].counts(fld, records[counted])
    for rec, at, recorded in con.execute(_LATE).fetchall() if any_late else ():
        log.late.setdefault(organisations[rec], []).append((records[rec].name, at, recorded))
    return log


def _tell(con: Any, records: Sequence[Record]) -> None:
    """Gives each record its changes, in the order in which cuts come to see them."""
    found = con.execute(_CHANGES)
    changes = Changes()
    numbers: list[int] = []
    near: set[tuple[int, int]] = set()
    while rows := found.fetchmany(FETCHED):
        recs, at, flds, ranks, values, sources, ties = zip(*rows, strict=True)
        numbers += recs
        changes.at += at
        changes.fld += flds
        changes.rank += ranks
        changes.value += values
        changes.source += sources
        if any(ties):
            near.update((rec, fld) for rec, fld, tie in zip(recs, flds, ties, strict=True) if tie)
    first = 0
    while first < len(numbers):
        end = bisect_right(numbers, numbers[first], first)
        records[numbers[first]].tell(changes, first, end)
        first = end
    if near:
        _tell_ties(con, records, near)


def _tell_ties(con: Any, records: Sequence[Record], near: set[tuple[int, int]]) -> None:
    """Gives those records other changes of which a field's rows may tie."""
    rows: dict[int, dict[int, list[Row]]] = {}
    wanted = {"recs": [rec for rec, _ in near], "flds": [fld for _, fld in near]}
    for values in con.execute(_TIES, wanted).fetchall():
        row = Row(*values)
        rows.setdefault(row.rec, {}).setdefault(row.fld, []).append(row)
    for rec, fields in rows.items():
        record = records[rec]
        old, place = record.changes, range(record.first, record.end)
        told: list[tuple[Any, ...]] = [
            (old.at[n], old.fld[n], old.rank[n], old.value[n], old.source[n]) for n in place if old.fld[n] not in fields
        ]
        for tied in fields.values():
            untied(tied, told)
        told.sort(key=itemgetter(0))
        record.tell(Changes(*(list(column) for column in zip(*told, strict=True))), 0, len(told))


def _fold(
    organisation: str | None, cases: Sequence[CutCase], log: _Log, earlier: Mapping[str, Sequence[Record]], result: Cuts
) -> None:
    """States of the cases of one organisation, by the order of their cuts."""
    others = Organisation(log.others.get(organisation, ()) if organisation is not None else ())
    month: int | None = None
    base: tuple[str, str] | None = None
    for case in cases:
        if organisation is not None and month != snapshot_us(case.cut_us):
            month = snapshot_us(case.cut_us)
            others.move(month)
            base = _put(result, others.everything())
            others.mark()
        others.move(case.cut_us)
        own = _own(case, earlier, others)
        rows = others.changed()
        # A record of the month's snapshot is gone since: layers only add, so such a case gets a whole state of its own.
        alone = rows is None
        rows = others.everything() if rows is None else rows
        if own:
            rows = sorted([*rows, *((r, texts) for r in own if (texts := r.move(case.cut_us)))], key=lambda row: row[0].number)
        state = result.states[case.case_id]
        for layer in (None if alone else base, _put(result, rows)):
            if layer is not None:
                state.parts.append(layer[0])
                state.provenance.append(layer[1])
        tied = [(others.records[number], flds) for number, flds in others.tied.items()]
        tied += [(record, frozenset(record.tied)) for record in own if record.tied and record.move(case.cut_us)]
        state.ambiguous += [
            Ambiguity(json.loads(record.kind.system), json.loads(record.kind.name), record.name, name)
            for record, flds in sorted(tied, key=lambda row: row[0].number)
            for name in sorted(log.names[fld] for fld in flds)
        ]


def _own(case: CutCase, earlier: Mapping[str, Sequence[Record]], others: Organisation) -> list[Record]:
    """The requester's earlier requests, and what they count beyond the records of the case's organisation."""
    found = [r for r in earlier.get(case.requester, ()) if r.name != case.case_id] if case.requester is not None else []
    for record in found:
        for counted in record.counted.values():
            found += [r for r in counted if r.number not in others.records and r not in found]
    return found


def _put(result: Cuts, rows: Sequence[Shown]) -> tuple[str, str] | None:
    """Digests of the layer of these records and of its provenance."""
    texts = written(rows)
    if texts is None:
        return None
    digests = sha256_text(texts[0]), sha256_text(texts[1])
    result.texts.setdefault(digests[0], texts[0])
    result.texts.setdefault(digests[1], texts[1])
    return digests


def _say_late(cases: Sequence[CutCase], late: Iterable[tuple[str, int, int]], result: Cuts) -> None:
    """Names in each case the records of which something true before its cut was recorded only after it."""
    cuts = [case.cut_us for case in cases]
    for name, at, recorded in late:
        for case in cases[bisect_right(cuts, at) : bisect_right(cuts, recorded)]:
            result.states[case.case_id].late.add(name)


def opening_rows(con: Any) -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    """Record id of the requests' own kind -> (fields given by its opening itself, their source references), whatever their
    stamps say."""
    rows = con.execute(_OWN).fetchall()
    return {rid: (json.loads("{" + state + "}"), json.loads("{" + source + "}")) for rid, state, source in rows}


def _fill(con: Any, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Makes the table anew; `columns` are names with types."""
    con.execute(f"CREATE OR REPLACE TEMP TABLE {table}({', '.join(columns)})")
    if rows:
        con.execute(
            f"INSERT INTO {table} SELECT {', '.join('unnest(?)' for _ in columns)}", [list(c) for c in zip(*rows, strict=True)]
        )


MOMENT_US = 60_000_000
"""Two stamps that differ by more are not of one moment."""


def measure_skew(con: Any, record: tuple[str, str], link_fields: Sequence[str], *, minimum_pairs: int = 30) -> dict[str, int]:
    """d per other system in microseconds: how far its clock may be behind the requests' own system's.

    Linked pairs: a write made for a request, and the nearest change of one of the request's `link_fields` that names the
    written record or one that it belongs to. Both are of one moment, the write first; so the stamps differ by the clocks (and a
    second or two), and d is the 99th percentile of the link's stamp minus the write's. Systems with fewer than `minimum_pairs`
    are left out: not measurable there.
    """
    rows = con.execute(
        """WITH links AS (SELECT record_id, epoch_us(event_ts) AS t, value_json FROM events
                          WHERE system = $system AND kind = $kind AND type = 'change' AND list_contains($fields, field) AND
                            event_ts IS NOT NULL),
        writes AS (SELECT DISTINCT system, record_id, reference, epoch_us(event_ts) AS t, coalesce(value_json,
          to_json(record_id)) AS named
                   FROM events WHERE reference IS NOT NULL AND system <> $system AND event_ts IS NOT NULL),
        pairs AS (SELECT w.system, l.t - w.t AS lag, row_number() OVER (
                    PARTITION BY l.record_id, l.t ORDER BY abs(l.t - w.t), w.system, w.record_id, w.named) AS nearest
                  FROM links l JOIN writes w ON w.reference = l.record_id AND (w.named = l.value_json OR to_json(w.record_id)
                    = l.value_json)
                  WHERE abs(l.t - w.t) <= $moment)
        SELECT system, greatest(0, quantile_disc(lag, 0.99))::BIGINT FROM pairs WHERE nearest = 1
        GROUP BY system HAVING count(*) >= $least ORDER BY system""",
        {"system": record[0], "kind": record[1], "fields": list(link_fields), "least": minimum_pairs, "moment": MOMENT_US},
    ).fetchall()
    return {system: int(d) for system, d in rows}
