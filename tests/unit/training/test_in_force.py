"""The small model sees on which side of the limits in force a shown value falls, and no more than it was shown."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.task import RuleRef, TaskSpec
from schemas.taskset import TaskSet
from training.chat import Memory, text_symbols
from training.corpus import build_vocabulary, read_trajectories
from training.in_force import Limits, in_force, is_mark, list_symbols, marks, varying
from training.symbols import SymbolCodec
from training.tokens import SPECIALS, Vocabulary

LOOSE = Vocabulary(SPECIALS, (0, 10, 30), (0, 8000, 20000), {}, {}, {})
ORDER = {"argument": "order_id", "system": "orders", "kind": "order"}
TIER = {**ORDER, "field": "account_id", "then": {"system": "accounts", "kind": "account", "field": "tier"}}


def rule(name: str, tool: str = "create_refund", **parameters: Any) -> RuleRef:
    return RuleRef(
        id=name, rule=name, sentence="s", document="refunds", version=1, clause="2.1", parameters={"tool": tool, **parameters}
    )


APPROVAL = rule("approval", argument="amount_minor", about="order_id", by=TIER, above={"gold": 15000, "standard": 8000})
WINDOW = rule("window", days=21, since={**ORDER, "field": "delivered_at"})
OVERDUE = rule("overdue", days=3, due={**ORDER, "field": "promised_at"}, came={**ORDER, "field": "delivered_at"})
CANCEL = rule("forbidden", "cancel_order", state={**ORDER, "field": "status"}, values=["packed", "shipped"])
CREDIT = rule(
    "exact", "grant_credit", argument="amount_minor", by={**TIER, "then": None, "field": "tier"}, amounts={"gold": 2500}
)


def under(taskset: TaskSet, *rules: RuleRef) -> Memory:
    task: TaskSpec = next(iter(taskset.tasks.values())).model_copy(update={"rules": rules})
    memory = Memory(limits=Limits(in_force(task)))
    text_symbols(json.dumps({"now": "2025-03-30T12:00:00Z"}), memory, LOOSE, "opening")
    return memory


def shown(memory: Memory, value: object, source: str = "get_order") -> list[str]:
    return text_symbols(json.dumps(value), memory, LOOSE, source)


def marked(symbols: list[str]) -> list[str]:
    return [symbol.split()[0] for symbol in symbols if is_mark(symbol)]


def test_the_value_that_a_table_goes_by_shows_its_amount_and_which_shown_amounts_are_above(taskset: TaskSet) -> None:
    memory = under(taskset, APPROVAL)
    shown(memory, {"shipping_minor": 8000, "line_total_minor": 8001})
    name = "refunds 2.1 approval create_refund"
    said = shown(memory, {"tier": "standard"}, "get_account")
    assert said[-6:] == [f"table:{name}", "m:8000", f"above:{name}", "@AMOUNT_2", f"within:{name}", "@AMOUNT_1"]


@pytest.mark.parametrize(("amount", "side"), [(14999, "within"), (15000, "within"), (15001, "above")])
def test_an_amount_at_a_limit_is_within_it(taskset: TaskSet, amount: int, side: str) -> None:
    memory = under(taskset, APPROVAL)
    shown(memory, {"tier": "gold"}, "get_account")
    assert marked(shown(memory, {"payments": [{"amount_minor": amount}]})) == [f"{side}:refunds"]


def test_before_the_table_is_known_an_amount_has_no_side(taskset: TaskSet) -> None:
    memory = under(taskset, APPROVAL, CREDIT)
    assert marked(shown(memory, {"amount_minor": 99999})) == []
    shown(memory, {"tier": "bronze"}, "get_account")
    assert marked(shown(memory, {"amount_minor": 77777})) == [], "a value that the table does not know"


def test_right_amounts_are_shown_and_bound_nothing(taskset: TaskSet) -> None:
    memory = under(taskset, CREDIT)
    assert marked(shown(memory, {"tier": "gold"}, "get_account")) == ["table:refunds"]
    assert marked(shown(memory, {"amount_minor": 99999})) == []
    assert "@AMOUNT_2" not in memory.shown, "what a rule says is nothing to copy"


@pytest.mark.parametrize(
    ("at", "side"),
    [("2025-03-09T12:00:00Z", "within"), ("2025-03-09T11:59:59Z", "above"), ("2025-04-02T00:00:00+02:00", "within")],
)
def test_days_are_counted_to_the_second_as_the_rule_counts_them(taskset: TaskSet, at: str, side: str) -> None:
    assert marked(shown(under(taskset, WINDOW), {"delivered_at": at})) == [f"{side}:refunds"]


@pytest.mark.parametrize("first", ["promised_at", "delivered_at"])
@pytest.mark.parametrize(("came", "side"), [("2025-03-13T09:00:00Z", "within"), ("2025-03-13T09:00:01Z", "above")])
def test_a_delay_is_marked_behind_the_later_of_the_two_times_whichever_it_is(
    taskset: TaskSet, first: str, came: str, side: str
) -> None:
    times = {"delivered_at": came, "promised_at": "2025-03-10T09:00:00Z"}
    ordered = {first: times[first], **times}
    symbols = shown(under(taskset, OVERDUE), ordered)
    assert marked(symbols) == [f"{side}:refunds"]
    assert is_mark(symbols[-1])


def test_times_of_two_records_are_not_compared(taskset: TaskSet) -> None:
    rows = {"lines": [{"promised_at": "2025-03-10T09:00:00Z"}, {"delivered_at": "2025-03-20T09:00:00Z"}]}
    assert marked(shown(under(taskset, OVERDUE), rows)) == []


@pytest.mark.parametrize(
    ("status", "side"), [("packed", "barred"), ("Packed", "barred"), ("placed", "free"), ("unpacked", "free")]
)
def test_a_value_under_which_the_version_in_force_forbids_an_act_is_marked(taskset: TaskSet, status: str, side: str) -> None:
    assert marked(shown(under(taskset, CANCEL), {"status": status})) == [f"{side}:refunds"]


def test_true_and_false_are_marked_and_an_absent_value_is_not(taskset: TaskSet) -> None:
    final = rule("forbidden", "create_exchange", state={**ORDER, "field": "final_sale"}, values=[True])
    sides = [marked(shown(under(taskset, final), {"final_sale": value})) for value in (True, False, None, 1)]
    assert sides == [["barred:refunds"], ["free:refunds"], [], ["free:refunds"]]  # true is not 1


def test_numbers_that_bar_an_act_are_marked(taskset: TaskSet) -> None:
    level = rule("forbidden", "create_exchange", state={**ORDER, "field": "level"}, values=[3, 4])
    assert [marked(shown(under(taskset, level), {"level": v})) for v in (3, 5, "3")] == [
        ["barred:refunds"],
        ["free:refunds"],
        ["barred:refunds"],
    ]


def test_only_fields_of_the_kind_of_record_that_a_rule_speaks_of_are_marked(taskset: TaskSet) -> None:
    """An account has a status and a shipment a day of delivery, too: they are none of the order's."""
    order = {
        "order_id": "ORDER_AAAAAAAA",
        "shipments": [{"status": "shipped", "delivered_at": "2025-03-20T09:00:00Z"}],
        "account": {"account_id": "ACCOUNT_AAAAAAAA", "status": "packed"},
        "delivered_at": "2025-03-20T09:00:00Z",
        "status": "packed",
    }
    loose = dataclasses.replace(LOOSE, by_kind=True)

    def marks_of(value: object) -> list[str]:
        return marked(text_symbols(json.dumps(value), under(taskset, CANCEL, WINDOW), loose, "get_order"))

    assert marks_of(order) == ["within:refunds", "barred:refunds"]
    assert marks_of({"orders": [order, {"status": "placed"}]}) == ["within:refunds", "barred:refunds", "free:refunds"]
    assert marks_of({"status": "packed"}) == ["barred:refunds"], "what kind it is, nothing says"
    assert marks_of({"accounts": [{"status": "packed"}]}) == []


