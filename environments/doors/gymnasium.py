"""Door: gymnasium 1.4. An action is the JSON text of one tool call, an observation is the text that an agent reads.

    import gymnasium, environments.doors.gymnasium
    env = gymnasium.make("recordgym/Records-v0", taskset="helpdesk_v1")
    observation, info = env.reset(seed=1)            # or options={"task_id": ...}

`info` has "task_id" and "tools" (OpenAI chat form) after a reset, "events" after a step and "grade" (a schemas.episode.Grade) at
the end. The held-out side opens only when asked for by side="heldout". With spoken=True the model that the task set names phrases
the requester's answers (environments.spoken).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.spaces import Space

from environments.episode import Episode, compiled, tool_schemas
from rewards.score import Grader, load_grader
from schemas.errors import WorldError
from schemas.paths import taskset_dir
from schemas.taskset import TaskSet, open_taskset

ID = "recordgym/Records-v0"
MAX_TEXT = 40_000
"""Characters of an action or an observation."""


class JsonText(Space[str]):
    """Any text of at most `max_length` characters. With `names`, a sample is a call of one of those tools without arguments."""

    def __init__(
        self, names: tuple[str, ...] = (), *, max_length: int = MAX_TEXT, seed: int | np.random.Generator | None = None
    ) -> None:
        self.names, self.max_length = names, max_length
        super().__init__(dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        if mask is not None or probability is not None:
            raise gymnasium.error.Error("a text space has no masks")
        name = self.names[int(self.np_random.integers(len(self.names)))] if self.names else ""
        return json.dumps({"tool": name, "arguments": {}})

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonText) and (self.names, self.max_length) == (other.names, other.max_length)

    def __hash__(self) -> int:
        return hash((self.names, self.max_length))

    def __repr__(self) -> str:
        return f"JsonText(max_length={self.max_length})"


def open_named(name: str | Path, side: Literal["train", "heldout"]) -> TaskSet:
    """A task set by its name under data/tasksets, or by its folder."""
    folder = Path(name)
    return open_taskset(folder if (folder / side).is_dir() else taskset_dir(str(name)), side)


class RecordsEnv(gymnasium.Env[str, str]):
    """Tasks of one side of a task set: `taskset` is a name, a folder or an opened TaskSet; a missing `grader` is loaded.

    Raises StageError or LeakError for a task set that does not open.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - gymnasium's own form

    def __init__(
        self,
        taskset: str | Path | TaskSet,
        side: Literal["train", "heldout"] = "train",
        *,
        grader: Grader | None = None,
        render_mode: str | None = None,
        spoken: bool = False,
    ) -> None:
        self.taskset = taskset if isinstance(taskset, TaskSet) else open_named(taskset, side)
        if self.taskset.side != side:
            raise WorldError(f"the task set is opened on its {self.taskset.side} side; say side={self.taskset.side!r} to use it")
        if not self.taskset.tasks:
            raise WorldError(f"{self.taskset.manifest.taskset}: its {side} side has no task")
        self.episode = Episode(self.taskset, grader if grader is not None else load_grader(self.taskset), spoken=spoken)
        self.render_mode = render_mode
        self._ids = sorted(self.taskset.tasks)
        self._schemas: dict[int, list[dict[str, Any]]] = {}
        self._last = ""
        first = compiled(self.taskset, self.taskset.tasks[self._ids[0]])
        self.observation_space: Space[str] = JsonText()
        self.action_space: Space[str] = JsonText(tuple(first.tools))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts a task: `options["task_id"]`, else one drawn by the environment's generator. WorldError for an unknown one."""
        super().reset(seed=seed)
        number = int(self.np_random.integers(len(self._ids)))
        task_id = (options or {}).get("task_id") or self._ids[number]
        self._last = self.episode.reset(task_id, seed if seed is not None else 0).text
        tools = self.episode.tools
        if id(tools) not in self._schemas:
            self._schemas[id(tools)] = tool_schemas(tools)
        return self._last, {"task_id": task_id, "tools": self._schemas[id(tools)]}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        step = self.episode.step(action)
        self._last = step.observation.text
        info: dict[str, Any] = {"task_id": self.episode.task.task_id}
        if step.events is not None:
            info["events"] = dict(step.events)
        if self.episode.done:
            info["grade"] = self.episode.grade()
        return self._last, step.reward or 0.0, step.terminated, step.truncated, info

    def render(self) -> str | None:
        """The last observation, with render_mode="ansi"."""
        return self._last if self.render_mode == "ansi" else None


if ID not in gymnasium.registry:
    gymnasium.register(ID, entry_point="environments.doors.gymnasium:RecordsEnv")
