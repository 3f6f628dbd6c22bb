"""An engine in a process of its own: the same episodes' probabilities, weights that arrive, and one line when it goes wrong."""

from __future__ import annotations

import dataclasses
import os
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from rewards.score import Grader
from schemas.errors import StageError
from schemas.taskset import TaskSet
from tests.engine_server import State, Wrong, serving
from tests.language_model_factory import build_language_model
from training import checkpoint, losses, ppo
from training.config import Config, check_config, defaults
from training.engine import Vllm
from training.engine_rollout import play_by
from training.models import make_codec, new_policy
from training.policy import collate, score
from training.tokens import Vocabulary

from .conftest import read_rows
from .test_team import digests, torchrun

CONTEXT = 3000


@pytest.fixture(scope="module")
def model(taskset: TaskSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_language_model(tmp_path_factory.mktemp("models") / "qwen3", taskset, rows=5000)


@pytest.fixture
def server(model: Path) -> Iterator[State]:
    with serving(model) as state:
        yield state


@pytest.fixture
def config(model: Path, small_folder: Path, server: State) -> Config:
    other: dict[str, Any] = {
        "taskset": str(small_folder), "model": str(model), "context": CONTEXT, "min_count": 1, "warm_epochs": 0,
        "validation_share": 0.0, "iterations": 2, "episodes": 2, "minibatch": 2, "microbatch": 2, "value_warmup": 0,
        "save_every": 1, "eval_every": 0, "kl_stop": 10.0, "lr": 1e-3, "quiet": True, "engine": "vllm",
        "engine_url": server.url, "engine_timeout": 30.0,
    }  # fmt: skip
    return Config(**{**defaults(str(model), engine="vllm"), **other})


def test_nothing_goes_through_a_proxy_of_the_environment(server: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert Vllm(server.url, tmp_path, 10, 30.0).model


def folder_of(name: str) -> Path:
    return Path(os.environ["RECORDGYM_DATA"]) / "runs" / name


@pytest.mark.parametrize("settings", [{}, {"decoding": "free", "action_tokens": 16, "temperature": 0.7}], ids=str)
def test_what_the_engine_samples_has_the_trainers_log_probabilities(
    config: Config,
    server: State,
    vocabulary: Vocabulary,
    taskset: TaskSet,
    grader: Grader,
    tmp_path: Path,
    settings: dict[str, Any],
) -> None:
    config = dataclasses.replace(config, **settings)
    codec = make_codec(config, vocabulary)
    policy = new_policy(config, codec)
    engine = Vllm(server.url, tmp_path, codec.size, 30.0)
    with torch.no_grad():
        for parameter in policy.model.parameters():
            parameter.mul_(1.1)  # no longer what the server began with
    engine.push(policy, 0)
    jobs = [(task, 0) for task in sorted(taskset.tasks)[:2]]

    def rollout() -> list[Any]:
        chances = [random.Random(f"7/{number}") for number in range(2)]
        return play_by(
            engine, taskset, grader, codec, jobs, context=CONTEXT, temperature=config.temperature, chances=chances
        )  # fmt: skip

    tapes = [p.tape for p in rollout()]
    assert [tape.task_id for tape in tapes] == [task for task, _ in jobs]
    with torch.no_grad():
        new = score(policy, collate(tapes, codec.size, codec.pad, policy.device), temperature=config.temperature).logprob
    old = torch.tensor([tape.logprobs[p] for tape in tapes for p in tape.actions()])
    assert float((new - old).abs().max()) <= 1e-4
    assert all(tape.intact() for tape in tapes)
    assert [p.tape.digest for p in rollout()] == [tape.digest for tape in tapes]
    assert server.resets == 1
    assert not list(tmp_path.rglob("*.safetensors"))


def test_each_rollout_is_by_the_weights_of_the_update_before(config: Config, server: State) -> None:
    folder = ppo.train(dataclasses.replace(config, run="pushed"))
    assert [Path(path).name for path in server.loaded] == ["step_0", "step_1"]
    _, one = checkpoint.load(folder, 1)
    _, start = checkpoint.load(folder, 0)
    served = {f"model.{name}": value for name, value in server.model.state_dict().items()}
    assert all(torch.equal(one["policy"][name], value) for name, value in served.items())
    assert any(not torch.equal(start["policy"][name], value) for name, value in served.items())
    for row in read_rows(folder):
        assert float(str(row["logprob_drift"])) < 1e-3
        assert float(str(row["importance_mean"])) == pytest.approx(1.0, abs=1e-3)


def test_two_processes_share_an_engine(config: Config, server: State, repo_root: Path) -> None:
    """Each asks for its own episodes; one pushes the weights."""
    config = dataclasses.replace(config, iterations=1, microbatch=1, evaluate=False)
    alone = ppo.train(dataclasses.replace(config, run="engine-alone"))
    server.loaded.clear()
    done = torchrun(dataclasses.replace(config, run="engine-both"), repo_root)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(server.loaded) == 1
    assert digests(folder_of("engine-both")) == digests(alone)


@pytest.mark.parametrize(
    ("wrong", "after", "line"),
    [
        ("hang", 3, "gave no answer to /v1/completions within 1 s"),
        ("500", 3, "answered /v1/completions with 500 .*the engine core died"),
        ("dies", 3, "cannot be reached for /v1/completions"),
        ("no json", 3, "answers nonsense: what it says to /v1/completions is not JSON"),
        ("ids", 0, "answers nonsense: an id is not in"),
        ("ragged", 0, "answers nonsense: it says 1 ids and 2 log-probabilities"),
        ("raw", 0, "log-probabilities are .* from the trainer's on average"),
        ("no weights", 0, "answered /collective_rpc with 404 .*VLLM_SERVER_DEV_MODE=1"),
    ],
)
def test_an_engine_that_goes_wrong_is_one_line_and_the_run_goes_on_later(
    config: Config, server: State, wrong: Wrong, after: int, line: str
) -> None:
    name = f"wrong-{wrong.replace(' ', '-')}"
    broken = dataclasses.replace(config, run=name, engine_timeout=1.0 if wrong == "hang" else 30.0, iterations=1)
    server.wrong, server.after = wrong, after
    with pytest.raises(StageError, match=line) as stopped:
        ppo.train(broken)
    assert "\n" not in str(stopped.value)
    assert checkpoint.steps(folder_of(name)) == [0]
    if wrong != "raw":
        assert f"{name}/step_0 is whole" in str(stopped.value)
    if wrong == "500":
        server.wrong, server.loaded[:] = "", []
        ppo.train(broken)
        assert checkpoint.steps(folder_of(name)) == [0, 1]


def test_an_engine_that_keeps_old_weights_is_found_out(config: Config, server: State) -> None:
    server.wrong = "other model"
    with pytest.raises(StageError, match="serves another model or old weights"):
        ppo.train(dataclasses.replace(config, run="stale", lr=0.3, iterations=3))


def test_no_server_is_said_before_anything_is_made(config: Config) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StageError, match="cannot be reached for /v1/models"):
            ppo.train(dataclasses.replace(config, run="nobody", engine_url=nobody))


@pytest.mark.parametrize("wrong", [{"engine_url": ""}, {"lora_rank": 2}, {"engine": "hf"}, {"engine_timeout": 0.0}], ids=str)
def test_settings_that_an_engine_cannot_have_are_refused(config: Config, wrong: dict[str, Any]) -> None:
    with pytest.raises(StageError, match="--engine"):
        check_config(dataclasses.replace(config, **wrong))


def test_importance_weights_are_truncated_at_the_cap() -> None:
    old, rollout = torch.tensor([-1.0, -1.0, -1.0]), torch.tensor([-1.0, -3.0, -0.5])
    assert losses.importance(old, rollout, cap=2.0).tolist() == pytest.approx([1.0, 2.0, 0.60653], abs=1e-5)
