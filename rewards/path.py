"""Runs the rules in force over a journal, call by call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from rewards.rule import Parameters, Rule
from rewards.view import JournalView
from schemas.episode import Violation
from schemas.errors import GraderError, WorldError
from schemas.files import canonical_json
from schemas.plugins import load_plugin
from schemas.spec_faults import faults_of
from schemas.task import RuleRef


@dataclass(frozen=True, slots=True)
class RuleInForce:
    """A rule of one task, its parameters checked."""

    ref: RuleRef
    rule: Rule
    parameters: Parameters


_compiled: dict[str, tuple[Rule, Parameters]] = {}
"""A task set names few rules many times: each (rule, parameters) is checked once a process."""


def compile_rule(name: str, parameters: dict[str, object]) -> tuple[Rule, Parameters]:
    """The rule file `name` with its checked parameters. Raises GraderError for an unknown rule or parameters that do not fit."""
    key = f"{name} {canonical_json(parameters)}"
    if key not in _compiled:
        try:
            rule = load_plugin("rewards.rules", name, "RULE", Rule)
            _compiled[key] = (rule, rule.parameters.model_validate(parameters))
        except WorldError as error:
            raise GraderError(str(error)) from error
        except ValidationError as error:
            raise GraderError(f"rule {name}: {'; '.join(faults_of(error))}") from error
    return _compiled[key]


def rules_by_tool(refs: tuple[RuleRef, ...]) -> Mapping[str, tuple[RuleInForce, ...]]:
    """Tool -> the rules that judge its calls, in the task's order. GraderError as `compile_rule`."""
    found: dict[str, list[RuleInForce]] = {}
    for ref in refs:
        try:
            rule, parameters = compile_rule(ref.rule, ref.parameters)
        except GraderError as error:
            raise GraderError(f"rule {ref.id!r}: {error}") from error
        found.setdefault(parameters.tool, []).append(RuleInForce(ref, rule, parameters))
    return {tool: tuple(rules) for tool, rules in found.items()}


def broken_at(rules: Mapping[str, tuple[RuleInForce, ...]], view: JournalView, step: int) -> list[Violation]:
    """Violations of the call at `step` (index in the view), each under its rule's id; a refused call breaks none."""
    entry = view.entries[step]
    if not entry.ok:
        return []
    found = []
    for each in rules.get(entry.call.tool, ()):
        try:
            violations = each.rule.check(each.parameters, view, step)
        except GraderError as error:
            raise GraderError(f"rule {each.ref.id!r} cannot judge step {step}: {error}") from error
        found += [v.model_copy(update={"rule": each.ref.id, "hard": each.ref.hard}) for v in violations]
    return found
