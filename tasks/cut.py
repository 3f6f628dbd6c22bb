"""The cut: what the systems had recorded when a request arrived, for many requests in one DuckDB window query.

State(cut) = per (system, record, field) the last row by (event_ts, seq) among those stamped *and* recorded before the cut, plus
the opening record by its id, then deletes. A window (`row_number`) and not an as-of join: as-of joins return either of two tied
rows. Every row and layer is canonical JSON text made inside DuckDB, so that a state is never rebuilt row by row in Python.
Times are compared as integer microseconds: no session time zone takes part. Does not cover: folds of daylight saving (`ingest`
decides them when it reads a time).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from schemas.errors import StageError
from schemas.files import canonical_json
from schemas.records import CodeBook
from tasks import cut_totals
from tasks.merged import members

VISIBLE = ("start", "history", "static")
"""`known_at` values that may enter a state; post_hoc and never do not, nor does a field without a rule."""


_EVER = -(2**62)
"""Before every time."""


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


def connect(folder: Path | None = None, *, memory_limit: str = "1GB", threads: int = 1, spill: Path | None = None) -> Any:
    """A DuckDB connection whose answers do not depend on the process's zone; with `folder`, `events` is a view of its files.

    What does not fit into `memory_limit` goes to `spill` (a folder), where one is given.
    """
    import duckdb

    con = duckdb.connect(":memory:", config={"memory_limit": memory_limit, "threads": threads})
    con.execute("SET preserve_insertion_order=false")
    con.execute("SET enable_progress_bar=false")
    if spill is not None:
        con.execute(f"SET temp_directory='{_quoted(spill)}'")
    if folder is not None:
        files = sorted((folder / "events").glob("*.parquet"))
        if not files:
            raise StageError(f"{folder / 'events'} holds no events; run `python -m deid` again")
        names = ", ".join(f"'{_quoted(file)}'" for file in files)
        con.execute(f"CREATE VIEW events AS SELECT * FROM read_parquet([{names}])")
    return con


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _canonical(con: Any) -> None:
    """Value texts that may have more than one form (nested, escaped, fractions) are written in the one canonical form."""
    import json

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
SELECT e.*, r.known, coalesce(r.planned, false) AS planned, coalesce(s.d, 0) AS d, r.fld
FROM events e LEFT JOIN rules r ON r.system = e.system AND r.kind = e.kind AND r.field = e.field
LEFT JOIN skew s ON s.system = e.system
WHERE e.type IN ('create', 'change', 'delete') AND (e.field IS NULL OR r.known IN ('start', 'history', 'static'))
  AND ((NOT (e.system = $system AND e.kind = $kind) AND e.organisation IN (SELECT organisation FROM wanted))
       OR (e.system = $system AND e.kind = $kind AND e.record_id IN (SELECT record_id FROM own)));
CREATE OR REPLACE TEMP TABLE recs AS
SELECT row_number() OVER (ORDER BY system, kind, record_id) AS rec, system, kind, record_id,
       max(coalesce(g.customer, p.organisation)) AS organisation,
       system = $system AND kind = $kind AS own, bool_or(type <> 'delete') AS logged
FROM picked p LEFT JOIN customers g ON g.organisation = p.organisation GROUP BY system, kind, record_id;
CREATE OR REPLACE TEMP TABLE ev AS
SELECT r.rec, r.organisation, r.own, p.fld, p.seq, epoch_us(p.event_ts) AS t, epoch_us(p.recorded_ts) AS k,
       coalesce(p.ts_grain_s, 0) * 1000000 AS g,
       CASE p.type WHEN 'create' THEN 1 WHEN 'delete' THEN 2 ELSE 0 END AS op, coalesce(p.value_json, 'null') AS v,
         p.source_pos AS p,
       p.known, CASE
         WHEN p.event_ts IS NULL OR p.recorded_ts IS NULL THEN NULL
         WHEN p.planned THEN epoch_us(p.recorded_ts) + 1
         ELSE greatest(epoch_us(p.event_ts) + greatest(coalesce(p.ts_grain_s, 0) * 1000000, 1, p.d), epoch_us(p.recorded_ts)
           + greatest(1, p.d))
       END AS seen_from
FROM picked p JOIN recs r ON r.system = p.system AND r.kind = p.kind AND r.record_id = p.record_id;
DROP TABLE picked;
"""
"""`seen_from` is the first instant at which a cut sees the row: stamped and recorded before it (a stamp with a grain only when
its interval is over, another system's only when its clock's skew d is), a planned field as soon as it was recorded. So a state
is all rows with seen_from <= cut, and only records with such a row since the month's snapshot can differ from it."""


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
    con.execute(
        "CREATE OR REPLACE TEMP TABLE rules"
        "(fld INTEGER, system VARCHAR, kind VARCHAR, field VARCHAR, label VARCHAR, known VARCHAR, planned BOOLEAN)"
    )
    rules = sorted(
        (
            *key.split(".", 2),
            cut_totals.COUNTED if rule.aggregate and rule.known_at in VISIBLE else rule.known_at,
            rule.planned_future,
        )
        for key, rule in codebook.fields.items()
    )
    _fill(con, "rules", [(number, *rule[:3], f"{canonical_json(rule[2])}:", *rule[3:]) for number, rule in enumerate(rules)])
    cut_totals.declare(con, codebook, record)
    con.execute("CREATE OR REPLACE TEMP TABLE customers(organisation VARCHAR, customer VARCHAR)")
    _fill(con, "customers", sorted((groups or {}).items()))
    organisations = members(groups or {}, organisations)
    for table, name, values in (("wanted", "organisation", organisations), ("own", "record_id", records)):
        con.execute(f"CREATE OR REPLACE TEMP TABLE {table}({name} VARCHAR)")
        _fill(con, table, [(value,) for value in sorted(set(values))])
    con.execute("CREATE OR REPLACE TEMP TABLE skew(system VARCHAR, d BIGINT)")
    _fill(con, "skew", sorted((skew_us or {}).items()))
    for statement in _EVENTS.split(";\n"):
        if statement.strip():
            con.execute(statement, {"system": record[0], "kind": record[1]} if "$system" in statement else None)
    _canonical(con)
    con.execute(cut_totals.COUNTING)


