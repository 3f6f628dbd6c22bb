"""What passes between an agent, a world and the grader in one episode."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import from_json, to_json


class Frozen(BaseModel):
    """Base of every model that crosses a file: immutable, unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class RefusalKind(StrEnum):
    """Why a call was refused; each is counted, and the agent reads the reason as text."""

    unknown_tool = "unknown_tool"
    """The text is not a call, or names a tool that the task does not have; the nearest name is told."""
    bad_arguments = "bad_arguments"
    """An argument is missing, unknown, of another type, outside its bounds or not in its list."""
    not_found = "not_found"
    """There is no such record. A look-up that finds nothing is a waste and no invalid action."""
    forbidden_by_system = "forbidden_by_system"
    """The system itself does not do this in the record's state (cancel what was shipped), whatever any policy says."""
    conflict = "conflict"
    """What the call would make is there already, or was changed meanwhile."""
    over_limit = "over_limit"
    """More than the system can give (a refund above what was paid)."""


class ToolCall(Frozen):
    """One action. On the wire: {"tool": name, "arguments": {...}}."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Refusal(Frozen):
    kind: RefusalKind
    message: str
    """One sentence that teaches: what was found, what is allowed."""

    def as_text(self) -> str:
        """What the agent reads."""
        return to_json({"refused": self.kind.value, "message": self.message}).decode()

    @staticmethod
    def from_text(text: str) -> Refusal:
        """The refusal that an agent read. Raises ValueError for any other observation."""
        if not text.startswith('{"refused":'):
            raise ValueError("no refusal")
        read = from_json(text)
        if not isinstance(read, dict) or read.keys() != {"refused", "message"}:
            raise ValueError("no refusal")
        return Refusal(kind=read["refused"], message=read["message"])


class RowChange(Frozen):
    """One row touched by a write: the unit of a typed difference."""

    system: str
    kind: str
    op: Literal["create", "update", "delete"]
    record_id: str | None
    """Null in an expected outcome's created row (its id is not decided by anyone)."""
    fields: dict[str, Any]
    """Field -> new value (create, update); for a delete, empty."""
    before: dict[str, Any] = Field(default_factory=dict)
    """Field -> old value of each updated field; empty for a create."""


class RowRef(Frozen):
    """A record that a call looked at."""

    system: str
    kind: str
    record_id: str


class Observation(Frozen):
    """What the agent reads after its act."""

    kind: Literal["opening", "result", "refusal", "requester", "end"]
    text: str
    """Compact JSON or plain words; this is all that the agent sees."""
    refusal: Refusal | None = None


class JournalEntry(Frozen):
    """One call as it happened: enough, with the task's base state, to grade without the world."""

    step: int
    """0-based index of the call in the episode."""
    call: ToolCall
    raw: str | None = None
    """The agent's text where it was not a well-formed call."""
    ok: bool
    refusal: Refusal | None = None
    result: Any = None
    """JSON that the tool returned (null for a refusal)."""
    reads: tuple[RowRef, ...] = ()
    changes: tuple[RowChange, ...] = ()
    told: tuple[str, ...] = ()
    """Ids of the requester's facts told in answer to this call."""
    clock: str
    """ISO 8601 UTC instant of the episode at this call."""
    finished: bool = False
    """True for the finishing act (a tool declared as finishing, accepted)."""


class Journal(Frozen):
    """Everything that happened in one episode. `task_id`, `seed` and the entries determine the reward."""

    task_id: str
    seed: int
    entries: tuple[JournalEntry, ...] = ()
    ended_by: Literal["", "finish", "step_limit", "token_limit", "requester_left"] = ""


class StepEvents(Frozen):
    """Reward events of one step, each as defined in the semantics of rewards (docs/reference)."""

    success: int = 0
    """1 once, at the finishing act, if the whole outcome is right and no hard rule is broken."""
    quality: float = 0.0
    """In [0, 1] at the finish: share of outcome fields right."""
    efficiency: float = 0.0
    """In [0, 1] at the finish: 1 - (calls beyond the reference's) / (budget beyond it); 0 for a wasted or refused call."""
    violation: int = 0
    """1 for a hard rule broken, a collateral write or a typed invalid action."""
    delay: float = 0.0
    """In [0, 1]: cost falling now for an earlier act (patience spent)."""


class Violation(Frozen):
    """A broken rule with its evidence at row level."""

    rule: str
    step: int
    message: str
    evidence: tuple[RowRef, ...] = ()
    hard: bool = True


class Step(Frozen):
    """What `Episode.step` returns. `reward` and `events` are null where no grader is attached."""

    observation: Observation
    events: StepEvents | None = None
    reward: float | None = None
    """In [-1, 1]."""
    terminated: bool = False
    """The agent finished (or the requester left)."""
    truncated: bool = False
    """A step or token budget ran out."""


class Grade(Frozen):
    """The judgement of a whole journal."""

    task_id: str
    success: bool
    full: bool
    """Success without any violation."""
    outcome_right: bool
    quality: float
    violations: tuple[Violation, ...]
    events: tuple[StepEvents, ...]
    rewards: tuple[float, ...]
    """Per step, each in [-1, 1]."""
    return_: float
    """Discounted sum of rewards."""
    score: float | None
    """100 (G - G_min) / (G_max - G_min + eps); null where the task has no bounds yet."""
    reasons: tuple[str, ...]
    """What is wrong, or right, in words with record ids: one line each."""


class EpisodeTrace(Frozen):
    """A whole episode for files and reports: observations, calls, journal and grade."""

    task_id: str
    seed: int
    agent: str
    observations: tuple[Observation, ...]
    journal: Journal
    grade: Grade | None = None
