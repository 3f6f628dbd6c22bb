"""What the cut promises beside its 22 cases (test_cut_cases.py): sources, layers, ties, skew, other requesters."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any

import polars as pl

from pipeline.tables import frame
from schemas.events import EVENT_COLUMNS
from schemas.files import canonical_json, sha256_text
from tasks.cut import Ambiguity, CutCase, Cuts, connect, cut_states, load, measure_skew, opening_rows
from tests.unit.tasks.cut_rows import BOOK, CUT, OLD, OPENING, RECORD, ago, later, order, row


def cuts(
    events: list[dict[str, Any]], *, skew: dict[str, int] | None = None, owners: dict[str, str] | None = None, shuffle: int = 0
) -> tuple[Cuts, Any]:
    rows = list(events)
    random.Random(shuffle).shuffle(rows)
    con = connect()
    con.register("events", frame(rows, EVENT_COLUMNS).to_arrow())
    load(con, BOOK, ["O1"], ["T1", *(owners or {})], RECORD, skew_us=skew)
    case = CutCase("T1", "O1", "U1", int(CUT.timestamp() * 1_000_000))
    return cut_states(con, [case], owners=owners), con


def state_of(found: Cuts, *, provenance: bool = False) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    state = found.states["T1"]
    for digest in state.provenance if provenance else state.parts:
        assert sha256_text(found.texts[digest]) == digest
        value = json.loads(found.texts[digest])
        assert canonical_json(value) == found.texts[digest]
        for system, kinds in value.items():
            for kind, rows in kinds.items():
                merged.setdefault(system, {}).setdefault(kind, {}).update(rows)
    return merged


def test_the_opening_record_enters_by_id_with_what_the_opening_gave() -> None:
    _, con = cuts(OPENING)
    fields, sources = opening_rows(con)["T1"]
    assert fields == {"subject": "help"}
    assert set(sources) == {"subject"}


def test_a_tie_without_order_and_with_different_values_is_ambiguous() -> None:
    tie = [row("shop", "order", "A", ago(days=1), "status", v) for v in ("placed", "packed")]
    for shuffle in range(5):
        found, _ = cuts([*OPENING, *order("A", OLD, seq=None), *tie], shuffle=shuffle)
        assert found.states["T1"].ambiguous == [Ambiguity("shop", "order", "A", "status")]
    same = [row("shop", "order", "A", ago(days=1), "status", "placed") for _ in range(2)]
    assert not cuts([*OPENING, *order("A", OLD, seq=None), *same])[0].states["T1"].ambiguous


def test_overlapping_grain_intervals_without_order_are_ambiguous() -> None:
    events = [
        row("shop", "order", "A", ago(days=2).replace(hour=0), "status", "placed", grain=86400),
        row("shop", "order", "A", ago(days=2), "status", "packed"),
    ]
    assert cuts([*OPENING, *order("A", OLD, seq=None), *events])[0].states["T1"].ambiguous


def test_a_planned_field_may_lie_after_the_cut_if_it_was_recorded_before() -> None:
    events = [
        row("shop", "order", "A", later(days=5), "due", "2025-06-15", seq=2, recorded=ago(days=1)),
        row("shop", "order", "A", later(days=5), "status", "renewed", seq=2, recorded=ago(days=1)),
    ]
    found = state_of(cuts([*OPENING, *order("A", OLD), *events])[0])["shop"]["order"]["A"]
    assert found["due"] == "2025-06-15"
    assert found["status"] is None


def test_a_field_overwritten_without_history_is_unknown_and_a_static_one_holds_from_creation() -> None:
    events = [
        row("shop", "order", "A", later(days=5), "tier", "gold", seq=2),
        row("shop", "order", "A", ago(days=5), "score", 3, seq=2),
    ]
    found = state_of(cuts([*OPENING, *order("A", OLD), *events])[0])["shop"]["order"]["A"]
    unknown = dict.fromkeys(("status", "due", "late_column", "case", "account", "total"))
    assert found == {**unknown, "tier": "gold"}


def test_a_record_deleted_after_the_cut_without_a_log_cannot_be_rebuilt() -> None:
    found, _ = cuts([*OPENING, row("shop", "order", "B", later(days=1), None, type="delete", seq=4)])
    assert found.states["T1"].unrebuildable == ["shop.order B"]


def test_a_link_made_after_the_cut_is_absent_even_if_both_ends_exist() -> None:
    events = [*order("A", OLD), row("shop", "order", "A", later(hours=1), "case", "T1", seq=3)]
    assert state_of(cuts([*OPENING, *events])[0])["shop"]["order"]["A"]["case"] is None


def test_skewed_clocks_of_other_systems_hide_the_last_d() -> None:
    events = [
        *order("A", OLD),
        row("shop", "order", "A", ago(days=3), "status", "placed", seq=2),
        row("shop", "order", "A", ago(seconds=30), "status", "packed", seq=3),
    ]
    assert state_of(cuts([*OPENING, *events])[0])["shop"]["order"]["A"]["status"] == "packed"
    assert state_of(cuts([*OPENING, *events], skew={"shop": 60_000_000})[0])["shop"]["order"]["A"]["status"] == "placed"


def test_skew_is_measured_between_a_write_and_the_link_to_it() -> None:
    events: list[dict[str, Any]] = []
    for number in range(40):
        at = OLD + timedelta(hours=number)
        events.append(row("desk", "ticket", f"S{number}", at, "about", f"O{number}", seq=number))
        behind = at - timedelta(seconds=20)
        events.append(row("shop", "order", f"O{number}", behind, None, type="create", seq=number, reference=f"S{number}"))
        # A write hours before is no pair: the two are not of one moment.
        events.append(
            row("shop", "order", f"P{number}", at - timedelta(hours=5), "status", "placed", seq=number, reference=f"S{number}")
        )
    con = connect()
    con.register("events", frame(events, EVENT_COLUMNS).to_arrow())
    assert measure_skew(con, RECORD, ["about"]) == {"shop": 20_000_000}


def test_earlier_records_of_the_same_requester_only_and_never_what_was_decided_later() -> None:
    earlier = [
        row("desk", "ticket", t, ago(days=9), f, v, type="create", seq=3)
        for t in ("T0", "TX")
        for f, v in (("subject", t), ("status", "solved"))
    ]
    found = state_of(cuts([*OPENING, *earlier], owners={"T0": "U1", "TX": "U2", "T1": "U1"})[0])
    assert found["desk"]["ticket"] == {"T0": {"subject": "T0", "requester": None, "priority": None}}


def test_every_value_in_a_state_carries_its_source() -> None:
    events = [*order("A", OLD), row("shop", "order", "A", ago(days=3), "status", "placed", seq=2)]
    assert state_of(cuts([*OPENING, *events])[0], provenance=True)["shop"]["order"]["A"] == {
        "record/id": "A/None/None",
        "status": "A/status/placed",
    }


def test_a_fact_true_before_and_recorded_after_the_cut_is_told_apart() -> None:
    events = [*order("A", OLD), row("shop", "order", "A", ago(days=1), "status", "shipped", seq=3, recorded=later(hours=2))]
    assert cuts([*OPENING, *events])[0].states["T1"].late == {"A"}
    assert (
        not cuts(
            [*OPENING, *order("A", OLD), row("shop", "order", "A", later(days=5), "status", "x", seq=3, recorded=ago(days=1))]
        )[0]
        .states["T1"]
        .late
    )


def test_null_times_are_counted() -> None:
    assert cuts([*OPENING, *order("A", OLD), row("shop", "order", "A", None, "status", "lost", seq=9)])[0].untimed == 1


def test_values_with_more_than_one_json_form_are_written_in_one() -> None:
    odd = row("shop", "order", "A", ago(days=3), "status", None, seq=2)
    odd["value_json"] = '{"b": [1, 2], "a": "\\u00e9"}'
    assert state_of(cuts([*OPENING, *order("A", OLD), odd])[0])["shop"]["order"]["A"]["status"] == {"a": "é", "b": [1, 2]}


def test_the_frame_types_are_those_of_the_contract() -> None:
    assert frame([row("a", "b", "c", CUT, "d", 1)], EVENT_COLUMNS).schema["event_ts"] == pl.Datetime("us", "UTC")
