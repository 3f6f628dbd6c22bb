"""What a kind of world gives the episode loop: everything about a task that all its episodes share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from environments.requester import Requester
from environments.state import Base
from environments.tool import Tool
from schemas.episode import Observation
from schemas.task import PolicySpec, TaskSpec
from schemas.taskset import TaskSet


@dataclass(frozen=True, slots=True)
class Compiled:
    """One task made ready to run; nothing in it changes."""

    task: TaskSpec
    tools: dict[str, Tool]
    base: Base
    policies: tuple[PolicySpec, ...]
    requester: Requester
    opening: Observation
    clocks: tuple[str, ...]
    """Instant of each call, ISO 8601 UTC: the start plus one second a call."""


@dataclass(frozen=True, slots=True)
class World:
    """What a file of environments/worlds exports as WORLD.

    `compile(taskset, task, shared)` may keep in `shared`, a dictionary of the task set, what several tasks use.
    """

    name: str
    compile: Callable[[TaskSet, TaskSpec, dict[object, object]], Compiled]