_SCOPED = """
CREATE OR REPLACE TEMP TABLE touched AS
SELECT DISTINCT c.no, c.cut, ev.rec FROM cases c JOIN ev ON ev.organisation = c.organisation AND NOT ev.own
  AND ev.seen_from > c.since AND ev.seen_from <= c.cut
UNION
SELECT DISTINCT c.no, c.cut, r.rec FROM cases c JOIN owners o ON o.requester = c.requester AND o.record_id <> c.case_id
  JOIN recs r ON r.own AND r.record_id = o.record_id
"""
_ALIVE = """
CREATE OR REPLACE TEMP TABLE alive AS
SELECT no, cut, rec, p FROM (
  SELECT x.no, x.cut, x.rec, e.op, e.p, row_number() OVER (PARTITION BY x.no, x.rec
            ORDER BY (e.op > 0)::INTEGER DESC, e.t DESC, e.seq DESC NULLS LAST, e.op, e.p) AS rn
  FROM touched x JOIN ev e ON e.rec = x.rec AND e.seen_from <= x.cut
) WHERE rn = 1 AND op <> 2
"""
_FIELDS = """
CREATE OR REPLACE TEMP TABLE fields AS
SELECT a.no, a.rec, e.fld, e.known, e.seq, e.t, e.g, e.v, e.p,
  row_number() OVER latest AS rn, first_value(e.t) OVER latest AS top_t
FROM alive a JOIN ev e ON e.rec = a.rec AND e.fld IS NOT NULL AND e.op <> 2 AND (e.known = 'static' OR e.seen_from <= a.cut)
WINDOW latest AS (PARTITION BY a.no, a.rec, e.fld ORDER BY e.t DESC NULLS LAST, e.seq DESC NULLS LAST, e.v, e.p)
"""
_AMBIGUOUS = """
CREATE OR REPLACE TEMP TABLE ambiguous AS
WITH near AS (SELECT DISTINCT no, rec, fld FROM fields WHERE rn > 1 AND known <> 'static' AND t + greatest(g, 1) > top_t),
tied AS (
  SELECT f.*, max(f.seq) OVER (PARTITION BY f.no, f.rec, f.fld) AS top_seq
  FROM fields f SEMI JOIN near n ON n.no = f.no AND n.rec = f.rec AND n.fld = f.fld
)
SELECT f.no, f.rec, f.fld, '[' || string_agg(DISTINCT to_json(f.p), ',' ORDER BY to_json(f.p)) || ']' AS p
FROM tied f
WHERE f.known <> 'static' AND f.t + greatest(f.g, 1) > f.top_t
GROUP BY f.no, f.rec, f.fld
HAVING count(DISTINCT f.v) > 1 AND (count(f.seq) < count(*) OR count(DISTINCT CASE WHEN f.seq = f.top_seq THEN f.v END) > 1)
"""
_AMBIGUITIES = """
WITH all_of AS (
  SELECT c.case_id, m.rec, m.fld FROM cases c JOIN ambiguous m ON m.no = c.no
  UNION
  SELECT c.case_id, m.rec, m.fld FROM cases c JOIN ambiguous m ON m.no = c.base
    ANTI JOIN touched x ON x.no = c.no AND x.rec = m.rec
)
SELECT a.case_id, r.system, r.kind, r.record_id, u.field
FROM all_of a JOIN recs r ON r.rec = a.rec JOIN rules u ON u.fld = a.fld ORDER BY ALL
"""
_UNREBUILDABLE = """
SELECT DISTINCT c.case_id, r.system || '.' || r.kind || ' ' || r.record_id
FROM recs r JOIN ev ON ev.rec = r.rec AND ev.op = 2
JOIN cases c ON (c.organisation = r.organisation AND NOT r.own)
  OR (r.own AND c.requester = (SELECT any_value(o.requester) FROM owners o WHERE o.record_id = r.record_id))
WHERE NOT r.logged AND ev.seen_from > c.cut AND c.case_id IS NOT NULL
ORDER BY 1, 2
"""
_ROWS = """
CREATE OR REPLACE TEMP TABLE rows_ AS
SELECT a.no, a.rec,
  string_agg(u.label || CASE WHEN m.fld IS NULL THEN coalesce(c.v, f.v, 'null') ELSE 'null' END, ',' ORDER BY u.fld) AS row_text,
  concat_ws(',', any_value('"record/id":' || to_json(a.p)), string_agg(
    u.label || coalesce(m.p, c.p, to_json(f.p)), ',' ORDER BY u.fld)
    FILTER (m.p IS NOT NULL OR c.p IS NOT NULL OR f.p IS NOT NULL)) AS from_text
FROM alive a JOIN recs r ON r.rec = a.rec
JOIN rules u ON u.system = r.system AND u.kind = r.kind AND u.known IN ('start', 'history', 'static', 'counted')
LEFT JOIN fields f ON f.rn = 1 AND f.no = a.no AND f.rec = a.rec AND f.fld = u.fld
LEFT JOIN totals c ON c.no = a.no AND c.rec = a.rec AND c.fld = u.fld
LEFT JOIN ambiguous m ON m.no = a.no AND m.rec = a.rec AND m.fld = u.fld
GROUP BY a.no, a.rec
"""
_PRIVATE = """
SELECT DISTINCT c.case_id FROM cases c JOIN touched x ON x.no = c.no JOIN rows_ b ON b.no = c.base AND b.rec = x.rec
ANTI JOIN rows_ r ON r.no = c.no AND r.rec = x.rec
"""
_LAYERS = """
WITH kept AS (
  SELECT r.* FROM rows_ r JOIN cases c ON c.no = r.no
  LEFT JOIN rows_ b ON b.no = c.base AND b.rec = r.rec AND b.row_text = r.row_text AND b.from_text = r.from_text
  WHERE b.rec IS NULL
), kinds AS (
  SELECT k.no, r.system, r.kind,
    to_json(r.kind) || ':{' || string_agg(to_json(r.record_id) || ':{' || row_text || '}', ',' ORDER BY r.record_id) || '}'
      AS row_text,
    to_json(r.kind) || ':{' || string_agg(to_json(r.record_id) || ':{' || from_text || '}', ',' ORDER BY r.record_id) || '}'
      AS from_text
  FROM kept k JOIN recs r ON r.rec = k.rec GROUP BY k.no, r.system, r.kind
), systems AS (
  SELECT no, system, to_json(system) || ':{' || string_agg(row_text, ',' ORDER BY kind) || '}' AS row_text,
    to_json(system) || ':{' || string_agg(from_text, ',' ORDER BY kind) || '}' AS from_text
  FROM kinds GROUP BY no, system
), layers AS (
  SELECT no, '{' || string_agg(row_text, ',' ORDER BY system) || '}' AS row_text,
    '{' || string_agg(from_text, ',' ORDER BY system) || '}' AS from_text
  FROM systems GROUP BY no
)
SELECT no, sha256(row_text), sha256(from_text), row_text, from_text FROM layers ORDER BY 1
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


_LATE = """
SELECT DISTINCT c.case_id, r.record_id FROM cases c JOIN ev e ON e.organisation = c.organisation AND NOT e.own
  AND e.t < c.cut AND e.k >= c.cut AND NOT (e.known IS NOT DISTINCT FROM 'static')
