"""Every rule file keeps the contract of a rule: both of its traces, its sentence and its parameters."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from rewards.rule import Rule, RuleTrace
from rewards.view import JournalView
from schemas.episode import Violation
from schemas.errors import GraderError
from schemas.plugins import load_plugins

RULES = load_plugins("rewards.rules", "RULE", Rule)


@pytest.fixture(params=sorted(RULES))
def rule(request: pytest.FixtureRequest) -> Rule:
    return RULES[request.param]


def judged(rule: Rule, trace: RuleTrace) -> list[Violation]:
    parameters = rule.parameters.model_validate(trace.parameters)
    view = JournalView(trace.base, trace.started_at)
    found: list[Violation] = []
    for entry in trace.entries:
        step = view.append(entry)
        if entry.ok and entry.call.tool == parameters.tool:
            found += rule.check(parameters, view, step)
    return found


def numbers_in(value: Any) -> list[int]:
    if isinstance(value, bool):
        return []
    if isinstance(value, int):
        return [value]
    if isinstance(value, dict):
        return [n for v in value.values() for n in numbers_in(v)]
    if isinstance(value, list):
        return [n for v in value for n in numbers_in(v)]
    return []


def test_rule_is_named_as_its_file(rule: Rule) -> None:
    assert RULES[rule.name] is rule


def test_passing_trace_passes(rule: Rule) -> None:
    assert judged(rule, rule.passing) == []


def test_violating_trace_violates_with_row_level_evidence(rule: Rule) -> None:
    found = judged(rule, rule.violating)
    assert found
    for violation in found:
        assert violation.message
        assert violation.evidence
        assert 0 <= violation.step < len(rule.violating.entries)


def test_sentence_states_every_number_of_the_parameters(rule: Rule) -> None:
    for trace in (rule.passing, rule.violating):
        sentence = rule.sentence(rule.parameters.model_validate(trace.parameters))
        assert sentence.endswith(".")
        stated = {int(n) for n in re.findall(r"\d+", sentence)}
        assert set(numbers_in(trace.parameters)) <= stated


def test_parameters_refuse_junk(rule: Rule) -> None:
    good = rule.passing.parameters
    for junk in ({}, {**good, "unknown": 1}, {**good, "tool": 7}, {**good, "tool": ""}, {**good, "when": "always"}):
        with pytest.raises(ValidationError):
            rule.parameters.model_validate(junk)


def test_a_record_that_is_not_in_the_state_never_breaks_the_grader_but_by_its_own_error(rule: Rule) -> None:
    trace = rule.violating
    empty = RuleTrace(trace.parameters, trace.started_at, {}, trace.entries[-1:])
    try:
        found = judged(rule, empty)
    except GraderError:
        return
    assert all(isinstance(violation, Violation) for violation in found)


@pytest.mark.parametrize("name", ["approval", "exact", "forbidden", "overdue", "required_before", "window"])
def test_a_call_on_a_record_that_the_agent_made_up_is_a_violation(name: str) -> None:
    trace = RULES[name].violating
    assert judged(RULES[name], RuleTrace(trace.parameters, trace.started_at, {}, trace.entries[-1:]))
