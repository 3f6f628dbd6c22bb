"""State at the cut: CPU, memory and growth of the real functions, against a Python dict loop over the same rows.

    python -m benchmarks.cut                                        (200,000 events, 10,000 tasks: about a minute)
    python -m benchmarks.cut --events 20000000 --tasks 1000000 --portion 5000

Measured are `tasks.portions.part_events`, `tasks.cut.load` and `tasks.cut.cut_states`, as a build's shards call them: each task's
state is all that its organisation's systems had recorded, as canonical JSON with its digest and with the source of every value.
Each size runs in a process of its own, whose greatest memory is compared with DuckDB's limit. The loop folds the same rows of the
first portions for each task with plain dicts, and its states are compared with ours. Prints one line a figure with its target;
exit code 1 if one is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schemas.events import EVENT_COLUMNS, RECORD_COLUMNS
from schemas.files import canonical_json, sha256_text
from schemas.records import CodeBook
from tasks.case import Clean
from tasks.certified import SHARD
from tasks.cut import CutCase, connect, cut_states, load
from tasks.portions import part_events

RECORD = ("desk", "ticket")
FIELDS = ("status", "total", "ship_to", "promised")
TASKS_OF_ORGANISATION = 100
"""As many as the sample's customers have in its two years."""
CHANGES = 10
"""Rows of an order."""
STEP_US = 3 * 86_400_000_000
"""Between two requests of an organisation."""
BOOK = CodeBook.model_validate(
    {
        "supplier": "bench",
        "fields": {
            "desk.ticket.requester_id": {"type": "id", "identity": "person", "known_at": "start"},
            "desk.ticket.subject": {"type": "text", "known_at": "start"},
            **{f"shop.order.{name}": {"type": "code"} for name in FIELDS},
        },
    }
)
LOOPED = 3
"""Portions that the loop folds too."""


