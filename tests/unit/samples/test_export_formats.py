"""The export has the formats of the systems that it pretends to come from, and fits the shipped spec and code book."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from schemas.spec import load_spec
from tests.unit.samples.conftest import Sample

TICKET_KEYS = {
    "id",
    "created_at",
    "updated_at",
    "status",
    "requester_id",
    "organization_id",
    "tags",
    "custom_fields",
    "via",
    "satisfaction_rating",
}
AUDIT_KEYS = {"id", "ticket_id", "created_at", "author_id", "metadata", "via", "events"}
COMMENT_KEYS = {"id", "type", "author_id", "body", "html_body", "plain_body", "public", "attachments", "audit_id"}


def test_every_readable_line_is_an_object_of_the_api(sample: Sample) -> None:
    for row in sample.rows("tickets"):
        assert row.keys() >= TICKET_KEYS
    for row in sample.rows("ticket_audits"):
        assert row.keys() == AUDIT_KEYS
        for event in row["events"]:
            if event["type"] == "Comment":
                assert event.keys() == COMMENT_KEYS
            else:
                assert event["type"] in {"Create", "Change"}
                assert isinstance(event["field_name"], str)
                assert "value" in event


def test_audit_and_event_ids_are_unique_and_follow_time(sample: Sample) -> None:
    audits = sorted(sample.rows("ticket_audits"), key=lambda row: row["id"])
    assert [row["created_at"] for row in audits] == sorted(row["created_at"] for row in audits)
    events = [event["id"] for row in audits for event in row["events"]]
    assert len(events) == len(set(events))


def test_pages_repeat_the_rows_at_their_seams(sample: Sample) -> None:
    pages = sorted((sample.out / "helpdesk").glob("ticket_audits-*.ndjson"))
    assert len(pages) > 3
    for before, after in pairwise(pages):
        assert set(before.read_bytes().splitlines()) & set(after.read_bytes().splitlines()[:3])


def test_tables_have_the_columns_that_the_spec_maps(sample: Sample, repo_root: Path) -> None:
    options = load_spec(repo_root / "tasks" / "specs" / "helpdesk_v1.toml").sources[1].options
    history = options["history"]
    with closing(sqlite3.connect(sample.out / "orders" / "orders.sqlite")) as db:
        for table in options["tables"]:
            columns = {row[1] for row in db.execute(f"PRAGMA table_info({table['table']})")}
            assert columns == {table["key"], *table["columns"]}
            logged = {row[1] for row in db.execute(f"PRAGMA table_info({table['table']}_history)")}
            assert logged == {value for key, value in history.items() if key != "suffix"}
            for column, field in table["columns"].items():
                assert f"{table['system']}.{table['kind']}.{field}" in sample.code_book.fields, column


def test_rows_are_the_fold_of_their_history(sample: Sample) -> None:
    unlogged = {"risk_note"}
    with closing(sqlite3.connect(sample.out / "orders" / "orders.sqlite")) as db:
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if not name.endswith("_history")
        ]
        for table in tables:
            listed = {place.split(":")[1] for file, place in sample.bad_places if place.startswith(f"{table}_history:")}
            folded: dict[str, dict[str, str | None]] = {}
            query = f"SELECT history_id, record_no, op, field, new_value FROM {table}_history ORDER BY rowid"
            for number, key, op, field, value in db.execute(query):
                if str(number) in listed:
                    continue
                if op == "delete":
                    folded.pop(key)
                elif field is None:
                    folded[key] = {}
                elif key in folded:
                    folded[key][field] = value
            rows = db.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in rows.description]
            shown = {
                row[0]: {n: str(v) for n, v in zip(names[1:], row[1:], strict=True) if v is not None and n not in unlogged}
                for row in rows
            }
            assert shown == folded


def test_ids_have_their_forms(sample: Sample) -> None:
    forms = {
        "accounts": r"C-\d{5}",
        "orders": r"A-\d{6}",
        "order_lines": r"L-\d{6}",
        "payments": r"P-\d{6}",
        "credits": r"G-\d{5}",
    }
    with closing(sqlite3.connect(sample.out / "orders" / "orders.sqlite")) as db:
        for table, form in forms.items():
            for (key,) in db.execute(f"SELECT record_no FROM {table}_history"):
                assert re.fullmatch(form, key)


def test_policies_have_versions_without_a_gap(sample: Sample) -> None:
    for document in ("refunds", "orders", "accounts"):
        fronts = []
        for version in (1, 2):
            text = (sample.out / "policies" / f"{document}-v{version}.md").read_text(encoding="utf-8")
            front = dict(line.split(":", 1) for line in text.split("---")[1].strip().splitlines())
            fronts.append({key: value.strip() for key, value in front.items()})
            clauses = re.findall(r"^(\d+\.\d+) \S", text, re.MULTILINE)
            assert clauses == sorted(set(clauses))
        assert fronts[0]["in_force_to"] == fronts[1]["in_force_from"] == "2025-07-01"
        assert fronts[1]["published"] < fronts[1]["in_force_from"]
        assert fronts[1]["in_force_to"] == ""


def test_code_book_knows_every_code_and_what_must_stay_hidden(sample: Sample) -> None:
    book = sample.code_book
    assert len(book.outcomes) == 17
    hidden = ("tags", "status", "assignee_id", "resolution_code", "about_record", "request_kind")
    assert {book.fields[f"helpdesk.ticket.{name}"].known_at for name in hidden} == {"post_hoc"}
    assert book.fields["accounts.account.risk_note"].known_at == "never"
    assert book.fields["orders.order.promised_at"].planned_future
    for key in book.codes:
        assert book.fields[key].type == "code"
