"""A reference found, played through a real episode under the grader, and the case kept or dropped by what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from environments.agents import ReferenceAgent, UnseenValue, run_episode
from environments.episode import Episode
from rewards.score import Grader
from schemas.episode import Grade, JournalEntry, RowChange, RowRef, ToolCall
from schemas.errors import GraderError, WorldError
from schemas.task import Answer, Outcome, ReferenceStep, TaskSpec
from schemas.taskset import TaskSet
from tasks.case import Case, iso
from tasks.derive import Broken, Deriver, Underivable, kind_of
from tasks.fit import Act, fit_of, with_broken
from tasks.labels import CONSTANT, DECISION
from tasks.prompt import started_us
from tasks.reference import NoPath, Target, invert
from tasks.requester import closing, heard_and_told, message_turn_texts
from tasks.select import KEPT, speaks_of_off_system
from tasks.shard import (
    Draft,
    Shard,
)

if TYPE_CHECKING:
    from environments.tool import Tool


@dataclass(slots=True)
class Built:
    """A reference that was played, or why there is none."""

    answer: Answer | None = None
    """The reference, also of one whose reason is breaks_rule."""
    reason: str = ""
    detail: str = ""
    grade: Grade | None = None
    lacking: str = ""
    """Argument that is shown by nothing, where the reason is underivable."""
    broken: str = ""
    """Id of the rule whose demand could not be met, "" where none is known that the recorded acts alone do not show."""
    entries: tuple[JournalEntry, ...] = ()
    """The reference's replay."""
    touched: frozenset[str] = frozenset()
    """Records that the outcome names, and those that the reference looks at through them."""


def build_reference(
    shard: Shard,
    task: TaskSpec,
    outcome_class: str,
    finish: ToolCall,
    *,
    writes: Sequence[Any] = (),
    queries: Sequence[ToolCall] | None = None,
    calls: Sequence[ToolCall] = (),
    reads: Sequence[ToolCall] = (),
    answer: Mapping[str, Any] | None = None,
    read_from: Sequence[RowRef] = (),
) -> Built:
    """Finds the reference and plays it through a real episode under the grader; notes how the recorded acts fit the rules.

    `read_from`: rows that the answer is about.
    `queries`: the calls of a declared system as they were recorded, in their order; None where look-ups are not recorded.
    """
    taskset = shard.taskset
    taskset.tasks = {task.task_id: task}
    named = (
        {w.record_id for w in writes} | {str(v) for w in writes for v in w.fields.values()} | {str(finish.arguments.get("about"))}
    )
    try:
        episode = Episode(taskset)
        episode.reset(task.task_id)
        state = taskset.state(task)
        targets = invert(writes, episode.tools, state) or [_declared_target(call, episode) for call in calls]
        acts = [Act(t.call, t.change, t.change.fields) for t in targets]
        queried = [Act(call) for call in queries or ()]
        recorded = [*queried, *(act for act in acts if act.call not in (queries or ())), Act(finish)]
        shard.fits.append(fit_of(task, state, recorded, episode.tools, queries=queries is not None))
        deriver = Deriver(episode, task.requester.facts, task.rules, state, known=_known(queries, episode.tools))
        built = _found(taskset, task, outcome_class, finish, deriver, targets, reads, answer, read_from)
        if built.broken:
            shard.fits[-1] = with_broken(shard.fits[-1], built.broken)
    except NoPath as none:
        built = Built(reason="no_reference", detail=str(none))
    finally:
        taskset._states.clear()
    built.touched = built.touched | named
    return built


def _known(queries: Sequence[ToolCall] | None, tools: Mapping[str, Tool]) -> dict[str, list[dict[str, Any]]]:
    """Tool of a system whose queries are recorded -> the arguments with which it was called, the latest first; none, if never."""
    systems = {tools[call.tool].system for call in queries or ()}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name, tool in tools.items() if tool.system in systems}
    for call in reversed(queries or ()):
        found[call.tool].append(call.arguments)
    return found


def _found(
    taskset: TaskSet,
    task: TaskSpec,
    outcome_class: str,
    finish: ToolCall,
    deriver: Deriver,
    targets: Sequence[Target],
    reads: Sequence[ToolCall],
    answer: Mapping[str, Any] | None,
    read_from: Sequence[RowRef],
) -> Built:
    writing = [t.call for t in targets]
    try:
        steps = deriver.steps(writing, finish, reads=reads)
        return _played(taskset, task, _answer(task, outcome_class, finish, targets, steps, answer, read_from))
    except Underivable as missing:
        return Built(reason="underivable", detail=str(missing), lacking=missing.argument)
    except Broken as broken:
        if (unshown := deriver.unshown((*reads, *writing))) is not None:  # asked before any rule is
            return Built(reason="underivable", detail=str(unshown), lacking=unshown.argument)
        return Built(reason="breaks_rule", detail=str(broken), broken=str(broken))


