"""A task in two halves: what an agent may cause to be shown (`TaskSpec`), and the `Answer` that only graders open."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from schemas.episode import Frozen, RowChange, RowRef, ToolCall

Slice = Literal["train", "unseen_organisations", "unseen_months", "both"]


class Opening(Frozen):
    """The request as first made."""

    record: RowRef
    """The case that the request opened (its id is the only thing known by id)."""
    requester_id: str
    requester_name: str
    contact: str
    """The address that the request came from (token)."""
    subject: str
    text: str
    received_at: str
    """ISO 8601 UTC; equals the task's `started_at`."""


class SystemRef(Frozen):
    """A system that the agent's tools reach in this task."""

    name: str
    plugin: str
    """File name in environments/systems."""
    config: dict[str, Any] = Field(default_factory=dict)
    """What the plug-in's options model accepts; values starting with "content:" name a content digest."""


class PolicyClause(Frozen):
    clause: str
    text: str


class PolicySpec(Frozen):
    """One version of one document, in force at the start."""

    document: str
    version: int
    title: str
    clauses: tuple[PolicyClause, ...]


class RuleRef(Frozen):
    """A rule in force: `rule` names the file in rewards/rules; `parameters` fit its model."""

    id: str
    rule: str
    sentence: str
    parameters: dict[str, Any]
    document: str | None = None
    version: int | None = None
    clause: str | None = None
    hard: bool = True


class Fact(Frozen):
    """Something the requester told, with the condition under which it is told again."""

    id: str
    slots: tuple[str, ...]
    """What it answers: "order_id", "new_address", "postcode", ..."""
    values: dict[str, str] = Field(default_factory=dict)
    """Slot -> the value as written in `answer`."""
    question: str = ""
    """What the human agent had asked ("" for a volunteered turn)."""
    answer: str
    """The requester's own words (pseudonymised)."""
    volunteered: bool = False
    """The real requester said it unasked; told with the first answer, never before."""


class RequesterSpec(Frozen):
    facts: tuple[Fact, ...] = ()
    dont_know: tuple[str, ...] = ("I am afraid I do not know that.",)
    """Real "don't know" turns where the records have them."""
    patience: int = 8
    """Messages that bring no new fact before the requester leaves."""
    facts_per_message: int = 2


class RewardWeights(Frozen):
    """r = success*w_s + quality*w_q + efficiency*w_e - violation*w_v - delay*w_d, clipped to [-1, 1]."""

    success: float = 0.6
    """w_s: the outcome is right and no hard rule was broken; 0 or 1, at the end."""
    quality: float = 0.2
    """w_q: share of the outcome that is right, at the end and at milestones, in [0, 1]."""
    efficiency: float = 0.1
    """w_e: how few calls a success took, in [0, 1]."""
    violation: float = 0.65
    """w_v: a hard rule broken, a write that the outcome does not hold, a call that no system could accept, or no proper end."""
    delay: float = 0.2
    """w_d: calls and the requester's patience wasted; 1 where the episode ends wrong."""
    gamma: float = 1.0
    """Discount of later rewards, in [0, 1]."""
    composition: Literal["events", "kpi"] = "events"
    """events: the sum above. kpi: satisfaction x compliance x speed, each in [0, 1], at the finishing act and 0 elsewhere."""
    milestones: dict[str, float] = Field(default_factory=dict)
    """Tool -> quality in [0, 1] credited once, at its first accepted write that is right; none by default."""


class TaskSpec(Frozen):
    """One row of tasks.jsonl."""

    task_id: str
    taskset: str
    workflow: str
    world: str = "records"
    started_at: str
    """The cut, ISO 8601 UTC."""
    organisation: str
    """Group that the hold-out keeps together (token)."""
    opening: Opening
    systems: tuple[SystemRef, ...]
    state: tuple[str, ...]
    """Content digests; each is {system: {kind: {record_id: {field: value}}}}; merged they are the state at the cut."""
    provenance: tuple[str, ...] = ()
    """Content digests of the same shape holding source references; environments never open them."""
    policies: tuple[str, ...] = ()
    """Content digests of PolicySpec."""
    rules: tuple[RuleRef, ...] = ()
    requester: RequesterSpec
    max_steps: int = 30
    weights: RewardWeights = RewardWeights()
    slice: Slice = "train"
    grades: tuple[str, ...] = ()
    """Marks such as "no_policy", "no_requester", "generated_request", and "unseen_policy" (held out, under a policy version that
    no training task shows; across the slices, and scored apart)."""
    canary: str = ""
    """GUID of the hold-out; in held-out tasks only, never shown to an agent."""


