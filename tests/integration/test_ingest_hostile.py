"""Exports as nobody would wish them: an odd row goes to quarantine with its place, an odd file is one line, and nothing else."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.run import ingest
from schemas.errors import RecordgymError, SourceError
from schemas.paths import records_dir

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CANARY = "Zanzibar Quux"


@pytest.fixture
def zendesk(tmp_path: Path) -> tuple[Path, Path]:
    """(spec, export) that may be spoilt; any share of rows may be unreadable."""
    shutil.copytree(FIXTURES / "zendesk", tmp_path / "fixture")
    spec = tmp_path / "fixture" / "spec.toml"
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace("max_quarantined_share = 0.8", "max_quarantined_share = 1.0"), encoding="utf-8")
    return spec, tmp_path / "fixture" / "export"


@pytest.fixture
def database(tmp_path: Path) -> tuple[Path, Path, Path]:
    """(spec, export, database)."""
    export = tmp_path / "export"
    shutil.copytree(FIXTURES / "sql" / "export", export)
    shutil.copy(FIXTURES / "sql" / "spec.toml", tmp_path / "spec.toml")
    script = export / "orders" / "orders.sqlite.sql"
    connection = sqlite3.connect(script.with_suffix(""))
    connection.executescript(script.read_text(encoding="utf-8"))
    connection.close()
    return tmp_path / "spec.toml", export, script.with_suffix("")


def run(spec: Path, export: Path) -> tuple[list[dict[str, Any]], dict[str, int], str]:
    """Quarantined rows, counts, and all the text that is not the records themselves."""
    manifest, _, out = ingest(spec, export, engine="inline", quiet=True)
    counts = manifest.counts
    assert counts["rows_in"] == counts["rows_out"] + counts["rows_quarantined"] + counts["rows_repeated"]
    rows = pl.read_parquet(out / "quarantine.parquet").to_dicts()
    return rows, counts, json.dumps(rows) + (out / "findings.json").read_text(encoding="utf-8")


def fault(spec: Path, export: Path) -> str:
    with pytest.raises(RecordgymError) as caught:
        ingest(spec, export, engine="inline", quiet=True)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def audit(**changes: Any) -> str:
    told = {"id": 990001, "ticket_id": 990002, "created_at": "2025-03-03T09:00:00Z", "author_id": 1, "events": [], **changes}
    return json.dumps(told)


def event(**changes: Any) -> str:
    return audit(events=[{"id": 1, "type": "Change", "field_name": "status", "value": "open", **changes}])


DEEP = '{"a":' * 5000 + "1" + "}" * 5000


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (event(value=[CANARY]), "not a value of type code"),
        (event(value={CANARY: 1}), "not a value of type code"),
        (event(type=[CANARY]), "unknown type of audit event"),
        (event(type={"a": CANARY}), "unknown type of audit event"),
        (event(type=None), "unknown type of audit event"),
        (audit(created_at="9999-12-31T23:59:59-23:59"), "time lies outside of 1970 to 2200"),
        (audit(created_at="0001-01-01T00:00:00+14:00"), "time lies outside of 1970 to 2200"),
        (audit(created_at="2025-02-30T00:00:00Z"), "no such day or time"),
        (audit(created_at="2025-02-03T00:00:00"), "not an ISO 8601 time with offset"),
        (event(value="@").replace('"@"', DEEP), "nested too deep"),
        (event(value="@").replace('"@"', "NaN"), "not JSON"),
        (event(value="@").replace('"@"', "1e999"), "not an allowed value"),
        (event()[:-1] + ', "id": 5}', "a key stands twice in one object"),
        (event().replace('"id": 1,', f'"id": 1, "{CANARY}": 1, "{CANARY}": 2,'), "a key stands twice in one object"),
        (event()[:-9], "the row is cut off"),
        ("\x00\x01" + CANARY, "not JSON"),
    ],
    ids=range(16),
)
def test_a_row_that_cannot_be_understood_goes_to_quarantine_alone(zendesk: tuple[Path, Path], line: str, reason: str) -> None:
    spec, export = zendesk
    before, counts, _ = run(spec, export)
    page = export / "helpdesk" / "ticket_audits-0002.ndjson"
    place = len(page.read_bytes().splitlines()) + 1
    page.write_bytes(page.read_bytes().rstrip(b"\n") + b"\n" + line.encode() + b"\n")
    after, more, everything = run(spec, export)
    (new,) = [row for row in after if row not in before]
    assert (new["reason"], new["source_pos"].split("#")[0]) == (reason, f"line:{place}")
    assert new["source_file"] == "helpdesk/ticket_audits-0002.ndjson"
    assert more == {**counts, **{k: counts[k] + 1 for k in counts if k.split(".")[0] in ("rows_in", "rows_quarantined")}}
    assert "Zanzibar" not in everything


def test_a_tickets_row_of_a_status_that_nobody_knows_goes_to_quarantine_with_its_place(zendesk: tuple[Path, Path]) -> None:
    """It could mean as much as "deleted": the row says nothing that may be relied on."""
    spec, export = zendesk
    before, counts, _ = run(spec, export)
    page = export / "helpdesk" / "tickets-0001.ndjson"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace('"status": "open"', '"status": "opne"', 1), encoding="utf-8")
    after, more, _ = run(spec, export)
    (new,) = [row for row in after if row not in before]
    assert (new["reason"], new["field"], new["found"]) == ("unknown code", "helpdesk.ticket.status", "'opne'")
    assert new["source_pos"] == "line:1"
    assert more["rows_in"] == counts["rows_in"]
    assert more["rows_quarantined"] == counts["rows_quarantined"] + 1


def test_two_policy_versions_in_force_at_once_are_said_before_any_row_is_read(zendesk: tuple[Path, Path]) -> None:
    spec, export = zendesk
    front = (
        "---\ndocument: refunds\nversion: {n}\ntitle: R\npublished: 2025-01-0{n}\nin_force_from: 2025-0{n}-01\n---\n1.1 Words.\n"
    )
    for number in (1, 2):
        (export / f"refunds-v{number}.md").write_text(front.format(n=number), encoding="utf-8")
    spec.write_text(spec.read_text(encoding="utf-8") + '\n[policies]\npath = "*.md"\nzone = "UTC"\n', encoding="utf-8")
    assert "refunds-v2.md: in force while version 1 of refunds still is" in fault(spec, export)
    assert not records_dir("fixture").exists()


def test_a_tag_list_that_is_none_is_no_merge_and_no_crash(zendesk: tuple[Path, Path]) -> None:
    spec, export = zendesk
    book = json.loads((export / "codebook.json").read_text(encoding="utf-8"))
    book["fields"].pop("helpdesk.ticket.tags", None)
    (export / "codebook.json").write_text(json.dumps(book), encoding="utf-8")
    page = export / "helpdesk" / "ticket_audits-0002.ndjson"
    line = event(field_name="tags", value=5)
    page.write_bytes(page.read_bytes().rstrip(b"\n") + b"\n" + line.encode() + b"\n")
    run(spec, export)


def test_marks_of_byte_order_and_windows_line_ends_change_nothing(zendesk: tuple[Path, Path]) -> None:
    spec, export = zendesk
    before, counts, _ = run(spec, export)
    for page in export.glob("helpdesk/*.ndjson"):
        page.write_bytes(b"\xef\xbb\xbf" + page.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    after, again, _ = run(spec, export)
    assert (after, again) == (before, counts)


def test_a_field_that_the_export_made_up_is_counted_without_its_words(zendesk: tuple[Path, Path]) -> None:
    spec, export = zendesk
    page = export / "helpdesk" / "ticket_audits-0002.ndjson"
    line = event(field_name=CANARY)
    page.write_bytes(page.read_bytes().rstrip(b"\n") + b"\n" + line.encode() + b"\n")
    everything = run(spec, export)[2]
    assert "helpdesk.ticket.(text)" in everything
    assert "Zanzibar" not in everything


def _folder(page: Path) -> None:
    page.unlink()
    page.mkdir()


def _dangling(page: Path) -> None:
    page.unlink()
    page.symlink_to("/nowhere/at/all")


@pytest.mark.parametrize(("spoil", "why"), [(_folder, "Is a directory"), (_dangling, "No such file")])
def test_a_page_that_cannot_be_opened_is_one_line_that_names_it(
    zendesk: tuple[Path, Path], spoil: Callable[[Path], None], why: str
) -> None:
    spec, export = zendesk
    spoil(export / "helpdesk" / "tickets-0001.ndjson")
    message = fault(spec, export)
    assert "tickets-0001.ndjson: cannot be read" in message
    assert why in message


def test_faults_of_all_sources_are_told_at_once_each_with_its_place(zendesk: tuple[Path, Path]) -> None:
    spec, export = zendesk
    text = spec.read_text(encoding="utf-8").replace("max_quarantined_share", "max_quarantine_share")
    extra = '\n[[sources]]\nname = "other"\nformat = "zendesc"\npath = "other"\nzone = "UTC"\n'
    at = text.index("[[sources]]")
    spec.write_text(text[:at] + extra + text[at:], encoding="utf-8")
    message = fault(spec, export)
    assert "sources.0.format: " in message
    assert "did you mean 'zendesk'?" in message
    assert "sources.1.options.max_quarantine_share" in message


def changed(database: Path, statement: str) -> None:
    connection = sqlite3.connect(database)
    assert connection.execute(statement).rowcount == 1
    connection.commit()
    connection.close()


LAST = "WHERE history_id = (SELECT max(history_id) FROM accounts_history WHERE field = 'tier')"


@pytest.mark.parametrize(
    ("change", "reason", "found"),
    [
        ("new_value = CAST(x'ff41' AS TEXT)", "not a value of type code", "bytes"),
        ("actor = CAST(x'ff41' AS TEXT)", "bytes are no text", "bytes"),
        ("field = x'00ff'", "not the name of a column", "bytes"),
        ("valid_at = '0001-01-01 00:00:00'", "time lies outside of 1970 to 2200", "9999-99-99 99:99:99"),
        ("valid_at = '9999-12-31 23:59:59'", "time lies outside of 1970 to 2200", "9999-99-99 99:99:99"),
        ("valid_at = '2025-03-30 02:30:00'", "no such local time: the clocks were put forward over it", "9999-99-99 99:99:99"),
        ("op = 'Zanzibar Quux'", "unknown code", "text"),
    ],
)
def test_one_odd_cell_of_a_database_is_the_fault_of_its_row(
    database: tuple[Path, Path, Path], change: str, reason: str, found: str
) -> None:
    spec, export, file = database
    before, _, _ = run(spec, export)
    changed(file, f"UPDATE accounts_history SET {change} {LAST}")
    after, _, everything = run(spec, export)
    (new,) = [row for row in after if row not in before]
    assert (new["reason"], new["found"]) == (reason, found)
    assert new["source_pos"].startswith("row:accounts_history:")
    assert "Zanzibar" not in everything


def test_a_column_name_of_the_history_that_is_somebodys_name_is_not_repeated(database: tuple[Path, Path, Path]) -> None:
    spec, export, file = database
    changed(file, f"UPDATE accounts_history SET field = '{CANARY}' {LAST}")
    everything = run(spec, export)[2]
    assert "accounts.account.(text)" in everything
    assert "Zanzibar" not in everything


def test_the_share_of_unreadable_rows_is_judged_table_by_table(database: tuple[Path, Path, Path]) -> None:
    spec, export, file = database
    connection = sqlite3.connect(file)
    connection.execute("UPDATE accounts_history SET valid_at = ?", (CANARY,))
    connection.commit()
    connection.close()
    with pytest.raises(SourceError, match=r"orders\.sqlite:row:accounts_history:\d+: \d+ of \d+ rows cannot be read") as caught:
        ingest(spec, export, engine="inline", quiet=True)
    assert "Zanzibar" not in str(caught.value)


def test_a_format_that_is_none_is_a_fault_of_the_spec(database: tuple[Path, Path, Path]) -> None:
    spec, export, _ = database
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %Q"), encoding="utf-8")
    assert "time_format: not a format of times" in fault(spec, export)
