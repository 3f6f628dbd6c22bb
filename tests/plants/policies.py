"""Policies and rules that were not in force."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks import LeakInput
from tests.plants._edit import Edit, choose, stamp, when
from tests.plants._planted import Plant, Planted, UnplantableError

SECTION = "policy version"


def _with_policies(data: LeakInput, rng: Random) -> tuple[TaskSpec, dict[str, Any]]:
    task = choose(data, rng, lambda t: bool(t.policies))
    return task, dict(data.content(rng.choice(task.policies)))


def _swap(edit: Edit, task: TaskSpec, document: str, digest: str) -> None:
    policies = tuple(digest if edit.data.content(d)["document"] == document else d for d in task.policies)
    edit.task(task.task_id, policies=policies)


def _new_version(data: LeakInput, policy: dict[str, Any], version: int, start: str | None, end: str | None) -> LeakInput:
    return replace(data, policy_times={**data.policy_times, f"{policy['document']} v{version}": (start, end)})


def future(data: LeakInput, rng: Random) -> Planted:
    """A version that comes into force a day after the request."""
    task, policy = _with_policies(data, rng)
    edit = Edit(_new_version(data, policy, 31, stamp(when(task.started_at) + timedelta(days=1)), None))
    _swap(edit, task, policy["document"], edit.put({**policy, "version": 31}))
    return Planted(edit.done(), (task.task_id,))


def expired(data: LeakInput, rng: Random) -> Planted:
    """A version whose time ended at the very instant of the request: intervals are half-open."""
    task, policy = _with_policies(data, rng)
    edit = Edit(_new_version(data, policy, 32, None, task.started_at))
    _swap(edit, task, policy["document"], edit.put({**policy, "version": 32}))
    return Planted(edit.done(), (task.task_id,))


def undated(data: LeakInput, rng: Random) -> Planted:
    """A version of which nobody knows when it was in force."""
    task, policy = _with_policies(data, rng)
    edit = Edit(data)
    _swap(edit, task, policy["document"], edit.put({**policy, "version": 33}))
    return Planted(edit.done(), (task.task_id,))


def two_versions(data: LeakInput, rng: Random) -> Planted:
    """The version in force and the next one, both shown."""
    task, policy = _with_policies(data, rng)
    edit = Edit(_new_version(data, policy, 34, stamp(when(task.started_at) + timedelta(days=30)), None))
    edit.task(task.task_id, policies=(*task.policies, edit.put({**policy, "version": 34})))
    return Planted(edit.done(), (task.task_id,))


def later_text(data: LeakInput, rng: Random) -> Planted:
    """The number of the version in force, with a clause as only a later version has it."""
    task, policy = _with_policies(data, rng)
    head, *rest = policy["clauses"]
    new = {
        **policy,
        "version": 35,
        "clauses": [{**head, "text": "Only requests of the same calendar week are looked at."}, *rest],
    }
    edit = Edit(_new_version(data, policy, 35, stamp(when(task.started_at) + timedelta(days=9)), None))
    late = [t for t in data.tasks if t.task_id != task.task_id and when(t.started_at) > when(task.started_at) + timedelta(days=9)]
    if late:
        _swap(edit, late[-1], policy["document"], edit.put(new))
    _swap(edit, task, policy["document"], edit.put({**new, "version": policy["version"]}))
    return Planted(edit.done(), (task.task_id,))


def rule_version(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng, lambda t: any(r.document for r in t.rules))
    rules = list(task.rules)
    at = rng.choice([i for i, r in enumerate(rules) if r.document])
    rules[at] = rules[at].model_copy(update={"version": (rules[at].version or 1) + 5})
    return Planted(Edit(data).task(task.task_id, rules=tuple(rules)).done(), (task.task_id,))


def rule_document(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng, lambda t: any(r.document for r in t.rules))
    rules = list(task.rules)
    at = rng.choice([i for i, r in enumerate(rules) if r.document])
    rules[at] = rules[at].model_copy(update={"document": "handbook-of-the-partner"})
    return Planted(Edit(data).task(task.task_id, rules=tuple(rules)).done(), (task.task_id,))


def rule_clause(data: LeakInput, rng: Random) -> Planted:
    """The rule of a clause that the shown version does not have."""
    task = choose(data, rng, lambda t: any(r.document and r.clause for r in t.rules))
    rules = list(task.rules)
    at = rng.choice([i for i, r in enumerate(rules) if r.document and r.clause])
    rules[at] = rules[at].model_copy(update={"clause": "17.3"})
    return Planted(Edit(data).task(task.task_id, rules=tuple(rules)).done(), (task.task_id,))


def in_tool(data: LeakInput, rng: Random) -> Planted:
    """Not among the task's policies, but in the content that a system's configuration names."""
    task, policy = _with_policies(data, rng)
    edit = Edit(_new_version(data, policy, 36, stamp(when(task.started_at) + timedelta(days=3)), None))
    digest = edit.put({**policy, "version": 36})
    if not task.systems:
        raise UnplantableError("no systems")
    *rest, last = task.systems
    config = {**last.config, "documents": f"content:{digest}"}
    edit.task(task.task_id, systems=(*rest, last.model_copy(update={"config": config})))
    return Planted(edit.done(), (task.task_id,))


PLANTS = (
    Plant("policy_future", SECTION, "version that comes into force a day later", future),
    Plant("policy_expired", SECTION, "version whose time ended at the instant of the request", expired),
    Plant("policy_undated", SECTION, "version of which no time in force is known", undated),
    Plant("policy_two_versions", SECTION, "the version in force and the next one together", two_versions),
    Plant("policy_later_text", SECTION, "clause of a later version under the number of the version in force", later_text),
    Plant("policy_in_tool", SECTION, "later version in the content that a system's configuration names", in_tool),
    Plant("rule_version", SECTION, "rule of a version that is not shown", rule_version),
    Plant("rule_document", SECTION, "rule of a document that is not shown", rule_document),
    Plant("rule_clause", SECTION, "rule of a clause that the shown version does not have", rule_clause),
)
