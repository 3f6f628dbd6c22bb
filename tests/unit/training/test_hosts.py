"""Episodes on Ray actors are those of one process, whoever is lost. Runs where Ray is installed; it is no part of the lock."""

from __future__ import annotations

import dataclasses
import random
import threading
import time
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from rewards.score import Grader
from schemas.errors import StageError
from schemas.taskset import TaskSet
from tests.engine_server import State
from training import hosts, ppo
from training.config import Config, check_config
from training.engine import Vllm
from training.engine_rollout import play_by
from training.models import make_codec
from training.tokens import Vocabulary

from .test_engine import CONTEXT, config, model, server  # noqa: F401 - fixtures
from .test_team import digests, parameters


@pytest.mark.filterwarnings("ignore")
def test_a_lost_actors_episodes_are_played_again_and_are_the_same(
    config: Config,  # noqa: F811
    server: State,  # noqa: F811
    vocabulary: Vocabulary,
    taskset: TaskSet,
    grader: Grader,
    tmp_path: Path,
) -> None:
    import ray

    codec = make_codec(config, vocabulary)
    codec.save(tmp_path)
    jobs = [(task, 0) for task in sorted(taskset.tasks)[:4]]

    def chances() -> list[random.Random]:
        return [random.Random(f"1/{number}") for number in range(len(jobs))]

    here = play_by(
        Vllm(server.url, tmp_path, codec.size, 30.0), taskset, grader, codec, jobs,
        context=CONTEXT, temperature=1.0, chances=chances(),
    )  # fmt: skip
    try:
        team = hosts.Hosts(dataclasses.replace(config, hosts=2), taskset, tmp_path)

        def kill(after: int) -> None:
            while server.completions < after:
                time.sleep(0.01)
            ray.kill(team.actors[0])

        killer = threading.Thread(target=kill, args=(server.completions + 6,))
        killer.start()
        there = team.play(jobs, chances())
        killer.join()
        assert team.lost == 1
        assert [p.tape.digest for p in there] == [p.tape.digest for p in here]
        assert [p.trace for p in there] == [p.trace for p in here]
        server.wrong = "500"
        with pytest.raises(StageError, match="answered /v1/completions with 500"):
            team.play(jobs, chances())
    finally:
        ray.shutdown()


def test_hosts_need_an_engine_and_ray(config: Config, taskset: TaskSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    with pytest.raises(StageError, match="--hosts 2"):
        check_config(dataclasses.replace(config, hosts=2, engine="hf", engine_url=""))
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(StageError, match=r"--hosts 2 needs Ray; run `pip install 'recordgym\[hosts\]'`"):
        hosts.Hosts(dataclasses.replace(config, hosts=2), taskset, tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_a_run_on_actors_is_the_run_of_one_process(config: Config, server: State) -> None:  # noqa: F811
    import ray

    alone = ppo.train(dataclasses.replace(config, run="no-actors"))
    server.model, server.loaded = AutoModelForCausalLM.from_pretrained(config.model).eval(), []
    try:
        spread = ppo.train(dataclasses.replace(config, run="actors", hosts=2))
    finally:
        ray.shutdown()
    assert digests(spread) == digests(alone)
    assert all(torch.equal(value, parameters(spread)[name]) for name, value in parameters(alone).items())
