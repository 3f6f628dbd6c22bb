"""`--hosts N`: the episodes of a rollout are played by N Ray actors, spread over the hosts of a Ray cluster.

An actor holds task set, grader and codec, steps its episodes and asks the engine for what comes next (`--engine vllm`: the
model is there and not here). What an episode draws is its own, so who plays it does not matter: the episodes of an actor that is
lost are played again, whole, by another one and are the same.

Ray comes with the extra `hosts`. Without `RAY_ADDRESS` a local cluster of this host is started; with it,
each host needs this package and sees task sets and runs under the same paths. Ray listens on all interfaces: keep it on a closed
network.
"""

from __future__ import annotations

import importlib
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewards.score import load_grader
from schemas.errors import StageError
from schemas.taskset import TaskSet, open_taskset
from training.config import Config
from training.engine import Vllm
from training.engine_rollout import play_by
from training.models import load_codec
from training.rollout import Played

TRIES = 3
"""Times that the same episodes are given to an actor before the run stops."""
LOOK = 5.0
"""Seconds between two looks at whether an actor is lost; a wait inside an actor ends by --engine-timeout."""


class Player:
    """Lives in an actor."""

    def __init__(self, config: Config, taskset: str, folder: str) -> None:
        self.config, self.folder = config, Path(folder)
        self.taskset = open_taskset(Path(taskset), "train")
        self.grader = load_grader(self.taskset)
        self.codec = load_codec(config, self.folder)

    def play(self, jobs: Sequence[tuple[str, int]], chances: Sequence[random.Random]) -> list[Played]:
        config = self.config
        engine = Vllm(config.engine_url, self.folder, self.codec.size, config.engine_timeout)
        return play_by(
            engine, self.taskset, self.grader, self.codec, jobs,
            context=config.context, temperature=config.temperature, chances=chances,
        )  # fmt: skip


class Hosts:
    """The actors of a run."""

    def __init__(self, config: Config, taskset: TaskSet, folder: Path) -> None:
        """Raises StageError where Ray is missing or does not start."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            self.ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise StageError(f"--hosts {config.hosts} needs Ray; run `pip install 'recordgym[hosts]'`") from error
        if not self.ray.is_initialized():
            try:
                self.ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
            except (OSError, RuntimeError, ValueError) as error:
                raise StageError(f"--hosts {config.hosts}: Ray does not start ({str(error).splitlines()[0][:200]})") from error
        self.given = (config, str(taskset.folder.resolve()), str(folder.resolve()))
        self.actors = [self._new() for _ in range(config.hosts)]
        self.lost = 0
        """Actors that were lost and replaced so far."""

    def _new(self) -> Any:
        return self.ray.remote(Player).options(num_cpus=1, scheduling_strategy="SPREAD").remote(*self.given)

    def play(self, jobs: Sequence[tuple[str, int]], chances: Sequence[random.Random]) -> list[Played]:
        """The episodes in the order of `jobs`. Raises StageError for what an actor says, or where they are lost too often."""
        out: list[Played | None] = [None] * len(jobs)
        parts = [range(len(jobs))[at :: len(self.actors)] for at in range(len(self.actors))]
        tries = [0] * len(parts)

        def give(at: int) -> Any:
            tries[at] += 1
            return self.actors[at].play.remote([jobs[i] for i in parts[at]], [chances[i] for i in parts[at]])

        running = {give(at): at for at, part in enumerate(parts) if part}
        while running:
            ready, _ = self.ray.wait(list(running), num_returns=1, timeout=LOOK)
            for answer in ready:
                at = running.pop(answer)
                try:
                    for index, episode in zip(parts[at], self.ray.get(answer), strict=True):
                        out[index] = episode
                except self.ray.exceptions.RayActorError as error:
                    if tries[at] >= TRIES:
                        raise StageError(f"{tries[at]} Ray actors were lost with the same episodes ({_line(error)})") from error
                    self.lost += 1
                    self.actors[at] = self._new()
                    running[give(at)] = at
                except self.ray.exceptions.RayTaskError as error:
                    if isinstance(error.cause, StageError):
                        raise StageError(str(error.cause)) from error
                    raise
        return [episode for episode in out if episode is not None]


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
