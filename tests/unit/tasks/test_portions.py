"""A shard's own part of the log holds all that it needs and nothing of others; the log is read in runs that show nowhere."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.tables import frame, write_table
from schemas.events import EVENT_COLUMNS, RECORD_COLUMNS
from tasks.case import Clean
from tasks.cut import CutCase, Cuts, connect, cut_states, load
from tasks.portions import part_events
from tests.unit.tasks.cut_cases import TABLE
from tests.unit.tasks.cut_rows import BOOK, CUT, OLD, RECORD, order, row


def test_a_portion_holds_its_organisations_cases_requesters_and_what_was_written_for_them(tmp_path: Path) -> None:
    def ticket(name: str, organisation: str, requester: str) -> list[dict[str, Any]]:
        more: dict[str, Any] = {"type": "create", "organisation": organisation}
        told = [("requester", requester), ("subject", name), (None, None)]
        return [row("desk", "ticket", name, CUT, field, value, **more) for field, value in told]

    events = [
        *ticket("T1", "O1", "U1"),
        *ticket("T2", "O2", "U2"),
        *ticket("T3", "O3", "U1"),
        *order("A1", CUT, organisation="O1"),
        *order("A2", CUT, organisation="O2"),
        *order("A3", CUT, organisation="O3"),
        row("bank", "payment", "P", CUT, "status", "back", reference="T2", organisation="O9"),
        row("desk", "user", "U2", CUT, "name", "x", organisation="O9"),
        row("bank", "payment", "Q", CUT, "status", "x", organisation="O9"),
    ]
    write_table(frame(events, EVENT_COLUMNS), tmp_path / "events" / "part-0000.parquet")
    records = [
        {"system": "desk", "kind": "ticket", "record_id": t, "organisation": o}
        for t, o in (("T1", "O1"), ("T2", "O2"), ("T3", "O3"))
    ]
    write_table(frame(records, RECORD_COLUMNS), tmp_path / "records.parquet")
    clean = Clean(tmp_path, BOOK, RECORD)
    # O2 was merged with O3: their cases see the records of both.
    logs = part_events(clean, [["T1"], ["T2"], []], tmp_path / "portions", groups={"O2": "O2", "O3": "O2"}, memory_mb=200)
    found = [
        set(Clean(tmp_path, BOOK, RECORD, log).events().select("record_id").collect()["record_id"].to_list()) for log in logs
    ]
    assert found[0] == {"T1", "T3", "A1"}
    assert found[1] == {"T2", "A2", "A3", "P", "U2"}
    assert found[2] == set()
    # Rows are neither lost nor doubled.
    told = Clean(tmp_path, BOOK, RECORD, logs[0]).events().filter(pl.col("record_id") == "T1").collect()
    assert told.height == 3
    assert told.columns == list(EVENT_COLUMNS)


def test_the_runs_in_which_a_log_is_parted_show_in_no_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the 22 cases of the cut (ties, deletes, rows without a time), and of a customer that was merged with another."""
    benches = [bench for bench, _ in TABLE.values()]
    events = [event for bench in benches for event in bench.rows]
    events += [
        *order("M", OLD, organisation="merged"),
        row("shop", "order", "M", OLD, "status", "placed", seq=2, organisation="merged"),
        row("bank", "payment", "P", OLD, "status", "back", reference=benches[0].ticket, organisation="merged"),
    ]
    random.Random(0).shuffle(events)
    for start in range(0, len(events), 15):
        write_table(frame(events[start : start + 15], EVENT_COLUMNS), tmp_path / "events" / f"part-{start:04d}.parquet")
    records = [{"system": "desk", "kind": "ticket", "record_id": b.ticket, "organisation": b.organisation} for b in benches]
    write_table(frame(records, RECORD_COLUMNS), tmp_path / "records.parquet")
    clean, groups = Clean(tmp_path, BOOK, RECORD), {benches[1].organisation: "merged", "merged": "merged"}
    portions = [benches[number::3] for number in range(3)]

    def parted() -> tuple[list[int], list[list[tuple[Any, ...]]], list[Cuts]]:
        ids = [[bench.ticket for bench in portion] for portion in portions]
        logs = part_events(clean, ids, tmp_path / "portions", groups=groups, memory_mb=200)
        rows, found = [], []
        for log, portion in zip(logs, portions, strict=True):
            con = connect(log)
            rows.append(sorted(con.execute("SELECT * FROM events").fetchall(), key=repr))
            load(con, BOOK, [b.organisation for b in portion], [b.ticket for b in portion], RECORD, groups=groups)
            cases = [CutCase(b.ticket, b.organisation, None, int(b.cut.timestamp() * 1_000_000)) for b in portion]
            found.append(cut_states(con, cases))
            con.close()
        return [len(list((log / "events").glob("*"))) for log in logs], rows, found

    files, rows, states = parted()
    assert files == [1, 1, 1]
    assert any(cuts.untimed for cuts in states)
    assert any(state.ambiguous for cuts in states for state in cuts.states.values())
    assert any('"M"' in text for text in states[1].texts.values())
    monkeypatch.setattr("tasks.portions.SORTED", 0)
    files_of_runs, rows_of_runs, states_of_runs = parted()
    assert min(files_of_runs) > 2
    assert rows_of_runs == rows
    assert states_of_runs == states
