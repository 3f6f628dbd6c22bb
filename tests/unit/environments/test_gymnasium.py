"""The gymnasium door against the real library, warnings being errors."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from environments.agents import action_text
from environments.doors.gymnasium import ID, JsonText, RecordsEnv
from rewards.score import load_grader
from schemas.errors import WorldError
from schemas.task import Answer
from schemas.taskset import TaskSet


def test_the_environment_passes_gymnasiums_checker(small_folder: Path) -> None:
    env = gymnasium.make(ID, taskset=small_folder, render_mode="ansi")
    check_env(env.unwrapped)


def test_a_reference_played_through_the_door_earns_what_the_grader_says(small: TaskSet, answers: dict[str, Answer]) -> None:
    env = RecordsEnv(small)
    grader = load_grader(small)
    for task_id, answer in answers.items():
        observation, info = env.reset(seed=1, options={"task_id": task_id})
        assert env.observation_space.contains(observation)
        assert info["task_id"] == task_id
        assert {t["function"]["name"] for t in info["tools"]} == set(env.episode.tools)
        total = 0.0
        for step in answer.reference:
            observation, reward, terminated, truncated, info = env.step(action_text(step.call))
            total += reward
        assert terminated
        assert not truncated
        assert info["grade"].full
        assert info["grade"] == grader.grade(env.episode.journal)
        assert total == pytest.approx(info["grade"].return_)


def test_a_seed_draws_the_same_task_again_and_seeds_reach_many(small: TaskSet) -> None:
    env = RecordsEnv(small)
    drawn = [env.reset(seed=seed)[1]["task_id"] for seed in range(40)]
    assert drawn == [env.reset(seed=seed)[1]["task_id"] for seed in range(40)]
    assert len(set(drawn)) > 8


def test_make_vec_plays_several_at_once(small_folder: Path) -> None:
    envs = gymnasium.make_vec(ID, num_envs=3, taskset=small_folder)
    observations, infos = envs.reset(seed=3)
    assert len(observations) == 3
    assert all(text.startswith("{") for text in observations)
    assert len(infos["task_id"]) == 3
    for _ in range(30):
        observations, rewards, _, _, _ = envs.step(tuple('{"tool":"add_note","arguments":{"text":"x"}}' for _ in range(3)))
    assert rewards.shape == (3,)
    assert len(observations) == 3
    envs.close()


def test_junk_is_a_refusal_and_not_an_exception(small: TaskSet) -> None:
    env = RecordsEnv(small)
    env.reset(seed=1)
    for junk in ("", "{", '{"tool": "no_such"}', "\ud800"):
        observation, reward, terminated, _, _ = env.step(junk)
        assert '"refused"' in observation
        assert reward < 0
        assert not terminated


def test_the_held_out_side_opens_only_when_asked_for(small_folder: Path, small: TaskSet) -> None:
    assert all("-h-" not in task for task in RecordsEnv(small_folder).taskset.tasks)
    assert all("-h-" in task for task in RecordsEnv(small_folder, "heldout").taskset.tasks)
    with pytest.raises(WorldError, match="say side='train'"):
        RecordsEnv(small, "heldout")


def test_the_text_space_says_what_it_is() -> None:
    space = JsonText(("a", "b"), max_length=30, seed=1)
    assert space.contains(space.sample())
    assert not space.contains("x" * 31)
    assert not space.contains(3)
    assert space == JsonText(("a", "b"), max_length=30)
    assert space != JsonText()
    with pytest.raises(gymnasium.error.Error, match="no masks"):
        space.sample(mask=1)
