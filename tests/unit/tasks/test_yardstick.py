"""The yardstick of C7: the grader measures true, nothing is measured twice under one name, and a false grader fails C7."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rewards.values import normal
from schemas.files import read_models
from schemas.plugins import plugin_names
from schemas.proof import Placed
from schemas.task import Answer
from schemas.taskset import open_taskset
from tasks.certificates import _yardstick
from tasks.certify import Placement, certify_task
from tests.taskset_factory import PROOF, build_taskset


def test_the_grader_measures_true() -> None:
    assert [name for name, found, right in _yardstick.measures() if found != right] == []


def test_every_measure_has_a_name_of_its_own_and_every_kind_of_rule_is_measured() -> None:
    names = Counter(name for name, _, _ in _yardstick.measures())
    assert [name for name, times in names.items() if times > 1] == []
    measured = {name.partition(":")[0] for name in names}
    assert set(plugin_names("rewards.rules")) <= measured


def test_what_it_finds_is_the_same_each_time() -> None:
    assert [m[:2] for m in _yardstick.measures()] == [m[:2] for m in _yardstick.measures()]


def test_every_process_measures_alike_whatever_its_hashes(repo_root: Path) -> None:
    code = "from tasks.certificates._yardstick import measured; print(measured())"
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=repo_root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "4")
    }
    assert len(said) == 1, said


def test_a_grader_that_takes_true_for_one_fails_c7_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = build_taskset(tmp_path / "small", cases=("late_grant",))
    taskset = open_taskset(folder, "train")
    task = taskset.tasks["small-late_grant"]
    answer = next(a for a in read_models(folder / "train" / "answers.jsonl", Answer) if a.task_id == task.task_id)

    def loose(left: object, right: object) -> bool:
        return normal(int(left) if isinstance(left, bool) else left) == normal(int(right) if isinstance(right, bool) else right)

    monkeypatch.setattr("rewards.outcome.same", loose)
    monkeypatch.setattr(_yardstick, "measured", _yardstick.measured.__wrapped__)
    placement = Placement(Placed(slice="train", sha256="", cluster="c"), frozenset({"train"}))
    certificate, _ = certify_task(taskset, task, answer, PROOF, placement)
    [c7] = [check for check in certificate.checks if check.id == "C7"]
    assert c7.verdict == "failed"
    assert "true for one" in c7.detail
