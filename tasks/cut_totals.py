"""Counters and totals at the cut: recomputed from the records that they count, as those were known then (case 16).

A counter that a system keeps counts up to the day of the export. One that the code book declares (`FieldRule.aggregate`) never
takes its value from there: the fold counts the records that the cut sees, by the fields that it sees. Its source is the list of
the counted rows. Only records of the same organisation are counted, and never the requests' own kind, of which a state holds
but a few.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from schemas.errors import StageError
from schemas.records import CodeBook
from tasks.cut_fold import Counter, Tied, text_of

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
    declared = aggregates(codebook, record)
    if not declared:
        return
    numbers = {".".join(key): fld for fld, *key in con.execute("SELECT fld, system, kind, field FROM rules").fetchall()}
    for name, _, _, by, of in declared:
        con.execute("INSERT INTO aggregates VALUES (?, ?, ?)", [numbers[name], numbers[by], numbers[of] if of else None])


_COUNTING = """
SELECT DISTINCT g.fld, o.rec AS owner, e.rec AS counted
FROM aggregates g JOIN rules u ON u.fld = g.fld JOIN ev e ON e.fld = g.by_fld
JOIN recs r ON r.rec = e.rec
JOIN recs o ON o.system = u.system AND o.kind = u.kind AND o.record_id = json_extract_string(e.v, '$')
  AND o.organisation IS NOT DISTINCT FROM r.organisation
"""


def counters(con: Any) -> list[Counter]:
    """The declared ones, by the numbers of the table `rules`."""
    return [Counter(*row) for row in con.execute("SELECT fld, by_fld, of_fld FROM aggregates ORDER BY fld").fetchall()]


def counting(con: Any) -> list[tuple[int, int, int]]:
    """(counter's field, its record, a record that may ever count for it), by every value that the naming field has had."""
    return [tuple(row) for row in con.execute(_COUNTING).fetchall()]


def total(record_id: str, summed: bool, seen: Iterable[tuple[Any, Any]]) -> tuple[str, str, bool]:
    """(value, list of its sources, whether it is unclear) of a counter of `record_id`, both as JSON.

    `seen` are (naming field, amount) of each record that may count, as (value, source), or None where the log holds none. It is
    unclear where a tie leaves it open whether a record counts, or how much.
    """
    count = amount = 0
    unclear = False
    sources: list[str] = []
    for link, worth in seen:
        unclear |= link is not None and isinstance(link[0], Tied)
        if link is None or text_of(_value(link)) != record_id:
            continue
        count += 1
        source = worth[1] if worth is not None and worth[1] is not None else link[1]
        if source is not None:
            sources.append(source)
        if summed and (worth is None or isinstance(worth[0], Tied) or worth[0] == "null"):
            unclear = True
        elif summed:
            amount += int(Decimal(worth[0]).to_integral_value(ROUND_HALF_UP))
    return str(amount if summed else count), f"[{','.join(sorted(sources, key=json.loads))}]", unclear


def _value(told: Any) -> str | None:
    return told[0].value if isinstance(told[0], Tied) else told[0]
