"""Alarms: what in the course of a run says that it goes wrong, or that its reward is being gamed.

Pure functions over the rows of metrics.jsonl. Each bound is named and says why it is where it is; none stops a run: a person
decides. An alarm is raised once, at the iteration at which its condition begins to hold, and says until when it held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

Row = Mapping[str, Any]

WINDOW = 5
"""Iterations that are averaged: one rollout of 64 episodes moves the success by about 0.06 by chance alone, five by 0.03."""
KL_BOUND = 0.5
"""Nats an action token from the warm start. Above it the policy is another one than the one that imitated people: what was
checked about the warm start no longer holds, and the KL term no longer holds it."""
ENTROPY_SHARE = 0.2
"""Of the entropy at the start. Below it little is sampled beside the likeliest call, so nothing new is found any more."""
RETURN_RISE = 0.1
"""Rise of the return that is more than chance between two windows (its spread over five rollouts is about 0.04)."""
SUCCESS_RISE = 0.02
"""A rise of the success below this is none: a return that rises without it comes from something else."""
REFUSALS_RISE = 0.25
"""Refused calls an episode above the first window's. One more in four episodes is a habit, not chance."""
JUMP = 0.5
"""Change of the return from the mean of the window before, in one iteration. An update moves the policy by at most a KL of 0.03;
a jump like this is a hole in the reward, a broken update or another kind of task."""
EXPLAINED_FROM = 10
"""Iterations after which the critic must be better than a constant; before, it has seen too little."""
EXPLAINED_BOUND = 0.0
"""Below 0 the critic is worse than a constant, and adds noise to every advantage."""
TRUNCATED_BOUND = 0.1
"""Share of episodes that a budget cut off. Their endings are guessed (bootstrapped); beyond one in ten that is no exception."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """One condition that began to hold."""

    name: str
    iteration: int
    """The first at which it held."""
    until: int
    """The last at which it held."""
    figure: float
    bound: float
    says: str

    def line(self) -> str:
        """ "iteration 12: entropy collapse: 0.04, bound 0.19 (...)"."""
        return f"iteration {self.iteration}: {self.name}: {self.figure:.3f}, bound {self.bound:.3f} ({self.says})"


Watch = Callable[[Sequence[Row]], tuple[float, float, bool] | None]
"""(figure, bound, whether it holds at the last of these rows), or None where the rows cannot tell."""


def _values(rows: Sequence[Row], name: str) -> list[float]:
    return [float(row[name]) for row in rows if row.get(name) is not None]


def _windows(rows: Sequence[Row], name: str) -> tuple[float, float] | None:
    """(mean of the first window, mean of the last), which do not overlap; None where there are too few rows."""
    values = _values(rows, name)
    return (fmean(values[:WINDOW]), fmean(values[-WINDOW:])) if len(values) >= 2 * WINDOW else None


def kl_too_high(rows: Sequence[Row]) -> tuple[float, float, bool] | None:
    value = rows[-1].get("kl_warm")
    return None if value is None else (value, KL_BOUND, value > KL_BOUND)


def entropy_collapse(rows: Sequence[Row]) -> tuple[float, float, bool] | None:
    values, now = _values(rows, "entropy"), rows[-1].get("entropy")
    if now is None or len(values) < 2:
        return None
    bound = ENTROPY_SHARE * fmean(values[: min(WINDOW, len(values) - 1)])
    return now, bound, now < bound


def reward_without_success(rows: Sequence[Row]) -> tuple[float, float, bool] | None:
    paid, solved = _windows(rows, "return"), _windows(rows, "success")
    if paid is None or solved is None:
        return None
    rise = paid[1] - paid[0]
    return rise, RETURN_RISE, rise > RETURN_RISE and solved[1] - solved[0] < SUCCESS_RISE


def refusals_rise(rows: Sequence[Row]) -> tuple[float, float, bool] | None:
    found = _windows(rows, "refusals")
    return None if found is None else (found[1], found[0] + REFUSALS_RISE, found[1] > found[0] + REFUSALS_RISE)


def return_jump(rows: Sequence[Row]) -> tuple[float, float, bool] | None:
    values = _values(rows, "return")
    if rows[-1].get("return") is None or len(values) <= WINDOW:
        return None
    change = values[-1] - fmean(values[-WINDOW - 1 : -1])
    return change, JUMP if change > 0 else -JUMP, abs(change) > JUMP


def critic_worse_than_a_constant(rows: Sequence[Row]) -> tuple[float, float, bool] | None:
    values = _values(rows, "explained_variance")
    if len(values) < EXPLAINED_FROM + WINDOW:
        return None
    mean = fmean(values[-WINDOW:])
    return mean, EXPLAINED_BOUND, mean < EXPLAINED_BOUND


def episodes_cut_off(rows: Sequence[Row]) -> tuple[float, float, bool] | None:
    value = rows[-1].get("timeouts")
    return None if value is None else (value, TRUNCATED_BOUND, value > TRUNCATED_BOUND)


WATCHES: dict[str, tuple[Watch, str]] = {
    "KL to the warm start too high": (kl_too_high, "nats an action token; the policy has left what it imitated"),
    "entropy collapse": (entropy_collapse, f"nats; below {ENTROPY_SHARE:.0%} of the start, so nothing new is tried"),
    "reward without success": (
        reward_without_success,
        "the return rises, the success does not: fewer violations, or something that should not pay?",
    ),
    "refusals rise": (refusals_rise, "refused calls an episode; the agent tries what the systems do not take"),
    "reward jump": (return_jump, "change of the return in one iteration; read episodes from before and after it"),
    "critic worse than a constant": (critic_worse_than_a_constant, "explained variance; the advantages are noisier for it"),
    "episodes cut off": (episodes_cut_off, "share that a budget ended; raise --context, or look for loops"),
}


def alarms(rows: Sequence[Row]) -> list[Alarm]:
    """All alarms of a run, in the order of their iterations. The same rows give the same alarms."""
    out: list[Alarm] = []
    for name, (watch, says) in WATCHES.items():
        held: Alarm | None = None
        for index, row in enumerate(rows):
            seen = watch(rows[: index + 1])
            if seen is None or not seen[2]:
                if held is not None:
                    out.append(held)
                held = None
                continue
            started = Alarm(name, row["iteration"], row["iteration"], seen[0], seen[1], says)
            held = started if held is None else Alarm(name, held.iteration, row["iteration"], held.figure, held.bound, says)
        if held is not None:
            out.append(held)
    return sorted(out, key=lambda alarm: (alarm.iteration, alarm.name))


def fresh(rows: Sequence[Row]) -> list[Alarm]:
    """Those that began with the last row: what is printed as it happens."""
    return [alarm for alarm in alarms(rows) if alarm.iteration == rows[-1]["iteration"]] if rows else []
