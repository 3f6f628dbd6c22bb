"""The cut: what the systems had recorded when a request arrived, for many requests in one DuckDB window query.

State(cut) = per (system, record, field) the last row by (event_ts, seq) among those stamped *and* recorded before the cut, plus the opening
record by its id, then deletes. A window (`row_number`) and not an as-of join: as-of joins return either of two tied rows.
Every row and layer is canonical JSON text made inside DuckDB, so that a state is never rebuilt row by row in Python. Times are compared as
integer microseconds: no session time zone takes part. Does not cover: folds of daylight saving (`ingest` decides them when it reads a time).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from schemas.errors import StageError
from schemas.files import canonical_json
from schemas.records import CodeBook

VISIBLE = ("start", "history", "static")
"""`known_at` values that may enter a state; post_hoc and never do not, nor does a field without a rule."""


def snapshot_us(cut_us: int) -> int:
    """Start of the cut's month: the state then is one content that the month's cases of an organisation share, and each adds the rows
    that have changed since. It lies before the cut, so that nothing of the sharing tells what came after."""
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


@dataclass(slots=True)
class StateAtCut:
    """Digests of the layers of one state, later ones over earlier ones (and of their provenance), and why it cannot be trusted, if so."""

    parts: list[str] = field(default_factory=list)
    provenance: list[str] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)
    """"system.kind.field of record": two rows tie and nothing orders them."""
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

    con.execute("ALTER TABLE ev ADD COLUMN IF NOT EXISTS fixed VARCHAR")
    odd = con.execute(
        r"SELECT DISTINCT v FROM ev WHERE v IS NOT NULL AND (v LIKE '{%' OR v LIKE '[%' OR v LIKE '%\%' OR regexp_matches(v, '^\s|\s$|^-?[0-9.]+[.eE]'))"
    ).fetchall()
    changed = [(v, text) for (v,) in odd if (text := canonical_json(json.loads(v))) != v]
    if changed:
        con.execute("CREATE OR REPLACE TEMP TABLE canon(v VARCHAR, text VARCHAR)")
        con.executemany("INSERT INTO canon VALUES (?, ?)", changed)
        con.execute("UPDATE ev SET v = canon.text FROM canon WHERE ev.v = canon.v")


def load(con: Any, codebook: CodeBook, organisations: Iterable[str], records: Iterable[str], record: tuple[str, str]) -> None:
    """Makes the table `ev`: rows of these organisations and, of the request's own kind, of these records, with the code book's word on each field."""
    con.execute("CREATE OR REPLACE TEMP TABLE rules(system VARCHAR, kind VARCHAR, field VARCHAR, known VARCHAR, planned BOOLEAN)")
    rules = [(*key.split(".", 2), rule.known_at, rule.planned_future) for key, rule in sorted(codebook.fields.items())]
    if rules:
        con.executemany("INSERT INTO rules VALUES (?, ?, ?, ?, ?)", rules)
    con.execute("CREATE OR REPLACE TEMP TABLE wanted(organisation VARCHAR)")
    con.execute("CREATE OR REPLACE TEMP TABLE own(record_id VARCHAR)")
    for table, values in (("wanted", organisations), ("own", records)):
        rows = [(value,) for value in sorted(set(values))]
        if rows:
            con.execute(f"INSERT INTO {table} SELECT unnest(?)", [[value for (value,) in rows]])
    con.execute(
        """CREATE OR REPLACE TEMP TABLE ev AS
        SELECT e.organisation, e.system, e.kind, e.record_id, e.seq, epoch_us(e.event_ts) AS t, epoch_us(e.recorded_ts) AS k,
               coalesce(e.ts_grain_s, 0) * 1000000 AS g, e.type, e.field, coalesce(e.value_json, 'null') AS v, e.source_pos AS p,
               r.known, coalesce(r.planned, false) AS planned
        FROM events e LEFT JOIN rules r ON r.system = e.system AND r.kind = e.kind AND r.field = e.field
        WHERE e.type IN ('create', 'change', 'delete') AND (e.field IS NULL OR r.known IN ('start', 'history', 'static'))
          AND ((NOT (e.system = ? AND e.kind = ?) AND e.organisation IN (SELECT organisation FROM wanted))
               OR (e.system = ? AND e.kind = ? AND e.record_id IN (SELECT record_id FROM own)))""",
        [*record, *record],
    )
    _canonical(con)


_SCOPED = """
CREATE OR REPLACE TEMP TABLE scoped AS
WITH all_rows AS (
  SELECT c.case_id, c.cut, ev.* FROM cases c JOIN ev ON ev.organisation = c.organisation AND NOT (ev.system = $system AND ev.kind = $kind)
  UNION ALL
  SELECT c.case_id, c.cut, ev.* FROM cases c JOIN owners o ON o.requester = c.requester AND o.record_id <> c.case_id
    JOIN ev ON ev.system = $system AND ev.kind = $kind AND ev.record_id = o.record_id
)
SELECT * FROM (
  SELECT a.*, a.t IS NOT NULL AND a.k IS NOT NULL AND a.k < a.cut AND CASE WHEN a.g > 0 THEN a.t + a.g <= a.cut ELSE a.t < a.cut END
         AND (s.d IS NULL OR s.d = 0 OR (a.t <= a.cut - s.d AND a.k <= a.cut - s.d)) AS past
  FROM all_rows a LEFT JOIN skew s ON s.system = a.system
) WHERE past OR known = 'static' OR planned OR type = 'delete'
"""
_ALIVE = """
CREATE OR REPLACE TEMP TABLE alive AS
SELECT case_id, system, kind, record_id FROM (
  SELECT *, row_number() OVER (PARTITION BY case_id, system, kind, record_id
            ORDER BY CASE WHEN type = 'change' THEN 0 ELSE 1 END DESC, t DESC, seq DESC NULLS LAST, type) AS rn
  FROM scoped WHERE past
) WHERE rn = 1 AND type <> 'delete'
"""
_FIELDS = """
CREATE OR REPLACE TEMP TABLE fields AS
SELECT f.*, row_number() OVER w AS rn, max(f.t) OVER one AS top_t,
       max(CASE WHEN f.known = 'static' THEN NULL ELSE f.seq END) OVER one AS top_seq
