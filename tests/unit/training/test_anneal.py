"""Learning rates that fall over the last iterations."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from schemas.errors import StageError
from training.bounds import check_bounds
from training.config import Config
from training.lab import LOWEST, rate_share


def test_rates_stay_up_to_the_last_share_and_then_fall_in_a_line() -> None:
    shares = [rate_share(iteration, 10, 0.5) for iteration in range(10)]
    assert shares[:5] == [1.0] * 5
    assert shares[-1] == pytest.approx(LOWEST)
    falls = [before - after for before, after in itertools.pairwise(shares[4:])]
    assert falls == pytest.approx([(1 - LOWEST) / 5] * 5)


def test_without_it_rates_stay_and_over_the_whole_run_they_fall_from_the_first() -> None:
    assert rate_share(0, 1, 7e-17) == rate_share(79, 80, 1e-16) == pytest.approx(LOWEST)
    assert [rate_share(iteration, 3, 0.0) for iteration in range(3)] == [1.0] * 3
    assert [rate_share(iteration, 3, 1.0) for iteration in range(3)] == pytest.approx([0.7, 0.4, LOWEST])


def test_a_share_beyond_one_is_refused(small_folder: Path) -> None:
    with pytest.raises(StageError, match=r"--anneal 1.5: allowed is 0 to 1"):
        check_bounds(Config(taskset=str(small_folder), anneal=1.5))
