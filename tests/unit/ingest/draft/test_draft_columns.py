"""What a column's values allow to be said of it: times, the order of day and month, null words, people, back-filled columns."""

from __future__ import annotations

import csv
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from ingest.draft.compose import compose
from ingest.draft.model import Profile, Table
from ingest.draft.profile import profile


def table_of(folder: Path, header: list[str], rows: list[list[str]], name: str = "log") -> Table:
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return profile(folder, quiet=True).tables[name]


def column_of(folder: Path, values: list[str], name: str = "when_at") -> Table:
    return table_of(folder, ["n", name], [[str(n), value] for n, value in enumerate(values)])


@pytest.mark.parametrize(
    ("values", "time_format", "words"),
    [
        (["05/03/2024 10:00", "25/03/2024 11:00"], "%d/%m/%Y %H:%M", "1 can only be day before month"),
        (["05/03/2024 10:00", "03/25/2024 11:00"], "%m/%d/%Y %H:%M", "1 can only be month before day"),
        (["05.03.2024", "06.03.2024"], "%d.%m.%Y", "undecidable: all 2 fit both orders"),
        (["25/03/2024", "03/25/2024"], "%d/%m/%Y", "contradictory: 1 can only be day before month, 1 only month before day"),
        (["2024-03-05 10:00:00", "2024-03-06 10:00:00"], "%Y-%m-%d %H:%M:%S", "none carries a zone"),
        (["2024-03-05T10:00:00Z", "2024-03-06T10:00:00+01:00"], None, "each carries its offset"),
        (["1709632800", "1709632900"], None, "Unix time"),
    ],
)
def test_the_form_of_times_is_told_with_what_decides_it(
    values: list[str], time_format: str | None, words: str, tmp_path: Path
) -> None:
    clock = column_of(tmp_path, values).columns["when_at"].clock
    assert clock is not None
    assert clock.time_format == time_format
    assert words in clock.evidence
    assert clock.decided == (not words.startswith(("undecidable", "contradictory")))


def test_an_undecided_column_says_that_those_beside_it_are_decided(tmp_path: Path) -> None:
    rows = [[str(n), "05/03/2024 10:00", f"{n}/25/2024 10:00"] for n in range(1, 10)]
    columns = table_of(tmp_path, ["n", "opened_at", "closed_at"], rows).columns
    clock = columns["opened_at"].clock
    assert clock is not None
    assert clock.time_format == "%m/%d/%Y %H:%M"
    assert "undecidable" in clock.evidence
    assert clock.evidence.endswith("1 columns beside it are decided: month before day")


def test_words_for_no_value_are_counted_and_are_no_values(tmp_path: Path) -> None:
    column = column_of(tmp_path, ["?", "7", "?", "8", "", "NULL"], "size").columns["size"]
    assert column.null_words == {"?": 2, "NULL": 1}
    assert (column.filled, column.distinct, column.type) == (2, 2, "int")


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("reach", "person{}@mail.example", "email"),
        ("mobile_phone", "030{}4567", "phone"),
        ("full_name", "Somebody {}", "name"),
        ("login", "user{}", "login"),
        ("product_name", "Chair {}", ""),
        ("colour", "red", ""),
    ],
)
def test_columns_of_people_are_told_by_name_and_by_shape(name: str, value: str, kind: str, tmp_path: Path) -> None:
    column = column_of(tmp_path, [value.format(n) for n in range(20)], name).columns[name]
    assert column.person == kind


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Please tell me when the chair that I have ordered will be sent to our office", "en"),
        ("Bitte sagen Sie mir, wann der Stuhl kommt, den ich für das Büro bestellt habe", "de"),
        ("Merci de me dire quand la chaise pour notre bureau est livrée avec les autres", "fr"),
    ],
)
def test_the_language_of_texts_is_counted(text: str, language: str, tmp_path: Path) -> None:
    column = column_of(tmp_path, [f"{text} {n}" for n in range(30)], "remark").columns["remark"]
    assert (column.type, column.language) == ("text", language)
    assert f"{language} 30" in column.language_evidence


def incidents(*, filled_afterwards: bool) -> list[list[str]]:
    """Ten incidents of four rows: state changes; what closing told stands in all rows, or only in the last."""
    rows = []
    for case in range(10):
        opened = datetime(2024, 3, 1, 9) + timedelta(days=case)
        closed = opened + timedelta(hours=7)
        for step, state in enumerate(("New", "Active", "Active", "Closed")):
            at = opened + timedelta(hours=2 * step)
            known = filled_afterwards or step == 3
            ended = [f"{min(closed, at) if not filled_afterwards else closed}", f"code {case % 3}"] if known else ["", ""]
            due = f"{opened + timedelta(days=9)}"
            rows.append([f"INC{case:04}", str(step), f"{at}", state, f"{opened}", due, *ended])
    return rows


HEADER = ["number", "mod_count", "updated_at", "state", "opened_at", "due_at", "closed_at", "closed_code"]


def test_a_column_filled_before_its_own_time_is_named_by_evidence_and_its_fellow_as_a_suspect(tmp_path: Path) -> None:
    table = table_of(tmp_path, HEADER, incidents(filled_afterwards=True))
    history = table.history
    assert history is not None
    assert (history.record, history.order, history.time) == ("number", "mod_count", "updated_at")
    grades = {one.column: one.grade for one in history.suspicions}
    assert grades == {"opened_at": "constant", "due_at": "planned", "closed_at": "evidence", "closed_code": "suspect"}
    why = next(one.why for one in history.suspicions if one.column == "closed_at")
    assert why.startswith("in 40 of 40 rows it names a later time than the row's own updated_at, 10 of them a record's first row")
    assert "(rows 1, 2, 3)" in why


def test_a_column_filled_at_the_end_is_an_outcome_and_no_suspect(tmp_path: Path) -> None:
    table_of(tmp_path, HEADER, incidents(filled_afterwards=False))
    found = profile(tmp_path, quiet=True)
    history = found.tables["log"].history
    assert history is not None
    assert not {one.column for one in history.suspicions} & {"closed_at", "closed_code"}
    best = found.outcomes[0]
    assert (best.column, best.filled_late, best.records) == ("closed_code", True, 10)


def test_an_export_without_outcomes_or_histories_says_so(tmp_path: Path) -> None:
    table_of(tmp_path, ["part_no", "weight"], [[f"P-{n:05}", str(n * 3)] for n in range(30)], "parts")
    lines = compose(profile(tmp_path, quiet=True), "parts").findings
    assert any(line.startswith("no outcome was found") for line in lines)
    assert any(line.startswith("no history was found") for line in lines)


def shop(folder: Path) -> Profile:
    with sqlite3.connect(folder / "shop.sqlite") as connection:
        connection.executescript(
            "CREATE TABLE orders (order_no TEXT, customer_id INTEGER, lines INTEGER, total_minor INTEGER);"
            "CREATE TABLE customers (id INTEGER, city TEXT);"
        )
        connection.executemany("INSERT INTO customers VALUES (?, ?)", [(n, "x") for n in range(1, 41)])
        rows = [(f"B-{n:06}", n % 40 + 1, n % 5 + 1, n) for n in range(200)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    connection.close()
    return profile(folder, quiet=True)


def test_a_link_has_its_count_and_share_and_small_numbers_link_nothing(tmp_path: Path) -> None:
    links = shop(tmp_path).links
    assert [(one.table, one.column, one.to_table, one.to_column) for one in links] == [
        ("orders", "customer_id", "customers", "id")
    ]
    assert (links[0].matched, links[0].distinct, links[0].share) == (40, 40, 1.0)
