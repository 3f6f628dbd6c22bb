"""Counters and totals at the cut: recomputed from the records that they count, as those were known then (case 16).

A counter that a system keeps counts up to the day of the export. One that the code book declares (`FieldRule.aggregate`) never
takes its value from there: the fold counts the records that the cut sees, by the fields that it sees. Its source is the list of
the counted rows. Only records of the same organisation are counted, and never the requests' own kind, of which a state holds
but a few.
"""

from __future__ import annotations

from typing import Any

from schemas.errors import StageError
from schemas.records import CodeBook

COUNTED = "counted"
"""`known_at` of such a field within the fold: the log's rows of it are passed over."""
SUMMED = ("money", "int")


def aggregates(codebook: CodeBook, record: tuple[str, str]) -> list[tuple[str, str, str, str, str | None]]:
    """(field, system and kind counted, its field that names the counter's record, its field added up or None), by full names.

    StageError for a declaration that names what the code book does not have.
    """
    found = []
    for name, rule in sorted(codebook.fields.items()):
        if rule.aggregate is None or rule.known_at in ("post_hoc", "never"):
            continue
        what, target, _, by = rule.aggregate.split(" ")
        system, kind, *amount = target.split(".")
        named = [f"{system}.{kind}.{part}" for part in (by, *amount)]
        for key in named:
            other = codebook.fields.get(key)
            if other is None or other.aggregate is not None or other.known_at in ("post_hoc", "never"):
                raise StageError(f"code book: {name}: {what}s by {key}, allowed is a field that the cut may show")
        if amount and codebook.fields[named[1]].type not in SUMMED:
            kind_of = codebook.fields[named[1]].type
            raise StageError(f"code book: {name}: sums {named[1]} of type {kind_of}, allowed {' or '.join(SUMMED)}")
        if (system, kind) == record:
            raise StageError(
                f"code book: {name}: counts {target}, the requests themselves, which a state holds in part; say never"
            )
        found.append((name, system, kind, named[0], named[1] if amount else None))
    return found


def declare(con: Any, codebook: CodeBook, record: tuple[str, str]) -> None:
    """Table `aggregates`, by the numbers of the table `rules`."""
    con.execute("CREATE OR REPLACE TEMP TABLE aggregates(fld INTEGER, by_fld INTEGER, of_fld INTEGER)")
    numbers = {".".join(key): fld for fld, *key in con.execute("SELECT fld, system, kind, field FROM rules").fetchall()}
    for name, _, _, by, of in aggregates(codebook, record):
        con.execute("INSERT INTO aggregates VALUES (?, ?, ?)", [numbers[name], numbers[by], numbers[of] if of else None])


COUNTING = """
CREATE OR REPLACE TEMP TABLE counting AS
SELECT DISTINCT g.fld, o.rec AS owner, o.own, e.rec AS counted
FROM aggregates g JOIN rules u ON u.fld = g.fld JOIN ev e ON e.fld = g.by_fld
JOIN recs r ON r.rec = e.rec
JOIN recs o ON o.system = u.system AND o.kind = u.kind AND o.record_id = json_extract_string(e.v, '$')
  AND o.organisation IS NOT DISTINCT FROM r.organisation
"""
"""Which record may ever count for which: by every value that the naming field has had."""
_UP = """
INSERT INTO touched SELECT DISTINCT t.no, t.cut, c.owner FROM touched t JOIN counting c ON c.counted = t.rec AND NOT c.own
EXCEPT SELECT no, cut, rec FROM touched
"""
_DOWN = """
INSERT INTO touched SELECT DISTINCT t.no, t.cut, c.counted FROM touched t JOIN counting c ON c.owner = t.rec
EXCEPT SELECT no, cut, rec FROM touched
"""


def widen(con: Any) -> None:
    """Adds to `touched` the records whose count may have changed, and all that they count: a count needs every one of them."""
    if not con.execute("SELECT count(*) FROM aggregates").fetchone()[0]:
        return
    con.execute(_UP)
    while con.execute(_DOWN).fetchone()[0]:
        pass


TOTALS = """
CREATE OR REPLACE TEMP TABLE totals AS
WITH candidates AS (
  SELECT g.fld, g.of_fld, a.no, a.rec, b.rec AS counted, l.v AS link, l.p AS link_p, s.v AS amount, s.p AS amount_p,
    o.record_id, x.fld IS NOT NULL AS unclear_link, y.fld IS NOT NULL OR coalesce(s.v, 'null') = 'null' AS unclear_amount
  FROM aggregates g JOIN rules u ON u.fld = g.fld
  JOIN recs o ON o.system = u.system AND o.kind = u.kind JOIN alive a ON a.rec = o.rec
  LEFT JOIN counting c ON c.fld = g.fld AND c.owner = a.rec
  LEFT JOIN alive b ON b.no = a.no AND b.rec = c.counted
  LEFT JOIN fields l ON l.no = a.no AND l.rec = b.rec AND l.fld = g.by_fld AND l.rn = 1
  LEFT JOIN fields s ON s.no = a.no AND s.rec = b.rec AND s.fld = g.of_fld AND s.rn = 1
  LEFT JOIN ambiguous x ON x.no = a.no AND x.rec = b.rec AND x.fld = g.by_fld
  LEFT JOIN ambiguous y ON y.no = a.no AND y.rec = b.rec AND y.fld = g.of_fld
), told AS (
  SELECT *, coalesce(json_extract_string(link, '$') = record_id, false) AS counts FROM candidates
)
SELECT fld, no, rec,
  bool_or(unclear_link AND counted IS NOT NULL)
    OR (any_value(of_fld) IS NOT NULL AND bool_or(counts AND unclear_amount)) AS unclear,
  CASE WHEN any_value(of_fld) IS NULL THEN count(*) FILTER (counts)::VARCHAR
    ELSE coalesce(sum(CAST(amount AS HUGEINT)) FILTER (counts AND NOT unclear_amount), 0)::VARCHAR END AS v,
  '[' || coalesce(string_agg(to_json(coalesce(amount_p, link_p)), ',' ORDER BY coalesce(amount_p, link_p)) FILTER (counts), '')
    || ']' AS p
FROM told GROUP BY fld, no, rec
"""
"""Value and sources of each counter of a record in a state; `unclear` where a tie leaves it open whether a record counts, or how
much."""
UNCLEAR = "INSERT INTO ambiguous SELECT no, rec, fld, p FROM totals WHERE unclear"
