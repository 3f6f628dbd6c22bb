"""Whatever lies in an export folder becomes a finding and no traceback, and no value of a person is repeated."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.draft.command import main
from ingest.draft.compose import compose
from ingest.draft.profile import profile
from schemas.errors import SourceError

BINARY = bytes(range(256)) * 100
CUT = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (n, n * n % 7919) for n in range(90_000)))[:200_000]
ODD: dict[str, tuple[str, bytes, str]] = {
    "junk": ("junk.bin", BINARY, "file junk.bin: unknown (binary"),
    "zero": ("zero.csv", b"", "file zero.csv: empty (0 bytes)"),
    "one column": ("one.csv", b"colour\nred\nblue\nred\n", "table one: 3 rows, 1 columns"),
    "ragged": ("ragged.csv", b"a,b,c\n1,2,3\n4,5\n6,7,8,9\n10,11,12\n", "odd: ragged.csv: rows: missing columns: 1 (line 3)"),
    "bytes that are no text": ("bad.csv", b"a,b\n1,x\n2,\xff\xfe\xe9\n3,y\n", "file bad.csv: csv (not UTF-8; read as cp1252)"),
    "header alone": ("header.csv", b"a,b,c\n", "odd: header.csv: header has no rows"),
    "no header": ("bare.csv", b"1,x@y.example\n2,z@y.example\n", "odd: bare.csv: the first row holds values, not names"),
    "same names twice": ("twice.csv", b"a,a,,A\n1,2,3,4\n1,2,3,5\n", "table twice: 2 rows, 4 columns"),
    "a huge cell": (
        "huge.csv",
        b'a,b\n1,"' + b"x" * (5 << 20) + b'"\n2,y\n',
        "odd: huge.csv: rows: line size over maximum: 1 (line 2)",
    ),
    "a huge line": (
        "huge.ndjson",
        b'{"a": 1}\n{"a": "' + b"x" * (17 << 20) + b'"}\n{"a": 2}\n',
        "odd: huge.ndjson: a line is longer than 16 MiB: 1 (line 2)",
    ),
    "broken lines": ("lines.ndjson", b'{"a": 1}\n{"a":\n[1]\n{"a": 2}\n', "odd: lines.ndjson: not JSON: 1 (line 2)"),
    "nested without end": ("deep.json", b"[" * 100_000, "odd: deep.json: not JSON"),
    "one object": ("settings.json", b'{"a": 1}', "odd: settings.json: one JSON object, no table"),
    "no database": ("bad.sqlite", b"SQLite format 3\x00" + b"junk" * 100, "odd: bad.sqlite: the file cannot be read"),
    "no Parquet": ("bad.parquet", b"PAR1junkPAR1", "odd: bad.parquet: the file cannot be read: damaged"),
    "no gzip": ("bad.gz", b"\x1f\x8bjunk", "file bad.gz: unknown (a gzip file that is damaged)"),
    "no zip": ("bad.xlsx", b"PK\x03\x04junk", "file bad.xlsx: unknown (a zip archive that is damaged)"),
    "prose": ("notes.txt", b"Just prose, with a comma.\nAnother line", "file notes.txt: text"),
    "a quote in a name": ("it's \"odd\".csv", b"x,y\n1,2\n3,4\n", "table it's \"odd\": 2 rows"),
    "UTF-16": ("wide.csv", "x,y\n1,ä\n3,b\n".encode("utf-16"), "table wide: 2 rows, 2 columns"),
    "a dump that reaches a file": (
        "mal.sql",
        b"CREATE TABLE t (a);\nATTACH 'stolen.db' AS y;\nINSERT INTO t VALUES (1);\n",
        "odd: mal.sql: not a plain dump",
    ),
    "a dump that writes": ("vac.sql", b"CREATE TABLE t (a);\nVACUUM INTO 'stolen.db';\n", "odd: vac.sql: not a plain dump"),
    "mail": ("m.eml", b"From: a@b.example\nTo: c@d.example\nSubject: hi\n\nbody\n", "file m.eml: eml"),
    "mails": ("m.mbox", b"From a@b.example Mon Jan  1 00:00:00 2024\nFrom: a@b.example\n\nbody\n", "file m.mbox: mbox"),
    "a gzip file that is cut off": ("cut.csv.gz", CUT, "odd: cut.csv.gz: "),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_odd_input_is_a_finding(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, content, finding = ODD[case]
    export = tmp_path / "export"
    export.mkdir()
    (export / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    found = compose(profile(export, quiet=True), "odd").findings
    assert any(line.startswith(finding) for line in found), found
    assert any("nothing here can become a task" in line or "no outcome was found" in line for line in found)
    assert not list(tmp_path.rglob("stolen.db"))


def test_an_empty_folder_says_that_nothing_can_become_a_task(tmp_path: Path) -> None:
    found = compose(profile(tmp_path, quiet=True), "empty").findings
    assert found == ["the folder is empty", "no table was found: nothing here can become a task"]


def test_links_pipes_and_loops_are_named_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "up").symlink_to("..")
    (tmp_path / "gone").symlink_to("/nonexistent")
    os.mkfifo(tmp_path / "pipe")
    found = compose(profile(tmp_path, quiet=True), "links").findings
    assert {line for line in found if line.startswith("file ")} == {
        "file gone: link (a symbolic link: not followed)",
        "file up: link (a symbolic link: not followed)",
        "file pipe: unreadable (no ordinary file)",
    }


def test_a_missing_folder_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no export folder, found nothing, allowed a folder"):
        profile(tmp_path / "none", quiet=True)


def csv_of_people(folder: Path) -> None:
    rows = "".join(
        f"{n},Zelda Canary{n % 3},zelda{n}@canary.example,{'won' if n % 2 else 'lost'},Zelda wept at dawn\n" for n in range(40)
    )
    (folder / "deals.csv").write_text(f"deal_id,owner,contact,result,remark\n{rows}", encoding="utf-8")


def json_of_people(folder: Path) -> None:
    rows = [{"id": n, "assigned_to": f"Zelda Canary{n % 3}", "state": "open", "title": "Zelda wept"} for n in range(40)]
    (folder / "cases.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def database_of_people(folder: Path) -> None:
    with sqlite3.connect(folder / "crm.sqlite") as connection:
        connection.execute("CREATE TABLE calls (call_no TEXT, agent TEXT, caller_phone TEXT, created_at TEXT, outcome TEXT)")
        rows = [(f"C-{n:05}", f"Zelda Canary{n % 2}", f"+49 30 123{n:04}", "2025-01-01 09:00:00", "sold") for n in range(40)]
        connection.executemany("INSERT INTO calls VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()


@pytest.mark.parametrize("made", [csv_of_people, json_of_people, database_of_people])
def test_no_value_of_a_person_is_written_or_said(
    made: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = tmp_path / "export"
    export.mkdir()
    made(export)
    out = tmp_path / "drafted.toml"
    assert main([str(export), "--out", str(out)]) == 0
    said = capsys.readouterr()
    everything = (
        said.out + said.err + out.read_text(encoding="utf-8") + (tmp_path / "drafted.codebook.json").read_text(encoding="utf-8")
    )
    assert not [word for word in ("Zelda", "zelda", "Canary", "+49", "wept") if word in everything]
