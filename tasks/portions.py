"""The events that each shard needs, put apart once: no shard reads the whole log, and work grows with the records alone.

A shard needs the log of its cases' organisations (and of those merged with them), its own cases with the earlier ones of the
same requesters, what was written on a case's account anywhere, and the requesters' own rows. DuckDB streams the log past these
keys, run by run, and sorts each run by shard on disk; a row that several shards need stands in each.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.case import Clean
from tasks.cut import connect

SHARES = 32
"""Portions that keep a machine's workers busy."""
LARGEST = 1000
"""Candidates of a portion."""
OWN_PART = 0.65
"""Of the memory limit, what DuckDB is told: files that it is writing and its notes on what it has spilled are not counted by it,
nor is Python."""
SORTED = 10_000
"""Rows of the log that are parted at a time, for each megabyte of the memory limit."""
FLUSHED = 50_000
"""Rows that are held back before they are written."""

_ROWS = """
SELECT e.*, unnest(list_distinct(list_concat(
    coalesce(o.shards, []), coalesce(w.shards, []), coalesce(r.shards, []), coalesce(u.shards, [])))) AS shard
FROM read_parquet($files) e
LEFT JOIN run_organisation o ON e.organisation = o.key AND NOT (e.system = $system AND e.kind = $kind)
LEFT JOIN run_case w ON e.record_id = w.key AND e.system = $system AND e.kind = $kind
LEFT JOIN run_reference r ON e.reference = r.key
LEFT JOIN run_requester u ON e.record_id = u.key AND e.system = $system
"""
_LOOKED_UP = {"organisation": "organisation", "case": "record_id", "reference": "reference", "requester": "record_id"}
"""Kind of key -> the column of the log that is looked up among them."""
_RUN_KEYS = """
CREATE OR REPLACE TEMP TABLE run_{name} AS
FROM of_{name} SEMI JOIN (SELECT DISTINCT {column} AS key FROM read_parquet($files)) USING (key)
"""
"""Keys that the run's rows hold: so many at most as it has rows, however many tasks there are."""

_KEYS = """
CREATE TEMP TABLE asked AS
SELECT DISTINCT record_id, json_extract_string(value_json, '$') AS requester FROM events
WHERE system = $system AND kind = $kind AND type = 'create' AND field = $field AND value_json <> 'null';
CREATE TEMP TABLE of_reference AS SELECT key, list(DISTINCT shard) AS shards FROM tickets GROUP BY key;
CREATE TEMP TABLE of_requester AS
SELECT a.requester AS key, list(DISTINCT t.shard) AS shards FROM asked a JOIN tickets t ON t.key = a.record_id GROUP BY 1;
CREATE TEMP TABLE of_case AS
SELECT key, list(DISTINCT shard) AS shards FROM (
  FROM tickets UNION ALL
  SELECT a.record_id, unnest(r.shards) FROM asked a JOIN of_requester r ON r.key = a.requester
) GROUP BY key;
CREATE TEMP TABLE of_organisation AS
SELECT coalesce(m.organisation, o.organisation) AS key, list(DISTINCT o.shard) AS shards
FROM (SELECT DISTINCT r.organisation, t.shard FROM read_parquet($records) r JOIN tickets t ON t.key = r.record_id
      WHERE r.system = $system AND r.kind = $kind AND r.organisation IS NOT NULL) o
LEFT JOIN customers c ON c.organisation = o.organisation LEFT JOIN customers m ON m.customer = c.customer
GROUP BY 1;
DROP TABLE asked
"""


def portion_size(candidates: int, least: int) -> int:
    """Candidates of a portion, `least` or more: a portion has its fixed price, so those of a large set are larger."""
    return max(least, min(LARGEST, candidates // SHARES))


def part_events(
    clean: Clean,
    portions: Iterable[Sequence[str]],
    folder: Path,
    *,
    groups: Mapping[str, str],
    memory_mb: int = 1000,
) -> list[Path]:
    """Writes `folder/<number>/events/*.parquet` for each portion of record ids; returns these folders, in order.

    `folder` is made anew. The order of the rows within a portion means nothing. The process keeps to about `memory_mb` and what
    it held before (the keys and what is spilled from the sort included), whatever the size of the log.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    con = connect(clean.folder, memory_limit=f"{int(memory_mb * OWN_PART)}MB", spill=folder / ".spill", apart=True)
    con.execute("SET enable_external_file_cache=false")
    count = _keys(con, clean, portions, groups)
    con.execute(f"SET partitioned_write_flush_threshold={FLUSHED}")
    target = str(folder / ".parts").replace("'", "''")
    for number, files in enumerate(_runs(con, clean.folder, memory_mb * SORTED)):
        for name, column in _LOOKED_UP.items():
            con.execute(_RUN_KEYS.format(name=name, column=column), {"files": files})
        con.execute(
            f"COPY ({_ROWS} ORDER BY shard) TO '{target}' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (shard),"
            f" OVERWRITE_OR_IGNORE, FILENAME_PATTERN 'run-{number:05d}-{{i}}')",
            {"files": files, "system": clean.record[0], "kind": clean.record[1]},
        )
    con.close()
    made = []
    for number in range(count):
        events = folder / f"{number:05d}" / "events"
        events.parent.mkdir()
        written = folder / ".parts" / f"shard={number}"
        if written.exists():
            written.rename(events)
        else:
            events.mkdir()
        made.append(events.parent)
    shutil.rmtree(folder / ".parts", ignore_errors=True)
    shutil.rmtree(folder / ".spill", ignore_errors=True)
    return made


def _runs(con: Any, clean: Path, rows: int) -> list[list[str]]:
    """The files of the log in runs of at most so many rows; a longer file is a run of its own."""
    files = [str(file) for file in sorted((clean / "events").glob("*.parquet"))]
    found = con.execute("SELECT file_name, num_rows FROM parquet_file_metadata($files)", {"files": files}).fetchall()
    runs: list[list[str]] = []
    free = 0
    for name, count in sorted(found):
        if not runs or count > free:
            runs.append([])
            free = rows
        runs[-1].append(name)
        free -= count
    return runs


def _keys(con: Any, clean: Clean, portions: Iterable[Sequence[str]], groups: Mapping[str, str]) -> int:
    """Makes the tables of keys that `_ROWS` looks up; returns the number of portions."""
    con.execute("CREATE TEMP TABLE tickets(key VARCHAR, shard INTEGER)")
    count = 0
    for number, ids in enumerate(portions):
        con.execute("INSERT INTO tickets SELECT unnest(?), ?", [list(ids), number])
        count = number + 1
    con.execute("CREATE TEMP TABLE customers(organisation VARCHAR, customer VARCHAR)")
    if groups:
        con.execute("INSERT INTO customers SELECT unnest(?), unnest(?)", [list(groups), list(groups.values())])
    named = {
        "system": clean.record[0],
        "kind": clean.record[1],
        "field": clean.requester_field() or "",
        "records": str(clean.folder / "records.parquet"),
    }
    for statement in _KEYS.split(";\n"):
        con.execute(statement, {name: value for name, value in named.items() if f"${name}" in statement})
    return count
