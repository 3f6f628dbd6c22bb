"""The order system's memory: every change that was ever made, from which its tables, its history and the truth are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from samples.clock import FOLD_END, FOLD_START, HOUR

TABLES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "accounts": ("accounts", "account", "account_no", (
        "organisation_no", "holder_name", "email", "phone", "billing_address", "billing_postcode", "tier", "status",
        "opened_at", "risk_note",
    )),
    "credits": ("accounts", "credit", "credit_no", ("account_no", "amount_minor", "reason", "created_at")),
    "orders": ("orders", "order", "order_no", (
        "account_no", "status", "total_minor", "shipping_minor", "ship_to", "placed_at", "promised_at", "delivered_at",
    )),
    "order_lines": ("orders", "line", "line_no", ("order_no", "sku", "product", "quantity", "unit_minor", "final_sale")),
    "shipments": ("orders", "shipment", "shipment_no", ("order_no", "carrier", "status", "shipped_at", "delivered_at")),
    "exchanges": ("orders", "exchange", "exchange_no", ("order_no", "line_no", "new_sku", "created_at")),
    "payments": ("payments", "payment", "payment_no", ("order_no", "amount_minor", "status", "captured_at")),
    "refunds": ("payments", "refund", "refund_no", ("order_no", "amount_minor", "reason", "created_at")),
    "approvals": ("approvals", "approval", "approval_no", ("about", "amount_minor", "decision", "requested_at", "decided_at")),
}  # fmt: skip
"""Table -> canonical system and kind, key column, other columns."""
CANONICAL = {"organisation_no": "organisation", "account_no": "account_id", "order_no": "order_id", "line_no": "line_id"}
"""Column -> canonical field, where they differ."""
TIME_COLUMNS = frozenset({
    "opened_at", "created_at", "placed_at", "promised_at", "delivered_at", "shipped_at", "captured_at", "requested_at",
    "decided_at",
})  # fmt: skip
FLAGS = frozenset({"final_sale"})

Value = str | int | None


def out_of_fold(at: int) -> int:
    """Nothing happens by chance in the hour that Berlin's clocks show twice: only what is planted there."""
    return at - 2 * HOUR if FOLD_START <= at < FOLD_END else at


Op = Literal["insert", "update", "delete"]


def _settled(fields: Mapping[str, Value]) -> dict[str, Value]:
    return {
        name: out_of_fold(value) if name in TIME_COLUMNS and isinstance(value, int) else value for name, value in fields.items()
    }


@dataclass(frozen=True, slots=True)
class Change:
    """One act on one row. Times are true UTC seconds; the order system's clock error is added when they are written."""

    table: str
    key: str
    op: Op
    fields: Mapping[str, Value]
    true_at: int
    """When it was so in the world."""
    recorded_at: int
    """When the system was told."""
    actor: str
    ticket: int | None = None
    unordered: bool = False
    """Written without a sequence number, as the migrated part of the history is."""
    flaw: str = ""
    """Why no reader may take this row (then it is one of truth's bad rows and of no effect), or ""."""
    stamp: str = ""
    """Text written for the time instead of the right one."""


@dataclass(slots=True)
class Ledger:
    """All changes, in the order in which they were made known here (not of time)."""

    changes: list[Change] = field(default_factory=list)
    unlogged: dict[tuple[str, str], dict[str, Value]] = field(default_factory=dict)
    """Fields overwritten without history: (table, key) -> field -> present value."""
    _ordered: list[Change] = field(default_factory=list)

    def insert(
        self,
        table: str,
        key: str,
        fields: Mapping[str, Value],
        at: int,
        actor: str,
        *,
        ticket: int | None = None,
        recorded: int = 0,
    ) -> None:
        """A new row, true from `at`, entered at `recorded` (0 = at once)."""
        known = _settled({name: value for name, value in fields.items() if value is not None})
        self.changes.append(Change(table, key, "insert", known, out_of_fold(at), out_of_fold(recorded or at), actor, ticket))

    def update(
        self,
        table: str,
        key: str,
        fields: Mapping[str, Value],
        at: int,
        actor: str,
        *,
        ticket: int | None = None,
        recorded: int = 0,
        unordered: bool = False,
    ) -> None:
        at, recorded = out_of_fold(at), out_of_fold(recorded or at)
        self.changes.append(Change(table, key, "update", _settled(fields), at, recorded, actor, ticket, unordered))

    def delete(self, table: str, key: str, at: int, actor: str) -> None:
        self.changes.append(Change(table, key, "delete", {}, at, at, actor))

    def ordered(self) -> list[Change]:
        """By the time of recording; acts of one second in the order in which they were made."""
        if len(self._ordered) != len(self.changes):
            self._ordered = sorted(self.changes, key=lambda change: change.recorded_at)
        return self._ordered

    def tables(self) -> Iterator[tuple[str, dict[str, dict[str, Value]]]]:
        """Each table's rows as they stand at the end, by key."""
        rows: dict[str, dict[str, dict[str, Value]]] = {table: {} for table in TABLES}
        for change in self.ordered():
            if change.flaw:
                continue
            if change.op == "delete":
                rows[change.table].pop(change.key, None)
            elif change.op == "insert":
                rows[change.table][change.key] = dict(change.fields)
            elif change.key in rows[change.table]:
                rows[change.table][change.key].update(change.fields)
        for (table, key), fields in self.unlogged.items():
            if key in rows[table]:
                rows[table][key].update(fields)
        yield from rows.items()
