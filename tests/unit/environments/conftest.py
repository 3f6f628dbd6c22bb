"""One small task set for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from environments.episode import Episode
from rewards.score import load_grader
from schemas.files import read_models
from schemas.task import Answer
from schemas.taskset import TaskSet, open_taskset
from tests.taskset_factory import build_taskset


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_taskset(tmp_path_factory.mktemp("taskset") / "small")


@pytest.fixture(scope="session")
def small(small_folder: Path) -> TaskSet:
    return open_taskset(small_folder, "train")


@pytest.fixture(scope="session")
def answers(small_folder: Path) -> dict[str, Answer]:
    return {a.task_id: a for a in read_models(small_folder / "train" / "answers.jsonl", Answer)}


@pytest.fixture
def episode(small: TaskSet) -> Episode:
    """Without a grader."""
    return Episode(small)


@pytest.fixture
def graded(small: TaskSet) -> Episode:
    return Episode(small, load_grader(small))
