"""A shard's own part of the log holds all that it needs and nothing of others; the whole is read once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from pipeline.tables import frame, write_table
from schemas.events import EVENT_COLUMNS, RECORD_COLUMNS
from tasks.case import Clean
from tasks.portions import part_events
from tests.unit.tasks.cut_rows import BOOK, CUT, RECORD, order, row


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
