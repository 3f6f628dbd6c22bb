"""Judges episodes: the path gates the outcome, step by step (`Stepper`) or a whole journal at once (`grade`).

What a step's events mean here, beyond `StepEvents`:

success      at the finishing act: the outcome is right and no hard rule was broken on the way. Fires once.
quality      at the finishing act (share of outcome fields right) and at the milestones that the weights name.
efficiency   at the finishing act of a success only: being quick about a wrong outcome is worth nothing.
violation    a hard rule broken; a write that the outcome does not hold (`collateral`); a refused call that no system could accept
             (`invalid_call`; a look-up that finds nothing is a waste, not a violation); an episode that ends without a finishing
             act (`case_abandoned`); a failed or a mere finish (without acts) before anything of the case was looked at
             (`closed_unread`), or one with an answer that no system has given of what it is about (`answer_unread`). One a step.
delay        patience spent on messages that brought nothing new (the first is free: people are told what was decided) and calls
             wasted (finding nothing, or repeating a look-up while nothing changed), together at most 1 an episode; and 1 when the
             episode ends wrong: the case is reopened.

Why stalling and closing at once are the worst that an agent can do under these: events.check_weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field

from rewards.events import NOTHING, check_weights, discounted, efficiency, kpi, reward, score
from rewards.outcome import Comparison, Difference, best, check_outcome, compare, own_changes
from rewards.path import RuleInForce, broken_at, rules_by_tool
from rewards.values import Normal, normal
from rewards.view import JournalView
from schemas.episode import Grade, Journal, JournalEntry, RefusalKind, RowRef, StepEvents, Violation
from schemas.errors import GraderError
from schemas.files import read_models
from schemas.task import Answer, TaskSpec
from schemas.taskset import State, TaskSet, task_digest

MESSAGE_TOOL = "reply_to_requester"
"""In every protocol the requester is spoken to through this tool."""
INVALID = frozenset(RefusalKind) - {RefusalKind.not_found}
"""Refusals that no system could have accepted."""

Judge = Callable[[TaskSpec, Journal], float]
"""Slot for a learned or human judge: says in [0, 1] how good a finished episode was. It can only lower `quality`."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """What one task is judged by, prepared once and shared by its episodes."""

    task: TaskSpec
    answer: Answer
    rules: Mapping[str, tuple[RuleInForce, ...]]
    ignored: frozenset[str]
    blank: JournalView
    """The view of an episode before any call, over no state yet."""
    read_from: frozenset[RowRef] = frozenset()
    """Rows that the answer, or an alternative to it, is about; empty where any result may give it."""

    @property
    def answers(self) -> bool:
        """True where the outcome is a typed answer, which some system has to give."""
        return self.answer.outcome.kind == "answer"


def criteria_of(task: TaskSpec, answer: Answer) -> Criteria:
    """Checks and prepares. Raises GraderError for an answer of another task, an empty criterion or a rule that cannot be run."""
    if answer.task_id != task.task_id:
        raise GraderError(f"the answer of {answer.task_id} cannot judge task {task.task_id}")
    check_outcome(answer.outcome)
    ignored = {*answer.outcome.ignored_fields, *(f for other in answer.outcome.alternatives for f in other.ignored_fields)}
    about = frozenset(row for outcome in (answer.outcome, *answer.outcome.alternatives) for row in outcome.read_from)
    return Criteria(task, answer, rules_by_tool(task.rules), frozenset(ignored), JournalView.of_task(task, {}), about)


@dataclass(slots=True)
class Stepper:
    """Judges one episode as it happens. `step` takes each call once, in order; what it returns is what `grade` says."""

    criteria: Criteria
    base: State
    judge: Judge | None = None
    seed: int = 0
    _view: JournalView = field(init=False)
    _difference: Difference = field(init=False)
    _events: list[StepEvents] = field(default_factory=list, init=False)
    _rewards: list[float] = field(default_factory=list, init=False)
    _violations: list[Violation] = field(default_factory=list, init=False)
    _collateral: int = field(default=0, init=False)
    _spent: float = field(default=0.0, init=False)
    """Patience and waste so far, as a share of all that an episode can lose by them, in [0, 1]."""
    _idle_messages: int = field(default=0, init=False)
    _told: set[str] = field(default_factory=set, init=False)
    _looked: bool = field(default=False, init=False)
    """True once a call has shown something of the case (a row, a fact, a result)."""
    _given: set[Normal] = field(default_factory=set, init=False)
    """Values that systems have given so far; kept only where the outcome is an answer."""
    _met: int = field(default=0, init=False)
    _seen_calls: set[tuple[str, Normal]] = field(default_factory=set, init=False)
    """Look-ups made since the last write."""
    _milestones: set[str] = field(default_factory=set, init=False)
    _finish: JournalEntry | None = field(default=None, init=False)
    _compared: Comparison | None = field(default=None, init=False)
    """How the finished episode compares with the outcome that fits best."""
    _over: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._view = self.criteria.blank.fork()
        self._view.base = self.base
        self._difference = Difference(self.criteria.ignored)

    def step(self, entry: JournalEntry, *, truncated: bool = False) -> tuple[StepEvents, float]:
        """Events and reward of the next call. `truncated`: the episode ends with this call, without a finishing act
        (a budget ran out or the requester left). Raises GraderError after the end, and where a rule cannot judge."""
        if self._over:
            raise GraderError(f"step {entry.step}: the episode was over before")
        step = self._view.append(entry)
        found = self._accepted(entry, step) if entry.ok else self._refused(entry, step)
        delay = self._waste(entry)
        quality = self._milestone(entry, found)
        success, speed = 0, 0.0
        if entry.finished:
            self._finish, self._over = entry, True
            success, share, speed, reopened = self._finished(step, found)
            quality = min(1.0, quality + share)
            delay = max(delay, reopened)
        elif truncated:
            self._over = True
            message = "the episode ended without a finishing act"
            found.append(
                Violation(rule="case_abandoned", step=step, message=message, evidence=(self.criteria.task.opening.record,))
            )
            delay = 1.0
        self._looked = self._looked or _shows(entry)
        about = self.criteria.read_from
        if self.criteria.answers and entry.ok and entry.call.tool != MESSAGE_TOOL and (not about or about & {*entry.reads}):
            self._given.update(_leaves(entry.result))
        return self._record(found, success=success, quality=quality, speed=speed, delay=delay)

    def end_unplayed(self) -> None:
        """The episode ended before any call (a token budget spent on nothing): abandoned, at one reward step of its own."""
        self._over = True
        message = "the episode ended without a call"
        self._record(
            [Violation(rule="case_abandoned", step=0, message=message, evidence=(self.criteria.task.opening.record,))], delay=1.0
        )

    def comparison(self) -> Comparison:
        """How the episode so far compares with the expected outcome itself, whatever its alternatives."""
        outcome = self.criteria.answer.outcome
        if self._compared is not None and not outcome.alternatives:
            return self._compared
        return compare(outcome, self._difference, self._finish)

    def grade(self) -> Grade:
        """The judgement so far; before the finishing act nothing is a success."""
        task, answer = self.criteria.task, self.criteria.answer
        compared = self._compared or best(answer.outcome, self._difference, None)
        finished = self._finish is not None
        success = any(e.success for e in self._events)
        g = discounted(self._rewards, task.weights.gamma)
        reasons = [f"{'right' if met else 'wrong'}: {name}" for name, met in compared.criteria.items()]
        reasons += [f"collateral: {line}" for line in compared.collateral]
        reasons += [f"step {v.step} broke {v.rule}: {v.message}" for v in self._violations]
        return Grade(
            task_id=task.task_id,
            success=success,
            full=success and not self._violations,
            outcome_right=finished and compared.right,
            quality=compared.quality if finished else 0.0,
            violations=tuple(self._violations),
            events=tuple(self._events),
            rewards=tuple(self._rewards),
            return_=g,
            score=score(g, answer.bounds),
            reasons=tuple(reasons) if finished else ("wrong: no finishing act", *reasons),
        )

    def fork(self) -> Stepper:
        """A judge that goes on from here by itself; what was shared (criteria, base) stays shared."""
        other = copy(self)
        other._view = self._view.fork()
        other._difference = self._difference.fork()
        for name in ("_events", "_rewards", "_violations", "_seen_calls", "_told", "_given", "_milestones"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def _refused(self, entry: JournalEntry, step: int) -> list[Violation]:
        if entry.refusal is None:
            raise GraderError(f"step {entry.step}: the call was refused without a refusal")
        if entry.refusal.kind not in INVALID:
            return []
        message = f"{entry.call.tool} refused: {entry.refusal.kind.value}"
        return [Violation(rule="invalid_call", step=step, message=message, hard=False)]

    def _accepted(self, entry: JournalEntry, step: int) -> list[Violation]:
        found = broken_at(self.criteria.rules, self._view, step)
        touched = list(own_changes(entry, self.criteria.task.opening.record))
        if not touched:
            return found
        for change in touched:
            self._difference.add(change)
        outcome = self.criteria.answer.outcome
        compared = [compare(o, self._difference, None) for o in (outcome, *outcome.alternatives)]
        collateral = min(len(c.collateral) + c.wrong for c in compared)  # a wrong value stays a fault though it is written over
        if collateral > self._collateral:
            rows = tuple(RowRef(system=c.system, kind=c.kind, record_id=c.record_id or "") for c in touched)
            message = f"{entry.call.tool} at step {step} wrote what the outcome does not hold"
            found.append(Violation(rule="collateral", step=step, message=message, evidence=rows))
        self._collateral = collateral
        return found

    def _waste(self, entry: JournalEntry) -> float:
        """Share of patience and waste that this call spends."""
        before = self._spent
        if entry.ok and entry.call.tool == MESSAGE_TOOL:
            fresh = set(entry.told) - self._told
            self._told |= fresh
            if not fresh:
                self._idle_messages += 1
                if self._idle_messages > 1:
                    self._spent += 1 / max(1, self.criteria.task.requester.patience)
        elif entry.ok and entry.changes:
            self._seen_calls.clear()
        elif entry.ok and not entry.finished:
            key = (entry.call.tool, normal(entry.call.arguments))
            if key in self._seen_calls:
                self._spent += 1 / self.criteria.task.max_steps
            self._seen_calls.add(key)
        elif not entry.ok and entry.refusal is not None and entry.refusal.kind not in INVALID:
            self._spent += 1 / self.criteria.task.max_steps
        self._spent = min(1.0, self._spent)
        return self._spent - before

    def _milestone(self, entry: JournalEntry, found: list[Violation]) -> float:
        """Quality of a milestone: the first write of a named tool that brings the outcome nearer and breaks nothing."""
        milestones = self.criteria.task.weights.milestones
        if not milestones or not entry.ok or not entry.changes:
            return 0.0
        met = sum(best(self.criteria.answer.outcome, self._difference, None).criteria.values())
        nearer, self._met = met > self._met, max(met, self._met)
        worth = milestones.get(entry.call.tool)
        if worth is None or not nearer or found or entry.call.tool in self._milestones:
            return 0.0
        self._milestones.add(entry.call.tool)
        return worth

    def _finished(self, step: int, found: list[Violation]) -> tuple[int, float, float, float]:
        """(success, quality, efficiency, delay) at the finishing act; adds to `found` what only the end shows."""
        task, answer = self.criteria.task, self.criteria.answer
        compared = self._compared = best(answer.outcome, self._difference, self._finish)
        blind = not compared.right or not answer.outcome.changes  # acts are for the rules to judge; a mere word can be guessed
        if blind and not self._looked:
            message = f"finished at step {step} before anything of the case was looked at"
            found.append(Violation(rule="closed_unread", step=step, message=message, evidence=(task.opening.record,)))
        elif self.criteria.answers and not self._given.issuperset(_leaves(self._said())):
            message = f"finished at step {step} with an answer that no system has given of what it is about"
            found.append(Violation(rule="answer_unread", step=step, message=message, evidence=(task.opening.record,)))
        broken = any(v.hard for v in (*self._violations, *found))
        success = compared.right and not broken
        quality = compared.quality
        if self.judge is not None:
            quality = min(quality, self._judged())
        speed = efficiency(step + 1, len(answer.reference), task.max_steps) if success else 0.0
        return int(success), quality, speed, 0.0 if compared.right else 1.0

    def _said(self) -> object:
        """The typed answer of the finishing act, or None."""
        return self._finish.call.arguments.get("answer") if self._finish is not None else None

    def _judged(self) -> float:
        if self.judge is None:
            raise GraderError("no judge")
        task = self.criteria.task
        said = self.judge(
            task, Journal(task_id=task.task_id, seed=self.seed, entries=tuple(self._view.entries), ended_by="finish")
        )
        if not 0.0 <= said <= 1.0:
            raise GraderError(f"the judge said {said}, which is not in [0, 1]")
        return said

    def _record(
        self, found: list[Violation], *, success: int = 0, quality: float = 0.0, speed: float = 0.0, delay: float = 0.0
    ) -> tuple[StepEvents, float]:
        """Keeps the step's events; those of nothing are one shared object, as most steps are."""
        self._violations += found
        violation = int(any(v.hard or v.rule == "invalid_call" for v in found))
        events = NOTHING
        if found or success or quality or speed or delay:
            events = StepEvents(success=success, quality=quality, efficiency=speed, violation=violation, delay=delay)
        weights = self.criteria.task.weights
        if weights.composition == "events":
            r = reward(events, weights)
        elif self._finish is not None:
            steps = len(self._events) + 1
            broken = violation + sum(e.violation for e in self._events)
            fast = efficiency(steps, len(self.criteria.answer.reference), self.criteria.task.max_steps)
            r = kpi(quality * (1.0 - self._spent), 1.0 - broken / steps, fast)
        else:
            r = 0.0
        self._events.append(events)
        self._rewards.append(r)
        return events, r


