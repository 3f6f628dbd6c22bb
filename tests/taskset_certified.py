"""The small task set with certificates that were really derived, as a build leaves it: for tests of what is derived again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from rewards.score import Stepper
from schemas.episode import Grade, Journal
from schemas.files import read_json, read_models, sha256_file, write_json, write_models
from schemas.proof import Placed
from schemas.task import Answer, TaskSpec
from schemas.taskset import SideManifest, TaskSet, task_digest
from tasks.certify import Placement, certify_task
from tests.taskset_cases import FORMS
from tests.taskset_factory import PROOF, build_taskset, seal

CANARY = "6f1b6a52-6d0c-4c57-8f5e-3d8a6f3f9e10"
SOUND = (
    *("late_grant", "late_refused", "damaged_grant", "damaged_refused", "double_grant", "double_refused", "approval_grant"),
    *("approval_refused", "cancel_grant", "cancel_grant_old", "cancel_refused", "recovery_grant", "recovery_refused"),
    *("address_grant", "exchange_grant", "exchange_refused", "goodwill_refused"),
)
"""Cases of the set whose tasks hold."""
SIDES: tuple[Literal["train", "heldout"], ...] = ("train", "heldout")


def placed(task: TaskSpec, cluster: str = "c", sides: tuple[str, ...] = ("train",)) -> Placement:
    return Placement(Placed(slice=task.slice, sha256="", cluster=cluster), frozenset(sides))


def regrade(patch: pytest.MonkeyPatch, change: Callable[[Journal, Grade], dict[str, Any]]) -> None:
    """A grader that says something else of a journal: `change` gives the fields of the grade that are others."""
    real = Stepper.grade

    def grade(self: Stepper) -> Grade:
        found, entries = real(self), tuple(self._view.entries)
        ended: Literal["finish", ""] = "finish" if entries and entries[-1].finished else ""
        journal = Journal(task_id=found.task_id, seed=self.seed, entries=entries, ended_by=ended)
        return found.model_copy(update=change(journal, found))

    patch.setattr(Stepper, "grade", grade)


def build_certified(folder: Path, *, cases: tuple[str, ...] = ()) -> Path:
    """Writes the set of `build_taskset` with canaries, score bounds and real certificates into `folder` and returns it."""
    build_taskset(folder, cases=cases)
    placed: dict[str, Any] = {}
    certificates = []
    for side in SIDES:
        mark = {"canary": CANARY if side == "heldout" else ""}
        tasks = [task.model_copy(update=mark) for task in read_models(folder / side / "tasks.jsonl", TaskSpec)]
        bare = {a.task_id: a.model_copy(update=mark) for a in read_models(folder / side / "answers.jsonl", Answer)}
        answers = []
        manifest = SideManifest(taskset="small", side=side, tasks=0, files={}, ids={})
        taskset = TaskSet(folder, side, manifest, {}, FORMS)
        for task in tasks:
            answer = bare[task.task_id]
            entry = Placed(slice=task.slice, sha256=task_digest(task, answer), cluster=task.task_id)
            placed[task.task_id] = entry.model_dump(mode="json")
            taskset.tasks = {task.task_id: task}
            certificate, bounds = certify_task(taskset, task, answer, PROOF, Placement(entry, frozenset({side})))
            certificates.append(certificate)
            answers.append(answer.model_copy(update={"bounds": bounds}))
        write_side(folder, side, tasks, answers, canary=mark["canary"])
    write_models(folder / "certificates.jsonl", certificates)
    write_json(folder / "splits.json", {"tasks": placed})
    seal(folder)
    return folder


def write_side(
    folder: Path, side: Literal["train", "heldout"], tasks: list[TaskSpec], answers: list[Answer], *, canary: str = ""
) -> None:
    """Writes one side with a manifest that fits it."""
    here = folder / side
    write_models(here / "tasks.jsonl", tasks)
    write_models(here / "answers.jsonl", answers)
    by_id = {answer.task_id: answer for answer in answers}
    manifest = SideManifest(
        taskset=str(read_json(folder / "manifest.json")["name"]),
        side=side,
        tasks=len(tasks),
        files={name: sha256_file(here / name) for name in ("tasks.jsonl", "answers.jsonl")},
        ids={task.task_id: task_digest(task, by_id[task.task_id]) for task in tasks},
        canary=canary,
    )
    write_json(here / "manifest.json", manifest.model_dump(mode="json"))
