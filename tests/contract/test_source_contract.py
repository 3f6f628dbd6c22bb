"""Every file of ingest/sources keeps the contract of a source, shown on its fixture `tests/fixtures/<source>/`.

A fixture holds `spec.toml` (supplier "fixture"), `export/` and `expected.json`. In `export/` a folder `x.tar.gz/` is packed
into the archive `x.tar.gz` and a script `x.sqlite.sql` is run into the database `x.sqlite`, so that fixtures stay readable.
Some rows must be faulty. What ingest makes of it is written by
`RECORDGYM_WRITE_EXPECTED=1 pytest tests/contract/test_source_contract.py`: read it against the export before you commit it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.places import raw_at
from ingest.run import ingest
from ingest.source import Source
from pipeline.tables import read_table
from schemas.events import EVENT_COLUMNS, LINK_COLUMNS, QUARANTINE_COLUMNS, RECORD_COLUMNS, EventType
from schemas.plugins import load_plugin, plugin_names
from schemas.records import CodeBook

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
SOURCES = plugin_names("ingest.sources")


@dataclass(frozen=True, slots=True)
class Made:
    """A fixture after ingest."""

    fixture: Path
    export: Path
    out: Path
    counts: dict[str, int]

    def table(self, name: str, columns: dict[str, str]) -> pl.DataFrame:
        return read_table(self.out / f"{name}.parquet", columns)

    def events(self) -> pl.DataFrame:
        return pl.concat([read_table(path, EVENT_COLUMNS) for path in sorted((self.out / "events").glob("*.parquet"))])


def unpacked(fixture: Path, folder: Path) -> Path:
    """The fixture's export as a supplier would hand it over."""
    export = folder / "export"
    shutil.copytree(fixture / "export", export)
    for packed in sorted(export.rglob("*.tar.gz")):
        inside = packed.rename(packed.with_suffix(".folder"))
        with tarfile.open(packed, "w:gz") as tar:
            for path in sorted(p for p in inside.rglob("*") if p.is_file()):
                entry = tarfile.TarInfo(path.relative_to(inside).as_posix())
                body = path.read_bytes()
                entry.size = len(body)
                tar.addfile(entry, io.BytesIO(body))
        shutil.rmtree(inside)
    for script in sorted(export.rglob("*.sqlite.sql")):
        connection = sqlite3.connect(script.with_suffix(""))
        connection.executescript(script.read_text(encoding="utf-8"))
        connection.close()
        script.unlink()
    return export


