"""Merging shards: repeats, one sequence, owners, records; none of it depends on the order of rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from ingest import merge
from ingest.source import MARK_COLUMNS, OWNER_COLUMNS, ROW_COLUMNS, STAGED_EVENT_COLUMNS
from pipeline.tables import frame

START = datetime(2025, 3, 1, tzinfo=UTC)


def rows(columns: dict[str, str], *given: dict[str, Any]) -> pl.DataFrame:
    return frame([{**dict.fromkeys(columns), **row} for row in given], columns)


def event(record: str, minute: int, order: int | None, stream: str = "s") -> dict[str, Any]:
    at = START + timedelta(minutes=minute)
    place = {"system": "a", "kind": "b", "record_id": record, "stream": stream, "order_1": order, "order_2": 0}
    return {**place, "event_ts": at, "recorded_ts": at, "type": "change", "row_at": f"{stream}{order}{minute}"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sequence_keeps_each_streams_own_order_whatever_the_order_of_rows(seed: int) -> None:
    # The second row was recorded by a clock that ran ahead; it may not overtake its successor.
    events = rows(
        STAGED_EVENT_COLUMNS, event("x", 0, 1), event("x", 50, 2), event("x", 10, 3), event("y", 20, 7, "t"), event("x", 60, None)
    )
    made = merge.sequenced(events.sample(fraction=1.0, shuffle=True, seed=seed)).sort("seq")
    assert made.select("stream", "order_1", "seq").rows() == [
        ("s", None, None),
        ("s", 1, 1),
        ("t", 7, 2),
        ("s", 2, 3),
        ("s", 3, 4),
    ]


def test_the_last_telling_of_a_repeated_row_counts() -> None:
    told = rows(
        ROW_COLUMNS,
        *[
            {
                "source": "z",
                "source_file": file,
                "place": place,
                "row_key": key,
                "version": version,
                "quarantined": bad,
                "row_at": at,
            }
            for file, place, key, version, bad, at in [
                ("p1", 1, "k1", "2025-01", False, "old"),
                ("p1", 2, "k2", "", False, "same page first"),
                ("p1", 3, "k2", "", False, "same page last"),
                ("p2", 1, "k1", "2025-02", False, "new"),
                ("p2", 2, None, "", True, "bad"),
                ("p3", 1, "k1", "2025-01", False, "older again"),
            ]
        ],
    )
    assert sorted(merge.repeated_rows(told)["row_at"]) == ["old", "older again", "same page first"]


def test_owner_is_found_through_parents_and_a_cycle_ends() -> None:
    def owner(record: str, organisation: str | None, parent: str | None) -> dict[str, Any]:
        above = {"parent_system": "a", "parent_kind": "b", "parent_id": parent} if parent else {}
        return {"system": "a", "kind": "b", "record_id": record, "organisation": organisation, **above}

    owners = rows(
        OWNER_COLUMNS, owner("top", "ORG", None), owner("mid", None, "top"), owner("low", None, "mid"), owner("c1", None, "c2"),
        owner("c2", None, "c1"),
    )  # fmt: skip
    found = dict(merge.organisations(owners).select("record_id", "organisation").rows())
    assert found == {"top": "ORG", "mid": "ORG", "low": "ORG", "c1": None, "c2": None}


@pytest.mark.parametrize(
    ("marks", "closed"),
    [(["closed"], 1), (["closed", "reopened"], None), (["closed", "reopened", "closed"], 3), (["ended"], 1), ([], None)],
)
def test_a_record_is_closed_where_its_last_word_is_closed(marks: list[str], closed: int | None) -> None:
    events = merge.sequenced(rows(STAGED_EVENT_COLUMNS, *[event("x", minute, minute) for minute in range(4)]))
    noted = rows(
        MARK_COLUMNS,
        *[
            {"system": "a", "kind": "b", "record_id": "x", "mark": mark, "ts": START + timedelta(minutes=n), "stream": "s",
             "order_1": n, "order_2": 0}
            for n, mark in enumerate(marks, 1)
        ],
    )  # fmt: skip
    owned = merge.organisations(rows(OWNER_COLUMNS))
    (found,) = merge.records(events, noted, owned)["closed_ts"].to_list()
    assert found == (START + timedelta(minutes=closed) if closed else None)
