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
    # Most tasks have the same rules and policies, which are looked at once.
    alike: dict[tuple[tuple[object, ...], tuple[str, ...]], list[TaskSpec]] = {}
    for task in data.tasks:
        named = [(r.id, r.document, r.version, r.clause, r.sentence) for r in task.rules]
        set_to = marshal.dumps([r.parameters for r in task.rules], 2)
        alike.setdefault(((*named, set_to), (*task.policies, *_configured(data, task))), []).append(task)
    texts = _texts(data, [(digests, len(tasks)) for (_, digests), tasks in alike.items()])
    rules: Counter[tuple[str, str | None, int | None, str]] = Counter()
    for tasks in alike.values():
        for rule in tasks[0].rules:
            rules[rule.id, rule.document, rule.version, _words(rule)] += len(tasks)
    usual = {key[:3]: key[3] for key, _ in sorted(rules.items(), key=lambda item: item[1])}
    for (_, digests), tasks in alike.items():
        ids = [task.task_id for task in tasks]
        cuts = [(task.task_id, must_instant(task.started_at, f"{task.task_id}.started_at")) for task in tasks]
        shown: dict[str, int] = {}
        clauses: dict[str, set[str]] = {}
        for digest in digests:
            policy = data.content(digest)
            clauses.setdefault(policy["document"], set()).update(str(c.get("clause")) for c in policy.get("clauses", ()))
            name = f"{policy['document']} v{policy['version']}"
            shown[policy["document"]] = policy["version"]
            if digest not in texts[name][:1]:
                found.add(f"policies/{name}", "another text under this version's name", ids)
            if name not in data.policy_times:
                found.add(f"policies/{name}", "nobody says when it was in force", ids)
                continue
            start, end = (at if at is None else must_instant(at, name) for at in data.policy_times[name])
            if start is not None and (early := [task_id for task_id, cut in cuts if start > cut]):
                found.add(f"policies/{name}", "in force only after the cut", early)
            if end is not None and (late := [task_id for task_id, cut in cuts if end <= cut]):
                found.add(f"policies/{name}", "no longer in force at the cut", late)
        for rule in tasks[0].rules:
            if rule.document is not None and rule.version is not None and shown.get(rule.document) != rule.version:
                found.add(f"rules/{rule.id}", f"of {rule.document} v{rule.version}, which the task does not show", ids)
            if rule.document in clauses and rule.clause is not None and rule.clause not in clauses[rule.document]:
                found.add(f"rules/{rule.id}", f"of a clause that {rule.document} does not have", ids)
            if usual[rule.id, rule.document, rule.version] != _words(rule):
                found.add(f"rules/{rule.id}", "other parameters or words than this version has elsewhere", ids)
    return found.findings()


def _words(rule: RuleRef) -> str:
    return canonical_json([rule.parameters, rule.sentence])


def _configured(data: LeakInput, task: TaskSpec) -> list[str]:
    """Contents that a system's configuration names and that are policies."""
    found = []
    for digest in (digest for config in configured(task) for digest in config.contents):
        held = data.content(digest)
        if isinstance(held, dict) and {"document", "version"} <= held.keys():
            found.append(digest)
    return found


def _texts(data: LeakInput, tasks: list[tuple[tuple[str, ...], int]]) -> dict[str, list[str]]:
    """ "document vN" -> digests of its texts, the one that most tasks show first: a later text under an old name stands out."""
    shown: Counter[str] = Counter()
    for digests, number in tasks:
        shown.update(dict.fromkeys(digests, number))
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
