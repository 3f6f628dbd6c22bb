"""A task shows a policy version, or runs a rule of one, that was not in force at the cut."""

from __future__ import annotations

import marshal
from collections import Counter

from schemas.files import canonical_json
from schemas.task import RuleRef, TaskSpec
from tasks.leaks._plant import with_content, with_task
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found, configured, must_instant


def run(data: LeakInput) -> list[Finding]:
    found = Found("policy_version")
    if not any(task.policies for task in data.tasks):
        return [Finding("policy_version", "not_applicable", detail="no task has a policy")]
    texts = _texts(data)
    told = [[_told(rule) for rule in task.rules] for task in data.tasks]
    pairs = (
        (rule, words) for task, all_ in zip(data.tasks, told, strict=True) for rule, words in zip(task.rules, all_, strict=True)
    )
    rules = Counter((rule.id, rule.document, rule.version, words) for rule, words in pairs)
    usual = {key[:3]: key[3] for key, _ in sorted(rules.items(), key=lambda item: item[1])}
    for task, words_of_rules in zip(data.tasks, told, strict=True):
        cut = must_instant(task.started_at, f"{task.task_id}.started_at")
        shown: dict[str, int] = {}
        clauses: dict[str, set[str]] = {}
        for digest in (*task.policies, *_configured(data, task)):
            policy = data.content(digest)
            clauses.setdefault(policy["document"], set()).update(str(c.get("clause")) for c in policy.get("clauses", ()))
            name = f"{policy['document']} v{policy['version']}"
            shown[policy["document"]] = policy["version"]
            if digest not in texts[name][:1]:
                found.add(f"policies/{name}", "another text under this version's name", [task.task_id])
            if name not in data.policy_times:
                found.add(f"policies/{name}", "nobody says when it was in force", [task.task_id])
                continue
            start, end = data.policy_times[name]
            if start is not None and must_instant(start, name) > cut:
                found.add(f"policies/{name}", "in force only after the cut", [task.task_id])
            if end is not None and must_instant(end, name) <= cut:
                found.add(f"policies/{name}", "no longer in force at the cut", [task.task_id])
        for rule, words in zip(task.rules, words_of_rules, strict=True):
            if rule.document is not None and rule.version is not None and shown.get(rule.document) != rule.version:
                found.add(f"rules/{rule.id}", f"of {rule.document} v{rule.version}, which the task does not show", [task.task_id])
            if rule.document in clauses and rule.clause is not None and rule.clause not in clauses[rule.document]:
                found.add(f"rules/{rule.id}", f"of a clause that {rule.document} does not have", [task.task_id])
            if usual[rule.id, rule.document, rule.version] != words:
                found.add(f"rules/{rule.id}", "other parameters or words than this version has elsewhere", [task.task_id])
    return found.findings()


def _told(rule: RuleRef) -> str:
    key = (marshal.dumps(rule.parameters, 2), rule.sentence)
    if key not in _said:
        if len(_said) > KEPT:
            _said.clear()
        _said[key] = canonical_json([rule.parameters, rule.sentence])
    return _said[key]


_said: dict[tuple[bytes, str], str] = {}
KEPT = 20_000
"""Rules whose words are kept: most tasks have the same."""


def _configured(data: LeakInput, task: TaskSpec) -> list[str]:
    """Contents that a system's configuration names and that are policies."""
    found = []
    for digest in (digest for config in configured(task) for digest in config.contents):
        held = data.content(digest)
        if isinstance(held, dict) and {"document", "version"} <= held.keys():
            found.append(digest)
    return found


def _texts(data: LeakInput) -> dict[str, list[str]]:
    """ "document vN" -> digests of its texts, the one that most tasks show first: a later text under an old name stands out."""
    shown = Counter(digest for task in data.tasks for digest in (*task.policies, *_configured(data, task)))
    found: dict[str, list[str]] = {}
    for digest, _ in sorted(shown.items(), key=lambda item: (-item[1], item[0])):
        policy = data.content(digest)
        found.setdefault(f"{policy['document']} v{policy['version']}", []).append(digest)
    return found


def planted(data: LeakInput) -> LeakInput:
    index = next(i for i, task in enumerate(data.tasks) if task.policies)
    task = data.tasks[index]
    policy = dict(data.content(task.policies[0]))
    late = [name for name, (start, _) in sorted(data.policy_times.items()) if start is not None and start > task.started_at]
    policy["document"], policy["version"] = late[-1].rsplit(" v", 1)[0], int(late[-1].rsplit(" v", 1)[1])
    data, digest = with_content(data, policy)
    return with_task(data, index, lambda t: t.model_copy(update={"policies": (digest, *t.policies[1:])}))


LEAK = Leak("policy_version", run, planted)
