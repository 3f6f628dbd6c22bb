from __future__ import annotations

from pathlib import Path

import pytest

from schemas.export import FOLDER, TABLES, export, exported


def test_exported_schemas_are_those_of_the_types() -> None:
    texts = exported()
    stored = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    stale = sorted(name for name in texts.keys() | stored.keys() if texts.get(name) != stored.get(name))
    assert not stale, f"run `make schemas`: {', '.join(stale)}"


def test_export_takes_away_schemas_of_types_that_are_gone(tmp_path: Path) -> None:
    (tmp_path / "Gone.json").write_text("{}")
    names = export(tmp_path)
    assert sorted(names) == sorted(path.name for path in tmp_path.iterdir())


@pytest.mark.parametrize("name", sorted(exported()))
def test_every_exported_schema_is_a_valid_schema(name: str) -> None:
    import json

    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(json.loads(exported()[name]))


@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_table_row_has_every_column_and_no_other(table: str) -> None:
    import json

    schema = json.loads(exported()[f"{table}.parquet.json"])
    assert schema["required"] == list(TABLES[table])
    assert schema["additionalProperties"] is False