FROM scoped f SEMI JOIN alive a ON a.case_id = f.case_id AND a.system = f.system AND a.kind = f.kind AND a.record_id = f.record_id
WHERE f.field IS NOT NULL AND f.type <> 'delete'
  AND (f.known = 'static' OR (f.known IN ('start', 'history') AND (f.past OR (f.planned AND f.k < f.cut))))
WINDOW w AS (PARTITION BY f.case_id, f.system, f.kind, f.record_id, f.field
             ORDER BY f.t DESC NULLS LAST, f.seq DESC NULLS LAST, f.v, f.p),
       one AS (PARTITION BY f.case_id, f.system, f.kind, f.record_id, f.field)
"""
_AMBIGUOUS = """
SELECT DISTINCT case_id, system || '.' || kind || '.' || field || ' of ' || record_id
FROM fields WHERE known <> 'static' AND t + greatest(g, 1) > top_t
GROUP BY case_id, system, kind, record_id, field
HAVING count(DISTINCT v) > 1 AND (count(seq) < count(*) OR count(DISTINCT CASE WHEN seq = top_seq THEN v END) > 1)
ORDER BY 1, 2
"""
_UNREBUILDABLE = """
SELECT DISTINCT d.case_id, d.system || '.' || d.kind || ' ' || d.record_id
FROM scoped d ANTI JOIN (SELECT DISTINCT system, kind, record_id FROM ev WHERE type <> 'delete') c
  ON c.system = d.system AND c.kind = d.kind AND c.record_id = d.record_id
WHERE d.type = 'delete' AND NOT d.past AND d.t IS NOT NULL
ORDER BY 1, 2
"""
_ROWS = """
CREATE OR REPLACE TEMP TABLE rows_ AS
WITH shape AS (
  SELECT a.case_id, a.system, a.kind, a.record_id, r.field
  FROM alive a JOIN rules r ON r.system = a.system AND r.kind = a.kind AND r.known IN ('start', 'history', 'static')
)
SELECT s.case_id, s.system, s.kind, s.record_id,
  to_json(s.record_id) || ':{' || string_agg(to_json(s.field) || ':' || coalesce(f.v, 'null'), ',' ORDER BY s.field) || '}' AS row_text,
  to_json(s.record_id) || ':{' || coalesce(string_agg(to_json(s.field) || ':' || to_json(f.p), ',' ORDER BY s.field)
    FILTER (f.p IS NOT NULL), '') || '}' AS from_text
