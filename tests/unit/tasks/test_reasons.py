"""The ledger's reasons after a reference was looked for: each is reached, the first in the documented order, and counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.task import LedgerRow
from tasks.case import Case, Turn
from tasks.derive import Underivable, kind_of
from tasks.ledger import long_tail, underivable_values
from tasks.replay import Built, decide_case
from tasks.select import KEPT, REASONS
from tasks.trivial import is_trivial
from tests.taskset_factory import build_taskset


@dataclass
class Dropped:
    """Takes what `decide_case` drops, as a shard does."""

    rows: list[tuple[str, str]] = field(default_factory=list)

    def drop(self, case: Case, workflow: str | None, reason: str, detail: str = "", difficulty: tuple[str, ...] = ()) -> None:
        self.rows.append((reason, detail))


def decided(built: Built, *, note: str = "", trivial: bool = False) -> tuple[str, str]:
    turns = [Turn(2, 2, "helpdesk:user:A", note, False, False, "R2")] if note else []
    shard: Any = Dropped()
    task: Any = SimpleNamespace(workflow="refund", organisation="O")
    decide_case(shard, Case("T", "O", 1, 1, 5, "x", turns=turns), task, built, trivial=trivial, difficulty=())
    return shard.rows[0]


@pytest.mark.parametrize(
    ("built", "note", "trivial", "reason"),
    [
        (Built(reason="no_reference", detail="no tool makes it"), "she called", True, "no_reference"),
        (Built(reason="underivable", detail="t.a (text): is shown by nothing"), "she called", False, "off_system"),
        (Built(reason="underivable", detail="t.a (text): is shown by nothing"), "refund booked", False, "underivable"),
        (Built(reason="underivable", detail="t.a (text): is shown by nothing"), "", True, "underivable"),
        (Built(reason="breaks_rule", detail="refund_limit"), "", True, "trivial"),
        (Built(reason="breaks_rule", detail="refund_limit"), "she called", False, "breaks_rule"),
        (Built(), "", True, "trivial"),
    ],
)
def test_a_case_has_the_first_reason_in_the_order_of_the_ledger(built: Built, note: str, trivial: bool, reason: str) -> None:
    found, detail = decided(built, note=note, trivial=trivial)
    assert found == reason
    assert detail == ("" if reason == "trivial" else built.detail)


def test_the_order_is_that_of_the_meanings() -> None:
    order = list(REASONS)
    asked = ("out_of_scope", "no_outcome", "unknown_code", "ambiguous_state", "state_unknown", "policy_unknown", "no_reference")
    later = ("off_system", "underivable", "trivial", "breaks_rule", "certificate")
    places = [order.index(reason) for reason in (*asked, *later)]
    assert places == sorted(places)
    assert len(set(order)) == len(order)


@pytest.mark.parametrize(
    ("halves", "generated", "told", "stands", "trivial"),
    [
        ("both", False, True, True, True),
        ("both", False, True, False, False),
        ("both", False, False, True, False),
        ("class", False, True, False, True),
        ("class", False, False, True, False),
        ("arguments", False, False, True, True),
        ("arguments", False, True, False, False),
        ("both", True, True, False, False),  # the words of a generated request tell nothing of what people write
        ("both", True, False, True, True),
        ("class", True, True, False, False),
    ],
)
def test_what_makes_a_task_trivial(halves: Any, generated: bool, told: bool, stands: bool, trivial: bool) -> None:
    assert is_trivial(halves, generated=generated, told=told, stands=stands) is trivial


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("ORDER_98AE155D", "order pseudonym"),
        ("PERSON_98AE155D_FIRST", "first pseudonym"),
        (1500, "number"),
        (True, "yes or no"),
        ("10115", "digits"),
        ("blue", "text"),
        ({"a": 1}, "answer"),
    ],
)
def test_the_first_value_that_nothing_shows_is_named_by_tool_argument_and_kind_and_never_repeated(value: Any, kind: str) -> None:
    assert kind_of(value) == kind
    message = str(Underivable("get_order", "order_id", kind_of(value)))
    assert message == f"get_order.order_id ({kind}): is shown by nothing"
    assert str(value) not in message


def row(number: int, reason: str, detail: str = "", *marks: str) -> LedgerRow:
    kept = reason == KEPT
    return LedgerRow(record_id=f"T{number}", kind="k", workflow="w", kept=kept, reason=reason, detail=detail, difficulty=marks)


def test_the_ledger_counts_the_values_that_nothing_shows_and_what_each_difficulty_loses_to_each_reason() -> None:
    rows = [
        row(1, KEPT, "", "ambiguous"),
        row(2, "underivable", "get_order.order_id (order pseudonym): is shown by nothing", "ambiguous"),
        row(3, "off_system", "get_order.order_id (order pseudonym): is shown by nothing"),
        row(4, "underivable", "verify_identity.postcode (told value): was told by nobody"),
        row(5, "breaks_rule", "refund_limit", "ambiguous"),
        row(6, KEPT),
    ]
    assert underivable_values(rows) == [
        {"value": "get_order.order_id (order pseudonym)", "records": 2},
        {"value": "verify_identity.postcode (told value)", "records": 1},
    ]
    tail = long_tail(rows)
    assert [line["reason"] for line in tail] == ["off_system", "underivable", "breaks_rule"]
    assert [line["by"].get("ambiguous") for line in tail] == [
        None,
        {"dropped": 1, "left": 2, "share": 0.6667},
        {"dropped": 1, "left": 1, "share": 0.5},
    ]
    assert tail[0]["by"]["(all)"] == {"dropped": 1, "left": 5, "share": 0.8333}
    assert sum(line["by"].get("(none)", {"dropped": 0})["dropped"] for line in tail) == 2


def test_a_source_that_cannot_be_used_itself_is_not_taken_where_another_shows_the_value(tmp_path: Any) -> None:
    """Two earlier calls show the value: one needs what nothing shows, the other nothing."""
    from environments.episode import Episode
    from environments.seen import Seen
    from schemas.episode import ToolCall
    from schemas.taskset import open_taskset
    from tasks.derive import Deriver
    from tasks.explore import Found

    taskset = open_taskset(build_taskset(tmp_path), "train")
    task = taskset.tasks["small-late_grant"]
    episode = Episode(taskset)
    episode.reset(task.task_id)
    deriver = Deriver(episode, task.requester.facts, (), taskset.state(task))
    blocked = ToolCall(tool="get_order", arguments={"order_id": "ORDER_00000000"})
    open_call = ToolCall(tool="read_policy", arguments={"document": "refunds"})
    deriver.found = [Found(blocked, 0, "", Seen("blue")), Found(open_call, 1, "", Seen("blue"))]
    deriver.require(ToolCall(tool="change_address", arguments={"new_address": "blue"}))
    assert [call for call, _ in deriver.planned.values()] == [open_call]
    deriver.planned.clear()
    deriver.found = deriver.found[:1]
    with pytest.raises(Underivable, match=r"get_order\.order_id \(order pseudonym\): is shown by nothing"):
        deriver.require(ToolCall(tool="change_address", arguments={"new_address": "blue"}))
