"""The floor of agents that look but do not read: full where a mere decision is asked for, and only with one of each workflow."""

from __future__ import annotations

import pytest

from schemas.files import read_models
from schemas.task import Answer
from schemas.taskset import TaskSet, open_taskset
from tasks.floor import UnreadFloor, unread_floor
from tests.taskset_factory import build_taskset


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[TaskSet, dict[str, Answer]]:
    folder = build_taskset(tmp_path_factory.mktemp("small") / "small")
    return open_taskset(folder, "train"), {a.task_id: a for a in read_models(folder / "train" / "answers.jsonl", Answer)}


def of(small: tuple[TaskSet, dict[str, Answer]], *keys: str) -> list[UnreadFloor]:
    taskset, answers = small
    return unread_floor(taskset, {f"small-{key}": answers[f"small-{key}"] for key in keys}, seed=1)


def test_a_refusal_is_reached_by_looking_and_a_write_is_not(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    assert of(small, "cancel_refused") == [UnreadFloor("cancel", 1, "cancel_refused_shipped", 1)]
    assert of(small, "cancel_grant") == [UnreadFloor("cancel", 1, "", 0)]


def test_one_outcome_counts_for_each_workflow_the_best(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    _, answers = small
    refused = ("late_refused", "damaged_refused", "double_refused", "approval_refused")
    codes = [answers[f"small-{key}"].outcome.code for key in refused]
    [row] = of(small, *refused, "late_grant")
    assert (row.workflow, row.tasks) == ("refund", 5)
    assert row.full == max(codes.count(code) for code in codes) < len(refused)
    assert codes.count(row.code) == row.full


def test_workflows_are_told_apart_and_only_answered_tasks_count(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    rows = of(small, "cancel_refused", "goodwill_refused", "exchange_refused")
    assert [(row.workflow, row.tasks, row.full) for row in rows] == [("cancel", 1, 1), ("exchange", 1, 1), ("goodwill", 1, 1)]


def test_whoever_skips_a_demanded_look_is_not_full(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    answer = answers["small-cancel_refused"]
    bare = answer.model_copy(update={"reference": answer.reference[-1:]})
    assert unread_floor(taskset, {answer.task_id: bare}, seed=1) == [UnreadFloor("cancel", 1, "", 0)]
