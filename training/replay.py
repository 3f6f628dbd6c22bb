"""Old tasks in the rollouts of a run that continues another: a share of each, so that what was learned is not unlearned.

The pool is what the earlier run was trained on, without what the new set holds out or watches by. A task that the new set holds,
too, is played as the new delivery has it; the others from the old set, where that is still there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rewards.score import Grader, Judge, load_grader
from schemas.taskset import TaskSet
from training.config import Config
from training.continuing import Continued
from training.curriculum import passes
from training.sides import held_out_ids

Jobs = list[tuple[str, int]]
"""(task id, episode seed)."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The tasks that are played again."""

    ids: list[str]
    old: TaskSet | None
    grader: Grader | None
    tasks: int
    """Of a rollout."""
    samples: int
    """Episodes of each."""
    seed: int
    away: frozenset[str]
    """Those of `ids` that the new set does not hold."""

    def jobs(self, iteration: int) -> tuple[Jobs, Jobs]:
        """(episodes to be played on the new set, on the old one) in an iteration."""
        drawn = passes(self.ids, iteration * self.tasks, self.tasks, self.seed)
        jobs = [(task, iteration * self.samples + k) for task in drawn for k in range(self.samples)]
        return [j for j in jobs if j[0] not in self.away], [j for j in jobs if j[0] in self.away]


def replay(
    config: Config, continued: Continued, taskset: TaskSet, validation: list[str], judge: Judge | None = None
) -> Replay | None:
    """What is played again, judged as the new tasks are; None for nothing."""
    if not config.replay_old or config.control == "supervised":
        return None
    apart = held_out_ids(taskset) | set(validation)
    here = (continued.trained_on & set(taskset.tasks)) - apart
    known = set(continued.old.tasks) if continued.old is not None else set()
    away = (continued.trained_on & known) - set(taskset.tasks) - apart
    if not here | away:
        return None
    old = continued.old if away else None
    return Replay(
        ids=sorted(here | away),
        old=old,
        grader=load_grader(old, judge) if old is not None else None,
        tasks=math.ceil(config.replay_old * (config.episodes // config.samples_per_task)),
        samples=config.samples_per_task,
        seed=config.seed + 1,
        away=frozenset(away),
    )


def replay_line(found: Replay | None, config: Config, continued: Continued) -> str:
    """What the operator is told of it."""
    gone = f"; the old task set cannot be played: {continued.missing}" if continued.old is None else ""
    if config.control == "supervised":
        return f"replay: none, the supervised control imitates the new set alone{gone}"
    if found is None:
        return "replay: none (--replay-old 0)" if not config.replay_old else f"replay: none, no old task is left to play{gone}"
    share = f"{found.tasks * found.samples} of {config.episodes} episodes of a rollout"
    return f"replay: {share} from {len(found.ids)} old tasks, {len(found.away)} of them not in the new set{gone}"
