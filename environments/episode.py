"""The loop of an episode: reset, step, fork. A refused call is an observation; only a tool's bug or misuse of this class raises.

All episodes of a task set share what `compiled` made of it; an episode itself is an overlay, a journal and a requester.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic_core import to_json

from environments.requester import RequesterRun
from environments.state import EpisodeState, Key
from environments.tool import Context, Refused, Tool, did_you_mean, json_fault, shown
from environments.world import Compiled, World
from schemas.episode import (
    EpisodeTrace,
    Grade,
    Journal,
    JournalEntry,
    Observation,
    Refusal,
    RefusalKind,
    RowChange,
    RowRef,
    Step,
    StepEvents,
    ToolCall,
)
from schemas.errors import WorldError
from schemas.files import sha256_json
from schemas.plugins import load_plugin
from schemas.spec import SpeakerSpec

if TYPE_CHECKING:
    from environments.spoken import Speaker
    from rewards.score import Grader, Stepper
    from schemas.task import TaskSpec
    from schemas.taskset import TaskSet

MAX_NAME = 200
MAX_ACTION = 20_000
"""Characters of a whole action, names and arguments together; every argument has a smaller bound of its own."""
MAX_RAW = 4000
"""Characters of a malformed action that the journal keeps."""
MAX_OBSERVATION = 20_000
"""Characters of an observation; pages and clipped texts keep results far below it."""
MAX_SETS = 8
"""Task sets whose compiled tasks are kept in memory."""
NO_CALL = ToolCall(tool="")
OVER = Observation(kind="end", text='{"end":"the episode is over"}')
UNGRADED = StepEvents()
FORM = '{"tool": name, "arguments": {...}}'
TOO_LONG = f"the action has more than {MAX_ACTION} characters"

_sets: dict[int, tuple[TaskSet, dict[object, object]]] = {}


def compiled(taskset: TaskSet, task: TaskSpec) -> Compiled:
    """The task made ready, once per opened task set. WorldError where a system or the state is declared wrongly."""
    held = _sets.get(id(taskset))
    if held is None or held[0] is not taskset:
        while len(_sets) >= MAX_SETS:
            del _sets[next(iter(_sets))]
        held = _sets[id(taskset)] = (taskset, {})
    shared = held[1]
    key = ("task", task.task_id)
    found = shared.get(key)
    if found is None or cast("Compiled", found).task is not task:
        world = load_plugin("environments.worlds", task.world, "WORLD", World)
        found = shared[key] = world.compile(taskset, task, shared)
    return cast("Compiled", found)


def tools_for(taskset: TaskSet, task: TaskSpec) -> dict[str, Tool]:
    """The tools that an agent has in this task, by name, in the order of its systems."""
    return compiled(taskset, task).tools


def tool_schemas(tools: dict[str, Tool]) -> list[dict[str, Any]]:
    """The OpenAI chat form of every tool."""
    return [tool.schema() for tool in tools.values()]


class _Malformed(Exception):  # noqa: N818 - a signal between parse and step, never seen outside
    def __init__(self, message: str, raw: str) -> None:
        self.message, self.raw = message, raw
        super().__init__(message)


def _storable(text: str) -> str:
    """`text` with half characters escaped, at most MAX_RAW long."""
    return text[:MAX_RAW].encode("utf-8", "backslashreplace").decode()


def _malformed(message: str, action: Any) -> _Malformed:
    """The refusal of `action` with its text as far as it can be kept; it is a text already where the agent wrote one."""
    if isinstance(action, str):
        return _Malformed(message, _storable(action))
    try:
        return _Malformed(message, _storable(json.dumps(action)))
    except (TypeError, ValueError, RecursionError):
        return _Malformed(message, f"<{type(action).__name__} that is not JSON>")


def _short(name: str, arguments: dict[Any, Any]) -> dict[str, Any]:
    """The call without the ends of texts that are longer than what the journal keeps of it as a whole."""
    cut = {key: value[:MAX_RAW] if type(value) is str else value for key, value in arguments.items()}
    return {"tool": name[:MAX_RAW], "arguments": cut}


def parse_action(action: Any) -> ToolCall:
    """The call that `action` makes: a ToolCall, its JSON text or its dictionary. Raises _Malformed with reason and text."""
    name: Any
    arguments: Any
    if isinstance(action, ToolCall):
        name, arguments = getattr(action, "tool", None), getattr(action, "arguments", None)
    else:
        form = action
        if isinstance(form, str) and len(form) > MAX_ACTION:
            raise _malformed(TOO_LONG, action)
        if isinstance(form, str):
            try:
                form = json.loads(form)
            except (ValueError, RecursionError) as error:
                reason = error.msg if isinstance(error, json.JSONDecodeError) else "too long or too deep"
                raise _malformed(f"the action is not JSON ({reason}); write {FORM}", action) from error
        if type(form) is not dict:
            raise _malformed(f"the action is not an object; write {FORM}", action)
        for key in form:
            if key not in ("tool", "arguments"):
                raise _malformed(f"the action has a key {shown(key)}; write {FORM}", action)
        name, arguments = form.get("tool"), form.get("arguments", {})
    if type(name) is not str:
        raise _malformed(f"tool must be text; write {FORM}", action)
    if type(arguments) is not dict:
        raise _malformed(f"arguments must be an object; write {FORM}", action)
    if fault := json_fault(name) or json_fault(arguments):
        raise _malformed(f"the action holds {fault}", _short(name, arguments))
    if len(name) > MAX_NAME:
        raise _malformed(f"the name of a tool has at most {MAX_NAME} characters", _short(name, arguments))
    if _size(arguments) > MAX_ACTION:
        raise _malformed(TOO_LONG, _short(name, arguments))
    return ToolCall(tool=name, arguments=_copied(arguments))


def _size(value: Any) -> int:
    """About how many characters the JSON text of `value` has."""
    kind = type(value)
    if kind is str:
        return len(value) + 2
    if kind is dict:
        return sum(len(key) + 3 + _size(inner) for key, inner in value.items())
    return sum(map(_size, value)) if kind is list else 8


def _copied(value: Any) -> Any:
    """A copy that shares nothing with the agent: what it does to its own objects later must not change the journal."""
    kind = type(value)
    if kind is dict:
        return {key: _copied(inner) for key, inner in value.items()}
    return [inner if type(inner) is str else _copied(inner) for inner in value] if kind is list else value


def speaker_of(taskset: TaskSet) -> Speaker:
    """The model that the task set names to phrase its requesters' answers. WorldError where it names none, or lacks its key."""
    from environments.spoken import Speaker

    named = taskset.requester.get("speaker")
    if not named:
        raise WorldError(f"{taskset.manifest.taskset} names no model that speaks; a spec does so in [requester.speaker]")
    codes = {c for task in taskset.tasks.values() for ref in task.systems for c in ref.config.get("codes", ())}
    return Speaker(SpeakerSpec.model_validate(named), sorted(codes))


