from __future__ import annotations

import os
from pathlib import Path

import pytest

from schemas import files
from schemas.episode import ToolCall
from schemas.errors import SourceError, StageError
from schemas.files import canonical_json, get_content, put_content, read_json, read_models, write_json, write_models, write_text


def test_a_reader_sees_the_old_file_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StageError, match="No space left"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"], "a failed write leaves nothing behind"


def test_writing_below_a_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StageError, match="cannot write"):
        write_text(tmp_path / "file" / "a.txt", "x")


def test_canonical_json_is_one_text_per_value() -> None:
    assert canonical_json({"b": 1, "a": ["é", None]}) == canonical_json({"a": ["é", None], "b": 1}) == '{"a":["é",null],"b":1}'
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


def test_models_come_back_as_they_were_written(tmp_path: Path) -> None:
    rows = [ToolCall(tool="a"), ToolCall(tool="b", arguments={"x": [1, "ü\u2028"]})]
    assert write_models(tmp_path / "rows.jsonl", rows) == 2
    assert list(read_models(tmp_path / "rows.jsonl", ToolCall)) == rows


@pytest.mark.parametrize("bad", [b'{"tool": 3}\n', b'{"tool": "x"', b"\xff\n", b'{"tool": "x", "other": 1}\n'])
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"tool": "x"}\n\n' + bad)
    with pytest.raises(SourceError, match=r"rows\.jsonl:3: not a ToolCall"):
        list(read_models(path, ToolCall))


def test_a_missing_file_is_a_stage_error(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="is missing"):
        read_json(tmp_path / "no.json")
    with pytest.raises(StageError, match="is missing"):
        list(read_models(tmp_path / "no.jsonl", ToolCall))


def test_a_folder_in_place_of_a_file_is_a_stage_error(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="cannot read"):
        read_json(tmp_path)
    with pytest.raises(StageError, match="cannot read"):
        list(read_models(tmp_path, ToolCall))


def test_truncated_json_is_named_by_line_without_its_text(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"name": "Anna",\n "x"')
    with pytest.raises(SourceError, match=r"a\.json:2: not JSON") as caught:
        read_json(path)
    assert "Anna" not in str(caught.value)


def test_json_that_is_not_utf8_is_named_by_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(SourceError, match="byte 7: not UTF-8"):
        read_json(path)


def test_content_is_found_by_its_digest_and_storing_twice_is_a_no_op(tmp_path: Path) -> None:
    digest = put_content(tmp_path, {"b": 1, "a": 2})
    stamp = (tmp_path / digest).stat().st_mtime_ns
    assert put_content(tmp_path, {"a": 2, "b": 1}) == digest
    assert (tmp_path / digest).stat().st_mtime_ns == stamp
    assert get_content(tmp_path, digest) == {"a": 2, "b": 1}


def test_changed_content_is_refused(tmp_path: Path) -> None:
    digest = put_content(tmp_path, {"a": 2})
    (tmp_path / digest).write_text('{"a":3}')
    with pytest.raises(StageError, match="do not match the name"):
        get_content(tmp_path, digest)


def test_written_json_has_the_same_bytes_whatever_the_order_of_keys(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": 1, "a": 2})
    write_json(tmp_path / "b.json", {"a": 2, "b": 1})
    assert files.sha256_file(tmp_path / "a.json") == files.sha256_file(tmp_path / "b.json")
