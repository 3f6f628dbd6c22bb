"""Alarms fire on what goes wrong, once, at the iteration at which it begins; a quiet run has none."""

from __future__ import annotations

from typing import Any

import pytest

from training.alarms import JUMP, TRUNCATED_BOUND, Alarm, alarms, fresh


def quiet(count: int = 20, **changes: Any) -> list[dict[str, Any]]:
    """Rows of a run that learns; `changes` gives a metric as a function of the iteration."""
    rows = []
    for iteration in range(1, count + 1):
        row: dict[str, Any] = {
            "iteration": iteration,
            "success": 0.2 + 0.02 * iteration,
            "return": -0.4 + 0.04 * iteration,
            "refusals": 0.2,
            "entropy": 0.6 - 0.01 * iteration,
            "kl_warm": 0.002 * iteration,
            "explained_variance": 0.02 * iteration,
            "timeouts": 0.02,
        }
        rows.append(row | {name: change(iteration) for name, change in changes.items()})
    return rows


def test_a_quiet_run_has_no_alarm() -> None:
    assert alarms(quiet()) == []
    assert alarms([]) == []
    assert fresh([]) == []


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"kl_warm": lambda i: 0.9 if i > 12 else 0.0}, "KL to the warm start too high"),
        ({"entropy": lambda i: 0.6 if i < 8 else 0.05}, "entropy collapse"),
        ({"success": lambda i: 0.3}, "reward without success"),
        ({"refusals": lambda i: 0.2 + 0.05 * i}, "refusals rise"),
        ({"return": lambda i: -0.4 if i < 14 else 0.4}, "reward jump"),
        ({"explained_variance": lambda i: -0.2}, "critic worse than a constant"),
        ({"timeouts": lambda i: 0.3}, "episodes cut off"),
    ],
)
def test_each_fault_raises_its_own_alarm(changes: dict[str, Any], name: str) -> None:
    assert {alarm.name for alarm in alarms(quiet(**changes))} == {name}


def test_an_alarm_is_raised_once_and_says_when_it_began_and_ended() -> None:
    found = alarms(quiet(timeouts=lambda i: 0.3 if 5 <= i <= 8 else 0.0))
    assert [(a.iteration, a.until, a.figure, a.bound) for a in found] == [(5, 8, 0.3, TRUNCATED_BOUND)]
    assert "iteration 5" in found[0].line()
    assert "0.300" in found[0].line()


def test_what_is_printed_as_it_happens_is_what_the_report_lists() -> None:
    rows = quiet(timeouts=lambda i: 0.3 if i in (3, 4, 9) else 0.0, kl_warm=lambda i: 0.9 if i == 9 else 0.0)
    printed: list[Alarm] = [alarm for end in range(1, len(rows) + 1) for alarm in fresh(rows[:end])]
    assert [(a.name, a.iteration) for a in printed] == [(a.name, a.iteration) for a in alarms(rows)]
    assert [a.iteration for a in printed] == [3, 9, 9]


def test_a_fall_of_the_return_is_a_jump_too() -> None:
    found = alarms(quiet(12, **{"return": lambda i: 0.2 if i < 12 else -0.6, "success": lambda i: 0.5}))
    assert [(a.name, a.iteration, a.bound) for a in found] == [("reward jump", 12, -JUMP)]


def test_rows_without_a_reward_and_figures_that_are_null_raise_nothing() -> None:
    assert alarms([{"iteration": i, "supervised_loss": 1.0} for i in range(1, 20)]) == []
    assert alarms(quiet(kl_warm=lambda i: None, entropy=lambda i: None)) == []
