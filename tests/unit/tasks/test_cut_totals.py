"""Counters and totals: recomputed at every cut, whole although a state is stored in layers, with the rows that were counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.tables import frame
from schemas.errors import StageError
from schemas.events import EVENT_COLUMNS
from schemas.records import CodeBook, FieldRule
from tasks.cut import CutCase, Cuts, connect, cut_states, load
from tasks.cut_totals import aggregates
from tests.unit.tasks.cut_rows import BOOK, CUT, OLD, OPENING, RECORD, ago, order, row


def account(events: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any], Cuts]:
    """Account K at the cut, its sources, and all of the fold."""
    con = connect()
    opened = row("shop", "account", "K", OLD, None, type="create", seq=1)
    con.register("events", frame([*OPENING, opened, *events], EVENT_COLUMNS).to_arrow())
    load(con, BOOK, ["O1"], ["T1"], RECORD)
    cuts = cut_states(con, [CutCase("T1", "O1", None, int(CUT.timestamp() * 1_000_000))])
    found = []
    for digests in (cuts.states["T1"].parts, cuts.states["T1"].provenance):
        merged: dict[str, Any] = {}
        for digest in digests:
            merged.update(json.loads(cuts.texts[digest])["shop"].get("account", {}).get("K", {}))
        found.append(merged)
    return found[0], found[1], cuts


def bought(record: str, at: Any, total: Any, *, seq: int | None) -> list[dict[str, Any]]:
    return [
        *order(record, at, seq=seq),
        row("shop", "order", record, at, "account", "K", seq=seq),
        row("shop", "order", record, at, "total", total, seq=seq),
    ]


def test_a_count_in_the_months_snapshot_goes_on_with_the_days_since() -> None:
    events = [
        *bought("A", ago(days=30), 100, seq=2),
        *bought("B", ago(days=20), 200, seq=3),
        *bought("C", ago(days=2), 50, seq=4),
    ]
    values, sources, cuts = account(events)
    assert len(cuts.states["T1"].parts) == 2
    assert (values["orders"], values["spent"]) == (3, 350)
    assert sources["orders"] == ["A/account/K", "B/account/K", "C/account/K"]
    assert sources["spent"] == ["A/total/100", "B/total/200", "C/total/50"]


def test_a_record_with_nothing_to_count_has_none() -> None:
    values, sources, _ = account([])
    assert (values["orders"], values["spent"], sources["orders"]) == (0, 0, [])


def test_a_count_that_a_tie_leaves_open_is_unknown_and_said() -> None:
    tie = [row("shop", "order", "A", ago(days=3), "account", name) for name in ("K", "L")]
    values, _, cuts = account([*order("A", OLD), *tie])
    assert values["orders"] is None
    assert "orders" in {a.field for a in cuts.states["T1"].ambiguous}


def test_a_total_of_an_unknown_amount_is_unknown() -> None:
    values, _, _ = account([*order("A", OLD), row("shop", "order", "A", ago(days=3), "account", "K", seq=2)])
    assert (values["orders"], values["spent"]) == (1, None)


@pytest.mark.parametrize(
    ("aggregate", "said"),
    [
        ("count shop.order by owner", "shop.order.owner"),
        ("sum shop.order.status by account", "of type code, allowed money or int"),
        ("sum shop.order.score by account", "shop.order.score"),
        ("count desk.ticket by requester", "the requests themselves"),
    ],
)
def test_a_declaration_that_cannot_be_counted_is_an_error(aggregate: str, said: str) -> None:
    fields = {**BOOK.fields, "shop.account.more": FieldRule(type="int", aggregate=aggregate)}
    with pytest.raises(StageError, match=said):
        aggregates(CodeBook(supplier="t", fields=fields), RECORD)


@pytest.mark.parametrize(
    "text", ["count orders", "count shop.order", "avg shop.order.total by account", "sum shop.order by account"]
)
def test_what_is_no_declaration_is_refused_by_the_code_book(text: str) -> None:
    with pytest.raises(ValueError, match="aggregate"):
        FieldRule(type="int", aggregate=text)
