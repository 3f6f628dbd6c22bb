"""A table in many files is one table; files that only lie together are not."""

from __future__ import annotations

import json
from pathlib import Path

from ingest.draft.compose import compose
from ingest.draft.profile import profile


def test_files_of_a_day_with_the_same_columns_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "sales").mkdir()
    for day in range(1, 13):
        text = "sale_no,amount\n" + "".join(f"S-{day:02}{n:04},{n}\n" for n in range(5))
        (tmp_path / "sales" / f"2024-01-{day:02}.csv").write_text(text, encoding="utf-8")
    (tmp_path / "sales" / "shops.csv").write_text("shop,city\na,x\nb,y\n", encoding="utf-8")
    found = profile(tmp_path, quiet=True)
    assert {name: table.rows for name, table in found.tables.items()} == {"sales": 60, "shops": 2}
    assert found.tables["sales"].keys == ["sale_no"]
    lines = compose(found, "mine").findings
    assert "files sales/2024-01-01.csv and 12 more of the folder: csv" in lines


def test_objects_in_files_of_their_own_are_one_table_where_they_have_the_same_keys(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    for number in range(4):
        found = {"id": 10_000 + number, "state": "open"}
        (tmp_path / "cases" / f"{number}.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    (tmp_path / "cases" / "settings.json").write_text('{"colour": "red"}', encoding="utf-8")
    read = profile(tmp_path, quiet=True)
    assert {name: (table.rows, table.keys) for name, table in read.tables.items()} == {"cases": (4, ["id"])}
    assert "cases/settings.json: one JSON object, no table" in read.findings
