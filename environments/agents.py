"""Scripted agents: the reference, bounded to what it has been shown, and the panel of shortcuts that must never solve a task."""

from __future__ import annotations

import json
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Protocol

from environments.episode import Episode
from environments.seen import Seen, asked_in, unseen
from environments.tool import Tool
from schemas.episode import EpisodeTrace, Observation, ToolCall
from schemas.errors import WorldError
from schemas.task import ReferenceStep, TaskSpec

_ID = re.compile(r"\b[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?\b")
"""A token as deid writes it."""
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,12}(?![\w.])")


@lru_cache(maxsize=256)
def _held(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """(ids, numbers) in a text: the runs of one task are shown the same answers again and again."""
    return tuple(_ID.findall(text)), tuple(map(int, _NUMBER.findall(text)))


class Agent(Protocol):
    """Anything that plays. It is told the task's public half and its tools, never the answer."""

    def start(self, task: TaskSpec, tools: dict[str, Tool], opening: Observation) -> None: ...

    def act(self, observation: Observation) -> ToolCall | str:
        """The next call, after reading what the last one gave (the opening at first)."""
        ...


class UnseenValue(WorldError):  # noqa: N818 - named by what it reports
    """The reference would use a value that it was never shown: the environment cannot offer what the human used."""

    def __init__(self, tool: str, argument: str, value: Any) -> None:
        self.tool, self.argument, self.value = tool, argument, value
        super().__init__(f"{tool}.{argument}: its value was never shown")

    def __reduce__(self) -> tuple[type[UnseenValue], tuple[str, str, Any]]:
        """Made anew from its parts where it travels between processes: a worker whose error cannot be read would seem to have
        died."""
        return type(self), (self.tool, self.argument, self.value)


class ReferenceAgent:
    """Makes the reference's calls in order, but uses only values that it has been shown."""

    def __init__(self, steps: Iterable[ReferenceStep]) -> None:
        self._calls = [step.call for step in steps]
        self._next = 0
        self._seen = Seen()
        self._asked = ""
        self._tools: dict[str, Tool] = {}

    def start(self, task: TaskSpec, tools: dict[str, Tool], opening: Observation) -> None:
        self._next, self._tools, self._seen, self._asked = 0, tools, Seen(), ""

    def act(self, observation: Observation) -> ToolCall | str:
        """The next call of the reference.

        Raises UnseenValue for a value never shown, WorldError for an unknown tool or a reference that does not finish.
        """
        self._seen.add(observation.text, self._asked)
        if self._next >= len(self._calls):
            raise WorldError("the reference ends without a finishing act")
        call = self._calls[self._next]
        tool = self._tools.get(call.tool)
        if tool is None:
            raise WorldError(f"the reference calls {call.tool}, which the task does not have")
        if found := unseen(tool, call.arguments, self._seen):
            raise UnseenValue(call.tool, *found)
        self._asked = asked_in(tool, call)
        self._next += 1
        return call


def _idle(tools: dict[str, Tool]) -> ToolCall | str:
    return ToolCall(tool="add_note", arguments={"text": "no news"}) if "add_note" in tools else "{}"


def _filled(tool: Tool, given: dict[str, Any], other: Callable[[str, dict[str, Any]], Any]) -> dict[str, Any]:
    """Arguments for every required parameter: from `given`, else what `other(name, schema)` says."""
    properties = tool.parameters["properties"]
    return {name: given[name] if name in given else other(name, properties[name]) for name in tool.parameters["required"]}


def _blank(name: str, schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return {"integer": 1, "boolean": False, "object": {}}.get(schema["type"], "none")


def _subject(texts: Iterable[str]) -> str:
    """The record that a guess would be about: the first order or account named, else the first token of any kind."""
    found: list[str] = [token for text in texts for token in _ID.findall(text)]
    likely = [token for token in found if token.startswith(("ORDER_", "ACCOUNT_"))]
    return (likely or found or ["none"])[0]


def _finisher(tools: dict[str, Tool], code: str | None, texts: Iterable[str]) -> ToolCall:
    """`resolve` with `code` (its first if None) about the record that the texts name; another finishing tool if there is none."""
    tool = tools.get("resolve") or next(t for t in tools.values() if t.finishing)
    given: dict[str, Any] = {"about": _subject(texts)}
    if code is not None:
        given["code"] = code
    return ToolCall(tool=tool.name, arguments=_filled(tool, given, _blank))


class _Scripted(ABC):
    """Common part of the panel: remembers the tools and every text shown."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.tools: dict[str, Tool] = {}
        self.texts: list[str] = []
        self.workflow = ""

    def start(self, task: TaskSpec, tools: dict[str, Tool], opening: Observation) -> None:
        self.tools, self.texts, self.workflow = tools, [], task.workflow

    def act(self, observation: Observation) -> ToolCall | str:
        self.texts.append(observation.text)
        return self.play(observation)

    @abstractmethod
    def play(self, observation: Observation) -> ToolCall | str:
        """The next call."""


class DoNothing(_Scripted):
    """Writes notes until its steps are spent."""

    def play(self, observation: Observation) -> ToolCall | str:
        return _idle(self.tools)


class FinishAtOnce(_Scripted):
    """Resolves with some code (by seed) before reading anything."""

    def play(self, observation: Observation) -> ToolCall | str:
        codes = self.tools["resolve"].parameters["properties"]["code"]["enum"] if "resolve" in self.tools else [None]
        return _finisher(self.tools, codes[self.seed % len(codes)], self.texts)


class ConstantOutcome(_Scripted):
    """Always resolves with one code, about the record that the opening names or, failing that, the sender's account."""

    def __init__(self, code: str, seed: int = 0) -> None:
        super().__init__(seed)
        self.code = code

    def play(self, observation: Observation) -> ToolCall | str:
        if len(self.texts) == 1 and "find_account" in self.tools and not _subject(self.texts).startswith(("ORDER_", "ACCOUNT_")):
            sender = next((t for t in _ID.findall(observation.text) if "_EMAIL" in t), "none")
            return ToolCall(tool="find_account", arguments={"email": sender})
        return _finisher(self.tools, self.code, self.texts)


class RefuseAll(_Scripted):
    """Refuses everything: with `code`, or with a refusal code of the task's own workflow (by seed) where none is given."""

    def __init__(self, code: str | None = None, seed: int = 0) -> None:
        super().__init__(seed)
        self.code = code

    def play(self, observation: Observation) -> ToolCall | str:
        code = self.code
        if code is None and "resolve" in self.tools:
            codes = self.tools["resolve"].parameters["properties"]["code"]["enum"]
            refusals = [c for c in codes if re.search("refus|den(y|ied)|reject|declin|unavailable|not_", c)] or codes
            own = [c for c in refusals if c.split("_")[0] == self.workflow.split("_")[0]] or refusals
            code = own[self.seed % len(own)]
        return _finisher(self.tools, code, self.texts)


class EscalateAll(_Scripted):
    """Hands every case to a colleague."""

    def play(self, observation: Observation) -> ToolCall | str:
        if "escalate" in self.tools:
            return ToolCall(tool="escalate", arguments={"reason": "a colleague should decide"})
        return _finisher(self.tools, None, self.texts)


class Echo(_Scripted):
    """Says back to the requester whatever it reads, then closes with a code whose words it has read most of."""

    def play(self, observation: Observation) -> ToolCall | str:
        if "reply_to_requester" in self.tools and len(self.texts) <= 3:
            return ToolCall(tool="reply_to_requester", arguments={"text": observation.text[:2000] or "-"})
        code = None
        if "resolve" in self.tools:
            heard = Seen(*self.texts)
            codes = self.tools["resolve"].parameters["properties"]["code"]["enum"]
            code = max(codes, key=lambda c: (sum(heard.holds(word) for word in c.split("_")), c))
        return _finisher(self.tools, code, self.texts)


class RandomTools(_Scripted):
    """Calls random tools with random values among those it was shown; the same seed plays the same."""

    def start(self, task: TaskSpec, tools: dict[str, Tool], opening: Observation) -> None:
        super().start(task, tools, opening)
        self._random = random.Random(f"{self.seed}/{task.task_id}")
        self._ids: list[str] = []
        self._near: dict[str, list[str]] = {}
        self._numbers: list[int] = []
        self._open = [name for name, tool in tools.items() if not tool.finishing]
        self._all = list(tools)

    def play(self, observation: Observation) -> ToolCall | str:
        tool = self.tools[self._random.choice(self._all if len(self.texts) > 4 else self._open)]
        # Each text is searched once, when it is shown: an episode of long answers would else be searched again at every call.
        new, counts = _held(observation.text)
        self._ids += new
        self._numbers += counts
        for start, near in self._near.items():
            near += [one for one in new if one.startswith(start)]
        ids, numbers = self._ids or ["none"], self._numbers or [1]

        def guess(name: str, schema: dict[str, Any]) -> Any:
            if "enum" in schema:
                return self._random.choice(schema["enum"])
            if schema["type"] == "integer":
                return self._random.choice(numbers)
            if schema["type"] in ("boolean", "object"):
                return self._random.random() < 0.5 if schema["type"] == "boolean" else {}
            if name in tool.prose:
                return self._random.choice(["What is the order number?", "What is your postcode and phone?", "Thank you."])
            prefix = name.partition("_")[0].upper()
            if prefix not in self._near:
                self._near[prefix] = [one for one in self._ids if one.startswith(prefix)]
            return self._random.choice(self._near[prefix] or ids)

        return ToolCall(tool=tool.name, arguments=_filled(tool, {}, guess))


class WritesOnly:
    """Knows the right writes and makes them, without any read, check or question; ends with the right finishing act."""

    def __init__(self, steps: Iterable[ReferenceStep]) -> None:
        self._calls = [step.call for step in steps if not step.planned]
        self._next = 0
        self._tools: dict[str, Tool] = {}

    def start(self, task: TaskSpec, tools: dict[str, Tool], opening: Observation) -> None:
        self._next, self._tools = 0, tools

    def act(self, observation: Observation) -> ToolCall | str:
        if self._next >= len(self._calls):
            return _finisher(self._tools, None, [])
        self._next += 1
        return self._calls[self._next - 1]


PANEL: dict[str, Callable[[int], Agent]] = {
    "do_nothing": DoNothing,
    "finish_at_once": FinishAtOnce,
    "refuse_all": lambda seed: RefuseAll(seed=seed),
    "escalate_all": EscalateAll,
    "echo": Echo,
    "random": RandomTools,
}
"""Name -> factory(seed). None of them may solve a task (certificate C2)."""


def run_episode(episode: Episode, agent: Agent, task_id: str, seed: int = 0, *, name: str = "") -> EpisodeTrace:
    """Plays one task to its end and returns the trace, graded where the episode has a grader. `name` defaults to the class."""
    observation = episode.reset(task_id, seed)
    agent.start(episode.task, episode.tools, observation)
    while not episode.done:
        observation = episode.step(agent.act(observation)).observation
    return episode.trace(name or type(agent).__name__)


def action_text(call: ToolCall) -> str:
    """The JSON text of a call, as an agent writes it and as trajectories hold it."""
    return json.dumps({"tool": call.tool, "arguments": call.arguments}, separators=(",", ":"), ensure_ascii=False)
