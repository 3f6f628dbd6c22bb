"""A small task set with reference episodes, and settings so small that a run takes seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewards.score import Grader, load_grader
from schemas.taskset import TaskSet, open_taskset
from tests.reference_episodes import add_trajectories
from tests.taskset_factory import build_taskset
from training.config import Config
from training.corpus import build_vocabulary, read_trajectories
from training.policy import Policy, small_model
from training.symbols import SymbolCodec
from training.tokens import Vocabulary


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_trajectories(build_taskset(tmp_path_factory.mktemp("tasksets") / "small"))


@pytest.fixture(scope="session")
def taskset(small_folder: Path) -> TaskSet:
    return open_taskset(small_folder, "train")


@pytest.fixture(scope="session")
def grader(taskset: TaskSet) -> Grader:
    return load_grader(taskset)


@pytest.fixture(scope="session")
def vocabulary(taskset: TaskSet) -> Vocabulary:
    return build_vocabulary(taskset, read_trajectories(taskset), min_count=1)


@pytest.fixture(scope="session")
def codec(vocabulary: Vocabulary) -> SymbolCodec:
    return SymbolCodec(vocabulary)


@pytest.fixture
def policy(vocabulary: Vocabulary) -> Policy:
    return small_model(vocabulary, width=32, layers=2, heads=2, context=384, seed=3)


@pytest.fixture
def tiny(small_folder: Path) -> Config:
    """A whole run in a few seconds; it learns nothing to speak of."""
    return Config(
        taskset=str(small_folder),
        width=32,
        layers=1,
        heads=2,
        context=384,
        min_count=1,
        warm_epochs=2,
        iterations=4,
        episodes=8,
        minibatch=4,
        microbatch=4,
        value_warmup=1,
        save_every=2,
        eval_every=0,
        quiet=True,
    )


def read_rows(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
