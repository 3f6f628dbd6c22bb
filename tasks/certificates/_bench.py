"""One task on the bench: a single episode is reset for every replay, and every replay is judged and counted.

Nothing here or in the checks beside it reads a table, an export or a file of the build: all that is needed travels with the task
set (schemas.proof), so that a certificate can be derived again wherever the task set is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from environments.agents import Agent, run_episode
from environments.episode import Episode
from environments.tool import Tool
from rewards.outcome import Comparison, Difference, compare, own_changes
from rewards.score import Grader, Stepper
from schemas.episode import Grade, Journal, RowRef, ToolCall
from schemas.proof import Placed, Proof
from schemas.records import OutcomeCode
from schemas.task import Answer, TaskSpec
from schemas.taskset import State, TaskSet
from tasks.mutants import Mutant, kind_ids

Verdict = Literal["passed", "failed", "not_applicable", "could_not_run"]
Said = tuple[Verdict, str]
"""(verdict, detail); details hold names, ids and counts, no texts."""


@dataclass(frozen=True, slots=True)
class CertificateCheck:
    """What a file of tasks/certificates exports as CHECK."""

    id: str
    """"C1" ... "C18"."""
    run: Callable[[Bench], Said]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the hold-out put a task (C16)."""

    placed: Placed | None
    """Its entry in splits.json; None = it has none."""
    sides: frozenset[str] = frozenset()
    """"train", "heldout": the sides on which its cluster has tasks of this set."""


@dataclass(slots=True)
class Played:
    """One replay with its judgement."""

    journal: Journal
    grade: Grade
    comparison: Comparison


@dataclass(slots=True)
class Bench:
    taskset: TaskSet
    task: TaskSpec
    answer: Answer
    proof: Proof
    placement: Placement
    grader: Grader
    episode: Episode
    mutants: list[tuple[Mutant, Played]] = field(default_factory=list)
    """Every mutant played so far (C7 reads them)."""
    returns: dict[str, float] = field(default_factory=dict)
    """Panel member -> the lowest return of its runs."""
    replays: int = 0
    grades: Any = field(default_factory=hashlib.sha256)
    """Running digest of every grade given."""
    _reference: Played | None = None
    _ids: dict[str, list[str]] | None = None
    _calls: tuple[ToolCall, ...] | None = None

    @property
    def seed(self) -> int:
        return self.proof.seed

    @property
    def codes(self) -> Mapping[str, OutcomeCode]:
        """In order of code, so that the replays are the same whoever holds the proof."""
        return dict(sorted(self.proof.codes.items()))

    @property
    def forms(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        return self.taskset.forms

    @property
    def tools(self) -> dict[str, Tool]:
        return self.episode.tools

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        if self._calls is None:
            self._calls = tuple(step.call for step in self.answer.reference)
        return self._calls

    @property
    def state(self) -> State:
        return self.taskset.state(self.task)

    @property
    def speaks(self) -> str | None:
        """The tool through which the requester is asked, if there is one."""
        return next((name for name, tool in self.tools.items() if tool.speaks), None)

    def judged(self, journal: Journal) -> Played:
        return self._counted(journal, self.grader.grade(journal))

    def play(self, calls: Sequence[ToolCall]) -> Played:
        """Makes the calls as they stand, until the episode ends."""
        return self.judged(self._journal(calls, ()))

    def play_without(self, calls: Sequence[ToolCall], missing: Sequence[RowRef]) -> Played:
        """The same in a state that lacks some rows, for the systems and for the grader alike."""
        journal = self._journal(calls, missing)
        base: State = dict(self.state)
        for ref in missing:
            kinds = base[ref.system] = dict(base[ref.system])
            kinds[ref.kind] = {i: row for i, row in kinds[ref.kind].items() if i != ref.record_id}
        stepper = Stepper(self.grader.criteria(self.task.task_id), base, seed=journal.seed)
        last, abandoned = len(journal.entries) - 1, journal.ended_by not in ("", "finish")
        for at, entry in enumerate(journal.entries):
            stepper.step(entry, truncated=abandoned and at == last)
        return self._counted(journal, stepper.grade())

    def run(self, agent: Agent, seed: int) -> Played:
        return self.judged(run_episode(self.episode, agent, self.task.task_id, seed).journal)

    def mutant(self, mutant: Mutant) -> Played:
        played = self.play(mutant.calls)
        self.mutants.append((mutant, played))
        return played

    def whole(self) -> Played:
        """The reference's own replay."""
        if self._reference is None:
            self._reference = self.play(self.calls)
        return self._reference

    def ids(self) -> dict[str, list[str]]:
        """Records of the case and a few others, by kind."""
        if self._ids is None:
            self._ids = kind_ids(self.state, self.whole().journal)
        return self._ids

    def _journal(self, calls: Sequence[ToolCall], missing: Sequence[RowRef]) -> Journal:
        self.episode.reset(self.task.task_id, self.seed, missing=missing)
        for call in calls:
            if self.episode.done:
                break
            self.episode.step(call)
        return self.episode.journal

    def _counted(self, journal: Journal, grade: Grade) -> Played:
        difference = Difference(self.grader.criteria(self.task.task_id).ignored)
        finish = None
        for entry in journal.entries:
            for change in own_changes(entry, self.task.opening.record):
                difference.add(change)
            finish = entry if entry.finished else finish
        played = Played(journal, grade, compare(self.answer.outcome, difference, finish))
        self.replays += 1
        self.grades.update(decided(played).encode())
        return played


def decided(played: Played) -> str:
    """Everything that a judgement decides, without its words: two graders that agree on it agree."""
    grade, compared = played.grade, played.comparison
    broken = [(v.rule, v.step, v.hard, [(r.system, r.kind, r.record_id) for r in v.evidence]) for v in grade.violations]
    events = [(e.success, e.quality, e.efficiency, e.violation, e.delay) for e in grade.events]
    ends = (grade.success, grade.full, grade.outcome_right, grade.quality, grade.return_)
    return repr(
        (ends, broken, events, grade.rewards, sorted(compared.criteria.items()), len(compared.collateral), compared.wrong)
    )
