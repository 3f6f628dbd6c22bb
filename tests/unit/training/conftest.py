"""A small task set with reference episodes, and settings so small that a run takes seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from environments.agents import action_text
from environments.episode import Episode
from rewards.score import Grader, load_grader
from schemas.files import write_models
from schemas.task import Trajectory
from schemas.taskset import TaskSet, open_taskset
from tests.taskset_factory import build_taskset
from training.config import Config
from training.corpus import build_vocabulary, read_trajectories
from training.policy import Policy, small_model
from training.tokens import Vocabulary


def add_trajectories(folder: Path) -> Path:
    """Writes train/trajectories.jsonl: each reference path, played."""
    taskset = open_taskset(folder, "train")
    grader = load_grader(taskset)
    rows = []
    for task_id in taskset.tasks:
        episode = Episode(taskset, grader)
        shown = [episode.reset(task_id).text]
        steps = grader.criteria(task_id).answer.reference
        shown += [episode.step(step.call).observation.text for step in steps]
        calls = tuple(action_text(step.call) for step in steps)
        rows.append(Trajectory(task_id=task_id, agent="reference", observations=tuple(shown), actions=calls))
    write_models(folder / "train" / "trajectories.jsonl", rows)
    return folder


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
