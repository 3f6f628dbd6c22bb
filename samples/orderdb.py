"""Writes the order system as its database: every table as it stands, and the history of each."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from samples.clock import local_text, order_clock_error
from samples.ledger import TABLES, TIME_COLUMNS, Change, Ledger, Value
from samples.truth import BadRow

HISTORY = (
    "history_id INTEGER, record_no TEXT, op TEXT, field TEXT, new_value TEXT, valid_at TEXT, recorded_at TEXT, actor TEXT, "
    "ticket_ref INTEGER"
)
WHOLE = frozenset({"amount_minor", "total_minor", "shipping_minor", "quantity", "unit_minor", "final_sale"})


def text_of(column: str, value: Value) -> str | None:
    """A history value as text."""
    if value is None:
        return None
    return local_text(value) if column in TIME_COLUMNS and isinstance(value, int) else str(value)


@dataclass(slots=True)
class HistoryRows:
    """Numbers the history rows of all tables in one sequence, in the order of recording."""

    ledger: Ledger
    bad: list[BadRow]

    def rows(self) -> Iterator[tuple[str, tuple[object, ...]]]:
        number = 0
        for change in self.ledger.ordered():
            for field in ([] if change.op == "update" else [None]) + list(change.fields):
                number += 1
                yield change.table, self._row(change, field, number)

    def _row(self, change: Change, field: str | None, number: int) -> tuple[object, ...]:
        valid = change.stamp or local_text(change.true_at + order_clock_error(change.true_at))
        recorded = local_text(change.recorded_at + order_clock_error(change.recorded_at))
        if change.flaw:
            self.bad.append(BadRow("orders/orders.sqlite", f"{change.table}_history:{number}", change.flaw, change.key))
        value = None if field is None else text_of(field, change.fields[field])
        sequence = None if change.unordered else number
        return sequence, change.key, change.op, field, value, valid, recorded, change.actor, change.ticket


def write_database(ledger: Ledger, path: Path) -> tuple[int, int, list[BadRow]]:
    """Writes the database at `path` and returns the numbers of rows and of history rows, and the rows that no reader may take."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    bad: list[BadRow] = []
    count = history = 0
    try:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        for table, (_, _, key, columns) in TABLES.items():
            declared = ", ".join(f"{c} {'INTEGER' if c in WHOLE else 'TEXT'}" for c in columns)
            connection.execute(f"CREATE TABLE {table} ({key} TEXT PRIMARY KEY, {declared})")
            connection.execute(f"CREATE TABLE {table}_history ({HISTORY})")
        for table, rows in ledger.tables():
            columns = TABLES[table][3]
            marks = ", ".join("?" * (len(columns) + 1))
            connection.executemany(
                f"INSERT INTO {table} VALUES ({marks})",
                ((key, *(stored(c, row.get(c)) for c in columns)) for key, row in sorted(rows.items())),
            )
            count += len(rows)
        for table, row in HistoryRows(ledger, bad).rows():
            connection.execute(f"INSERT INTO {table}_history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            history += 1
        connection.commit()
    finally:
        connection.close()
    return count, history, bad


def stored(column: str, value: Value) -> Value:
    return value if column in WHOLE else text_of(column, value)
