"""A small task set with reference episodes, and settings so small that a run takes seconds."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from rewards.score import Grader, load_grader
from schemas.taskset import TaskSet, open_taskset
from tests.reference_episodes import add_trajectories
from tests.taskset_factory import build_taskset
from training import checkpoint
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


def untimed(folder: Path) -> list[dict[str, object]]:
    """The rows of metrics without what the clock says."""
    timings = {"cpu_seconds", "seconds_rollout", "seconds_score", "seconds_update"}
    return [{k: v for k, v in row.items() if k not in timings} for row in read_rows(folder)]


def parameters(folder: Path) -> dict[str, torch.Tensor]:
    """Of the last checkpoint."""
    _, state = checkpoint.load(folder, checkpoint.steps(folder)[-1])
    return dict(state["policy"])


def flags(config: Config) -> list[str]:
    """The command line of these settings."""
    out = []
    for field in dataclasses.fields(Config):
        value, name = getattr(config, field.name), field.name.replace("_", "-")
        if value is True or value is False:
            out.append(f"--{name}" if value else f"--no-{name}")
        elif value != field.default:
            out += [f"--{name}", str(value)]
    return out


def killed_at(config: Config, step: int, root: Path) -> Path:
    """Runs `python -m training.ppo` and kills it (-9) as soon as step_<step> stands in the run's folder, which is returned."""
    command = [sys.executable, "-m", "training.ppo", *flags(dataclasses.replace(config, evaluate=False))]
    process = subprocess.Popen(
        command, cwd=root, env=dict(os.environ), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    folder = Path(os.environ["RECORDGYM_DATA"]) / "runs" / config.run
    deadline = time.monotonic() + 120
    while not (folder / f"step_{step}").exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate()
    assert step in checkpoint.steps(folder), said
    return folder
