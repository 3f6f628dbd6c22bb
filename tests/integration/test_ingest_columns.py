"""Columns of a database and the options that name them: one column may have two roles, and a wrong one names its option."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import polars as pl
import pytest

from ingest.run import ingest, summary
from ingest.sources._sql_options import ROLES, HistoryLayout
from schemas.errors import RecordgymError

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "sql"


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """(spec, export) with its database."""
    shutil.copytree(FIXTURE / "export", tmp_path / "export")
    shutil.copy(FIXTURE / "spec.toml", tmp_path / "spec.toml")
    script = tmp_path / "export" / "orders" / "orders.sqlite.sql"
    connection = sqlite3.connect(script.with_suffix(""))
    connection.executescript(script.read_text(encoding="utf-8"))
    connection.close()
    return tmp_path / "spec.toml", tmp_path / "export"


def respelt(spec: Path, old: str, new: str) -> None:
    text = spec.read_text(encoding="utf-8")
    assert old in text
    spec.write_text(text.replace(old, new), encoding="utf-8")


def fault(spec: Path, export: Path) -> str:
    with pytest.raises(RecordgymError) as caught:
        ingest(spec, export, engine="inline", quiet=True)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_one_time_column_is_both_when_it_was_and_when_it_was_recorded(made: tuple[Path, Path]) -> None:
    spec, export = made
    respelt(spec, 'recorded_ts = "recorded_at"\n', "")
    _, _, out = ingest(spec, export, engine="inline", quiet=True)
    left_out = pl.read_parquet(out / "events" / "orders.parquet")
    respelt(spec, 'event_ts = "valid_at"\n', 'event_ts = "valid_at"\nrecorded_ts = "valid_at"\n')
    _, ran, out = ingest(spec, export, engine="inline", quiet=True)
    assert ran
    named = pl.read_parquet(out / "events" / "orders.parquet")
    assert named.equals(left_out)
    assert named.height > 0
    logged = named.filter(pl.col("source_pos").str.contains("_history"))
    assert logged["event_ts"].equals(logged["recorded_ts"].alias("event_ts"))


def test_any_two_roles_may_name_one_column() -> None:
    own = {role: role for role in ROLES}
    for one in ROLES:
        for other in ROLES:
            columns = HistoryLayout.model_validate({**own, one: other}).columns()
            assert len(columns) == len(set(columns))
            assert set(columns) == {*own.values()} - ({one} if one != other else set())


def test_two_roles_of_one_column_that_both_make_sense_are_read(made: tuple[Path, Path]) -> None:
    spec, export = made
    respelt(spec, 'reference = "ticket_ref"', 'reference = "actor"')
    _, _, out = ingest(spec, export, engine="inline", quiet=True)
    logged = pl.read_parquet(out / "events" / "orders.parquet").filter(pl.col("source_pos").str.contains("_history"))
    assert logged["reference"].equals(logged["actor_id"].alias("reference"))


@pytest.mark.parametrize(
    ("old", "new", "option"),
    [
        ('event_ts = "valid_at"', 'event_ts = "at"', "at (sources.orders.options.history.event_ts)"),
        ('key = "order_no"', 'key = "number"', "number (sources.orders.options.tables.orders.key)"),
        ('status = "status"', 'state = "status"', "state (sources.orders.options.tables.orders.columns.state)"),
        (
            'parent = { column = "account_no"',
            'parent = { column = "account"',
            "account (sources.orders.options.tables.orders.parent.column)",
        ),
        ('created = "created_at"', 'created = "at"', "at (sources.orders.options.tables.carriers.created)"),
        # The column is there and holds something else: nearly every row of the table is refused for it.
        ('op = "op"', 'op = "field"', "field (sources.orders.options.history.op, sources.orders.options.history.field)"),
        (
            'seq = "history_id"',
            'seq = "valid_at"',
            "valid_at (sources.orders.options.history.seq, sources.orders.options.history",
        ),
        ('event_ts = "valid_at"', 'event_ts = "actor"', "actor (sources.orders.options.history.event_ts, sources.orders.options"),
        ('gift = "gift"', 'gift = "status"', "sources.orders.options.tables.orders.columns.gift: 'status' is given by column"),
        ('table = "carriers"', 'table = "orders"', "sources.orders.options.tables.orders: is declared twice"),
    ],
)
def test_a_wrong_mapping_names_the_option_of_the_spec(made: tuple[Path, Path], old: str, new: str, option: str) -> None:
    spec, export = made
    respelt(spec, old, new)
    assert option in fault(spec, export)


def test_what_nobody_declared_is_said_apart_from_what_has_no_history(made: tuple[Path, Path]) -> None:
    """A field goes without its row: the row itself is read, and is in no quarantine for it."""
    spec, export = made
    manifest, _, out = ingest(spec, export, engine="inline", quiet=True)
    assert json.loads((out / "findings.json").read_text(encoding="utf-8"))["undeclared"] == {"orders.order.warehouse": 1}
    lines = summary(manifest, out).splitlines()
    undeclared = next(line for line in lines if "declared by neither the code book nor the columns of the spec" in line)
    assert "orders.order.warehouse 1" in undeclared
    assert "warehouse" not in next(line for line in lines if "no history to rebuild them from" in line)
    assert "warehouse" not in json.dumps(pl.read_parquet(out / "quarantine.parquet").to_dicts())
