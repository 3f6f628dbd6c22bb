"""The small model sees which version of the rules is in force, and where an amount stands to their limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.task import RuleRef, TaskSpec
from schemas.taskset import TaskSet
from training.chat import Memory, text_symbols
from training.corpus import build_vocabulary, read_trajectories
from training.in_force import is_money, leaves, limits, mark, rule_symbols, varying
from training.symbols import SymbolCodec
from training.tokens import SPECIALS, Vocabulary


def rule(**parameters: object) -> RuleRef:
    return RuleRef(id="r", rule="approval", sentence="s", document="refunds", version=1, clause="2.1", parameters=parameters)


def with_rules(taskset: TaskSet, *rules: RuleRef) -> TaskSpec:
    return next(iter(taskset.tasks.values())).model_copy(update={"rules": rules})


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(0, "L:0"), (8000, "L:0"), (8001, "L:1"), (15000, "L:1"), (15001, "L:2"), (40001, "L:3"), (-5, "L:0")],
)
def test_an_amount_at_a_limit_is_not_above_it(amount: int, expected: str) -> None:
    assert mark(amount, (8000, 15000, 40000)) == expected


def test_limits_are_the_amounts_of_all_rules_and_nothing_else(taskset: TaskSet) -> None:
    by_tier = rule(argument="amount_minor", above={"gold": 15000, "standard": 8000}, tool="create_refund")
    listed = rule(amounts={"gold": 2500, "standard": 8000}, argument="amount_minor", tool="grant_credit")
    counted = rule(argument="amount_minor", count=1, days=180, rows={"at_least": 2}, tool="grant_credit")
    window = rule(days=30, tool="create_refund", hard=True)
    assert limits(with_rules(taskset, by_tier, listed, counted, window)) == (2500, 8000, 15000)
    assert limits(with_rules(taskset)) == ()


def test_the_same_leaf_of_two_versions_has_one_path() -> None:
    one, two = rule(days=30, tool="t"), rule(days=21, tool="t").model_copy(update={"id": "r_v2", "version": 2})
    assert [path for path, _ in leaves(one)] == [path for path, _ in leaves(two)] == ["rules/refunds 2.1 approval t/days"]
    assert not is_money(one, "rules/refunds 2.1 approval t/days")


def test_what_is_the_same_in_all_training_tasks_is_not_said_and_what_differs_is(taskset: TaskSet) -> None:
    vocabulary = build_vocabulary(taskset, read_trajectories(taskset), min_count=1)
    seen: dict[str, set[tuple[str, ...]]] = {}
    for task in taskset.tasks.values():
        for path, symbols in rule_symbols(task, vocabulary):
            seen.setdefault(path, set()).add(tuple(symbols))
    differ = {path for path, renderings in seen.items() if len(renderings) > 1}
    assert differ, "the factory's tasks stand under two versions"
    for task in taskset.tasks.values():
        said = {symbol[2:] for symbol in varying(task, vocabulary) if symbol.startswith("k:rules/")}
        assert said == {path for path, _ in rule_symbols(task, vocabulary) if path not in vocabulary.constant_paths}


def test_two_tasks_under_other_versions_open_differently_and_one_under_the_same_alike(taskset: TaskSet) -> None:
    vocabulary = build_vocabulary(taskset, read_trajectories(taskset), min_count=1)
    said: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for task in taskset.tasks.values():
        versions = tuple(sorted({f"{r.document} {r.version}" for r in task.rules}))
        said.setdefault(versions, set()).add(tuple(varying(task, vocabulary)))
    assert len(said) > 1
    assert all(len(forms) == 1 for forms in said.values())
    assert len(set.union(*said.values())) == len(said)


def test_an_amount_carries_its_mark_and_no_number_of_a_rule_can_be_copied(taskset: TaskSet) -> None:
    codec = SymbolCodec(build_vocabulary(taskset, read_trajectories(taskset), min_count=1))
    task_id, task = next((t.task_id, t) for t in taskset.tasks.values() if limits(t))
    script = codec.open(taskset, task_id, None)
    assert script.rules
    assert not any(symbol.startswith("@") for symbol in script.rules)
    highest = limits(task)[-1]
    text = f'{{"total_minor": {highest + 1}, "shipping_minor": {highest}, "price": "{(highest + 1) / 100:.2f} EUR"}}'
    shown = text_symbols(text, script.memory, codec.vocabulary, "get_order")
    marks = [symbol for symbol in shown if symbol.startswith("L:")]
    assert marks == [f"L:{len(limits(task))}", f"L:{len(limits(task)) - 1}", f"L:{len(limits(task))}"]
    assert set(script.memory.shown.values()) == {highest, highest + 1}


def test_a_vocabulary_of_a_run_before_marks_and_rules_reads_as_it_did(taskset: TaskSet) -> None:
    new = build_vocabulary(taskset, read_trajectories(taskset), min_count=1)
    old = Vocabulary(
        tuple(s for s in new.symbols if not s.startswith(("L:", "k:rules/"))), new.day_edges, new.amount_edges, new.slots,
        new.arguments, new.forms, frozenset(p for p in new.constant_paths if not p.startswith("rules/")), new.common,
    )  # fmt: skip
    task = next(t for t in taskset.tasks.values() if limits(t))
    assert varying(task, old) == []
    shown = text_symbols('{"total_minor": 12345}', Memory(limits=limits(task)), old, "get_order")
    assert not any(symbol.startswith("L:") for symbol in shown)
    assert "<unk>" not in shown


def test_a_vocabulary_that_is_being_made_keeps_every_mark() -> None:
    loose = Vocabulary(SPECIALS, (0,), (0,), {}, {}, {})
    assert "L:1" in text_symbols('{"total_minor": 12345}', Memory(limits=(100,)), loose, "get_order")


def test_the_rules_stay_with_the_run(taskset: TaskSet, tmp_path: Path) -> None:
    codec = SymbolCodec(build_vocabulary(taskset, read_trajectories(taskset), min_count=1))
    codec.save(tmp_path)
    again, task_id = SymbolCodec.load(tmp_path), next(iter(taskset.tasks))
    assert again.open(taskset, task_id, 5).rules == codec.open(taskset, task_id, 5).rules
