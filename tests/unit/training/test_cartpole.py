"""The same advantages and losses solve a task that everybody knows: a wrong sign or an off-by-one would show here."""

from __future__ import annotations

import importlib

import pytest
import torch


def test_the_core_of_the_trainer_balances_a_pole_for_400_steps_within_100k() -> None:
    pytest.importorskip("gymnasium")
    benchmark = importlib.import_module("benchmarks.ppo_cartpole")
    threads = torch.get_num_threads()
    try:
        mean, steps = benchmark.run(100_000, seed=1, bar=400.0)
    finally:
        torch.set_num_threads(threads)
    assert mean >= 400.0
    assert steps <= 100_000
