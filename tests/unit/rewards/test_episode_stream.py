"""Rewards of real episodes: what `Episode.step` hands out is what the journal alone is judged to be worth."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from environments.agents import PANEL, run_episode
from environments.episode import Episode
from rewards.score import Grader, Stepper, load_grader
from schemas.episode import Journal
from schemas.taskset import TaskSet, open_taskset
from tests.taskset_factory import build_taskset


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> tuple[TaskSet, Grader]:
    folder: Path = build_taskset(tmp_path_factory.mktemp("set") / "small")
    taskset = open_taskset(folder, "train")
    return taskset, load_grader(taskset)


@pytest.mark.parametrize("agent", sorted(PANEL))
def test_the_rewards_of_an_episode_are_those_of_its_journal(opened: tuple[TaskSet, Grader], agent: str) -> None:
    taskset, grader = opened
    episode = Episode(taskset, grader)
    for seed, task_id in enumerate(taskset.tasks):
        player = PANEL[agent](seed)
        observation = episode.reset(task_id, seed)
        player.start(episode.task, episode.tools, observation)
        rewards = []
        while not episode.done:
            step = episode.step(player.act(observation))
            observation = step.observation
            rewards.append(step.reward)
        again = grader.grade(Journal.model_validate_json(episode.journal.model_dump_json()))
        assert tuple(rewards) == again.rewards
        assert not again.success


def test_stalling_and_closing_at_once_are_worst_on_every_task(opened: tuple[TaskSet, Grader]) -> None:
    """Against an honest try: everything read as the reference does, then the wrong decision."""
    taskset, grader = opened
    episode = Episode(taskset)
    for task_id in taskset.tasks:
        answer = grader.criteria(task_id).answer
        stalled = grader.grade(run_episode(episode, PANEL["do_nothing"](0), task_id).journal).return_
        closed = grader.grade(run_episode(episode, PANEL["finish_at_once"](0), task_id).journal).return_
        episode.reset(task_id)
        for made in answer.reference:
            if made.planned and made.call.tool != "read_policy":
                episode.step(made.call)
        last = answer.reference[-1].call
        code = next(
            c for c in episode.tools["resolve"].parameters["properties"]["code"]["enum"] if not c.startswith(task_id[6:9])
        )
        episode.step(last.model_copy(update={"arguments": {**last.arguments, "code": code}}))
        tried = grader.grade(episode.journal)
        assert not tried.success
        if not any(event.violation for event in tried.events):
            assert tried.return_ > max(stalled, closed)


def test_the_whole_reward_of_a_reference_costs_a_fraction_of_a_millisecond(opened: tuple[TaskSet, Grader]) -> None:
    taskset, grader = opened
    episode = Episode(taskset)
    task_id = "small-approval_grant"
    criteria, base = grader.criteria(task_id), taskset.state(taskset.tasks[task_id])
    episode.reset(task_id)
    for made in criteria.answer.reference:
        episode.step(made.call)
    entries = episode.journal.entries
    best = float("inf")
    for _ in range(30):
        start = time.process_time()
        for _ in range(10):
            stepper = Stepper(criteria, base)
            for entry in entries:
                stepper.step(entry)
        best = min(best, (time.process_time() - start) / 10)
    assert best < 6e-4
