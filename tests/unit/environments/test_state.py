"""One base for all, one overlay each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.state import Base, EpisodeState, Layer
from schemas.taskset import State

FIRST = {"shop": {"order": {"o1": {"account": "a1", "status": "new"}, "o2": {"account": "a1", "status": "new"}}}}
SECOND = {"shop": {"order": {"o2": {"account": "a2", "status": "sent"}, "o3": {"account": "a1", "status": "new"}}}}


@pytest.fixture
def state() -> EpisodeState:
    return EpisodeState(Base((Layer("d1", FIRST), Layer("d2", SECOND))))


def ids(state: EpisodeState, account: str) -> list[str]:
    return [record_id for record_id, _ in state.where("shop", "order", "account", account)]


def test_a_later_layer_stands_over_an_earlier_one(state: EpisodeState) -> None:
    assert state.get("shop", "order", "o2") == {"account": "a2", "status": "sent"}
    assert ids(state, "a1") == ["o1", "o3"]
    assert [record_id for record_id, _ in state.all("shop", "order")] == ["o1", "o2", "o3"]


def test_a_look_up_sees_what_the_episode_wrote(state: EpisodeState) -> None:
    state.update("shop", "order", "o1", {"account": "a2"})
    new = state.create("shop", "order", {"account": "a1", "status": "new"})
    state.delete("shop", "order", "o3")
    assert ids(state, "a1") == [new]
    assert sorted(ids(state, "a2")) == ["o1", "o2"]
    assert "o3" not in dict(state.all("shop", "order"))


def test_a_write_is_a_change_with_the_values_before(state: EpisodeState) -> None:
    state.update("shop", "order", "o1", {"status": "sent", "note": "x"})
    (change,) = state.changes
    assert change.before == {"status": "new"}
    assert change.fields == {"status": "sent", "note": "x"}


def test_the_base_is_never_written(state: EpisodeState) -> None:
    state.update("shop", "order", "o1", {"status": "sent"})
    assert FIRST["shop"]["order"]["o1"]["status"] == "new"


def test_a_new_id_is_never_one_that_exists() -> None:
    taken: State = {"shop": {"order": {"ORDER_00000001": {}}}}
    assert EpisodeState(Base((Layer("d", taken),))).create("shop", "order", {}) == "ORDER_00000002"


def test_a_looked_at_row_is_named_once_and_a_missing_one_never(state: EpisodeState) -> None:
    for record in ("o1", "o1", "o9"):
        state.look("shop", "order", record)
    assert [ref.record_id for ref in state.reads.values()] == ["o1"]


@given(st.permutations(["o1", "o2", "o3"]))
def test_the_digest_does_not_depend_on_the_order_of_independent_writes(order: list[str]) -> None:
    base = Base((Layer("d1", FIRST), Layer("d2", SECOND)))
    digests = set()
    for records in (order, ["o1", "o2", "o3"]):
        state = EpisodeState(base)
        for record in records:
            state.update("shop", "order", record, {"status": "x"})
        digests.add(state.digest())
    assert len(digests) == 1


def test_the_digest_differs_where_a_row_differs(state: EpisodeState) -> None:
    before = state.digest()
    state.update("shop", "order", "o1", {"status": "sent"})
    assert state.digest() != before
