"""Episodes as people read them: the same held-out tasks before and after training, side by side, in `transcripts.jsonl`.

A bounded number, chosen by digest, so that nobody picks what looks good: tasks solved before and not after, after and not before,
wrong both times, right both times; of each group the same number of each outcome class. The lines hold held-out tasks and what
was right there, so each carries the canary of the hold-out, and training refuses a folder that has one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rewards.score import Grader
from schemas.episode import EpisodeTrace, RowChange
from schemas.errors import StageError
from schemas.files import canonical_json, sha256_json, write_text
from schemas.task import Answer, TaskSpec
from schemas.taskset import TaskSet

NAME = "transcripts.jsonl"
GROUPS = ("solved before, not after", "wrong both times", "solved after, not before", "solved both times")
"""In the order in which they are read: what was lost first."""
PER_CLASS = {"solved before, not after": 3, "wrong both times": 3, "solved after, not before": 2, "solved both times": 1}
"""Tasks kept of each outcome class."""
TEXT_LIMIT = 1200
"""Characters kept of one observation."""


def group_of(before: bool, after: bool) -> str:
    return GROUPS[{(True, False): 0, (False, False): 1, (False, True): 2, (True, True): 3}[before, after]]


def choose(groups: Mapping[str, str], classes: Mapping[str, str]) -> list[str]:
    """Task ids to keep, from task -> group and task -> outcome class: in the order of GROUPS, then of digests."""
    sized: dict[tuple[str, str], list[str]] = defaultdict(list)
    for task_id in sorted(groups, key=lambda t: sha256_json(["transcript", t])):
        members = sized[groups[task_id], classes[task_id]]
        if len(members) < PER_CLASS[groups[task_id]]:
            members.append(task_id)
    return [task for name in GROUPS for (group, _), tasks in sorted(sized.items()) if group == name for task in tasks]


def transcripts(
    before: Sequence[EpisodeTrace], after: Sequence[EpisodeTrace], taskset: TaskSet, grader: Grader
) -> list[dict[str, Any]]:
    """The chosen tasks with both episodes, as JSON; each says how many tasks its group has."""
    first, second = ({trace.task_id: trace for trace in traces} for traces in (before, after))
    groups = {t: group_of(solved(first[t]), solved(second[t])) for t in first if t in second}
    sizes = Counter(groups.values())
    answers = {t: grader.criteria(t).answer for t in groups}
    out = []
    for task_id in choose(groups, {t: answers[t].outcome_class for t in groups}):
        task = taskset.tasks[task_id]
        head = {"group": groups[task_id], "group_tasks": sizes[groups[task_id]], **task_facts(task, answers[task_id])}
        out.append(head | {"before": episode_facts(first[task_id], task), "after": episode_facts(second[task_id], task)})
    return out


def write_transcripts(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    write_text(folder / NAME, "".join(canonical_json(row) + "\n" for row in rows))


def solved(trace: EpisodeTrace) -> bool:
    if trace.grade is None:
        raise StageError(f"task {trace.task_id}: the episode of {trace.agent} was not graded")
    return trace.grade.success


def task_facts(task: TaskSpec, answer: Answer) -> dict[str, Any]:
    """What was asked and what was right."""
    return {
        "task_id": task.task_id,
        "workflow": task.workflow,
        "organisation": task.organisation,
        "slice": task.slice,
        "outcome_class": answer.outcome_class,
        "request": {"from": task.opening.contact, "subject": task.opening.subject, "text": task.opening.text},
        "started_at": task.started_at,
        "wanted": {
            "code": answer.outcome.code,
            "about": answer.outcome.about,
            "changes": [change_words(change) for change in answer.outcome.changes],
            "answer": answer.outcome.answer,
        },
        "reference_calls": len(answer.reference),
        "canary": task.canary,
    }


def episode_facts(trace: EpisodeTrace, task: TaskSpec) -> dict[str, Any]:
    """One episode: calls, what came back, what the requester said, what was broken and what it was worth."""
    grade = trace.grade
    if grade is None:
        raise StageError(f"task {trace.task_id}: the episode of {trace.agent} was not graded")
    sentences = {rule.id: rule for rule in task.rules}
    entries = trace.journal.entries
    broken = [
        {
            "step": violation.step,
            "rule": violation.rule,
            "sentence": sentences[violation.rule].sentence if violation.rule in sentences else "",
            "message": violation.message,
            "hard": violation.hard,
        }
        for violation in grade.violations
    ]
    steps = [
        {
            "tool": entry.call.tool,
            "arguments": entry.call.arguments,
            "ok": entry.ok,
            "refused": entry.refusal.kind.value if entry.refusal is not None else "",
            "answer": {"kind": shown.kind, "text": _short(shown.text)},
            "reward": grade.rewards[number] if number < len(grade.rewards) else None,
        }
        for number, (entry, shown) in enumerate(zip(entries, trace.observations[1:], strict=False))
    ]
    finish = entries[-1].call.arguments if entries and entries[-1].finished else {}
    return {
        "agent": trace.agent,
        "seed": trace.seed,
        "steps": steps,
        "broken": broken,
        "ended_by": trace.journal.ended_by,
        "given": {
            "code": str(finish.get("code", "")),
            "about": finish.get("about"),
            "changes": [change_words(change) for entry in entries for change in entry.changes],
        },
        "success": grade.success,
        "full": grade.full,
        "outcome_right": grade.outcome_right,
        "return": grade.return_,
        "score": grade.score,
        "reasons": list(grade.reasons),
    }


def change_words(change: RowChange) -> str:
    """ "create payments.refund: amount_minor 1200, order_id ORDER_1"."""
    fields = ", ".join(f"{name} {value}" for name, value in sorted(change.fields.items()))
    row = f" {change.record_id}" if change.record_id else ""
    return f"{change.op} {change.system}.{change.kind}{row}: {fields}"


def _short(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]} ... ({len(text) - TEXT_LIMIT} more characters)"