def test_no_such_day_is_no_time(taskset: TaskSet) -> None:
    assert marked(shown(under(taskset, WINDOW), {"delivered_at": "2025-02-31T09:00:00Z"})) == []


def test_a_list_stands_in_the_opening_where_it_differs_between_training_tasks_and_nowhere_else(taskset: TaskSet) -> None:
    vocabulary = build_vocabulary(taskset, read_trajectories(taskset), min_count=1)
    seen: dict[str, set[tuple[str, ...]]] = {}
    for task in taskset.tasks.values():
        for path, symbols in list_symbols(in_force(task)):
            seen.setdefault(path, set()).add(tuple(symbols))
    for task in taskset.tasks.values():
        rules = in_force(task)
        said = {symbol[2:] for symbol in varying(rules, vocabulary) if symbol.startswith("k:rules/")}
        assert {path for path, _ in list_symbols(rules) if len(seen[path]) > 1} <= said
        assert not said & vocabulary.constant_paths


def test_every_mark_of_a_training_task_is_in_the_vocabulary(taskset: TaskSet) -> None:
    codec = SymbolCodec(build_vocabulary(taskset, read_trajectories(taskset), min_count=1))
    for task_id, task in taskset.tasks.items():
        assert marks(in_force(task)) <= set(codec.vocabulary.symbols)
        assert not any(symbol.startswith("@") for symbol in codec.open(taskset, task_id, None).rules)
    assert any(marks(in_force(task)) for task in taskset.tasks.values())


def test_a_vocabulary_of_a_run_before_marks_reads_as_it_did(taskset: TaskSet) -> None:
    new = build_vocabulary(taskset, read_trajectories(taskset), min_count=1)
    old = Vocabulary(
        tuple(s for s in new.symbols if not is_mark(s) and not s.startswith("k:rules/")), new.day_edges, new.amount_edges,
        new.slots, new.arguments, new.forms, new.constant_paths, new.common,
    )  # fmt: skip
    task = next(t for t in taskset.tasks.values() if marks(in_force(t)))
    text = json.dumps({"tier": "gold", "total_minor": 12345, "delivered_at": "2025-03-01T00:00:00Z", "amount_minor": 12345})
    bare, compared = Memory(), Memory(limits=Limits(in_force(task)))
    for memory in (bare, compared):
        text_symbols(json.dumps({"now": "2025-03-30T12:00:00Z"}), memory, old, "opening")
    assert text_symbols(text, compared, old, "get_order") == text_symbols(text, bare, old, "get_order")
    assert varying(in_force(task), old) == []


def test_the_rules_stay_with_the_run(taskset: TaskSet, tmp_path: Path) -> None:
    codec = SymbolCodec(build_vocabulary(taskset, read_trajectories(taskset), min_count=1))
    codec.save(tmp_path)
    again, task_id = SymbolCodec.load(tmp_path), next(iter(taskset.tasks))
    assert again.open(taskset, task_id, 5).rules == codec.open(taskset, task_id, 5).rules
    assert again.digest() == codec.digest()
