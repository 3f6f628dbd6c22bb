"""Two tasks show the same, but for their own ids, their clock, case, spacing and punctuation, and have different outcomes: no
agent can be right in both.

Another version of a policy explains another outcome only where a rule differs, or the clause that a rule enforces.
"""

from __future__ import annotations

import json
import re
from typing import Any

from schemas.files import canonical_json
from schemas.task import Answer, TaskSpec
from tasks.leaks._times import instant
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import TOKEN, must_instant, words

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")

TELLING = 8
"""Words from which a request says what is wanted."""


def run(data: LeakInput) -> list[Finding]:
    groups: dict[str, list[TaskSpec]] = {}
    for task in data.tasks:
        if task.task_id in data.answers:
            opening = task.opening
            groups.setdefault(canonical_json([task.workflow, words(opening.subject), words(opening.text)]), []).append(task)
    findings = []
    for alike in groups.values():
        # The state is compared only among requests that read alike: states are large, and such requests are few.
        if len(alike) < 2 or len({data.answers[t.task_id].outcome.code for t in alike}) < 2:
            continue
        same: dict[str, list[TaskSpec]] = {}
        for task in alike:
            for since in (True, False):
                same.setdefault(f"{since}{_shown(data, task, since=since)}", []).append(task)
            same.setdefault(canonical_json([_facts(task), task.state, _ruled(data, task)]), []).append(task)
        for tasks in {tuple(t.task_id for t in tasks): tasks for tasks in same.values()}.values():
            if len({_outcome(data.answers[t.task_id]) for t in tasks}) > 1:
                ids = tuple(sorted(t.task_id for t in tasks))
                detail = f"{len(ids)} tasks alike but for their own ids and clock, different outcomes"
                findings.append(Finding("conflicting_outcome", "failed", "task", detail, ids))
    return findings


def _shown(data: LeakInput, task: TaskSpec, *, since: bool) -> str:
    """All that is shown, with the task's own ids numbered in their order, and times as they stand or (`since`) told from the cut.

    What the requester can tell is left out where the request itself is long enough to say what is wanted.
    """
    cut = must_instant(task.started_at, f"{task.task_id}.started_at")
    states = [data.content(digest) for digest in task.state]
    opening = task.opening.model_dump(exclude={"received_at"})
    numbers: dict[str, str] = {}
    own = {task.opening.record.record_id: "(case)", task.task_id: "(task)"}

    def renamed(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], f"{match[0].split('_')[0]}#{len(numbers)}")

    def told(match: re.Match[str]) -> str:
        at = instant(match[0])
        return match[0] if at is None or not since else f"{(at - cut).total_seconds():.0f} s"

    # Parts are walked in the order of what they hold, not of ids, which are arbitrary.
    text = json.dumps([opening, _facts(task), states, _ruled(data, task)], sort_keys=True)
    for name, stands in own.items():
        text = text.replace(name, stands)
    return re.sub(r"[\W_]+", " ", TOKEN.sub(renamed, _STAMP.sub(told, text)).casefold())


def _facts(task: TaskSpec) -> dict[str, Any] | None:
    return None if len(words(task.opening.text)) >= TELLING else task.requester.model_dump(mode="json")


def _ruled(data: LeakInput, task: TaskSpec) -> list[Any]:
    """What the policies ask for: the rules with the clauses that they enforce, all clauses where there is no rule."""
    clauses: dict[tuple[str, str], str] = {}
    for digest in task.policies:
        policy = data.content(digest)
        clauses.update({(str(policy["document"]), str(c.get("clause"))): str(c.get("text")) for c in policy.get("clauses", ())})
    if not task.rules:
        return sorted(clauses.values())
    ruled = [[r.rule, r.sentence, r.parameters, clauses.get((r.document or "", r.clause or ""))] for r in task.rules]
    return sorted(ruled, key=canonical_json)


def _outcome(answer: Answer) -> str:
    outcome = answer.outcome
    changes = [[c.system, c.kind, c.op, TOKEN.sub("", canonical_json(c.fields))] for c in outcome.changes]
    return canonical_json([outcome.code, changes, TOKEN.sub("", canonical_json(outcome.answer))])


def planted(data: LeakInput) -> LeakInput:
    from dataclasses import replace

    first = data.tasks[0]
    twin = first.model_copy(update={"task_id": f"{first.task_id}-twin"})
    given = data.answers[first.task_id]
    other = next(
        c for c, about in sorted(data.code_book.outcomes.items()) if c != given.outcome.code and about.workflow == first.workflow
    )
    answer = given.model_copy(update={"task_id": twin.task_id, "outcome": given.outcome.model_copy(update={"code": other})})
    return replace(data, tasks=(*data.tasks, twin), answers={**data.answers, twin.task_id: answer})


LEAK = Leak("conflicting_outcome", run, planted)