def _leaves(value: object) -> Iterator[Normal]:
    """Every scalar of a JSON value in its one form."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield normal(value)


def _shows(entry: JournalEntry) -> bool:
    """True for an accepted call that told the agent anything: a row, a fact, or a result beyond "done"."""
    if not entry.ok or entry.call.tool == MESSAGE_TOOL:
        return entry.ok and bool(entry.told)
    result = entry.result
    says = any(not isinstance(v, bool) for v in result.values()) if isinstance(result, dict) else result is not None
    return bool(entry.reads) or says


def grade(task: TaskSpec, answer: Answer, base: State, journal: Journal) -> Grade:
    """Judges a journal against the state that it started from; needs nothing else. Raises GraderError where it cannot judge."""
    return _judged(criteria_of(task, answer), base, journal, None).grade()


def _judged(criteria: Criteria, base: State, journal: Journal, judge: Judge | None) -> Stepper:
    """A judge that has taken the whole journal."""
    if journal.task_id != criteria.task.task_id:
        raise GraderError(f"the journal of {journal.task_id} cannot be judged as task {criteria.task.task_id}")
    stepper = Stepper(criteria, base, judge, journal.seed)
    abandoned = journal.ended_by not in ("", "finish")
    last = len(journal.entries) - 1
    for index, entry in enumerate(journal.entries):
        stepper.step(entry, truncated=abandoned and index == last)
    if abandoned and not journal.entries:
        stepper.end_unplayed()
    return stepper


class Grader:
    """Judges the episodes of one side of a task set. Criteria are prepared at a task's first episode and shared by all."""

    def __init__(self, taskset: TaskSet, answers: Mapping[str, Answer], judge: Judge | None = None) -> None:
        """Raises GraderError where a task's weights let stalling pay; a task without an answer raises when it is judged."""
        self._taskset, self._answers, self._judge = taskset, answers, judge
        self._criteria: dict[str, Criteria] = {}
        for weights, steps in {
            (t.weights.model_dump_json(), t.max_steps): (t.weights, t.max_steps) for t in taskset.tasks.values()
        }.values():
            check_weights(weights, steps)

    def criteria(self, task_id: str) -> Criteria:
        if task_id not in self._criteria:
            if task_id not in self._taskset.tasks:
                raise GraderError(f"{task_id} is not a task of {self._taskset.folder.name}/{self._taskset.side}")
            if task_id not in self._answers:
                raise GraderError(f"task {task_id} has no answer")
            self._criteria[task_id] = criteria_of(self._taskset.tasks[task_id], self._answers[task_id])
        return self._criteria[task_id]

    def grade(self, journal: Journal) -> Grade:
        """Judges a whole journal; raises GraderError where it cannot judge."""
        return self.judged(journal).grade()

    def judged(self, journal: Journal, base: State | None = None) -> Stepper:
        """The judge that has taken a whole journal; `base` where the episode did not start from the task's own state."""
        criteria = self.criteria(journal.task_id)
        return _judged(criteria, self._taskset.state(criteria.task) if base is None else base, journal, self._judge)

    def stepper(self, task_id: str, seed: int = 0) -> Stepper:
        """A judge for one new episode of the task."""
        criteria = self.criteria(task_id)
        return Stepper(criteria, self._taskset.state(criteria.task), self._judge, seed)


def load_grader(taskset: TaskSet, judge: Judge | None = None) -> Grader:
    """Opens the answers of the task set's side. GraderError for an answer that is missing or not the certified one."""
    path = taskset.folder / taskset.side / "answers.jsonl"
    answers = {answer.task_id: answer for answer in read_models(path, Answer)}
    for task_id, task in taskset.tasks.items():
        if task_id not in answers:
            raise GraderError(f"{path}: task {task_id} has no answer")
        if taskset.manifest.ids.get(task_id) != task_digest(task, answers[task_id]):
            raise GraderError(f"{path}: the answer of task {task_id} is not the one that the manifest names")
    return Grader(taskset, answers, judge)