JOIN recs r ON r.rec = e.rec WHERE c.case_id IS NOT NULL ORDER BY ALL
"""


def cut_states(con: Any, cases: Iterable[CutCase], *, owners: Mapping[str, str] | None = None) -> Cuts:
    """State(cut) of every case from the tables of `load`.

    Other records of the requests' own kind enter a state where `owners` (record id -> requester) names the same requester; a
    request's own record never does (see `opening_rows`).
    """
    customers = dict(con.execute("SELECT organisation, customer FROM customers").fetchall())
    cases = sorted(
        (replace(c, organisation=customers.get(c.organisation, c.organisation)) for c in cases), key=lambda c: c.case_id
    )
    con.execute("CREATE OR REPLACE TEMP TABLE owners(record_id VARCHAR, requester VARCHAR)")
    _fill(con, "owners", sorted((owners or {}).items()))
    result = Cuts({c.case_id: StateAtCut() for c in cases}, {}, 0)
    alone = _fold(con, cases, result, shared=True)
    for case_id, record_id in con.execute(_LATE).fetchall():
        result.states[case_id].late.add(record_id)
    if alone:
        # A record of the month's snapshot is gone since: layers only add, so such a case gets a whole state of its own.
        _fold(con, [c for c in cases if c.case_id in alone], result, shared=False)
    result.untimed = con.execute("SELECT count(*) FROM ev WHERE seen_from IS NULL").fetchone()[0]
    return result


def _fold(con: Any, cases: list[CutCase], result: Cuts, *, shared: bool) -> set[str]:
    """Folds the log for each case into `result`; returns the cases whose month's snapshot holds a record that is gone."""
    months = sorted({(c.organisation, snapshot_us(c.cut_us)) for c in cases if c.organisation is not None}) if shared else []
    bases: dict[tuple[str | None, int], int] = {month: number for number, month in enumerate(months)}
    rows: list[tuple[Any, ...]] = [
        (number, None, organisation, None, at, None, _EVER) for (organisation, at), number in bases.items()
    ]
    for number, case in enumerate(cases, len(rows)):
        month = (case.organisation, snapshot_us(case.cut_us))
        base = bases.get(month) if case.organisation is not None else None
        rows.append(
            (number, case.case_id, case.organisation, case.requester, case.cut_us, base, month[1] if base is not None else _EVER)
        )
    con.execute(
        "CREATE OR REPLACE TEMP TABLE cases"
        "(no INTEGER, case_id VARCHAR, organisation VARCHAR, requester VARCHAR, cut BIGINT, base INTEGER, since BIGINT)"
    )
    _fill(con, "cases", rows)
    con.execute(_SCOPED)
    cut_totals.widen(con)
    for statement in (_ALIVE, _FIELDS, _AMBIGUOUS, cut_totals.TOTALS, cut_totals.UNCLEAR, _ROWS):
        con.execute(statement)
    alone = {case_id for (case_id,) in con.execute(_PRIVATE).fetchall()} if shared else set()
    for case_id, *where in con.execute(_AMBIGUITIES).fetchall():
        if case_id is not None and case_id not in alone:
            result.states[case_id].ambiguous.append(Ambiguity(*where))
    for case_id, what in con.execute(_UNREBUILDABLE).fetchall():
        if case_id not in alone:
            result.states[case_id].unrebuildable.append(what)
    layers: dict[int, tuple[str, str]] = {}
    for number, digest, from_digest, text, from_text in con.execute(_LAYERS).fetchall():
        layers[number] = (digest, from_digest)
        result.texts.setdefault(digest, text)
        result.texts.setdefault(from_digest, from_text)
    for number, case_id, _, _, _, base, _ in rows:
        if case_id is None or case_id in alone:
            continue
        for layer in (layers.get(base) if base is not None else None, layers.get(number)):
            if layer is not None:
                result.states[case_id].parts.append(layer[0])
                result.states[case_id].provenance.append(layer[1])
    return alone


def opening_rows(con: Any) -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    """Record id of the requests' own kind -> (fields given by its opening itself, their source references), whatever their
    stamps say."""
    import json

    rows = con.execute(_OWN).fetchall()
    return {rid: (json.loads("{" + state + "}"), json.loads("{" + source + "}")) for rid, state, source in rows}


def _fill(con: Any, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        columns = ", ".join("unnest(?)" for _ in rows[0])
        con.execute(f"INSERT INTO {table} SELECT {columns}", [list(c) for c in zip(*rows, strict=True)])


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
