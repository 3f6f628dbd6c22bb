"""Which training tasks a rollout plays: passes over all, or the tasks from which there is most to learn, with replay.

A task that is always solved and one that never is teach nothing: the gradient of the return is as large as its variance,
p (1 - p) for a success of probability p (sampling for learnability, arXiv:2408.15099). p is estimated from the episodes so far,
recent ones more, from a prior that is the same for all. A share of the rollout is drawn from all tasks alike (replay): what is
solved today must stay solved, and what was never solved is tried again. Pure functions; the record of the episodes goes into
the checkpoint, so that a resumed run draws what the unbroken one would have drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

DECAY = 0.9
"""Weight of what is known of a task when it is played once more: about its last ten episodes count."""
PRIOR = 0.5
"""Successes, and as many failures, that each task begins with: as likely solved as not, so that unknown tasks come first."""


@dataclass(slots=True)
class Record:
    """How the episodes of each task ended so far."""

    tries: dict[str, float] = field(default_factory=dict)
    wins: dict[str, float] = field(default_factory=dict)

    def add(self, task_id: str, success: bool) -> None:
        self.tries[task_id] = DECAY * self.tries.get(task_id, 0.0) + 1.0
        self.wins[task_id] = DECAY * self.wins.get(task_id, 0.0) + float(success)

    def solved(self, task_id: str) -> float:
        """Estimated probability of success, in (0, 1)."""
        return (self.wins.get(task_id, 0.0) + PRIOR) / (self.tries.get(task_id, 0.0) + 2 * PRIOR)

    def state(self) -> dict[str, dict[str, float]]:
        """For the checkpoint: numbers and texts alone."""
        return {"tries": dict(self.tries), "wins": dict(self.wins)}

    @staticmethod
    def of(state: Mapping[str, Mapping[str, float]]) -> Record:
        return Record(dict(state["tries"]), dict(state["wins"]))


def passes(ids: Sequence[str], first: int, count: int, seed: int) -> list[str]:
    """`count` tasks from place `first` on of endless passes over all of them, each pass in an order of its own."""
    found = []
    for index in range(first, first + count):
        lap, place = divmod(index, len(ids))
        order = torch.randperm(len(ids), generator=torch.Generator().manual_seed(seed * 7919 + lap))
        found.append(ids[int(order[place])])
    return found


def by_difficulty(ids: Sequence[str], record: Record, count: int, replay: float, generator: torch.Generator) -> list[str]:
    """`count` tasks: a share `replay` in [0, 1] from all alike, the others by p (1 - p). No task twice while others are left."""
    if not ids:
        return []
    alike = math.ceil(replay * count) if replay else 0
    weights = torch.tensor([record.solved(task) * (1.0 - record.solved(task)) for task in ids], dtype=torch.float64)
    found: list[int] = []
    for share, weight in ((count - alike, weights), (alike, torch.ones(len(ids), dtype=torch.float64))):
        left = share
        while left:
            free = weight.clone()
            if len(set(found)) < len(ids):
                free[sorted(set(found))] = 0.0
            size = min(left, int((free > 0).sum()))
            found += torch.multinomial(free, size, replacement=False, generator=generator).tolist()
            left -= size
    return [ids[index] for index in found]
