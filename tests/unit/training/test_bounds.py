"""Settings and places of a run: what cannot be is one line, and nothing of others is deleted."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from pipeline.lock import locked
from schemas.errors import StageError
from training import checkpoint
from training.bounds import LEAST, MOST
from training.config import Config, check_config, device_of
from training.lab import start_over


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("heads", 0), ("width", 0), ("layers", 0), ("threads", 0), ("warm_batch", 0), ("epochs", 0), ("temperature", 0.0),
        ("lr", math.nan), ("lr", -1.0), ("gamma", math.inf), ("gamma", 1.5), ("clip_low", 5.0), ("grad_clip", 0.0),
        ("seed", 10**20), ("seed", -1), ("context", 1),
    ],
)  # fmt: skip
def test_a_setting_out_of_its_bounds_is_named_with_what_is_allowed(name: str, value: Any) -> None:
    with pytest.raises(StageError, match=f"--{name.replace('_', '-')} .*allowed is"):
        check_config(dataclasses.replace(Config(taskset="t"), **{name: value}))


def test_the_defaults_are_within_their_bounds_and_every_bound_is_of_a_setting() -> None:
    check_config(Config(taskset="t"))
    assert LEAST.keys() | MOST.keys() <= {field.name for field in dataclasses.fields(Config)}


@pytest.mark.parametrize("name", ["..", ".", "/tmp", "a/../b", "a/b", "../../x", ".hidden", "a\nb", "x" * 101])
def test_a_runs_name_leads_nowhere_else(name: str) -> None:
    with pytest.raises(StageError, match="a run is a folder under data/runs"):
        check_config(dataclasses.replace(Config(taskset="t"), run=name))


def test_a_folder_that_is_no_run_is_never_emptied(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(StageError, match="nothing in it is deleted"):
        start_over(tmp_path)
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_a_run_that_starts_over_is_empty_but_for_its_lock(tmp_path: Path) -> None:
    with locked(tmp_path):
        (tmp_path / "config.json").write_text("{}")
        (tmp_path / "step_3").mkdir()
        start_over(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_second_training_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(StageError, match="being written by another run"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_what_a_kill_left_half_written_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".step_4.123").mkdir()
    (tmp_path / "step_3").mkdir()
    checkpoint.tidy(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step_3"]


def test_a_device_that_is_none_is_one_line() -> None:
    with pytest.raises(StageError, match="--device foo is no device"):
        device_of("foo")
