"""The tasks of one workflow with the outcome that a statistical plant makes tell."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random

from schemas.task import TaskSpec
from tasks.leaks import LeakInput
from tests.plants._planted import UnplantableError

LEAST = 30
"""Tasks of the rarer side, at least: fewer tell nothing."""


@dataclass(frozen=True, slots=True)
class Chosen:
    workflow: str
    yes: tuple[TaskSpec, ...]
    """Tasks with the outcome's class, both sides of the hold-out."""
    no: tuple[TaskSpec, ...]

    def marked(self, rng: Random, strength: float, noise: float) -> list[TaskSpec]:
        """The share `strength` of those with the class, and the share `noise` of the others."""
        return [t for t in self.yes if rng.random() < strength] + [t for t in self.no if rng.random() < noise]


def chosen(data: LeakInput, rng: Random) -> Chosen:
    """A workflow with enough tasks of two classes; the class that tells is one of them."""
    found = []
    for workflow in sorted({t.workflow for t in data.tasks}):
        tasks = sorted((t for t in data.tasks if t.workflow == workflow), key=lambda t: t.task_id)
        counts = Counter(data.answers[t.task_id].outcome_class for t in tasks)
        for name, count in sorted(counts.items()):
            if LEAST <= count <= len(tasks) - LEAST:
                found.append((workflow, name, tasks))
    if not found:
        raise UnplantableError("no workflow has two outcomes often enough")
    workflow, name, tasks = rng.choice(found)
    yes = tuple(t for t in tasks if data.answers[t.task_id].outcome_class == name)
    return Chosen(workflow, yes, tuple(t for t in tasks if data.answers[t.task_id].outcome_class != name))