@pytest.fixture(scope="module", params=SOURCES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    name = request.param
    fixture = FIXTURES / name
    assert (fixture / "spec.toml").is_file(), f"ingest/sources/{name}.py needs a fixture: tests/fixtures/{name}/"
    folder = tmp_path_factory.mktemp(name)
    export = unpacked(fixture, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECORDGYM_DATA", str(folder / "data"))
        manifest, _, out = ingest(fixture / "spec.toml", export, engine="inline", quiet=True)
    return Made(fixture, export, out, manifest.counts)


@pytest.mark.parametrize("name", SOURCES)
def test_source_exports_source(name: str) -> None:
    assert load_plugin("ingest.sources", name, "SOURCE", Source)


def told(made: Made) -> dict[str, Any]:
    """What expected.json holds: every event, record, link and quarantined row, without the columns that repeat others."""
    events = made.events().with_columns(pl.col("event_ts", "recorded_ts").dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    kept = [column for column in EVENT_COLUMNS if column not in {"ts_text", "ts_zone"}]
    records = made.table("records", RECORD_COLUMNS)
    records = records.with_columns(pl.col("opened_ts", "closed_ts").dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    linked = made.table("links", LINK_COLUMNS).drop("event_ts", "recorded_ts")

    def rows(table: pl.DataFrame) -> list[dict[str, Any]]:
        return [{key: value for key, value in row.items() if value is not None} for row in table.iter_rows(named=True)]

    return {
        "counts": made.counts,
        "events": rows(events.select(kept)),
        "records": rows(records),
        "links": rows(linked),
        "quarantine": rows(made.table("quarantine", QUARANTINE_COLUMNS)),
        "findings": json.loads((made.out / "findings.json").read_text(encoding="utf-8")),
    }


def test_source_reads_its_fixture_as_expected(made: Made) -> None:
    found, path = told(made), made.fixture / "expected.json"
    if os.environ.get("RECORDGYM_WRITE_EXPECTED"):
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    expected = json.loads(path.read_text(encoding="utf-8"))
    for part, value in expected.items():
        assert found[part] == value, f"{part} of {made.fixture.name} differ; see this file's first lines"
    assert found.keys() == expected.keys()


def test_rows_in_are_rows_out_and_quarantined_and_repeated(made: Made) -> None:
    for entry in json.loads((made.out / "findings.json").read_text(encoding="utf-8"))["files"].values():
        assert entry["rows_in"] == entry["rows_out"] + entry["rows_quarantined"] + entry["rows_repeated"]
    counts = made.counts
    assert counts["rows_in"] == counts["rows_out"] + counts["rows_quarantined"] + counts["rows_repeated"] > 0


def test_planted_faults_are_in_quarantine_with_place_and_reason(made: Made) -> None:
    quarantine = made.table("quarantine", QUARANTINE_COLUMNS)
    assert quarantine.height == made.counts["rows_quarantined"] > 0, "a fixture must plant faulty rows"
    for row in quarantine.iter_rows(named=True):
        assert row["source_file"]
        assert row["source_pos"]
        assert row["reason"]


def test_every_place_leads_back_to_the_export(made: Made) -> None:
    places = made.events().select("source_file", "source_pos").unique()
    places = pl.concat([places, made.table("quarantine", QUARANTINE_COLUMNS).select("source_file", "source_pos")]).unique()
    for file, pos in places.rows():
        if ":unnumbered-" not in pos:
            assert raw_at(made.export, file, pos)


def test_events_are_sorted_typed_and_in_utc(made: Made) -> None:
    events = made.events()
    keys = events.select("system", "kind", "record_id", pl.col("seq").fill_null(-1))
    assert keys.equals(keys.sort("system", "kind", "record_id", "seq"))
    assert set(events["type"]) <= {kind.value for kind in EventType}
    numbered = events.filter(pl.col("seq").is_not_null())
    assert not numbered.select("system", "seq").is_duplicated().any()
    said = events.filter(pl.col("type") == "message")
    assert said["text"].null_count() == 0
    assert set(said["visibility"]) <= {"public", "internal"}
    assert (
        events.filter(pl.col("type").is_in(["create", "change"]) & pl.col("field").is_not_null())["value_json"].null_count() == 0
    )


def test_every_field_is_declared_and_none_of_type_never(made: Made) -> None:
    book = CodeBook.model_validate_json((made.out / "codebook.json").read_text(encoding="utf-8"))
    fields = made.events().filter(pl.col("type").is_in(["create", "change"]) & pl.col("field").is_not_null())
    for system, kind, field in fields.select("system", "kind", "field").unique().rows():
        rule = book.rule(system, kind, field)
        assert rule is not None
        assert rule.known_at != "never"


def test_no_text_of_a_faulty_row_is_told(made: Made) -> None:
    """Quarantine holds types, codes and shapes."""
    for row in made.table("quarantine", QUARANTINE_COLUMNS).iter_rows(named=True):
        assert len(row["found"] or "") <= 48
        assert "@" not in (row["found"] or "")


@pytest.mark.parametrize(("seed", "zone"), [("1", "America/New_York"), ("2", "Asia/Kolkata")])
def test_bytes_do_not_depend_on_hash_seed_or_time_zone(made: Made, tmp_path: Path, seed: str, zone: str) -> None:
    environment = {**os.environ, "RECORDGYM_DATA": str(tmp_path), "PYTHONHASHSEED": seed, "TZ": zone}
    command = [sys.executable, "-m", "ingest", "--spec", str(made.fixture / "spec.toml"), "--export", str(made.export), "--quiet"]
    subprocess.run([*command, "--workers", "1"], check=True, env=environment, cwd=ROOT)
    again = tmp_path / "records" / "fixture"
    names = sorted(p.relative_to(made.out).as_posix() for p in made.out.rglob("*") if p.is_file())
    for name in names:
        if name not in {"timings.json", ".lock"}:
            assert (again / name).read_bytes() == (made.out / name).read_bytes(), name
