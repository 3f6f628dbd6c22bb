"""Certificates: the proof of one task, by real replays of its reference, its mutants and the shortcut panel.

Every check is a file of its own in tasks/certificates; here they are run in their order and signed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from environments.agents import ConstantOutcome, run_episode
from environments.episode import Episode
from pipeline.manifest import code_version
from rewards.score import Grader
from schemas.errors import RecordgymError
from schemas.proof import Proof
from schemas.records import OutcomeCode
from schemas.task import CERTIFICATE_VERSION, Answer, Certificate, Check, ScoreBounds, TaskSpec
from schemas.taskset import TaskSet, task_digest
from tasks.certificates import checks
from tasks.certificates._bench import Bench, Placement, Said

__all__ = ["CHECKED", "CHECKS", "ConstantRate", "Placement", "certify_task", "constant_outcome_rates"]

CHECKED = ("schemas", "environments", "rewards", "tasks")
"""Packages whose code the certificate names by its digest."""
CHECKS = checks()
"""Id -> check, in the order in which they run."""


@dataclass(frozen=True, slots=True)
class ConstantRate:
    """How often always answering `code` is right, against how often `code` is the recorded answer (C3)."""

    code: str
    base_rate: float
    """Share of tasks whose answer is this code, in [0, 1]."""
    rate: float
    """Share of tasks that the constant agent solves, in [0, 1]; never above `base_rate` in a sound set."""


def certify_task(
    taskset: TaskSet, task: TaskSpec, answer: Answer, proof: Proof, placement: Placement
) -> tuple[Certificate, ScoreBounds]:
    """Certificate and score bounds of one task of `taskset`.

    A failed check stands in the certificate; a check that an error of the world or the grader stopped reads "could_not_run".
    Bounds: g_max is the reference's return, g_min that of the worst of the panel (docs/decisions/0026-the-scores-floor.md).
    """
    results: dict[str, Said]
    g_min, g_max, replays, grades = 0.0, 0.0, 0, ""
    try:
        bench = Bench(taskset, task, answer, proof, placement, Grader(taskset, {task.task_id: answer}), Episode(taskset))
        bench.whole()
    except RecordgymError as error:
        results = dict.fromkeys(CHECKS, ("could_not_run", f"the reference does not play: {error}"))
    else:
        results = {name: _run(name, bench) for name in CHECKS}
        g_min, g_max = min(bench.returns.values(), default=0.0), bench.whole().grade.return_
        replays, grades = bench.replays, bench.grades.hexdigest()
    certificate = Certificate(
        task_id=task.task_id,
        task_sha256=task_digest(task, answer),
        code_version=code_version(*CHECKED),
        checks=tuple(Check(id=name, verdict=verdict, detail=detail) for name, (verdict, detail) in results.items()),
        version=CERTIFICATE_VERSION,
        replays=replays,
        grades_sha256=grades,
    )
    return certificate, ScoreBounds(g_min=g_min, g_max=g_max)


def _run(name: str, bench: Bench) -> Said:
    try:
        return CHECKS[name].run(bench)
    except RecordgymError as error:
        return "could_not_run", f"{type(error).__name__}: {error}"


def constant_outcome_rates(
    taskset: TaskSet, answers: Mapping[str, Answer], *, codes: Mapping[str, OutcomeCode], seed: int
) -> list[ConstantRate]:
    """C3 over the tasks of `taskset` that have an answer: one row a code that is some task's answer, sorted by code.

    The constant agent plays every task of the code's workflow; elsewhere its code is not one that could be right.
    """
    grader, episode = Grader(taskset, answers), Episode(taskset)
    tasks = [task for task in taskset.tasks.values() if task.task_id in answers]
    used = sorted({answers[task.task_id].outcome.code for task in tasks})
    rates = []
    for code in used:
        solved = 0
        for task in tasks:
            if code in codes and codes[code].workflow != task.workflow:
                continue
            journal = run_episode(episode, ConstantOutcome(code), task.task_id, seed).journal
            solved += grader.grade(journal).success
        right = sum(answers[task.task_id].outcome.code == code for task in tasks)
        rates.append(ConstantRate(code, right / len(tasks), solved / len(tasks)))
    return rates
