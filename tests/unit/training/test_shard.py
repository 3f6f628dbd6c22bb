"""A model in pieces over two processes learns what a whole one learns, and its checkpoints are whole."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from schemas.errors import StageError
from schemas.taskset import TaskSet
from tests.language_model_factory import build_language_model
from training import checkpoint, ppo
from training.config import Config, defaults

from .test_team import ROUNDING, digests, parameters, torchrun


@pytest.fixture
def lm(taskset: TaskSet, small_folder: Path, tmp_path: Path) -> Config:
    model = build_language_model(tmp_path / "qwen3", taskset, rows=3000)
    other: dict[str, Any] = {
        "taskset": str(small_folder), "model": str(model), "context": 3000, "min_count": 1, "warm_epochs": 1, "warm_lr": 1e-4,
        "warm_detours": 0.0, "warm_share": 0.2, "validation_share": 0.0, "iterations": 2, "episodes": 3, "minibatch": 3,
        "microbatch": 1, "value_warmup": 1, "save_every": 1, "eval_every": 0, "kl_stop": 10.0, "lr": 1e-4, "quiet": True,
        "noise": "episode", "evaluate": False, "device": "cpu",
    }  # fmt: skip
    return Config(**{**defaults(str(model)), **other})


def test_a_model_in_pieces_learns_what_a_whole_one_learns(lm: Config, repo_root: Path) -> None:
    """Three episodes on two processes: one passes through once more, for the other's sake."""
    whole = ppo.train(dataclasses.replace(lm, run="whole"))
    done = torchrun(dataclasses.replace(lm, run="pieces", shard=True), repo_root)
    assert done.returncode == 0, done.stderr[-3000:]
    pieces = whole.parent / "pieces"
    assert digests(pieces) == digests(whole)
    moved = checkpoint.load(whole, 0)[1]["policy"]
    for name, value in parameters(whole).items():
        assert float((value - parameters(pieces)[name]).abs().max()) <= ROUNDING, name
    assert any(float((value - moved[name]).abs().max()) > 5 * ROUNDING for name, value in parameters(whole).items())
    adam, cut = (checkpoint.load(folder, 1)[1]["optimizer"]["state"] for folder in (whole, pieces))
    assert adam.keys() == cut.keys()
    assert all(torch.allclose(adam[at][k], cut[at][k], atol=ROUNDING) for at in adam for k in adam[at])
    # Killed after the first iteration, the pieces go on, Adam's state included; so would one process.
    shutil.rmtree(pieces / "step_2")
    done = torchrun(dataclasses.replace(lm, run="pieces", shard=True), repo_root)
    assert done.returncode == 0, done.stderr[-3000:]
    for name, value in parameters(whole).items():
        assert float((value - parameters(pieces)[name]).abs().max()) <= ROUNDING, name


def test_pieces_need_several_processes(lm: Config) -> None:
    with pytest.raises(StageError, match="start it with torchrun"):
        ppo.train(dataclasses.replace(lm, shard=True))