FROM shape s LEFT JOIN fields f ON f.rn = 1 AND f.case_id = s.case_id AND f.system = s.system AND f.kind = s.kind
  AND f.record_id = s.record_id AND f.field = s.field
GROUP BY s.case_id, s.system, s.kind, s.record_id
"""
_PRIVATE = """
CREATE OR REPLACE TEMP TABLE private AS
SELECT DISTINCT c.case_id FROM cases c JOIN rows_ b ON b.case_id = c.base_id
ANTI JOIN rows_ r ON r.case_id = c.case_id AND r.system = b.system AND r.kind = b.kind AND r.record_id = b.record_id
"""
_LAYERS = """
WITH kept AS (
  SELECT r.* FROM rows_ r JOIN cases c ON c.case_id = r.case_id
  LEFT JOIN rows_ b ON c.case_id NOT IN (SELECT case_id FROM private) AND b.case_id = c.base_id AND b.system = r.system
    AND b.kind = r.kind AND b.record_id = r.record_id AND b.row_text = r.row_text AND b.from_text = r.from_text
  WHERE b.record_id IS NULL
), kinds AS (
  SELECT case_id, system, kind, to_json(kind) || ':{' || string_agg(row_text, ',' ORDER BY record_id) || '}' AS row_text,
    to_json(kind) || ':{' || string_agg(from_text, ',' ORDER BY record_id) || '}' AS from_text
  FROM kept GROUP BY case_id, system, kind
), systems AS (
  SELECT case_id, system, to_json(system) || ':{' || string_agg(row_text, ',' ORDER BY kind) || '}' AS row_text,
    to_json(system) || ':{' || string_agg(from_text, ',' ORDER BY kind) || '}' AS from_text
  FROM kinds GROUP BY case_id, system
), layers AS (
  SELECT case_id, '{' || string_agg(row_text, ',' ORDER BY system) || '}' AS row_text,
    '{' || string_agg(from_text, ',' ORDER BY system) || '}' AS from_text
  FROM systems GROUP BY case_id
)
SELECT case_id, sha256(row_text), sha256(from_text), row_text, from_text FROM layers ORDER BY 1
"""
_OWN = """
SELECT record_id, to_json(system) AS s, to_json(kind) AS k, string_agg(to_json(field) || ':' || v, ',' ORDER BY field) AS state_row,
       string_agg(to_json(field) || ':' || to_json(p), ',' ORDER BY field) AS from_row
FROM (SELECT *, row_number() OVER (PARTITION BY record_id, field ORDER BY t NULLS LAST, seq NULLS LAST, v, p) AS rn
      FROM ev WHERE system = $system AND kind = $kind AND type = 'create' AND field IS NOT NULL AND known IN ('start', 'static')
        AND record_id IN (SELECT case_id FROM cases))
