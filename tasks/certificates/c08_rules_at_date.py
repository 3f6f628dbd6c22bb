"""The rules in force when the request arrived allow the reference path: by the interval recorded for each policy version.

Derived anew from the intervals and the rule table that travel with the task set, not from what the task says of itself: which
version of each document was in force at `started_at`, which rules that gives, and whether the task shows just those.
"""

from __future__ import annotations

from collections import defaultdict

from rewards.path import broken_at, rules_by_tool
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
    return "passed", f"{len(rules)} rules, {len(versions)} documents in force"


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


CHECK = CertificateCheck("C8", run)
