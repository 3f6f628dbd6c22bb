from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from deid.residual import require_clean, scan
from deid.vault import Vault, write_vault
from schemas.errors import PrivacyError

KEY = b"0123456789abcdef"
TOKENS = {
    "PERSON_9F3A21BC": ["Anna Meyer", "Meyer, Anna"],
    "PERSON_9F3A21BC_EMAIL": ["anna@x.example"],
    "ORDER_00000001": ["A-104327"],
}
REFS = {"R0123456789abcdef": ("tickets.ndjson", "line:17")}


def test_the_vault_gives_back_what_was_put_in_and_has_the_same_bytes_twice(tmp_path: Path) -> None:
    for name in ("a.vault", "b.vault"):
        write_vault(tmp_path / name, KEY, TOKENS, REFS, {"shift_days": -7})
    assert (tmp_path / "a.vault").read_bytes() == (tmp_path / "b.vault").read_bytes()
    assert (tmp_path / "a.vault").stat().st_mode & 0o777 == 0o600
    vault = Vault(tmp_path / "a.vault", KEY)
    assert vault.originals("PERSON_9F3A21BC") == ["Anna Meyer", "Meyer, Anna"]
    assert vault.place("R0123456789abcdef") == ("tickets.ndjson", "line:17")
    assert vault.originals("PERSON_FFFFFFFF") == []
    assert vault.meta == {"shift_days": -7}
    assert vault.tokens() == TOKENS


def test_the_vault_is_unreadable_without_its_key_and_where_it_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "v.vault"
    write_vault(path, KEY, TOKENS, REFS, {})
    data = path.read_bytes()
    assert b"Anna" not in data
    assert b"tickets" not in data
    with pytest.raises(PrivacyError, match="another key"):
        Vault(path, b"another key, another key")
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(PrivacyError, match="changed"):
        Vault(path, KEY).tokens()
    path.write_bytes(b"not a vault")
    with pytest.raises(PrivacyError, match="not a vault"):
        Vault(path, KEY)
    with pytest.raises(PrivacyError, match="no vault"):
        Vault(tmp_path / "none", KEY)


def put(folder: Path, text: str, column: str = "text") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({column: ["harmless", text]}).write_parquet(folder / "t.parquet")


@pytest.mark.parametrize(
    "text",
    [
        "ask ANNA MEYER about it",
        "ask Anna\nMeyer about it",
        "Änna Meyer",
        '{"name":"Anna Meyer"}',
        "order a-104327.",
        "number 48 000 001 please",
        "phone 030-231250-01",
        "mail someone.else@firma.example",
        "call +44 20 7946 0958",
        "pay DE89 3704 0044 0532 0130 00",
    ],
)
def test_the_scan_finds_originals_in_any_dress_and_whatever_looks_like_one(tmp_path: Path, text: str) -> None:
    put(tmp_path / "out", text)
    report = scan(tmp_path / "out", ["Anna Meyer", "A-104327", "48000001", "03023125001"])
    assert len(report.hits) == 1
    with pytest.raises(PrivacyError) as error:
        require_clean(report)
    assert "Meyer" not in str(error.value)
    assert "t.parquet:text:1" in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "PERSON_9F3A21BC wrote to ORDER_48000001",
        "Hannah Meyerling",
        "AA-104327",
        "total 104327",
        "R4800000148000001",
        "Anna and Meyer",
    ],
)
def test_the_scan_leaves_tokens_and_other_words_alone(tmp_path: Path, text: str) -> None:
    put(tmp_path / "out", text)
    assert scan(tmp_path / "out", ["Anna Meyer", "A-104327", "48000001"]).hits == ()


def test_the_scan_reads_names_of_files_and_columns_and_lines_of_text(tmp_path: Path) -> None:
    put(tmp_path / "one", "x", column="anna meyer")
    put(tmp_path / "two" / "Anna Meyer", "x")
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "codebook.json").write_text(json.dumps({"meaning": "as Anna Meyer says"}))
    for name in ("one", "two", "three"):
        assert scan(tmp_path / name, ["Anna Meyer"]).hits, name
    assert not scan(tmp_path / "three", ["Anna Meyer"], vocabulary=["Anna Meyer"]).hits


def test_what_a_model_found_in_one_case_is_looked_for_in_that_case_only(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "events"
    folder.mkdir(parents=True)
    rows = {"record_id": ["TICKET_00000001", "TICKET_00000002"], "reference": [None, None]}
    rows |= {"text": ["West Bay it is", "West Bay it is"], "value_json": [None, None]}
    schema = dict.fromkeys(rows, pl.String)
    pl.DataFrame(rows, schema=schema).write_parquet(folder / "part.parquet")
    report = scan(tmp_path / "out", [], (), {"TICKET_00000002": ["West Bay"]})
    assert [(h.row, h.kind) for h in report.hits] == [(1, "name found in this case")]


def test_a_file_that_cannot_be_read_is_not_published(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PrivacyError, match="cannot be read"):
        scan(tmp_path, [])