class Outcome(Frozen):
    """What is right. A refusal is a positive act: its code, with no changes."""

    kind: Literal["difference", "answer"]
    code: str
    """Code of the finishing act."""
    about: str | None = None
    """Record that the finishing act names, where the workflow records it."""
    changes: tuple[RowChange, ...] = ()
    """Compared as a multiset; `before` is not compared."""
    answer: dict[str, Any] = Field(default_factory=dict)
    read_from: tuple[RowRef, ...] = ()
    """Rows that the answer is about: only what a result with one of them shows makes it read (empty: any result). Another row may
    say the same of something else."""
    ignored_fields: tuple[str, ...] = ()
    """"system.kind.field" that no one decided (ids, stamps)."""
    alternatives: tuple[Outcome, ...] = ()
    """Outcomes that are equally right."""


class ReferenceStep(Frozen):
    call: ToolCall
    planned: bool
    """True: not in the records, added because derivability or a rule requires it."""
    required_by: tuple[str, ...] = ()
    """Rule ids that demand this call (the required checks of C4)."""
    derived_from: dict[str, str] = Field(default_factory=dict)
    """Argument -> where its value was first seen: "opening", "step 2", "fact f1", "policy refunds 2 3.1"; "decision" of what the
    agent decides by itself, "constant" of free words and pages."""


class ScoreBounds(Frozen):
    g_min: float
    g_max: float


class Answer(Frozen):
    """One row of answers.jsonl; opened by `rewards` and `tasks.certify` only."""

    task_id: str
    outcome: Outcome
    outcome_class: str
    reference: tuple[ReferenceStep, ...]
    bounds: ScoreBounds | None = None
    canary: str = ""
    """GUID of the hold-out; in held-out answers only."""


class Trajectory(Frozen):
    """One row of trajectories.jsonl (training side only): an episode to imitate."""

    task_id: str
    agent: Literal["reference", "recorded"]
    observations: tuple[str, ...]
    """One more than `actions`: the opening first."""
    actions: tuple[str, ...]
    """JSON text of each tool call."""


CERTIFICATE_VERSION = 3
"""Raised when a check is added or comes to mean something else; a task set certified under another version does not load."""
CHECK_IDS = tuple(f"C{number}" for number in range(1, 19))
"""What a certificate of this version says something about, each once."""


class Check(Frozen):
    """One criterion of a certificate."""

    id: str
    """"C1" ... "C18"."""
    verdict: Literal["passed", "failed", "not_applicable", "could_not_run"]
    detail: str = ""


class Certificate(Frozen):
    """One row of certificates.jsonl: the proof of one task, bound to its exact content."""

    task_id: str
    task_sha256: str
    """Digest of the task row and the answer row together (see schemas.taskset.task_digest)."""
    code_version: str
    """Digest of the code that certified (pipeline.manifest.code_version); for people and `tasks verify`, loading does not ask."""
    checks: tuple[Check, ...]
    version: int = 1
    """CERTIFICATE_VERSION of the code that certified."""
    replays: int = 0
    """Episodes that were played for it."""
    grades_sha256: str = ""
    """Digest of the grades of all those episodes: another grader gives another one, even where every verdict is the same."""

    @property
    def holds(self) -> bool:
        """True if every check of this version is there once, none failed or could not run and at least one passed."""
        verdicts = [c.verdict for c in self.checks]
        whole = sorted(c.id for c in self.checks) == sorted(CHECK_IDS)
        return whole and "passed" in verdicts and not {"failed", "could_not_run"} & set(verdicts)


class LedgerRow(Frozen):
    """One candidate record: kept, or its first reason."""

    record_id: str
    kind: str
    workflow: str | None
    kept: bool
    reason: str
    """"kept" or the first reason, a code of tasks.select.REASONS."""
    detail: str = ""
    difficulty: tuple[str, ...] = ()
    """"ambiguous", "missing_information", "exception", "spans_systems"."""
