"""An evaluation says how far it is, whichever phase takes long, and says nothing where it was asked to be quiet."""

from __future__ import annotations

import dataclasses
import re

import pytest

from training import ppo, progress
from training.config import Config
from training.evaluate import evaluate_run
from training.progress import Progress


class Clock:
    """A clock that goes on by `step` seconds at each look."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


def test_a_long_phase_says_every_ten_seconds_how_many_are_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "time", Clock(1.0))
    shown = Progress(whole=80, opened=0.0)
    shown.start("reference", 40)
    for _ in range(40):
        shown.tick(1)
    shown.end("success 1.00")
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == [
        "held out: reference: 10 of 40 episodes, 10 s; 10 of 80 in all",
        "held out: reference: 20 of 40 episodes, 20 s; 20 of 80 in all",
    ]
    assert told[-1] == "held out: reference: success 1.00 (40 episodes, 41 s; 42 s in all)"
    assert len(told) == 5


def test_each_phase_of_an_evaluation_counts_all_its_episodes_while_it_plays(
    tiny: Config, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ppo.train(dataclasses.replace(tiny, iterations=0))
    monkeypatch.setattr(progress, "time", Clock(11.0))
    evaluate_run(folder, samples=2, quiet=False)
    told = capsys.readouterr().err
    for phase, episodes in (("warm start, greedy", 6), ("after PPO, sampled", 12), ("random", 6)):
        assert re.search(rf"^held out: {phase}: \d+ of {episodes} episodes, \d+ s; \d+ of 84 in all$", told, re.MULTILINE)
        assert re.search(rf"^held out: {phase}: success .*\({episodes} episodes, ", told, re.MULTILINE)
    *_, last = re.findall(r"(\d+) of 84 in all", told)
    assert last == "84"


def test_quiet_says_nothing(tiny: Config, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ppo.train(dataclasses.replace(tiny, iterations=0))
    monkeypatch.setattr(progress, "time", Clock(11.0))
    evaluate_run(folder, samples=1, quiet=True)
    assert capsys.readouterr().err == ""