def _declared_target(call: ToolCall, episode: Episode) -> Target:
    effect = episode.tools[call.tool].effect
    assert effect is not None
    fields = {name: call.arguments[argument] for name, argument in effect.fields.items() if argument in call.arguments}
    return Target(call, RowChange(system=effect.system, kind=effect.kind, op="create", record_id=None, fields=fields), ())


def _answer(
    task: TaskSpec,
    outcome_class: str,
    finish: ToolCall,
    targets: Sequence[Target],
    steps: Sequence[ReferenceStep],
    answer: Mapping[str, Any] | None,
    read_from: Sequence[RowRef],
) -> Answer:
    about = finish.arguments.get("about")
    outcome = Outcome(
        kind="answer" if answer else "difference",
        code=finish.arguments["code"],
        about=about,
        changes=tuple(t.change for t in targets),
        answer=dict(answer or {}),
        read_from=tuple(read_from) if answer else (),
        ignored_fields=tuple(sorted({f for t in targets for f in t.ignored})),
    )
    return Answer(task_id=task.task_id, outcome=outcome, outcome_class=outcome_class, reference=tuple(steps))


def _played(taskset: TaskSet, task: TaskSpec, answer: Answer) -> Built:
    grader = Grader(taskset, {task.task_id: answer})
    try:
        trace = run_episode(Episode(taskset, grader), ReferenceAgent(answer.reference), task.task_id, name="reference")
    except UnseenValue as missing:
        return Built(reason="underivable", detail=str(Underivable(missing.tool, missing.argument, kind_of(missing.value))))
    except (WorldError, GraderError) as error:
        return Built(reason="no_reference", detail=str(error)[:200])
    grade = trace.grade
    assert grade is not None
    entries = trace.journal.entries
    if grade.full:
        return Built(answer=answer, grade=grade, entries=entries)
    rules = sorted({v.rule for v in grade.violations} & {r.id for r in task.rules})
    if rules:
        return Built(answer=answer, reason="breaks_rule", detail=", ".join(rules), grade=grade, entries=entries)
    refused = next((e for e in trace.journal.entries if not e.ok), None)
    why = (
        f"{refused.call.tool} is refused: {refused.refusal.kind.value}"
        if refused and refused.refusal
        else "its replay is not full"
    )
    return Built(reason="no_reference", detail=why, grade=grade, entries=entries)


def decide_case(shard: Shard, case: Case, task: TaskSpec, built: Built, *, trivial: bool, difficulty: tuple[str, ...]) -> None:
    """The first reason in the order of REASONS, or a draft. `trivial`: the opening alone gives the whole outcome."""
    reason, detail = built.reason, built.detail
    if reason == "underivable" and speaks_of_off_system(case):
        reason = "off_system"
    if reason in ("", "breaks_rule") and trivial:
        reason, detail = "trivial", ""
    if reason or built.answer is None:
        return shard.drop(case, task.workflow, reason, detail, difficulty)
    shard.drop(case, task.workflow, KEPT, "", difficulty)
    shard.drafts.append(
        Draft(
            task=task,
            answer=built.answer,
            group=shard.work.groups.get(task.organisation, task.organisation),
            closed_at=iso(case.closed_us if case.closed_us is not None else _last_us(case)),
            closing=closing(case.turns),
            heard=heard_and_told(case, task.requester),
            later_messages=tuple(message_turn_texts(case)),
            requester_turns=tuple(turn.text for turn in case.turns if turn.by_requester and turn.text.strip()),
            requester=case.requester or "",
            difficulty=difficulty,
        )
    )
    return None


def _last_us(case: Case) -> int:
    times = [t.at_us for t in case.turns if t.at_us is not None]
    return max(times) if times else started_us(case)


def all_in_opening(answer: Answer) -> bool:
    """True if every argument of the recorded writes and of the finish already stands in the opening."""
    return all(
        where in ("opening", DECISION, CONSTANT)
        for step in answer.reference
        if not step.planned
        for name, where in step.derived_from.items()
    )
