"""Certificates: the proof of one task, by real replays of its reference, its mutants and the shortcut panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.records import OutcomeCode
from schemas.task import Answer, Certificate, ScoreBounds, TaskSpec
from schemas.taskset import TaskSet


@dataclass(frozen=True, slots=True)
class ConstantRate:
    """How often always answering `code` is right, against how often `code` is the recorded answer (C3)."""

    code: str
    base_rate: float
    """Share of tasks whose answer is this code, in [0, 1]."""
    rate: float
    """Share of tasks that the constant agent solves, in [0, 1]; never above `base_rate` in a sound set."""


def certify_task(
    taskset: TaskSet,
    task: TaskSpec,
    answer: Answer,
    *,
    codes: Mapping[str, OutcomeCode],
    forms: dict[str, dict[str, list[str]]],
    seed: int,
) -> tuple[Certificate, ScoreBounds]:
    """Certificate and score bounds of one task. `codes` = CodeBook.outcomes. A failed check is in the certificate, never an exception."""
    raise NotImplementedError


def constant_outcome_rates(
    taskset: TaskSet, answers: Mapping[str, Answer], *, codes: Mapping[str, OutcomeCode], seed: int
) -> list[ConstantRate]:
    """C3 over the tasks of `taskset` that have an answer: one row a code that is some task's answer, sorted by code."""
    raise NotImplementedError


__all__: Sequence[str] = ("ConstantRate", "certify_task", "constant_outcome_rates")
