"""A column that counts is told by its numbers; what only looks a little like it is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pipeline.tables import frame
from schemas.events import EVENT_COLUMNS
from schemas.files import canonical_json
from schemas.records import CodeBook
from tasks.counters import undeclared_counters

START = datetime(2025, 1, 1, tzinfo=UTC)
FIELDS: dict[str, Any] = {
    "crm.account.orders": {"type": "int"},
    "shop.order.account_id": {"type": "id", "identity": "account"},
    "shop.order.pieces": {"type": "int"},
}


def events(totals: dict[str, int], owners: list[str], deleted: tuple[int, ...] = ()) -> Any:
    rows: list[dict[str, Any]] = []

    def row(system: str, kind: str, record: str, **more: Any) -> None:
        at = START + timedelta(hours=len(rows))
        base = dict.fromkeys(EVENT_COLUMNS) | {"system": system, "kind": kind, "record_id": record, "seq": len(rows)}
        rows.append(base | {"type": "create", "event_ts": at, "recorded_ts": at} | more)

    for account, total in totals.items():
        row("crm", "account", account, field="orders", value_json=canonical_json(total))
    for number, owner in enumerate(owners):
        row("shop", "order", f"O{number}", field="account_id", value_json=canonical_json(owner))
        row("shop", "order", f"O{number}", field="pieces", value_json=canonical_json(number % 4))
    for number in deleted:
        row("shop", "order", f"O{number}", type="delete")
    return frame(rows, EVENT_COLUMNS).lazy()


OWNERS = [f"A{n % 12}" for n in range(12)] + ["A0", "A0", "A1", "A2", "A3"]
COUNTED = {f"A{n}": OWNERS.count(f"A{n}") for n in range(12)}


def counters(totals: dict[str, int], deleted: tuple[int, ...] = (), **rule: Any) -> dict[str, tuple[str, str]]:
    fields = FIELDS | {"crm.account.orders": {"type": "int", **rule}}
    book = CodeBook.model_validate({"supplier": "s", "fields": fields})
    return undeclared_counters(events(totals, OWNERS, deleted), book)


def test_a_number_that_is_the_count_of_what_points_to_its_record_is_a_counter() -> None:
    assert counters(COUNTED) == {"crm.account.orders": ("shop.order", "account_id")}


def test_what_is_no_count_is_no_counter() -> None:
    assert counters({name: number + n % 2 for n, (name, number) in enumerate(COUNTED.items())}) == {}
    assert counters(dict.fromkeys(COUNTED, 1)) == {}, "a column of ones counts nothing"
    assert counters(dict(list(COUNTED.items())[:5])) == {}, "too few records to tell"


def test_a_column_that_is_never_shown_or_declared_to_count_is_not_looked_at() -> None:
    assert counters(COUNTED, known_at="post_hoc") == {}
    assert counters(COUNTED, aggregate="count shop.order by account_id") == {}


def test_deleted_records_are_not_counted() -> None:
    gone = tuple(n for n, owner in enumerate(OWNERS) if owner in ("A0", "A1"))
    assert counters(COUNTED, deleted=gone) == {}
    assert counters(COUNTED | {"A0": 0, "A1": 0}, deleted=gone) == {"crm.account.orders": ("shop.order", "account_id")}
