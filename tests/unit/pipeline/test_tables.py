from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.tables import frame, read_table, write_table
from schemas.errors import StageError
from schemas.events import EVENT_COLUMNS, RECORD_COLUMNS, EventType

ROW: dict[str, Any] = {
    "system": "helpdesk",
    "kind": "ticket",
    "record_id": "1",
    "organisation": None,
    "opened_ts": datetime(2025, 3, 30, 0, 59, 59, 123456, tzinfo=UTC),
    "opening_seq": 3,
    "closed_ts": None,
    "outcome_code": None,
}


def test_a_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_table(frame([ROW], RECORD_COLUMNS), tmp_path / "records.parquet")
    assert read_table(tmp_path / "records.parquet", RECORD_COLUMNS).to_dicts() == [ROW]


def test_same_rows_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_table(frame([ROW] * 1000, RECORD_COLUMNS), tmp_path / f"{name}.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_an_empty_table_keeps_its_columns(tmp_path: Path) -> None:
    write_table(frame([], EVENT_COLUMNS), tmp_path / "events.parquet")
    assert read_table(tmp_path / "events.parquet", EVENT_COLUMNS).columns == list(EVENT_COLUMNS)


@pytest.mark.parametrize(("field", "value"), [("opening_seq", "3"), ("system", 7), ("opening_seq", 2.5), ("opening_seq", True)])
def test_a_value_of_another_type_is_never_cast(field: str, value: object) -> None:
    for rows in ([ROW | {field: value}], {field: [value]}):
        with pytest.raises(TypeError, match=f"column {field}"):
            frame(rows, RECORD_COLUMNS)  # type: ignore[arg-type]


def test_a_time_without_a_zone_is_never_guessed() -> None:
    with pytest.raises(TypeError, match="a time without a zone"):
        frame([ROW | {"opened_ts": datetime(2025, 3, 30)}], RECORD_COLUMNS)


def test_a_member_of_an_enumeration_is_its_text() -> None:
    assert frame([ROW | {"kind": EventType.change}], RECORD_COLUMNS)["kind"].to_list() == ["change"]


def test_an_unknown_key_is_never_dropped() -> None:
    with pytest.raises(KeyError, match="opend_ts"):
        frame([ROW | {"opend_ts": None}], RECORD_COLUMNS)


def test_a_key_that_a_row_lacks_is_null() -> None:
    assert frame([{"system": "helpdesk"}, ROW], RECORD_COLUMNS)["kind"].to_list() == [None, "ticket"]


def test_other_columns_or_types_are_named(tmp_path: Path) -> None:
    write_table(frame([ROW], RECORD_COLUMNS), tmp_path / "records.parquet")
    with pytest.raises(StageError, match="columns differ"):
        read_table(tmp_path / "records.parquet", {**RECORD_COLUMNS, "opening_seq": "str"})
    with pytest.raises(StageError, match="is missing"):
        read_table(tmp_path / "no.parquet", RECORD_COLUMNS)
