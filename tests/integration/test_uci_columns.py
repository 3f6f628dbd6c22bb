"""The UCI incident log: four columns are back-filled onto every row, and the check names each, by evidence or by declaration."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from schemas.records import CodeBook, FieldRule
from tasks.columns import histories
from tasks.leaks import ColumnHistory, Finding, LeakInput, run_check
from tasks.leaks.backfilled_column import LEAK
from tests.unit.tasks.leak_inputs import leak_input

LOG = Path(__file__).resolve().parents[3] / "shared" / "real" / "uci_incident_log" / "incident_event_log.csv.gz"
NAME = "snow.incident."
TIMES = ("opened_at", "resolved_at", "closed_at")
COLUMNS = (*TIMES, "closed_code", "resolved_by", "incident_state", "category", "caller_id")
PEOPLE_KNOW = {"caller_id": "start", "category": "history", "opened_at": "start", "incident_state": "history"}


def read() -> dict[str, ColumnHistory]:
    """The columns' histories; incidents' rows in the order of their modification counter, days before months, "?" is null."""
    if not LOG.exists():
        pytest.skip("the UCI incident log is not beside the repository (shared/real/uci_incident_log)")
    rows: dict[str, list[tuple[int, dict[str, str]]]] = defaultdict(list)
    with gzip.open(LOG, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows[row["number"]].append((int(row["sys_mod_count"]), row))
    times: dict[str, dict[str, datetime]] = {NAME + column: {} for column in TIMES}
    records = []
    for held in rows.values():
        ordered = [row for _, row in sorted(held, key=lambda pair: pair[0])]
        values: dict[str, list[str | None]] = {
            NAME + column: [None if row[column] == "?" else row[column] for row in ordered] for column in COLUMNS
        }
        for column in TIMES:
            for text in values[NAME + column]:
                if text is not None and text not in times[NAME + column]:
                    times[NAME + column][text] = at(text)
        records.append(([at(row["sys_updated_at"]) for row in ordered], values))
    return histories(records, [NAME + column for column in COLUMNS], CodeBook(supplier="uci", fields={}), times)


def at(text: str) -> datetime:
    return datetime.strptime(text, "%d/%m/%Y %H:%M")


@pytest.fixture(scope="module")
def columns() -> dict[str, ColumnHistory]:
    return read()


def verdicts(columns: dict[str, ColumnHistory], declared: dict[str, str]) -> dict[str, Finding]:
    fields = {NAME + column: FieldRule(type="code", known_at=known) for column, known in {**PEOPLE_KNOW, **declared}.items()}
    clean: LeakInput = leak_input(tasks=8)
    book = clean.code_book.model_copy(update={"fields": {**clean.code_book.fields, **fields}})
    found = run_check(LEAK, replace(clean, columns=columns, code_book=book))
    return {finding.path.rsplit("/", 1)[1]: finding for finding in found if finding.path}


def test_two_columns_are_named_by_evidence_and_two_by_declaration(columns: dict[str, ColumnHistory]) -> None:
    hidden = dict.fromkeys(("resolved_at", "closed_at", "closed_code", "resolved_by"), "post_hoc")
    found = verdicts(columns, hidden)
    assert {name for name, f in found.items() if f.detail.startswith("by evidence")} == {"resolved_at", "closed_at"}
    assert {name for name, f in found.items() if f.detail.startswith("by declaration")} == {"closed_code", "resolved_by"}
    # The code book says of all four that they come afterwards, and no task shows one: named in the report, and no fault.
    assert {f.verdict for name, f in found.items() if name in hidden} == {"waived"}


def test_with_nothing_declared_the_times_fail_and_the_others_are_suspects(columns: dict[str, ColumnHistory]) -> None:
    found = verdicts(columns, {})
    assert {name for name, f in found.items() if f.verdict == "failed"} == {"resolved_at", "closed_at"}
    assert {"closed_code", "resolved_by"} <= {name for name, f in found.items() if f.verdict == "suspect"}
    assert not {"caller_id", "incident_state", "category"} & found.keys()
    assert found["opened_at"].verdict == "suspect"  # 5 rows of 141,712 are stamped before their own opening
