"""What every leak check reads (`LeakInput`), says (`Finding`) and exports (`Leak`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from schemas.records import CodeBook
from schemas.task import Answer, TaskSpec, Trajectory

Verdict = Literal["passed", "failed", "not_applicable", "could_not_run", "waived", "suspect"]
"""suspect: nothing proves a leak and nothing rules it out; the supplier has to declare what it is. Shown; fails no build."""
NUMBERS = ("accuracy", "low", "high", "chance", "margin", "p", "alpha", "tasks")
"""Names in `Finding.numbers`, in the order in which the report shows them. accuracy, low, high (95% interval), chance: balanced
accuracy in [0, 1]; margin: what it may lie above chance; p in [0, 1] and the alpha that it is held against; tasks: their number.
Others may be added."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the leak report. A check that finds nothing has one "passed" line; "could not run" is never "passed"."""

    check: str
    """File name of the check."""
    verdict: Verdict
    path: str = ""
    """Where, e.g. "state/orders/order/ORDER_12345678/delivered_at" or "opening/text"; what a waiver's glob is matched against."""
    detail: str = ""
    """Ids, counts and positions; never the text of a record."""
    task_ids: tuple[str, ...] = ()
    """Tasks concerned; the builder drops these (or fails where a finding concerns the set as a whole: empty)."""
    waiver: str = ""
    """Who signed it off and why, where the verdict is "waived"."""
    numbers: Mapping[str, float] = field(default_factory=dict, hash=False)
    """What a statistical check measured, whatever its verdict, under the names of NUMBERS; empty for checks by evidence."""


@dataclass(frozen=True, slots=True)
class ColumnHistory:
    """When the values of one field stood in the records' rows."""

    rows: int
    """Rows (of the history, not records) that hold a value."""
    early: int
    """Of these, rows recorded before the instant that the value itself names (a time), or before the change that set it."""
    records: int
    constant: int
    """Records in which the value is the same in each row, of those with at least two rows."""
    declared: bool
    """True if the code book declares the field as known only afterwards."""


@dataclass(frozen=True, slots=True)
class LeakInput:
    """A whole task set in memory, with what only the builder knows about the time after each cut."""

    tasks: tuple[TaskSpec, ...]
    """Both sides; `task.slice` tells which ("train", or one of the held-out slices); `task.started_at` is the cut."""
    answers: Mapping[str, Answer]
    """Task id -> answer."""
    content: Callable[[str], Any]
    """Digest -> stored JSON value (state parts, policies, declarations)."""
    code_book: CodeBook
    later_messages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Task id -> bodies of the human agents' messages after the cut (public and internal)."""
    requester_turns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Task id -> bodies of the requester's own messages, the opening too. What stands in them the requester did say, whoever said
    it as well; a task without them is judged as if the requester had said nothing of what the agents wrote."""
    first_seen: Mapping[str, str] = field(default_factory=dict)
    """Identifier (token) -> ISO 8601 UTC instant at which the records first hold it."""
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Declared group (customer, organisation, wizard ...) -> task id -> member; `task.organisation` is always checked."""
    waived_groups: Mapping[str, str] = field(default_factory=dict)
    """Group that may cross the hold-out -> who signed that, until when and why (spec.holdout.signed)."""
    closed_at: Mapping[str, str] = field(default_factory=dict)
    """Task id -> ISO 8601 UTC instant at which the case was closed."""
    boundary: str | None = None
    """ISO 8601 UTC instant after which time-held-out tasks start; null where nothing is held out by time."""
    embargo_s: Mapping[str, float] = field(default_factory=dict)
    """Workflow -> embargo in seconds before the boundary."""
    policy_times: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    """"document vN" -> in force [from, to) as ISO 8601 UTC instants; null = open."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Path inside the task-set folder -> text, of every file but content/ (for the canary and grader-constant checks)."""
    canary: str = ""
    """GUID that stands in every held-out file and in no other; "" before the files are written: its check does not apply."""
    aggregates: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Declared counter "system.kind.field" -> ("system.kind" that it counts, field of those rows that holds the counter record's
    id)."""
    sequences: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    """Field "system.kind.field" (or "system.kind" for the number inside its ids) whose numbers are given in order of time -> the
    records' (ISO 8601 UTC instant, number), earliest first."""
    columns: Mapping[str, ColumnHistory] = field(default_factory=dict)
    """Field "system.kind.field" -> what the records say of when its values stood there."""
    file_times: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Task id -> path of a file that the agent is given -> its ISO 8601 UTC time of change, for worlds with files."""
    repositories: Mapping[str, tuple[Path, str]] = field(default_factory=dict)
    """Task id -> (folder of a git repository that the agent is given, id of its base commit)."""
    fitted_on: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Fitted artefact that goes with the task set (forms, vocabulary, a probe's model) -> task ids that it was fitted on."""
    forms: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Message forms that go with the task set: "ask" | "tell" -> slot or code -> texts that a policy may choose among."""
    trajectories: tuple[Trajectory, ...] = ()
    """Episodes to imitate, of the training side: their observations are shown."""
    seed: int = 1

    def held_out(self, task: TaskSpec) -> bool:
        return task.slice != "train"


@dataclass(frozen=True, slots=True)
class Leak:
    """One leak check: `run` returns its findings (none = passed), `planted` puts in a leak that `run` must find."""

    name: str
    run: Callable[[LeakInput], list[Finding]]
    planted: Callable[[LeakInput], LeakInput]
    statistical: bool = False
    """True: tells a leak by probability over the set; false: by evidence at a place."""
