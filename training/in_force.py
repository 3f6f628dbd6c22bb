"""The rules in force as the small model reads them: what differs between versions, and where an amount stands to their limits.

A language model finds the rules in its system message (`dialogue.system_text`). The small model finds, in its opening, every
number and listed value of a rule that is not the same in all training tasks (the others it learns with the tools), and behind
each amount a mark that counts the limits in force below it: "above 80.00 EUR for standard, 150.00 EUR for gold" is then a matter
of tier and mark, whichever version of the policy holds. No number of a rule becomes a slot: what an agent may copy, it looks up.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import Any

from schemas.task import RuleRef, TaskSpec
from training.tokens import Vocabulary, number

PLACE = "rules"
"""First part of the path of whatever a rule shows."""


def leaves(rule: RuleRef) -> Iterator[tuple[str, Any]]:
    """(path, value) of each number, truth value and list of texts in a rule's parameters, in a fixed order."""
    place = f"{PLACE}/{rule.document or ''} {rule.clause or ''} {rule.rule} {rule.parameters.get('tool', '')}"

    def walk(value: Any, path: str) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            for key in sorted(value):
                yield from walk(value[key], f"{path}/{key}")
        elif isinstance(value, bool | int | float):
            yield path, value
        elif isinstance(value, list) and value and all(isinstance(inner, str) for inner in value):
            yield path, sorted(value)

    return walk(rule.parameters, place)


def is_money(rule: RuleRef, path: str) -> bool:
    """True where a number of the rule is an amount in minor units: its own key says so, or the argument that it bounds."""
    keys = path.split("/")[2:]
    counted = {"count", "days", "at_least"} & set(keys)
    return not counted and any(name.endswith("_minor") for name in (*keys, str(rule.parameters.get("argument", ""))))


def limits(task: TaskSpec) -> tuple[int, ...]:
    """The amounts that the rules in force name, in minor units, ascending, each once."""
    return tuple(
        sorted(
            {
                value
                for rule in task.rules
                for path, value in leaves(rule)
                if isinstance(value, int) and not isinstance(value, bool) and is_money(rule, path)
            }
        )
    )


def mark(minor: int, limits: tuple[int, ...]) -> str:
    """How many of the limits an amount is above."""
    return f"L:{bisect.bisect_left(limits, minor)}"


def rule_symbols(task: TaskSpec, vocabulary: Vocabulary) -> list[tuple[str, list[str]]]:
    """(path, symbols) of each leaf of each rule in force, in the task's order."""
    return [(path, [f"k:{path}", *_value(rule, path, value, vocabulary)]) for rule in task.rules for path, value in leaves(rule)]


def varying(task: TaskSpec, vocabulary: Vocabulary) -> list[str]:
    """`rule_symbols` of what differed between training tasks; nothing for a vocabulary that knows no rule."""
    shown = [symbols for path, symbols in rule_symbols(task, vocabulary) if path not in vocabulary.constant_paths]
    return [symbol for symbols in shown if symbols[0] in vocabulary for symbol in symbols]


def _value(rule: RuleRef, path: str, value: Any, vocabulary: Vocabulary) -> list[str]:
    if isinstance(value, list):
        return [f"w:{text.lower()}" for text in value]
    if isinstance(value, bool):
        return [f"w:{str(value).lower()}"]
    if path.endswith("/days"):
        return [vocabulary.day(value, "D")]
    return [vocabulary.amount(int(value))] if is_money(rule, path) else [number(value)]
