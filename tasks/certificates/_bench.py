"""One task on the bench: a single episode is reset for every replay, and every replay is judged and counted.

What differs from the reference in one place goes on from the reference's own replay up to there (`Bench.vary`); that the same
calls give the same bytes is what C1 has shown by replays from the start.

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
from rewards.outcome import Comparison
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
    _forks: list[tuple[Episode, Stepper]] = field(default_factory=list)
    """The reference's own replay before each of its calls, with its judge."""
    _shown: tuple[str, ...] = ()
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
        return self._counted(journal, self.grader.judged(journal))

    def play(self, calls: Sequence[ToolCall]) -> Played:
        """Makes the calls as they stand from a fresh reset, until the episode ends."""
        return self.judged(self._journal(calls, ()))

    def vary(self, calls: Sequence[ToolCall]) -> Played:
        """`play`, from where the calls part from the reference: up to there they are the reference's own replay, which the same
        calls give again byte by byte (C1)."""
        self.whole()
        last = min(len(self._forks), len(calls)) - 1
        at = next((i for i in range(last) if calls[i] != self.calls[i]), max(0, last))
        episode, stepper = self._forks[at][0].fork(), self._forks[at][1].fork()
        for call in calls[at:]:
            if episode.done:
                break
            _stepped(episode, stepper, call)
        return self._counted(episode.journal, stepper)

    def play_without(self, calls: Sequence[ToolCall], missing: Sequence[RowRef]) -> Played:
        """The same in a state that lacks some rows, for the systems and for the grader alike."""
        journal = self._journal(calls, missing)
        base: State = dict(self.state)
        for ref in missing:
            kinds = base[ref.system] = dict(base[ref.system])
            kinds[ref.kind] = {i: row for i, row in kinds[ref.kind].items() if i != ref.record_id}
        return self._counted(journal, self.grader.judged(journal, base))

    def run(self, agent: Agent, seed: int) -> Played:
        return self.judged(run_episode(self.episode, agent, self.task.task_id, seed).journal)

    def mutant(self, mutant: Mutant) -> Played:
        played = self.vary(mutant.calls)
        self.mutants.append((mutant, played))
        return played

    def whole(self) -> Played:
        """The reference's own replay."""
        if self._reference is None:
            self.episode.reset(self.task.task_id, self.seed)
            stepper = self.grader.stepper(self.task.task_id, self.seed)
            for call in self.calls:
                if self.episode.done:
                    break
                self._forks.append((self.episode.fork(), stepper.fork()))
                _stepped(self.episode, stepper, call)
            self._shown = tuple(observation.text for observation in self.episode.observations[1:])
            self._reference = self._counted(self.episode.journal, stepper)
        return self._reference

    def shown(self) -> tuple[str, ...]:
        """What the reference reads after each of its calls."""
        self.whole()
        return self._shown

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

    def _counted(self, journal: Journal, stepper: Stepper) -> Played:
        played = Played(journal, stepper.grade(), stepper.comparison())
        self.replays += 1
        self.grades.update(decided(played).encode())
        return played


def _stepped(episode: Episode, stepper: Stepper, call: ToolCall) -> None:
    """One call, and its judgement."""
    episode.step(call)
    entry = episode.last
    stepper.step(entry, truncated=episode.done and not entry.finished)


def decided(played: Played) -> str:
    """Everything that a judgement decides, without its words: two graders that agree on it agree."""
    grade, compared = played.grade, played.comparison
    broken = [(v.rule, v.step, v.hard, [(r.system, r.kind, r.record_id) for r in v.evidence]) for v in grade.violations]
    events = [(e.success, e.quality, e.efficiency, e.violation, e.delay) for e in grade.events]
    ends = (grade.success, grade.full, grade.outcome_right, grade.quality, grade.return_)
    return repr(
        (ends, broken, events, grade.rewards, sorted(compared.criteria.items()), len(compared.collateral), compared.wrong)
    )