def generate(folder: Path, events: int, tasks: int, memory_mb: int) -> None:
    """A log of `events` rows: per task its ticket (3 rows); the rest change its organisation's orders, between requests."""
    folder.mkdir(parents=True)
    con = connect(memory_limit=f"{memory_mb}MB", spill=folder / ".spill")
    each = events // tasks
    given = {
        "n": tasks * each,
        "each": each,
        "of": TASKS_OF_ORGANISATION,
        "orders": max(1, (each - 3) * TASKS_OF_ORGANISATION // CHANGES),
    }
    con.execute(
        f"CREATE MACRO stamp_of(org, k) AS make_timestamptz(1700000000000000 + k * {STEP_US} + org * 7919000000 % {STEP_US})"
    )
    rows = """
      SELECT i, i // $each AS task, i % $each AS j, i // $each // $of AS org, (i // $each) % $of AS k FROM range($n) t(i)"""
    shop = """
      SELECT *, 'S' || org || '-' || ((k * ($each - 3) + j - 3) % $orders) AS rid, k * ($each - 3) + j - 3 < $orders AS first,
        stamp_of(org, k) + INTERVAL (86400 + 60 * j) SECOND AS ts FROM rows_ WHERE j >= 3"""
    columns = ", ".join(f"CAST({name} AS {kind_of(EVENT_COLUMNS[name])}) AS {name}" for name in EVENT_COLUMNS)
    absent = ("actor_id", "text", "visibility", "ts_text", "ts_zone", "reference")
    nothing = ", ".join(f"NULL AS {name}" for name in absent)
    query = f"""
      WITH rows_ AS ({rows}), shop AS ({shop}), told AS (
        SELECT 'O' || org AS organisation, 'desk' AS system, 'ticket' AS kind, 'T' || task AS record_id, i AS seq,
          stamp_of(org, k + 1) AS event_ts, 'create' AS type,
          CASE j WHEN 0 THEN NULL WHEN 1 THEN 'requester_id' ELSE 'subject' END AS field,
          CASE j WHEN 0 THEN NULL WHEN 1 THEN '"U' || org || '-' || k % 3 || '"' ELSE '"help"' END AS value_json,
          'R' || i AS source_pos
        FROM rows_ WHERE j < 3
        UNION ALL
        SELECT 'O' || org, 'shop', 'order', rid, i, ts, CASE WHEN first THEN 'create' ELSE 'change' END,
          CASE WHEN first THEN NULL ELSE {list(FIELDS)}[k // {CHANGES} % {len(FIELDS)} + 1] END,
          CASE WHEN first THEN NULL ELSE '"v' || i % 97 || '"' END, 'R' || i FROM shop)
      SELECT {columns} FROM (
        SELECT *, event_ts AS recorded_ts, 'vault' AS source_file, 0 AS ts_grain_s, {nothing} FROM told)"""
    for name, value in given.items():
        query = query.replace(f"${name}", str(value))
    (folder / "events").mkdir()
    con.execute(
        f"COPY ({query}) TO '{folder}/events/part-0000.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 100000)"
    )
    record = {
        "system": "'desk'",
        "kind": "'ticket'",
        "record_id": "'T' || t",
        "organisation": f"'O' || t // {TASKS_OF_ORGANISATION}",
    }
    named = ", ".join(f"CAST({record.get(c, 'NULL')} AS {kind_of(RECORD_COLUMNS[c])}) AS {c}" for c in RECORD_COLUMNS)
    con.execute(f"COPY (SELECT {named} FROM range({tasks}) r(t)) TO '{folder}/records.parquet' (FORMAT parquet)")
    con.close()
    shutil.rmtree(folder / ".spill", ignore_errors=True)


def kind_of(column: str) -> str:
    return {"str": "VARCHAR", "int": "BIGINT", "ts": "TIMESTAMPTZ"}[column]


def portions(tasks: int, size: int) -> Iterator[list[str]]:
    for start in range(0, tasks, size):
        yield [f"T{t}" for t in range(start, min(tasks, start + size))]


def cases_of(ids: list[str]) -> list[CutCase]:
    found = []
    for case_id in ids:
        org, k = divmod(int(case_id[1:]), TASKS_OF_ORGANISATION)
        at = 1_700_000_000_000_000 + (k + 1) * STEP_US + org * 7_919_000_000 % STEP_US
        found.append(CutCase(case_id, f"O{org}", f"U{org}-{k % 3}", at))
    return found


def product(folder: Path, tasks: int, size: int, memory_mb: int) -> dict[str, Any]:
    """Every task's state; what is measured. Run in a process of its own."""
    limit = f"{memory_mb}MB"
    clean = Clean(folder, BOOK, RECORD)
    started = time.process_time()
    logs = part_events(clean, portions(tasks, size), folder / "portions", groups={}, memory_limit=limit)
    apart = time.process_time() - started
    written = first = 0
    for number, (log, ids) in enumerate(zip(logs, portions(tasks, size), strict=True)):
        written += fold(log, ids, limit)
        if number == LOOPED - 1:
            first = time.process_time() - started - apart
    cpu = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu": cpu, "apart": apart, "first": first or cpu - apart, "bytes": written, "peak_mb": peak}


def fold(log: Path, ids: list[str], limit: str) -> int:
    """States of one portion; returns their bytes."""
    con = connect(log, memory_limit=limit, spill=log / ".spill")
    cases = cases_of(ids)
    load(con, BOOK, {c.organisation for c in cases if c.organisation}, ids, RECORD)
    cuts = cut_states(con, cases, owners={})
    con.close()
    shutil.rmtree(log / ".spill", ignore_errors=True)
    assert all(state.parts for state in cuts.states.values())
    return sum(map(len, cuts.texts.values()))


def looped(folder: Path, tasks: int, size: int) -> dict[str, Any]:
    """The peer: the same states by a loop over dicts, for the first portions; and whether they are the same."""
    count, cpu, same = 0, 0.0, True
    for number, ids in zip(range(LOOPED), portions(tasks, size), strict=False):
        con = connect(folder / "portions" / f"{number:05d}")
        started = time.process_time()
        states = loop(con, cases_of(ids))
        cpu += time.process_time() - started
        con.close()
        count += len(ids)
        same &= states == merged(folder / "portions" / f"{number:05d}", ids)
    return {"cpu": cpu, "tasks": count, "same": same}


def loop(con: Any, cases: list[CutCase]) -> dict[str, str]:
    """Task -> its state as canonical JSON, with its sources folded and written too."""
    names = ", ".join(("organisation", "system", "kind", "record_id", "epoch_us(event_ts)", "epoch_us(recorded_ts)", "seq"))
    rows = con.execute(f"SELECT {names}, field, value_json, source_pos FROM events WHERE system <> 'desk'").fetchall()
    by_organisation: dict[str, list[Any]] = {}
    for row in rows:
        by_organisation.setdefault(row[0], []).append(row[1:])
    found = {}
    for case in cases:
        last: dict[Any, Any] = {}
        for system, kind, record_id, at, known, seq, name, value, source in by_organisation.get(case.organisation or "", ()):
            if at >= case.cut_us or known >= case.cut_us:
                continue
            key = (system, kind, record_id, name)
            held = last.get(key)
            if held is None or (at, seq) > held[0]:
                last[key] = ((at, seq), value, source)
        state: dict[str, Any] = {}
        sources: dict[str, Any] = {}
        for (system, kind, record_id, name), (_, value, source) in last.items():
            row = state.setdefault(system, {}).setdefault(kind, {}).setdefault(record_id, dict.fromkeys(FIELDS))
            if name is not None:
                row[name] = json.loads(value)
            sources.setdefault(system, {}).setdefault(kind, {}).setdefault(record_id, {})[name or "record/id"] = source
        text = canonical_json(state)
        sha256_text(text)
        sha256_text(canonical_json(sources))
        found[case.case_id] = text
    return found


def merged(log: Path, ids: list[str]) -> dict[str, str]:
    """Task -> its state of ours, its layers put together."""
    con = connect(log)
    cases = cases_of(ids)
    load(con, BOOK, {c.organisation for c in cases if c.organisation}, ids, RECORD)
    cuts = cut_states(con, cases, owners={})
    con.close()
    found = {}
    for case in cases:
        state: dict[str, Any] = {}
        for digest in cuts.states[case.case_id].parts:
            for system, kinds in json.loads(cuts.texts[digest]).items():
                for kind, rows in kinds.items():
                    state.setdefault(system, {}).setdefault(kind, {}).update(rows)
        found[case.case_id] = canonical_json(state)
    return found


def child(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.cut", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:])
    return dict(json.loads(done.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cut", description="CPU, memory and growth of the cut.")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--memory-mb", type=int, default=300, help="DuckDB's limit")
    parser.add_argument("--portion", type=int, default=SHARD, help="tasks of a shard")
    parser.add_argument("--folder", type=Path, help="where the log and its portions go (default: a temporary folder)")
    parser.add_argument("--measure", choices=["product", "loop"], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        runs = {"product": lambda: product(asked.folder, asked.tasks, asked.portion, asked.memory_mb)}
        runs["loop"] = lambda: looped(asked.folder, asked.tasks, asked.portion)
        print(json.dumps(runs[asked.measure]()))
        return 0
    with tempfile.TemporaryDirectory(dir=asked.folder) as scratch:
        found = {}
        for part in (10, 1):
            events, tasks, folder = asked.events // part, asked.tasks // part, Path(scratch) / f"of{part}"
            generate(folder, events, tasks, asked.memory_mb)
            common = ["--tasks", str(tasks), "--folder", str(folder), "--memory-mb", str(asked.memory_mb)]
            common += ["--portion", str(asked.portion)]
            found[part] = child("--measure", "product", *common)
            print(f"{events:,} events, {tasks:,} tasks: {json.dumps(found[part])}", flush=True)
        peer = child("--measure", "loop", *common)
    exponent = math.log(found[1]["cpu"] / found[10]["cpu"]) / math.log(10)
    ours = found[1]["cpu"] / asked.tasks
    ratio = (peer["cpu"] / peer["tasks"]) / ours
    share = found[1]["peak_mb"] / asked.memory_mb
    figures = [
        ("states equal to the loop's", str(peer["same"]), "True", peer["same"]),
        ("against a Python dict loop", f"{ratio:.2f}x ({1e6 * ours:.0f} us a task, all of it)", ">= 5x", ratio >= 5),
        ("greatest memory", f"{found[1]['peak_mb']:.0f} MB = {share:.2f} of the limit", "<= 1.3", share <= 1.3),
        ("growth of CPU, exponent over ten times the tasks", f"{exponent:.3f}", "<= 1.05", exponent <= 1.05),
    ]
    for name, measured, target, met in figures:
        print(f"{name}: {measured}  (target {target}: {'met' if met else 'MISSED'})")
    return 0 if all(met for *_, met in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
