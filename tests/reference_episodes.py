"""The episodes that a warm start imitates, for a small task set: each reference path, played."""

from __future__ import annotations

from pathlib import Path

from environments.agents import action_text
from environments.episode import Episode
from rewards.score import load_grader
from schemas.files import write_models
from schemas.task import Trajectory
from schemas.taskset import open_taskset


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
