"""Rows of an event table, and the code book of the tests of the cut."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from schemas.events import EVENT_COLUMNS
from schemas.records import CodeBook

CUT = datetime(2025, 6, 10, 12, 0, tzinfo=UTC)
RECORD = ("desk", "ticket")
BOOK = CodeBook.model_validate(
    {
        "supplier": "t",
        "fields": {
            "desk.ticket.subject": {"type": "text", "known_at": "start"},
            "desk.ticket.requester": {"type": "id", "identity": "person", "known_at": "start"},
            "desk.ticket.priority": {"type": "code", "known_at": "history"},
            "desk.ticket.status": {"type": "code", "known_at": "post_hoc"},
            "shop.order.status": {"type": "code"},
            "shop.order.due": {"type": "time", "planned_future": True},
            "shop.order.tier": {"type": "code", "known_at": "static"},
            "shop.order.score": {"type": "int", "known_at": "never"},
            "shop.order.late_column": {"type": "code"},
            "shop.order.case": {"type": "id", "identity": "ticket", "known_at": "history"},
            "shop.order.account": {"type": "id", "identity": "account", "known_at": "history"},
            "shop.order.total": {"type": "money"},
            "shop.account.name": {"type": "name"},
            "shop.account.orders": {"type": "int", "aggregate": "count shop.order by account"},
            "shop.account.spent": {"type": "money", "aggregate": "sum shop.order.total by account"},
            "shop.account.visits": {"type": "int"},
            "shop.plan.price": {"type": "money"},
            "bank.payment.status": {"type": "code"},
        },
    }
)


def row(
    system: str,
    kind: str,
    record: str,
    at: datetime | None,
    field: str | None,
    value: Any = None,
    *,
    seq: int | None = None,
    type: str = "change",
    recorded: datetime | None = None,
    grain: int = 0,
    reference: str | None = None,
    organisation: str = "O1",
) -> dict[str, Any]:
    return {
        **dict.fromkeys(EVENT_COLUMNS),
        "organisation": organisation,
        "system": system,
        "kind": kind,
        "record_id": record,
        "seq": seq,
        "event_ts": at,
        "recorded_ts": recorded or at,
        "type": type,
        "field": field,
        "value_json": None if field is None else json.dumps(value),
        "source_pos": f"{record}/{field}/{value}",
        "ts_grain_s": grain,
        "reference": reference,
    }


def order(record: str, at: datetime, *, seq: int | None = 1, **more: Any) -> list[dict[str, Any]]:
    return [row("shop", "order", record, at, None, seq=seq, type="create", **more)]


def ago(**kw: float) -> datetime:
    return CUT - timedelta(**kw)


def later(**kw: float) -> datetime:
    return CUT + timedelta(**kw)


OLD = ago(days=40)
OPENING = [
    row("desk", "ticket", "T1", CUT, None, type="create", seq=10),
    row("desk", "ticket", "T1", CUT, "subject", "help", type="create", seq=10),
    row("desk", "ticket", "T1", CUT, "status", "solved", type="create", seq=10),
]
