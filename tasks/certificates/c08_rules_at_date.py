"""The rules in force when the request arrived allow the reference path: by the interval recorded for each policy version.

Derived anew from the intervals and the rule table that travel with the task set, not from what the task says of itself: which
version of each document was in force at `started_at`, which rules that gives, and whether the task shows just those.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from rewards.path import broken_at, compile_rule, rules_by_tool
from rewards.view import JournalView, instant
from schemas.proof import PolicyInterval
from schemas.spec import RuleSpec
from schemas.task import RuleRef
from tasks.certificates._bench import Bench, CertificateCheck, Said


def run(bench: Bench) -> Said:
    task = bench.task
    versions, unclear = in_force(bench.proof.policies, task.started_at)
    if unclear:
        return "failed", f"not one version in force: {', '.join(unclear)}"
    shown = {policy.document: policy.version for policy in bench.taskset.policies(task)}
    if shown != versions:
        wrong = sorted(document for document in shown.keys() | versions.keys() if shown.get(document) != versions.get(document))
        return "failed", f"shows another version than was in force: {', '.join(wrong)}"
    rules = [rule for rule in bench.proof.rules if stands(rule, task.workflow, versions)]
    named = [(r.id, r.rule, r.parameters, r.document, r.clause, r.hard) for r in rules]
    if [(r.id, r.rule, r.parameters, r.document, r.clause, r.hard) for r in task.rules] != named:
        both = {r.id for r in rules} ^ {r.id for r in task.rules}
        return "failed", f"runs other rules than were in force: {', '.join(sorted(both)) or 'with other parameters'}"
    if wrong := sorted(r.id for r in task.rules if r.document is not None and r.version != versions.get(r.document)):
        return "failed", f"rules that name another version: {', '.join(wrong)}"
    if broken := _broken(bench, rules):
        return "failed", f"the reference breaks {', '.join(broken)}"
    if not rules and not versions:
        return "not_applicable", "no policy and no rule stands for this workflow"
    edges = _edges(bench, rules)
    bench.grades.update(repr(edges).encode())
    return "passed", f"{len(rules)} rules, {len(versions)} documents in force, {len(edges)} edges"


def in_force(policies: tuple[PolicyInterval, ...], at: str) -> tuple[dict[str, int], list[str]]:
    """Document -> its version in force at `at`, and the documents that have none or several."""
    now = instant(at, "started_at")
    found: dict[str, list[int]] = defaultdict(list)
    for each in policies:
        begun = each.start is None or instant(each.start, each.document) <= now
        ended = each.end is not None and instant(each.end, each.document) <= now
        found[each.document] += [each.version] if begun and not ended else []
    unclear = [f"{document} ({len(versions)})" for document, versions in sorted(found.items()) if len(versions) != 1]
    return {document: versions[0] for document, versions in found.items() if len(versions) == 1}, unclear


def stands(rule: RuleSpec, workflow: str, versions: dict[str, int]) -> bool:
    applies = not rule.workflows or workflow in rule.workflows
    return applies and (rule.document is None or versions.get(rule.document) in rule.versions)


def _broken(bench: Bench, rules: list[RuleSpec]) -> list[str]:
    """Rules that the reference's replay breaks, judged by the table's own parameters."""
    refs = tuple(RuleRef(id=rule.id, rule=rule.rule, sentence="", parameters=rule.parameters, hard=rule.hard) for rule in rules)
    by_tool = rules_by_tool(refs)
    view = JournalView.of_task(bench.task, bench.state)
    found: dict[str, None] = {}
    for entry in bench.whole().journal.entries:
        step = view.append(entry)
        found.update(dict.fromkeys(v.rule for v in broken_at(by_tool, view, step) if v.hard))
    return list(found)


def _edges(bench: Bench, rules: list[RuleSpec]) -> list[tuple[str, int | str, bool]]:
    """(rule, amount or instant, broken) on both sides of every amount and day that a rule could turn on, for the acts of the
    reference: not a verdict of its own, but part of the digest of the grades, so that a limit moved by one unit is noticed."""
    entries = list(bench.whole().journal.entries)
    view = JournalView.of_task(bench.task, bench.state)
    rows = [bench.state.get(r.system, {}).get(r.kind, {}).get(r.record_id, {}) for entry in entries for r in entry.reads]
    values = [value for row in rows for value in row.values()]
    amounts = {v for v in values if isinstance(v, int) and not isinstance(v, bool)}
    times = {v for v in values if isinstance(v, str) and v[:4].isdigit() and v[10:11] == "T"}
    found: list[tuple[str, int | str, bool]] = []
    for entry in entries:
        step = view.append(entry)
        for rule in rules:
            if rule.parameters.get("tool") != entry.call.tool or not entry.ok:
                continue
            plugin, parameters = compile_rule(rule.rule, rule.parameters)
            argument, days = rule.parameters.get("argument"), rule.parameters.get("days")
            if argument in entry.call.arguments:
                for amount in sorted({a + d for a in amounts | set(_whole(rule.parameters)) for d in (0, 1) if a > 0}):
                    call = entry.call.model_copy(update={"arguments": {**entry.call.arguments, argument: amount}})
                    view.entries[step] = entry.model_copy(update={"call": call})
                    found.append((rule.id, amount, bool(plugin.check(parameters, view, step))))
                view.entries[step] = entry
            elif isinstance(days, int):
                started = view.started_at
                for at in sorted(instant(t, rule.id) + timedelta(days=days, seconds=s) for t in times for s in (0, 1)):
                    view.started_at = at.isoformat()
                    found.append((rule.id, view.started_at, bool(plugin.check(parameters, view, step))))
                view.started_at = started
    return found


def _whole(value: Any) -> Iterator[int]:
    """Every whole number in a rule's parameters."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _whole(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _whole(inner)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value


CHECK = CertificateCheck("C8", run)
