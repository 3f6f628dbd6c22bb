"""Two processes under torchrun are one trainer: the same episodes, the same decisions, the same parameters to fp32's rounding."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from rewards.score import Grader
from schemas.taskset import TaskSet
from training import checkpoint, ppo, team
from training.config import Config
from training.policy import Policy
from training.rollout import Played, play
from training.symbols import SymbolCodec

from .conftest import read_rows

ROUNDING = 1e-5
OWN = {"cpu_seconds", "seconds_rollout", "seconds_score", "seconds_update"}


def arguments(config: Config) -> list[str]:
    """The settings that differ from the defaults, as a command line."""
    out: list[str] = []
    for field in dataclasses.fields(Config):
        value, flag = getattr(config, field.name), f"--{field.name.replace('_', '-')}"
        if value == field.default:
            continue
        out += [flag if value else f"--no-{flag[2:]}"] if isinstance(value, bool) else [flag, str(value)]
    return out


def torchrun(config: Config, root: Path, processes: int = 2) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return subprocess.run(
        [*command, "-m", "--", "training.ppo", *arguments(config)],
        cwd=root, env=dict(os.environ), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def digests(folder: Path) -> list[str]:
    """What was sampled in each iteration: the audit log holds the digest of all token ids."""
    return (folder / "trained_on.jsonl").read_text().splitlines()


def parameters(folder: Path) -> dict[str, torch.Tensor]:
    return dict(checkpoint.load(folder, checkpoint.steps(folder)[-1])[1]["policy"])


@pytest.fixture
def two(tiny: Config) -> Config:
    return dataclasses.replace(
        tiny, iterations=2, value_warmup=1, save_every=1, evaluate=False, noise="episode", microbatch=2, validation_share=0.3,
        eval_every=1,
    )  # fmt: skip


def test_two_processes_give_what_one_gives(two: Config, repo_root: Path) -> None:
    alone = ppo.train(dataclasses.replace(two, run="alone"))
    done = torchrun(dataclasses.replace(two, run="both"), repo_root)
    assert done.returncode == 0, done.stderr[-3000:]
    both = alone.parent / "both"
    assert digests(both) == digests(alone)
    for name, value in parameters(alone).items():
        assert float((value - parameters(both)[name]).abs().max()) <= ROUNDING, name
    for one, other in zip(read_rows(alone), read_rows(both), strict=True):
        assert one.keys() - OWN == other.keys() - OWN
        for name in one.keys() - OWN:
            assert one[name] == pytest.approx(other[name], rel=1e-3, abs=1e-4), name


def test_a_run_of_two_processes_goes_on_in_one(two: Config, repo_root: Path) -> None:
    shorter = dataclasses.replace(two, run="moved", control="shuffled_reward", sampling="difficulty")
    alone = ppo.train(dataclasses.replace(shorter, run="unmoved"))
    done = torchrun(shorter, repo_root)
    assert done.returncode == 0, done.stderr[-3000:]
    folder = alone.parent / "moved"
    for path in (folder / "step_2").iterdir():
        path.unlink()
    (folder / "step_2").rmdir()
    assert ppo.train(shorter) == folder
    assert digests(folder) == digests(alone)
    for name, value in parameters(alone).items():
        assert float((value - parameters(folder)[name]).abs().max()) <= ROUNDING, name


def test_what_one_process_cannot_do_ends_all_with_one_line(two: Config, repo_root: Path) -> None:
    done = torchrun(dataclasses.replace(two, context=64), repo_root)
    assert done.returncode != 0
    assert "error: --context 64 is too small" in done.stderr


def test_an_episode_draws_its_own_whatever_is_played_beside_it(
    policy: Policy, taskset: TaskSet, grader: Grader, codec: SymbolCodec, tiny: Config
) -> None:
    jobs = [(task, 0) for task in sorted(taskset.tasks)[:6]]
    config = dataclasses.replace(tiny, episodes=6, noise="episode")

    def rollout(which: Sequence[int], at_once: int = 0) -> list[Played]:
        return play(
            policy, taskset, grader, codec, [jobs[i] for i in which], context=384, generator=torch.Generator(), at_once=at_once,
            chances=[ppo.chances(config, 3)[i] for i in which],
        )  # fmt: skip

    together = [p.tape.digest for p in rollout(range(6))]
    assert [p.tape.digest for p in rollout(range(6), at_once=4)] == together
    assert [p.tape.digest for p in rollout([5, 1])] == [together[5], together[1]]
    assert len(set(together)) == 6


def test_alone_nothing_is_shared_out() -> None:
    assert not team.started()
    assert team.share([1, 2, 3]) == team.gathered([1, 2, 3]) == [1, 2, 3]
    assert team.sums({"a": 0.1}) == {"a": 0.1}
