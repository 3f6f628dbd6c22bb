"""A tiny supplier: a helpdesk, accounts and orders of two people who share a first name, written with the contract's columns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from deid.tables import Records
from pipeline.tables import frame, write_table
from schemas.events import EVENT_COLUMNS, LINK_COLUMNS, POLICY_COLUMNS, QUARANTINE_COLUMNS, RECORD_COLUMNS
from schemas.files import canonical_json, write_json
from schemas.records import CodeBook, FieldRule
from schemas.spec import Spec

START = datetime(2025, 3, 10, 9, 0, tzinfo=UTC)
BOOK = CodeBook(
    supplier="tiny",
    fields={
        "helpdesk.user.name": FieldRule(type="name"),
        "helpdesk.user.email": FieldRule(type="email"),
        "helpdesk.user.phone": FieldRule(type="phone"),
        "helpdesk.organization.name": FieldRule(type="name"),
        "helpdesk.organization.external_id": FieldRule(type="id", identity="organisation"),
        "helpdesk.ticket.subject": FieldRule(type="text"),
        "helpdesk.ticket.requester_id": FieldRule(type="id", identity="person"),
        "helpdesk.ticket.status": FieldRule(type="code"),
        "helpdesk.ticket.pin": FieldRule(type="id", identity="pin"),
        "helpdesk.ticket.about_record": FieldRule(type="id", identity="record"),
        "accounts.account.holder_name": FieldRule(type="name"),
        "accounts.account.email": FieldRule(type="email"),
        "accounts.account.phone": FieldRule(type="phone"),
        "accounts.account.billing_address": FieldRule(type="address"),
        "accounts.account.billing_postcode": FieldRule(type="postcode"),
        "orders.order.account_id": FieldRule(type="id", identity="account"),
        "orders.order.placed_at": FieldRule(type="time"),
        "orders.order.total_minor": FieldRule(type="money"),
        "orders.order.extra": FieldRule(type="json"),
        "orders.order.product": FieldRule(type="code"),
        "orders.order.campaign": FieldRule(type="code"),
        "orders.order.labels": FieldRule(type="tags"),
        "orders.order.note": FieldRule(type="text"),
        "orders.order.due": FieldRule(type="date"),
        "orders.order.batch": FieldRule(type="int"),
    },
    codes={"helpdesk.ticket.status": ["new", "open", "solved"], "orders.order.campaign": ["none", "sale of 2031-07-14"]},
)


class Tiny:
    """Builds rows; every method returns the builder."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.seq = 0

    def row(self, system: str, kind: str, record: str, **more: Any) -> Tiny:
        self.seq += 1
        at = START + timedelta(minutes=self.seq)
        base: dict[str, Any] = dict.fromkeys(EVENT_COLUMNS)
        base |= {"system": system, "kind": kind, "record_id": record, "seq": self.seq, "event_ts": at, "recorded_ts": at}
        base |= {"type": "create", "ts_grain_s": 0, "source_file": f"{system}.ndjson", "source_pos": f"line:{self.seq}"}
        self.rows.append(base | more)
        return self

    def record(self, system: str, kind: str, record: str, organisation: str | None = None, **fields: Any) -> Tiny:
        self.row(system, kind, record, organisation=organisation)
        for name, value in fields.items():
            self.row(system, kind, record, organisation=organisation, field=name, value_json=canonical_json(value))
        return self

    def message(self, ticket: str, user: str, text: str, organisation: str | None = "ORG-001") -> Tiny:
        actor = f"helpdesk:user:{user}"
        return self.row(
            "helpdesk",
            "ticket",
            ticket,
            organisation=organisation,
            type="message",
            text=text,
            visibility="public",
            actor_id=actor,
        )

    def people(self) -> Tiny:
        self.record("helpdesk", "organization", "7001", "ORG-001", name="Nordkap Fisch", external_id="ORG-001")
        self.record(
            "helpdesk",
            "user",
            "50001",
            "ORG-001",
            name="Meyer, Anna",
            email="anna.meyer@nordkap.example",
            phone="+49 30 23125001",
        )
        self.record("helpdesk", "user", "50002", None, name="Uwe Brandt", email="u.brandt@shop.example", phone="+49 30 23125002")
        self.record(
            "accounts", "account", "C-10001", "ORG-001", holder_name="Anna Meyer", email="Anna.Meyer@nordkap.example",
            phone="030 23125001", billing_address="Lindenweg 12, 10115 Berlin", billing_postcode="10115",
        )  # fmt: skip
        self.record(
            "orders", "order", "A-104327", "ORG-001", account_id="C-10001", placed_at="2025-03-01T10:00:00Z", total_minor=12990
        )
        return self

    def ticket(self, record: str = "48000001", requester: str = "50001", **fields: Any) -> Tiny:
        return self.record("helpdesk", "ticket", record, "ORG-001", requester_id=requester, status="new", **fields)

    def tables(self) -> Records:
        seen = sorted({(r["system"], r["kind"], r["record_id"], r["organisation"]) for r in self.rows}, key=str)
        records = [
            dict.fromkeys(RECORD_COLUMNS) | {"system": s, "kind": k, "record_id": r, "organisation": o, "opened_ts": START}
            for s, k, r, o in seen
        ]
        policy = dict.fromkeys(POLICY_COLUMNS) | {
            "document": "refunds", "version": 1, "title": "Refunds", "clause": "1.1", "text": "From 1 July 2025 at most 30 days.",
            "published_ts": START, "in_force_from": START, "source_file": "refunds-v1.md", "source_pos": "line:9",
        }  # fmt: skip
        return Records(
            events=frame(self.rows, EVENT_COLUMNS),
            records=frame(records, RECORD_COLUMNS),
            links=frame([], LINK_COLUMNS),
            policies=frame([policy], POLICY_COLUMNS),
            quarantine=frame([], QUARANTINE_COLUMNS),
            book=BOOK,
            declarations=None,
        )

    def write(self, folder: Path) -> None:
        """As `ingest` would leave it: the tables, the code book and a manifest of stage "ingest"."""
        from pipeline.stage import Stage, run_stage

        def finish(_: list[Path], out: Path) -> dict[str, int]:
            tables = self.tables()
            write_table(tables.events, out / "events" / "all.parquet")
            for name in ("records", "links", "policies", "quarantine"):
                write_table(getattr(tables, name), out / f"{name}.parquet")
            write_json(out / "codebook.json", BOOK.model_dump(mode="json"))
            return {"rows_in": len(self.rows)}

        stage = Stage("ingest", folder, {}, "test", [self.seq, str(self.rows)], lambda: [], lambda p, f: None, finish)
        run_stage(stage, workers=1, engine="inline", quiet=True)


def make_spec(**more: Any) -> Spec:
    given: dict[str, Any] = {
        "name": "tiny_v1",
        "supplier": "tiny",
        "export": "nowhere",
        "sources": [
            {"name": "helpdesk", "format": "zendesk", "zone": "UTC", "options": {"system": "helpdesk"}},
            {
                "name": "orders",
                "format": "sql",
                "zone": "UTC",
                "options": {"tables": [{"system": "accounts"}, {"system": "orders"}]},
            },
        ],
        "tokens": {"scope": "cross_system", "agreement": {"who": "a", "when": "2025-01-01", "purpose": "test"}},
        "deid": {"id_patterns": {"order": "A-?\\s?\\d{6}", "account": "C-?\\s?\\d{5}"}, "date_formats": ["%d.%m.%Y"]},
        "select": {"record_system": "helpdesk", "record_kind": "ticket"},
        "systems": [{"name": "helpdesk", "plugin": "helpdesk"}],
        "workflows": [{"name": "refund"}],
    }
    return Spec.model_validate(given | more)


@pytest.fixture
def tiny() -> Tiny:
    return Tiny().people()


@pytest.fixture
def spec() -> Spec:
    return make_spec()


@pytest.fixture
def spec_of() -> Any:
    return make_spec
