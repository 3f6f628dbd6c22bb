"""State at the cut: CPU, memory and growth of the real functions, against Python dict loops over the same rows.

    python -m benchmarks.cut                                        (1,000,000 events, 50,000 tasks: about two minutes)
    python -m benchmarks.cut --events 20000000 --tasks 1000000

Measured are `tasks.portions.part_events`, `tasks.cut.load` and `tasks.cut.cut_states`, as a build's shards call them: each task's
state is all that its organisation's systems had recorded, as canonical JSON with its digest and with the source of every value.
Each size runs in a process of its own, whose greatest memory is compared with the limit. The loops fold the rows of the first
portions for each task with plain dicts, their reading of the rows included; three of them, since what a loop writes costs more
than the loop: the same layers (their digests are compared with ours), whole states, and nothing at all. Prints one line a figure
with its target; exit code 1 only where a state differs.
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
from unittest import mock

from schemas.events import EVENT_COLUMNS, RECORD_COLUMNS
from schemas.files import canonical_json, sha256_text
from schemas.records import CodeBook
from tasks.case import Clean
from tasks.certified import SHARD
from tasks.cut import CutCase, Cuts, connect, cut_states, load, snapshot_us
from tasks.portions import part_events, portion_size

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
"""Portions that the loops fold too."""
PEERS = {
    "layers": "a Python dict loop that makes the same layers, sources and digests",
    "whole": "a Python dict loop that writes each task's whole state and its sources",
    "values": "a Python dict loop that only finds the values and writes nothing (ours as far as the values)",
}


def generate(folder: Path, events: int, tasks: int, memory_mb: int) -> None:
    """A log of `events` rows, in files as long as `deid` makes them: per task its ticket (3 rows); the rest change its
    organisation's orders, between requests."""
    folder.mkdir(parents=True)
    con = connect(memory_limit=f"{memory_mb}MB", spill=folder / ".spill", apart=True)
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
    con.execute(
        f"COPY ({query}) TO '{folder}/events' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 100000, ROW_GROUPS_PER_FILE 2)"
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
    clean = Clean(folder, BOOK, RECORD)
    started = time.process_time()
    logs = part_events(clean, portions(tasks, size), folder / "portions", groups={}, memory_mb=memory_mb)
    apart = time.process_time() - started
    parting_mb = peak_mb()
    written = 0
    for log, ids in zip(logs, portions(tasks, size), strict=True):
        cuts = fold(log, ids, f"{memory_mb}MB")
        assert all(state.parts for state in cuts.states.values())
        written += sum(map(len, cuts.texts.values()))
    cpu = time.process_time() - started
    return {"cpu": cpu, "apart": apart, "bytes": written, "parting_mb": parting_mb, "peak_mb": peak_mb()}


def peak_mb() -> float:
    """Greatest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fold(log: Path, ids: list[str], limit: str) -> Cuts:
    """States of one portion, as a shard makes them."""
    con = connect(log, memory_limit=limit, spill=log / ".spill")
    cases = cases_of(ids)
    load(con, BOOK, {c.organisation for c in cases if c.organisation}, ids, RECORD)
    cuts = cut_states(con, cases, owners={})
    con.close()
    shutil.rmtree(log / ".spill", ignore_errors=True)
    return cuts


def looped(folder: Path, tasks: int, size: int, memory_mb: int) -> dict[str, Any]:
    """The peers: loops over dicts for the first portions, CPU by what they make; and whether their layers are ours."""
    cpu = {"values": 0.0, "layers": 0.0, "whole": 0.0, "our_values": 0.0}
    count, same = 0, True
    for number, ids in zip(range(LOOPED), portions(tasks, size), strict=False):
        log = folder / "portions" / f"{number:05d}"
        con = connect(log)
        cases = cases_of(ids)
        ours = fold(log, ids, f"{memory_mb}MB")
        made: Any
        for what, made in (("values", values), ("whole", whole)):
            started = time.process_time()
            made(con, cases)
            cpu[what] += time.process_time() - started
        with mock.patch("tasks.cut.written", return_value=None):
            started = time.process_time()
            fold(log, ids, f"{memory_mb}MB")
            cpu["our_values"] += time.process_time() - started
        started = time.process_time()
        found = layers(con, cases)
        cpu["layers"] += time.process_time() - started
        # Of a record, our sources name that of its existence first: brought into the one order to be compared.
        sources = {digest: sha256_text(canonical_json(json.loads(text))) for digest, text in ours.texts.items()}
        same &= all(found[k] == (s.parts, [sources[p] for p in s.provenance]) for k, s in ours.states.items())
        con.close()
        count += len(ids)
    return {"cpu": cpu, "tasks": count, "same": same}


Last = dict[tuple[str, str, str, str | None], tuple[tuple[int, int], str, str]]
"""Key of a value -> ((time, number), value, source)."""


def rows_of(con: Any) -> dict[str, list[Any]]:
    """Organisation -> rows of its systems."""
    names = ", ".join(("organisation", "system", "kind", "record_id", "epoch_us(event_ts)", "epoch_us(recorded_ts)", "seq"))
    rows = con.execute(f"SELECT {names}, field, value_json, source_pos FROM events WHERE system <> 'desk'").fetchall()
    by_organisation: dict[str, list[Any]] = {}
    for row in rows:
        by_organisation.setdefault(row[0], []).append(row[1:])
    return by_organisation


def last_of(rows: list[Any], cut_us: int) -> Last:
    """The loop itself: last value of each field of each record at the cut."""
    last: Last = {}
    for system, kind, record_id, at, known, seq, name, value, source in rows:
        if at >= cut_us or known >= cut_us:
            continue
        key = (system, kind, record_id, name)
        held = last.get(key)
        if held is None or (at, seq) > held[0]:
            last[key] = ((at, seq), value, source)
    return last


Nested = dict[str, dict[str, dict[str, dict[str, Any]]]]


def shaped(last: Last) -> tuple[Nested, Nested]:
    """State and its sources by system, kind, record, field."""
    state: Nested = {}
    sources: Nested = {}
    for (system, kind, record_id, name), (_, value, source) in last.items():
        row = state.setdefault(system, {}).setdefault(kind, {}).setdefault(record_id, dict.fromkeys(FIELDS))
        if name is not None:
            row[name] = json.loads(value)
        sources.setdefault(system, {}).setdefault(kind, {}).setdefault(record_id, {})[name or "record/id"] = source
    return state, sources


def values(con: Any, cases: list[CutCase]) -> int:
    """Only finds the values: writes nothing, no text, no digest, and forgets them at once."""
    rows = rows_of(con)
    return sum(len(last_of(rows.get(case.organisation or "", []), case.cut_us)) for case in cases)


def whole(con: Any, cases: list[CutCase]) -> dict[str, str]:
    """Task -> digest of its whole state as one canonical JSON text, its sources written too."""
    rows = rows_of(con)
    found = {}
    for case in cases:
        state, sources = shaped(last_of(rows.get(case.organisation or "", []), case.cut_us))
        found[case.case_id] = sha256_text(canonical_json(state))
        sha256_text(canonical_json(sources))
    return found


def layers(con: Any, cases: list[CutCase]) -> dict[str, tuple[list[str], list[str]]]:
    """Task -> digests of its layers and of their sources: our product, texts kept by digest, each month's snapshot made once."""
    rows = rows_of(con)
    texts: dict[str, str] = {}
    snapshots: dict[tuple[str | None, int], tuple[Nested, Nested, str | None, str]] = {}
    found = {}

    def put(value: Nested) -> str:
        text = canonical_json(value)
        texts[digest := sha256_text(text)] = text
        return digest

    for case in cases:
        mine = rows.get(case.organisation or "", [])
        month = (case.organisation, snapshot_us(case.cut_us))
        if month not in snapshots:
            state, sources = shaped(last_of(mine, month[1]))
            snapshots[month] = (state, sources, put(state) if state else None, put(sources))
        before, sources_before, base, base_sources = snapshots[month]
        state, sources = shaped(last_of(mine, case.cut_us))
        changed: Nested = {}
        changed_sources: Nested = {}
        for system, kinds in state.items():
            for kind, records in kinds.items():
                was, was_sources = before.get(system, {}).get(kind, {}), sources_before.get(system, {}).get(kind, {})
                for record_id, row in records.items():
                    source = sources[system][kind][record_id]
                    if was.get(record_id) != row or was_sources.get(record_id) != source:
                        changed.setdefault(system, {}).setdefault(kind, {})[record_id] = row
                        changed_sources.setdefault(system, {}).setdefault(kind, {})[record_id] = source
        parts, provenance = ([base], [base_sources]) if base else ([], [])
        if changed:
            parts = [*parts, put(changed)]
            provenance = [*provenance, put(changed_sources)]
        found[case.case_id] = (parts, provenance)
    return found


def child(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.cut", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:])
    return dict(json.loads(done.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cut", description="CPU, memory and growth of the cut.")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=50_000)
    parser.add_argument("--memory-mb", type=int, default=300, help="DuckDB's limit")
    parser.add_argument("--portion", type=int, help="tasks of a shard (default: as many as a build takes)")
    parser.add_argument("--folder", type=Path, help="where the log and its portions go (default: a temporary folder)")
    parser.add_argument("--measure", choices=["product", "loop"], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        runs = {"product": lambda: product(asked.folder, asked.tasks, asked.portion, asked.memory_mb)}
        runs["loop"] = lambda: looped(asked.folder, asked.tasks, asked.portion, asked.memory_mb)
        print(json.dumps(runs[asked.measure]()))
        return 0
    with tempfile.TemporaryDirectory(dir=asked.folder) as scratch:
        found = {}
        for part in (10, 1):
            events, tasks, folder = asked.events // part, asked.tasks // part, Path(scratch) / f"of{part}"
            size = asked.portion or portion_size(tasks, SHARD)
            generate(folder, events, tasks, asked.memory_mb)
            common = ["--tasks", str(tasks), "--folder", str(folder), "--memory-mb", str(asked.memory_mb), "--portion", str(size)]
            found[part] = child("--measure", "product", *common)
            print(f"{events:,} events, {tasks:,} tasks, {size} a portion: {json.dumps(found[part])}", flush=True)
        peer = child("--measure", "loop", *common)
    exponent = math.log(found[1]["cpu"] / found[10]["cpu"]) / math.log(10)
    ours = found[1]["cpu"] / asked.tasks
    share = found[1]["peak_mb"] / asked.memory_mb
    print(f"ours, parting the log included: {1e6 * ours:.0f} us a task")
    figures = [("layers equal to the loop's, by digest", str(peer["same"]), "True", peer["same"])]
    each = {what: cpu / peer["tasks"] for what, cpu in peer["cpu"].items()}
    print(f"ours as far as the values (the log parted, no layer written): {1e6 * each['our_values']:.0f} us a task")
    for what, said in PEERS.items():
        ratio = each[what] / (each["our_values"] if what == "values" else ours)
        figures.append((f"against {said}", f"{ratio:.2f}x ({1e6 * each[what]:.0f} us a task)", ">= 5x", ratio >= 5))
    figures += [
        ("greatest memory", f"{found[1]['peak_mb']:.0f} MB = {share:.2f} of the limit", "<= 1.3", share <= 1.3),
        ("growth of CPU, exponent over ten times the tasks", f"{exponent:.3f}", "<= 1.05", exponent <= 1.05),
    ]
    for name, measured, target, met in figures:
        print(f"{name}: {measured}  (target {target}: {'met' if met else 'MISSED'})")
    return 0 if peer["same"] else 1


if __name__ == "__main__":
    sys.exit(main())
