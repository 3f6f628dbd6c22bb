"""Every candidate record, kept or with its first reason: ledger.parquet, and the funnel as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.tables import frame, read_table, write_table
from schemas.task import LedgerRow
from tasks.select import KEPT, REASONS, funnel

LEDGER_COLUMNS: dict[str, str] = {
    "record_id": "str",
    "kind": "str",
    "workflow": "str",
    "kept": "bool",
    "reason": "str",
    "detail": "str",
    "difficulty": "str",
}
"""`difficulty` holds the marks, joined by "|"."""


def write_ledger(path: Path, rows: Sequence[LedgerRow]) -> None:
    table = [{**row.model_dump(), "difficulty": "|".join(row.difficulty)} for row in sorted(rows, key=lambda r: r.record_id)]
    write_table(frame(table, LEDGER_COLUMNS), path)


def read_ledger(path: Path) -> list[LedgerRow]:
    """Raises StageError where the file is missing or of another version."""
    rows = read_table(path, LEDGER_COLUMNS).iter_rows(named=True)
    return [LedgerRow.model_validate({**r, "difficulty": tuple(filter(None, r["difficulty"].split("|")))}) for r in rows]


def counts_of(rows: Iterable[LedgerRow]) -> dict[str, int]:
    """candidates, kept, and dropped per reason."""
    rows = list(rows)
    counts = Counter(f"dropped.{row.reason}" for row in rows if row.reason != KEPT)
    return {"candidates": len(rows), "kept": sum(row.kept for row in rows), **dict(sorted(counts.items()))}


def funnel_table(rows: Sequence[LedgerRow], slices: Mapping[str, int]) -> str:
    """The funnel and the hold-out in plain text, for the end of a build."""
    lines = [f"{'candidates':<22}{len(rows):>8}"]
    lines += [f"{'- ' + reason:<22}{lost:>8}{left:>8}   {REASONS[reason]}" for reason, lost, left in funnel(rows)]
    lines.append(f"{'tasks':<22}{sum(row.kept for row in rows):>16}")
    lines += [f"{'  ' + name:<22}{count:>16}" for name, count in slices.items()]
    return "\n".join(lines)


def underivable_values(rows: Iterable[LedgerRow]) -> list[dict[str, Any]]:
    """{"value": "tool.argument (kind)", "records"}: the first value that nothing shows, and how many were dropped for it; most
    first."""
    named = Counter(row.detail.partition(":")[0] for row in rows if row.reason in ("off_system", "underivable"))
    return [{"value": name, "records": n} for name, n in sorted(named.items(), key=lambda item: (-item[1], item[0]))]


def long_tail(rows: Sequence[LedgerRow]) -> list[dict[str, Any]]:
    """{"reason", "by": {difficulty: {"dropped", "left", "share"}}} in the order in which reasons are asked: how many with that
    mark were dropped, and what share of those that had come so far went on, in [0, 1].

    "(all)": every candidate, "(none)": those without a mark.
    """
    marks = sorted({mark for row in rows for mark in row.difficulty})
    groups = {"(all)": list(rows), "(none)": [row for row in rows if not row.difficulty]}
    groups |= {mark: [row for row in rows if mark in row.difficulty] for mark in marks}
    lines = {name: {reason: (lost, left) for reason, lost, left in funnel(mine)} for name, mine in groups.items()}
    found = []
    for reason in lines["(all)"]:
        by = {name: line[reason] for name, line in lines.items() if reason in line}
        cells = {n: {"dropped": lost, "left": left, "share": round(left / (left + lost), 4)} for n, (lost, left) in by.items()}
        found.append({"reason": reason, "by": cells})
    return found


def difficulty_shares(rows: Sequence[LedgerRow]) -> dict[str, dict[str, Any]]:
    """Per kind of difficulty: how many candidates had it and what share of them was kept, in [0, 1]."""
    marks = sorted({mark for row in rows for mark in row.difficulty})
    shares = {}
    for mark in marks:
        having = [row for row in rows if mark in row.difficulty]
        shares[mark] = {"candidates": len(having), "kept": round(sum(r.kept for r in having) / len(having), 4)}
    return shares
