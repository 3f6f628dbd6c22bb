"""Controls start from the same policy and go on without the reward."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest
import torch

from schemas.errors import StageError
from training import checkpoint, ppo
from training.config import Config

from .conftest import read_rows


def test_continued_imitation_starts_from_the_same_policy_and_takes_no_reward(tiny: Config) -> None:
    first = ppo.train(dataclasses.replace(tiny, run="first", iterations=2))
    control = ppo.train(dataclasses.replace(tiny, run="control", iterations=2, control="supervised", warm_from="first"))
    _, mine = checkpoint.load(first, 0)
    _, theirs = checkpoint.load(control, 0)
    for name, value in mine["policy"].items():
        assert torch.equal(value, theirs["policy"][name]), name
    rows = read_rows(control)
    assert [set(row) >= {"supervised_loss", "cpu_seconds"} and "return" not in row for row in rows] == [True, True]
    _, after = checkpoint.load(control, 2)
    assert any(not torch.equal(after["policy"][n], theirs["policy"][n]) for n in theirs["policy"])
    assert json.loads((control / "warmstart.json").read_text())["taken_from"] == "first"


def test_a_killed_control_goes_on_to_the_same_bits(tiny: Config) -> None:
    whole = ppo.train(dataclasses.replace(tiny, run="whole", iterations=4, control="supervised"))
    part = dataclasses.replace(tiny, run="part", iterations=4, control="supervised")
    folder = ppo.train(part)
    shutil.rmtree(folder / "step_4")
    assert ppo.train(part) == folder
    _, one = checkpoint.load(whole, 4)
    _, two = checkpoint.load(folder, 4)
    for name, value in one["policy"].items():
        assert torch.equal(value, two["policy"][name]), name


@pytest.mark.parametrize(("other", "says"), [({"warm_from": "nowhere"}, "holds no run"), ({"width": 64}, "another shape")])
def test_a_warm_start_that_does_not_fit_is_one_line(tiny: Config, other: dict[str, object], says: str) -> None:
    ppo.train(dataclasses.replace(tiny, run="source", iterations=0))
    with pytest.raises(StageError, match=says):
        ppo.train(dataclasses.replace(tiny, run="taker", iterations=0, **{"warm_from": "source", **other}))
