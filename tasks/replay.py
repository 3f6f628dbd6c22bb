"""A reference found, played through a real episode under the grader, and the case kept or dropped by what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environments.agents import ReferenceAgent, UnseenValue, run_episode
from environments.episode import Episode
from rewards.path import compile_rule
from rewards.rule import applies
from rewards.score import Grader
from schemas.episode import Grade, JournalEntry, RowChange, ToolCall
from schemas.errors import GraderError, WorldError
from schemas.task import Answer, Outcome, ReferenceStep, TaskSpec
from schemas.taskset import TaskSet
from tasks.case import Case, iso
from tasks.derive import Broken, Deriver, Underivable
from tasks.prompt import started_us
from tasks.reference import NoPath, Target, invert
from tasks.requester import closing, message_turn_texts
from tasks.select import KEPT, speaks_of_off_system
from tasks.shard import (
    Draft,
    Fit,
    Shard,
)


@dataclass(slots=True)
class Built:
    """A reference that was played, or why there is none."""

    answer: Answer | None = None
    reason: str = ""
    detail: str = ""
    grade: Grade | None = None
    recorded: tuple[ToolCall, ...] = ()
    """The acts that the records show: writes and the finish."""
    broken: frozenset[str] = frozenset()
    """Rules that they break."""
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
    known: Mapping[str, list[dict[str, Any]]] | None = None,
    calls: Sequence[ToolCall] = (),
    reads: Sequence[ToolCall] = (),
    answer: Mapping[str, Any] | None = None,
) -> Built:
    """Finds the reference and plays it through a real episode under the grader."""
    taskset = shard.taskset
    taskset.tasks = {task.task_id: task}
    named = (
        {w.record_id for w in writes} | {str(v) for w in writes for v in w.fields.values()} | {str(finish.arguments.get("about"))}
    )
    built = _found(taskset, task, outcome_class, finish, writes, known, calls, reads, answer)
    recorded = built.recorded or (*calls, finish)
    if built.reason in ("", "breaks_rule"):
        shard.fits.append(Fit(record_id=task.task_id, applied=_applied(task, recorded), broken=tuple(sorted(built.broken))))
    built.touched = built.touched | named
    return built


def _found(
    taskset: TaskSet,
    task: TaskSpec,
    outcome_class: str,
    finish: ToolCall,
    writes: Sequence[Any],
    known: Mapping[str, list[dict[str, Any]]] | None,
    calls: Sequence[ToolCall],
    reads: Sequence[ToolCall],
    answer: Mapping[str, Any] | None,
) -> Built:
    try:
        episode = Episode(taskset)
        episode.reset(task.task_id)
        state = taskset.state(task)
        targets = invert(writes, episode.tools, state)
        deriver = Deriver(episode, task.requester.facts, task.rules, state, known=known)
        writing = [t.call for t in targets] or list(calls)
        if not targets and calls:
            targets = [_declared_target(call, episode) for call in calls]
        steps = deriver.steps(writing, finish, reads=reads)
        return _played(taskset, task, _answer(task, outcome_class, finish, targets, steps, answer))
    except NoPath as none:
        return Built(reason="no_reference", detail=str(none))
    except Underivable as missing:
        return Built(reason="underivable", detail=str(missing))
    except Broken as broken:
        return Built(reason="breaks_rule", detail=str(broken), broken=frozenset({str(broken)}))
    finally:
        taskset._states.clear()


def _applied(task: TaskSpec, calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """Rules in force that judge one of these calls."""
    found = []
    for ref in task.rules:
        _, parameters = compile_rule(ref.rule, ref.parameters)
        when = getattr(parameters, "when", {})
        if any(call.tool == parameters.tool and applies(when, call.arguments) for call in calls):
            found.append(ref.id)
    return tuple(sorted(found))


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
) -> Answer:
    about = finish.arguments.get("about")
    outcome = Outcome(
        kind="answer" if answer else "difference",
        code=finish.arguments["code"],
        about=about,
        changes=tuple(t.change for t in targets),
        answer=dict(answer or {}),
        ignored_fields=tuple(sorted({f for t in targets for f in t.ignored})),
    )
    return Answer(task_id=task.task_id, outcome=outcome, outcome_class=outcome_class, reference=tuple(steps))


def _played(taskset: TaskSet, task: TaskSpec, answer: Answer) -> Built:
    grader = Grader(taskset, {task.task_id: answer})
    try:
        trace = run_episode(Episode(taskset, grader), ReferenceAgent(answer.reference), task.task_id, name="reference")
    except UnseenValue as missing:
        return Built(reason="underivable", detail=f"{missing.tool}.{missing.argument} is shown by nothing")
    except (WorldError, GraderError) as error:
        return Built(reason="no_reference", detail=str(error)[:200])
    grade = trace.grade
    assert grade is not None
    entries = trace.journal.entries
    recorded = tuple(step.call for step in answer.reference if not step.planned)
    if grade.full:
        return Built(answer=answer, grade=grade, entries=entries, recorded=recorded)
    rules = sorted({v.rule for v in grade.violations} & {r.id for r in task.rules})
    if rules:
        detail, broken = ", ".join(rules), frozenset(rules)
        return Built(reason="breaks_rule", detail=detail, grade=grade, entries=entries, recorded=recorded, broken=broken)
    refused = next((e for e in trace.journal.entries if not e.ok), None)
    why = (
        f"{refused.call.tool} is refused: {refused.refusal.kind.value}"
        if refused and refused.refusal
        else "its replay is not full"
    )
    return Built(reason="no_reference", detail=why, grade=grade, entries=entries)


def decide_case(shard: Shard, case: Case, task: TaskSpec, built: Built, *, trivial: bool, difficulty: tuple[str, ...]) -> None:
    """The first reason in the order of REASONS, or a draft."""
    off_system = built.reason == "underivable" and speaks_of_off_system(case)
    if off_system:
        return shard.drop(case, task.workflow, "off_system", built.detail, difficulty)
    if trivial and built.answer is not None and _all_in_opening(built.answer, task):
        return shard.drop(case, task.workflow, "trivial", "", difficulty)
    if built.answer is None:
        return shard.drop(case, task.workflow, built.reason, built.detail, difficulty)
    shard.drop(case, task.workflow, KEPT, "", difficulty)
    shard.drafts.append(
        Draft(
            task=task,
            answer=built.answer,
            group=shard.work.groups.get(task.organisation, task.organisation),
            closed_at=iso(case.closed_us if case.closed_us is not None else _last_us(case)),
            closing=closing(case.turns),
            later_messages=tuple(message_turn_texts(case)),
            requester=case.requester or "",
            difficulty=difficulty,
        )
    )
    return None


def _last_us(case: Case) -> int:
    times = [t.at_us for t in case.turns if t.at_us is not None]
    return max(times) if times else started_us(case)


def _all_in_opening(answer: Answer, task: TaskSpec) -> bool:
    """True if every argument of the recorded writes and of the finish already stands in the opening."""
    return all(
        where in ("opening", "enum", "constant") or name == "code"
        for step in answer.reference
        if not step.planned
        for name, where in step.derived_from.items()
    )
