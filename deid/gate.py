"""Odd rows that the leak scan finds: they go to quarantine, the rest is published. Many of them are no odd rows but a fault."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deid.residual import Hit, ScanReport, require_clean
from pipeline.tables import frame
from schemas.events import QUARANTINE_COLUMNS

if TYPE_CHECKING:
    import polars as pl

PART = re.compile(r"events/part-(\d+)\.parquet")
MAX_ROWS, MAX_SHARE = 20, 0.01
"""So many rows, or this share of all, may be held back: beyond that a detector has failed, and nothing is published."""


def part_rows(
    report: ScanReport, events: pl.DataFrame, quarantine: pl.DataFrame, rows_per_file: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(events without the rows that the scan found, quarantine with them and without what it found there).

    Raises PrivacyError where anything was found elsewhere (a policy, a name of a file) or in too many rows.
    """
    import polars as pl

    held: dict[int, Hit] = {}
    wiped: set[int] = set()
    for hit in report.hits:
        part = PART.fullmatch(hit.file)
        if part and hit.row >= 0:
            held.setdefault(int(part[1]) * rows_per_file + hit.row, hit)
        elif hit.file == "quarantine.parquet" and hit.column == "found" and hit.row >= 0:
            wiped.add(hit.row)
        else:
            require_clean(report)
    if len(held) > max(MAX_ROWS, int(MAX_SHARE * events.height)):
        require_clean(report)
    kept = [n for n in range(events.height) if n not in held]
    found = [None if n in wiped else text for n, text in enumerate(quarantine["found"].to_list())]
    quarantine = quarantine.with_columns(pl.Series("found", found, dtype=quarantine.schema["found"]))
    rows = [_row(events.row(n, named=True), hit) for n, hit in sorted(held.items())]
    return events[kept], quarantine.vstack(frame(rows, QUARANTINE_COLUMNS).select(quarantine.columns))


def _row(row: dict[str, object], hit: Hit) -> dict[str, object]:
    where = f"{row['system']}.{row['kind']}"
    return dict.fromkeys(QUARANTINE_COLUMNS) | {
        "source": row["system"],
        "source_file": row["source_file"],
        "source_pos": row["source_pos"],
        "field": f"{where}.{row['field'] or 'text'}",
        "reason": f"deid: the leak scan found an identifier ({hit.kind})",
    }