WHERE rn = 1 GROUP BY record_id, system, kind ORDER BY record_id
"""


def cut_states(
    con: Any,
    cases: Iterable[CutCase],
    record: tuple[str, str],
    *,
    owners: Mapping[str, str] | None = None,
    skew_us: Mapping[str, int] | None = None,
) -> Cuts:
    """State(cut) of every case from the table `ev` (see `load`).

    `record` is the requests' own (system, kind): the opening record enters by its id with the fields that the opening itself gave;
    other records of that kind enter where `owners` (record id -> requester) names the same requester. `skew_us` is d of each other system.
    """
    cases = sorted(cases, key=lambda c: c.case_id)
    keys = {(c.organisation, snapshot_us(c.cut_us)) for c in cases if c.organisation is not None}
    bases: dict[tuple[str | None, int], str] = {key: f"snapshot of {key[0]} at {key[1]}" for key in keys}
    con.execute(
        "CREATE OR REPLACE TEMP TABLE cases(case_id VARCHAR, organisation VARCHAR, requester VARCHAR, cut BIGINT, base_id VARCHAR)"
    )
    con.execute("CREATE OR REPLACE TEMP TABLE owners(record_id VARCHAR, requester VARCHAR)")
    con.execute("CREATE OR REPLACE TEMP TABLE skew(system VARCHAR, d BIGINT)")
    rows = [(c.case_id, c.organisation, c.requester, c.cut_us, bases.get((c.organisation, snapshot_us(c.cut_us)))) for c in cases]
    _fill(con, "cases", [*rows, *((name, org, None, at, None) for (org, at), name in sorted(bases.items(), key=str))])
    _fill(con, "owners", sorted((owners or {}).items()))
    _fill(con, "skew", sorted((skew_us or {}).items()))
    con.execute(_SCOPED, {"system": record[0], "kind": record[1]})
    for statement in (_ALIVE, _FIELDS, _ROWS, _PRIVATE):
        con.execute(statement)
    result = Cuts({c.case_id: StateAtCut() for c in cases}, {}, 0)
    for case_id, what in con.execute(_AMBIGUOUS).fetchall():
        if case_id in result.states:
            result.states[case_id].ambiguous.append(what)
    for case_id, what in con.execute(_UNREBUILDABLE).fetchall():
        if case_id in result.states:
            result.states[case_id].unrebuildable.append(what)
    private = {case_id for (case_id,) in con.execute("SELECT case_id FROM private").fetchall()}
    layers: dict[str, tuple[str, str]] = {}
    for case_id, digest, from_digest, text, from_text in con.execute(_LAYERS).fetchall():
        layers[case_id] = (digest, from_digest)
        result.texts.setdefault(digest, text)
        result.texts.setdefault(from_digest, from_text)
    for case_id, _, _, _, base_id in rows:
        own = layers.get(case_id)
        shared = layers.get(base_id) if base_id and case_id not in private else None
        for layer in (shared, own):
            if layer is not None:
                result.states[case_id].parts.append(layer[0])
                result.states[case_id].provenance.append(layer[1])
    result.untimed = con.execute("SELECT count(*) FROM ev WHERE t IS NULL OR k IS NULL").fetchone()[0]
    return result


def opening_rows(con: Any, record: tuple[str, str]) -> dict[str, tuple[dict[str, Any], dict[str, str]]]:
    """Record id of each case -> (fields given by the opening itself, their source references), whatever their time stamp says."""
    import json

    rows = con.execute(_OWN, {"system": record[0], "kind": record[1]}).fetchall()
    return {rid: (json.loads("{" + state + "}"), json.loads("{" + source + "}")) for rid, _, _, state, source in rows}


def _fill(con: Any, table: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        con.execute(
            f"INSERT INTO {table} SELECT * FROM (SELECT {', '.join('unnest(?)' for _ in rows[0])})",
            [list(c) for c in zip(*rows, strict=True)],
        )


def measure_skew(con: Any, record: tuple[str, str], *, minimum_pairs: int = 30) -> dict[str, int]:
    """d per other system in microseconds: the 99th percentile, over linked pairs, of how much earlier than the request's own opening
    a write made *for* that request is stamped (the write is after the opening in truth, so the difference is the clocks').

    Systems with fewer than `minimum_pairs` linked writes are left out: there the skew is not measurable and taken as none.
    """
    rows = con.execute(
        """WITH opened AS (SELECT record_id, min(epoch_us(event_ts)) AS t FROM events
                           WHERE system = $system AND kind = $kind AND type = 'create' AND event_ts IS NOT NULL GROUP BY ALL),
        pairs AS (SELECT e.system, o.record_id, o.t - min(epoch_us(e.event_ts)) AS lag FROM events e JOIN opened o ON e.reference = o.record_id
                  WHERE e.system <> $system AND e.event_ts IS NOT NULL GROUP BY e.system, o.record_id, o.t)
        SELECT system, greatest(0, quantile_disc(lag, 0.99))::BIGINT FROM pairs GROUP BY system HAVING count(*) >= $least ORDER BY system""",
        {"system": record[0], "kind": record[1], "least": minimum_pairs},
    ).fetchall()
    return {system: int(d) for system, d in rows}