class Episode:
    """One agent in one task at a time. Not thread-safe; any number of episodes share a task set in one process."""

    __slots__ = (
        "_compiled",
        "_context",
        "_ended_by",
        "_entries",
        "_grade",
        "_observations",
        "_seed",
        "_stepped",
        "_stepper",
        "done",
        "grader",
        "speaker",
        "taskset",
    )

    def __init__(self, taskset: TaskSet, grader: Grader | None = None, *, spoken: bool = False) -> None:
        """`spoken`: the model that the task set names phrases the requester's answers (environments.spoken); then an episode is
        not deterministic. WorldError where the set names none, or its key is not set."""
        self.taskset, self.grader = taskset, grader
        self.speaker = speaker_of(taskset) if spoken else None
        self._compiled: Compiled | None = None
        self._entries: list[JournalEntry] = []
        self._observations: list[Observation] = []
        self._stepper: Stepper | None = None
        self._stepped = 0
        self._grade: Grade | None = None
        self._ended_by: Literal["", "finish", "step_limit", "token_limit", "requester_left"] = ""
        self._seed = 0
        self.done = False
        """True once the agent finished, the requester left or a budget ran out."""
        self._context: Context | None = None

    def reset(self, task_id: str, seed: int = 0, *, missing: Iterable[RowRef] = ()) -> Observation:
        """Starts the task anew and returns its opening. Costs the same whatever the size of the base.

        The rows `missing` are as if they had never been there: the impossible variant of a task (certificate C14).
        Raises WorldError for an unknown task.
        """
        task = self.taskset.tasks.get(task_id)
        if task is None:
            close = difflib.get_close_matches(str(task_id), self.taskset.tasks, n=1)
            raise WorldError(f"{self.taskset.manifest.taskset} ({self.taskset.side}) has no task {task_id!r}" + (
                f"; did you mean {close[0]!r}?" if close else ""))  # fmt: skip
        ready = self._compiled
        if ready is None or ready.task is not task:
            ready = self._compiled = compiled(self.taskset, task)
        self._entries = []
        self._observations = [ready.opening]
        self._seed = seed
        self._ended_by = ""
        self.done = False
        self._stepper, self._stepped, self._grade = None, 0, None
        requester = RequesterRun(ready.requester, seed, speaker=self.speaker)
        self._context = Context(task, EpisodeState(ready.base), requester, ready.policies, ready.clocks[0])
        for ref in missing:
            self._context.state.overlay[(ref.system, ref.kind, ref.record_id)] = None
        return ready.opening

    @property
    def _ready(self) -> Compiled:
        if self._compiled is None:
            raise WorldError("the episode was not reset; call reset(task_id) first")
        return self._compiled

    @property
    def task(self) -> TaskSpec:
        return self._ready.task

    @property
    def tools(self) -> dict[str, Tool]:
        return self._ready.tools

    @property
    def opening(self) -> Observation:
        return self._ready.opening

    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools in the OpenAI chat form."""
        return tool_schemas(self.tools)

    def step(self, action: ToolCall | str | dict[str, Any]) -> Step:
        """Makes one call and returns what the agent reads. A refused call changes nothing; after the end nothing happens.

        Raises only for a bug in a tool, a grader that cannot judge (GraderError), or before the first reset (WorldError).
        """
        ready, context = self._ready, self._context
        if self.done or context is None:
            return Step(observation=OVER, terminated=True)
        number = len(self._entries)
        context.now, context.told = ready.clocks[number], ()
        state = context.state
        call, raw, refusal, result, tool = NO_CALL, None, None, None, None
        changes: tuple[RowChange, ...] = ()
        reads: tuple[RowRef, ...] = ()
        try:
            call = parse_action(action)
            tool = ready.tools.get(call.tool)
            if tool is None:
                there = did_you_mean(call.tool, ready.tools) or f"; there are: {', '.join(ready.tools)}"
                raise Refused(RefusalKind.unknown_tool, f"there is no tool {shown(call.tool)}{there}")
            arguments = tool.check(call.arguments)
            overlay, created = state.overlay.copy(), state.created
            try:
                result = tool.run(context, arguments)
            except BaseException:
                state.overlay, state.created = overlay, created
                state.changes.clear()
                raise
            finally:
                reads = tuple(state.reads.values())
                state.reads.clear()
            changes = tuple(state.changes)
            state.changes.clear()
        except Refused as refused:
            refusal = Refusal(kind=refused.kind, message=_storable(refused.message))
        except _Malformed as malformed:
            raw = malformed.raw
            refusal = Refusal(kind=RefusalKind.bad_arguments, message=_storable(malformed.message))
        ok = refusal is None
        finished = ok and tool is not None and tool.finishing
        entry = JournalEntry(
            step=number, call=call, raw=raw, ok=ok, refusal=refusal, result=result, reads=reads, changes=changes,
            told=context.told, clock=context.now, finished=finished,
        )  # fmt: skip
        self._entries.append(entry)
        return self._close_step(ready, context, entry, tool)

    def _close_step(self, ready: Compiled, context: Context, entry: JournalEntry, tool: Tool | None) -> Step:
        truncated, refusal = False, entry.refusal
        if entry.finished:
            self._ended_by = "finish"
        elif context.requester.left:
            self._ended_by = "requester_left"
        elif len(self._entries) >= ready.task.max_steps:
            self._ended_by, truncated = "step_limit", True
        self.done = self._ended_by != ""
        kind: Literal["result", "refusal", "requester", "end"] = "result"
        if refusal is not None:
            kind, text = "refusal", refusal.as_text()
        else:
            text = to_json(entry.result).decode()
            if entry.finished:
                kind = "end"
            elif tool is not None and tool.speaks:
                kind = "requester"
            if len(text) > MAX_OBSERVATION:
                text = text[:MAX_OBSERVATION] + "…"
        observation = Observation(kind=kind, text=text, refusal=refusal)
        self._observations.append(observation)
        events, reward = None, None
        if self.grader is not None:
            events, reward = self._judge()
        return Step(
            observation=observation, events=events, reward=reward, terminated=self.done and not truncated, truncated=truncated
        )  # fmt: skip

    def _judge(self) -> tuple[StepEvents, float]:
        """Events and reward of the newest entry; a fork's stepper first takes the entries before it."""
        grader = cast("Grader", self.grader)
        if self._stepper is None:
            self._stepper = grader.stepper(self.task.task_id, self._seed)
        judged: tuple[StepEvents, float] = (UNGRADED, 0.0)
        while self._stepped < len(self._entries):
            entry = self._entries[self._stepped]
            last = self._stepped == len(self._entries) - 1
            judged = self._stepper.step(entry, truncated=last and self.done and not entry.finished)
            self._stepped += 1
        return judged

    def end(self) -> None:
        """Ends the episode where the agent's token budget is spent; `grade` then judges it as abandoned."""
        self._ready  # noqa: B018 - raises before the first reset
        if not self.done:
            self._ended_by, self.done = "token_limit", True

    @property
    def journal(self) -> Journal:
        """Everything so far."""
        return Journal(
            task_id=self.task.task_id, seed=self._seed, entries=tuple(self._entries), ended_by=self._ended_by
        )  # fmt: skip

    @property
    def last(self) -> JournalEntry:
        """The newest entry of the journal. WorldError before the first call."""
        if not self._entries:
            raise WorldError("no call was made yet")
        return self._entries[-1]

    @property
    def rows_written(self) -> Mapping[Key, Mapping[str, Any] | None]:
        """The rows that this episode has written so far; None = deleted. Not to be changed."""
        self._ready  # noqa: B018 - raises before the first reset
        return cast("Context", self._context).state.overlay

    @property
    def observations(self) -> Sequence[Observation]:
        """The opening and the answer to each call."""
        return tuple(self._observations)

    def grade(self) -> Grade | None:
        """The judgement of the journal so far; None without a grader. GraderError where it cannot judge."""
        if self.grader is None:
            return None
        if self._grade is None or not self.done:
            stepper = self._stepper
            whole = stepper is not None and self._stepped == len(self._entries) and self._ended_by != "token_limit"
            self._grade = stepper.grade() if stepper is not None and whole else self.grader.grade(self.journal)
        return self._grade

    def trace(self, agent: str) -> EpisodeTrace:
        """The whole episode for files and reports; graded where a grader is attached and the episode is over."""
        return EpisodeTrace(
            task_id=self.task.task_id,
            seed=self._seed,
            agent=agent,
            observations=tuple(self._observations),
            journal=self.journal,
            grade=self.grade() if self.done else None,
        )

    def fork(self) -> Episode:
        """An independent episode at this very point, in microseconds (for tree search)."""
        other = Episode(self.taskset, self.grader)
        other.speaker = self.speaker
        other._compiled = self._compiled
        other._entries = self._entries.copy()
        other._observations = self._observations.copy()
        other._seed, other._ended_by, other.done = self._seed, self._ended_by, self.done
        held = self._context
        if held is not None:
            other._context = Context(held.task, held.state.fork(), held.requester.fork(), held.policies, held.now)
        return other

    def state_digest(self) -> str:
        """Digest of everything that decides what happens next: rows, what the requester told and still bears, seed and step."""
        self._ready  # noqa: B018 - raises before the first reset
        context = cast("Context", self._context)
        requester = context.requester
        asked = [list(requester.told), requester.messages, requester.fruitless]
        return sha256_json([context.state.digest(), asked, self._seed, len(self._entries), self.done])
