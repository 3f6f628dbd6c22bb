"""`python -m ingest` as its operator meets it: bad input is one line and exit 2, a killed run continues, any database will do."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from ingest.run import STOPPED, ingest
from schemas.errors import RecordgymError, SourceError, SpecError

ROOT = Path(__file__).resolve().parents[2]
ZENDESK = ROOT / "tests" / "fixtures" / "zendesk"
SQL = ROOT / "tests" / "fixtures" / "sql"


@pytest.fixture
def zendesk(tmp_path: Path) -> tuple[Path, Path]:
    """(spec, export) that may be spoilt."""
    shutil.copytree(ZENDESK, tmp_path / "fixture")
    return tmp_path / "fixture" / "spec.toml", tmp_path / "fixture" / "export"


def respelt(spec: Path, old: str, new: str) -> None:
    text = spec.read_text(encoding="utf-8")
    assert old in text
    spec.write_text(text.replace(old, new), encoding="utf-8")


def fault(spec: Path, export: Path) -> str:
    with pytest.raises(RecordgymError) as caught:
        ingest(spec, export, engine="inline", quiet=True)
    return str(caught.value)


def test_missing_parts_of_an_export_are_named(zendesk: tuple[Path, Path]) -> None:
    spec, export = zendesk
    assert "the export folder is missing" in fault(spec, export.with_name("nowhere"))
    shutil.move(export / "codebook.json", export / "elsewhere.json")
    assert "the code book is missing" in fault(spec, export)
    shutil.move(export / "elsewhere.json", export / "codebook.json")
    for page in export.glob("helpdesk/ticket_audits-*"):
        page.unlink()
    assert "pages of ticket_audits are missing" in fault(spec, export)
    (export / "helpdesk" / "notes-0001.ndjson").touch()
    assert "not a page of this export" in fault(spec, export)
    shutil.rmtree(export / "helpdesk")
    assert "folder of source 'helpdesk' is missing" in fault(spec, export)


def test_an_empty_export_is_said(zendesk: tuple[Path, Path]) -> None:
    spec, export = zendesk
    for page in export.glob("helpdesk/*.ndjson"):
        page.write_bytes(b"\n")
    assert "holds no rows: the export is empty" in fault(spec, export)


def test_an_unknown_zone_or_format_is_a_fault_of_the_spec(zendesk: tuple[Path, Path]) -> None:
    spec, export = zendesk
    respelt(spec, 'zone = "UTC"', 'zone = "Europe/Berlim"')
    assert "sources.0.zone: 'Europe/Berlim' is not an IANA zone" in fault(spec, export)
    respelt(spec, "Europe/Berlim", "UTC")
    respelt(spec, 'format = "zendesk"', 'format = "zendesc"')
    assert "did you mean 'zendesk'?" in fault(spec, export)


def test_too_many_unreadable_rows_stop_the_run_and_keep_what_was_there(zendesk: tuple[Path, Path]) -> None:
    spec, export = zendesk
    _, _, out = ingest(spec, export, engine="inline", quiet=True)
    before = (out / "manifest.json").read_bytes()
    respelt(spec, "max_quarantined_share = 0.8", "max_quarantined_share = 0.2")
    message = fault(spec, export)
    assert "5 of 8 rows cannot be read (more than max_quarantined_share = 0.2)" in message
    assert (out / "manifest.json").read_bytes() == before
    assert len((out / STOPPED).read_text(encoding="utf-8").splitlines()) == 9
    respelt(spec, "max_quarantined_share = 0.2", "max_quarantined_share = 0.9")
    ingest(spec, export, engine="inline", quiet=True)
    assert not (out / STOPPED).exists()


def test_messages_and_quarantine_hold_no_word_of_a_record(zendesk: tuple[Path, Path], capfd: pytest.CaptureFixture[str]) -> None:
    spec, export = zendesk
    page = export / "helpdesk" / "users-0001.ndjson"
    canary = "Zanzibar Quux"
    page.write_text(page.read_text(encoding="utf-8").replace('"name": "Anna Vogel"', f'"name": ["{canary}"]'), encoding="utf-8")
    page.write_text(page.read_text(encoding="utf-8").replace('"role": "agent"', f'"role": "{canary}"'), encoding="utf-8")
    respelt(spec, "max_quarantined_share = 0.8", "max_quarantined_share = 1.0")
    _, _, out = ingest(spec, export, engine="inline")
    told = capfd.readouterr()
    everything = told.out + told.err + str(pl.read_parquet(out / "quarantine.parquet").rows())
    assert "Zanzibar" not in everything
    assert "helpdesk.user.role" in everything


def test_command_says_one_line_and_exits_2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ingest", "--spec", str(ZENDESK / "spec.toml"), "--export", str(tmp_path / "no")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(("key", "fault"), [("", "no token key in RECORDGYM_TOKEN_KEY"), ("short", "has 5 bytes")])
def test_a_missing_key_is_asked_for_before_anything_is_read(tmp_path: Path, key: str, fault: str) -> None:
    """deid needs it, minutes later; the one line says how to make one."""
    command = [sys.executable, "-m", "ingest", "--spec", str(ZENDESK / "spec.toml"), "--export", str(tmp_path / "no")]
    environment = {**os.environ, "RECORDGYM_TOKEN_KEY": key}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert fault in done.stderr
    assert "export RECORDGYM_TOKEN_KEY=$(openssl rand -hex 32)" in done.stderr


def sqlite_export(folder: Path) -> Path:
    import sqlite3

    export = folder / "export"
    shutil.copytree(SQL / "export", export)
    script = export / "orders" / "orders.sqlite.sql"
    connection = sqlite3.connect(script.with_suffix(""))
    connection.executescript(script.read_text(encoding="utf-8"))
    connection.close()
    return export


def test_missing_tables_columns_and_databases_are_named(tmp_path: Path) -> None:
    export = sqlite_export(tmp_path)
    spec = tmp_path / "spec.toml"
    shutil.copy(SQL / "spec.toml", spec)
    respelt(spec, 'table = "carriers"', 'table = "carrierz"')
    assert "a table is missing, field carrierz, allowed accounts, accounts_history, carriers" in fault(spec, export)
    respelt(spec, 'table = "carrierz"', 'table = "carriers"')
    respelt(spec, 'seq = "history_id"', 'seq = "change_id"')
    assert "columns of accounts_history are missing, field change_id" in fault(spec, export)
    respelt(spec, 'seq = "change_id"', 'seq = "history_id"')
    respelt(spec, '"%Y-%m-%d %H:%M:%S"', '"%y-%m-%d %H:%M:%S"')
    assert "time_format: %y leaves the century to guess" in fault(spec, export)
    respelt(spec, '"%y-%m-%d %H:%M:%S"', '"%Y-%m-%d %H:%M:%S"')
    respelt(spec, 'tier = "tier"', 'tier = "level"')
    assert "columns.tier: accounts.account.level is not in the code book" in fault(spec, export)
    respelt(spec, 'tier = "level"', 'tier = "tier"')
    (export / "orders" / "orders.sqlite").write_bytes(b"this is no database, but it is long enough to be read as one" * 20)
    assert "the database cannot be read (DatabaseError)" in fault(spec, export)
    (export / "orders" / "orders.sqlite").unlink()
    assert "the database is missing" in fault(spec, export)
    assert not (export / "orders" / "orders.sqlite").exists()


def test_a_password_stays_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = sqlite_export(tmp_path)
    spec = tmp_path / "spec.toml"
    shutil.copy(SQL / "spec.toml", spec)
    respelt(spec, 'url = "sqlite:///{path}/orders.sqlite"', 'url_env = "ORDERS_URL"')
    with pytest.raises(SpecError, match="the environment variable ORDERS_URL is not set"):
        ingest(spec, export, engine="inline", quiet=True)
    monkeypatch.setenv("ORDERS_URL", "postgresql://reader:sesame@localhost:1/orders?connect_timeout=1")
    with pytest.raises(SourceError) as caught:
        ingest(spec, export, engine="inline", quiet=True)
    assert "sesame" not in str(caught.value)


def test_postgresql_tells_the_same_events_as_sqlite(tmp_path: Path) -> None:
    """A real server, with typed columns (timestamps, booleans, numerics) instead of SQLite's texts."""
    pgserver = pytest.importorskip("pgserver", reason="no PostgreSQL for tests is installed (pgserver)")
    driver = next((name for name in ("psycopg", "psycopg2", "pg8000") if _importable(name)), None)
    if driver is None:
        pytest.skip("no PostgreSQL driver for SQLAlchemy is installed")
    export = sqlite_export(tmp_path)
    spec = tmp_path / "spec.toml"
    shutil.copy(SQL / "spec.toml", spec)
    _, _, out = ingest(spec, export, engine="inline", quiet=True)
    kept = ["system", "kind", "record_id", "seq", "event_ts", "recorded_ts", "type", "field", "value_json", "reference"]
    files = sorted((out / "events").glob("*.parquet"))
    here = pl.concat([pl.read_parquet(path) for path in files]).select(kept)
    server = pgserver.get_server(tmp_path / "pg", cleanup_mode="stop")
    try:
        script = (SQL / "export" / "orders" / "orders.sqlite.sql").read_text(encoding="utf-8")
        script = (
            script.replace("total_minor,", "total_minor NUMERIC,")
            .replace("gift,", "gift INTEGER,")
            .replace("created_at TEXT", "created_at TIMESTAMP")
        )
        server.psql(script)
        url = server.get_uri().replace("postgresql://", f"postgresql+{driver}://", 1)
        respelt(spec, 'url = "sqlite:///{path}/orders.sqlite"', f'url = "{url}"')
        _, _, out = ingest(spec, export, engine="inline", quiet=True)
    finally:
        server.cleanup()
    there = pl.concat([pl.read_parquet(path) for path in sorted((out / "events").glob("*.parquet"))]).select(kept)
    assert there.equals(here)


