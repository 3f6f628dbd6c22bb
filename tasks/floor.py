"""The floor of agents that look but do not read: how often a script is full that makes a task's look-ups and ignores the answers.

The script is the strongest of its kind. It makes every look-up, check and question of the reference, with the reference's own
arguments, and then closes each case of a workflow with one and the same outcome, the best for that workflow. It makes none of the
recorded writes: their values differ from case to case. What it reaches, a grader of outcomes cannot tell from reading, since the
decision of the commonest case needs none; only what is above it shows that an agent has used what it was told.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from environments.episode import Episode
from rewards.score import Grader
from schemas.files import canonical_json
from schemas.task import Answer
from schemas.taskset import TaskSet


@dataclass(frozen=True, slots=True)
class UnreadFloor:
    """What looking without reading reaches in one workflow."""

    workflow: str
    tasks: int
    code: str
    """Outcome code of the finishing act that is full most often, "" where none ever is."""
    full: int
    """Tasks that it is full in."""


def unread_floor(taskset: TaskSet, answers: Mapping[str, Answer], *, seed: int) -> list[UnreadFloor]:
    """The floor over the tasks of `taskset` that have an answer, one row a workflow, sorted by name; by real replays.

    Only the finishing act of the task's own reference can be full in it (C3), so one replay a task tells of every script.
    """
    grader, episode = Grader(taskset, answers), Episode(taskset)
    tasks: Counter[str] = Counter()
    full: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for task in taskset.tasks.values():
        if task.task_id not in answers:
            continue
        answer = answers[task.task_id]
        tasks[task.workflow] += 1
        episode.reset(task.task_id, seed)
        *before, finish = answer.reference
        for step in (*(step for step in before if step.planned), finish):
            if not episode.done:
                episode.step(step.call)
        if grader.grade(episode.journal).full:
            full[task.workflow][answer.outcome.code, canonical_json(answer.outcome.answer)] += 1
    found = []
    for workflow, count in sorted(tasks.items()):
        (code, _), solved = min(full[workflow].items(), key=lambda item: (-item[1], item[0]), default=(("", ""), 0))
        found.append(UnreadFloor(workflow, count, code, solved))
    return found
