"""Equal rules and systems of many tasks are one object; a task says the same as before."""

from __future__ import annotations

from pathlib import Path

from schemas.files import read_models
from schemas.sharing import Sharing, shared
from schemas.task import TaskSpec
from tests.taskset_factory import build_taskset


def test_tasks_say_the_same_and_hold_equal_rules_once(tmp_path: Path) -> None:
    path = build_taskset(tmp_path / "small") / "train" / "tasks.jsonl"
    apart, together = list(read_models(path, TaskSpec)), list(shared(read_models(path, TaskSpec)))
    assert together == apart
    several = [task for task in together if task.rules]
    assert len(several) > 1
    for part in ("rules", "systems"):
        objects = {id(item): item for task in together for item in getattr(task, part)}
        values = list(objects.values())
        assert not any(a == b for at, a in enumerate(values) for b in values[at + 1 :])


def test_a_rule_of_the_same_name_with_other_numbers_stays_its_own(tmp_path: Path) -> None:
    path = build_taskset(tmp_path / "small") / "train" / "tasks.jsonl"
    task = next(t for t in read_models(path, TaskSpec) if t.rules)
    other = task.model_copy(update={"rules": (task.rules[0].model_copy(update={"clause": "9.9"}), *task.rules[1:])})
    sharing = Sharing()
    assert sharing.task(task) == task
    assert sharing.task(other) == other