def _importable(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def test_a_killed_run_continues_to_the_same_bytes(tmp_path: Path) -> None:
    """kill -9 of the whole process group at random moments, then the same command again."""
    export = sqlite_export(tmp_path)
    rng = random.Random(7)

    def start(data: Path) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            "ingest",
            "--spec",
            str(SQL / "spec.toml"),
            "--export",
            str(export),
            "--workers",
            "2",
            "--quiet",
        ]
        return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "RECORDGYM_DATA": str(data)}, start_new_session=True)

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    began = time.monotonic()
    assert start(whole).wait() == 0
    took = time.monotonic() - began
    for _ in range(3):
        process = start(broken)
        time.sleep(took * rng.uniform(0.3, 0.98))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert start(broken).wait() == 0
    names = sorted(
        p.relative_to(whole).as_posix() for p in whole.rglob("*") if p.is_file() and p.name not in {"timings.json", ".lock"}
    )
    assert names
    for name in names:
        assert (broken / name).read_bytes() == (whole / name).read_bytes(), name
    left = {p.relative_to(broken).as_posix() for p in broken.rglob("*") if p.is_file()}
    assert {name for name in left if "timings" not in name and ".lock" not in name} == set(names)


def test_star_is_read_whole(real_dir: Path, tmp_path: Path) -> None:
    """The public data set: every dialogue, every query with its answer, and no word that the other side did not see."""
    manifest, _, out = ingest(ROOT / "tasks" / "specs" / "star_v1.toml", real_dir / "star", workers=2, quiet=True)
    assert manifest.counts["rows_in"] == manifest.counts["rows_out"] == 3848
    events = pl.concat([pl.read_parquet(path) for path in sorted((out / "events").glob("*.parquet"))])
    queries = events.filter((pl.col("system") == "apis") & (pl.col("field") == "item"))
    assert queries.height == 10572
    spoken = events.filter(pl.col("type") == "message")
    assert spoken.height == 26918 + 3950 + 22780
    dialogues = pl.read_parquet(out / "records.parquet").filter(pl.col("kind") == "dialogue")
    assert dialogues.height == 3848
    assert dialogues["opening_seq"].null_count() == 279
