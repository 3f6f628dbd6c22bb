"""What every grader must say of a few small journals: part of C7, the same for every task, measured once a process.

The replays of one task reach only what that task can show. A grader that takes true for one, lets an amount pass under a table of
limits that no task here uses, or pays for a milestone twice would give the same grades today and wrong ones under the next
specification. So each certificate also says that its grader measures true: on values and events here, on differences, outcomes,
whole episodes, every form of every rule and the words that a requester uses in the files beside this one.
"""
# ruff: noqa: E501 - what is given and what is right of it stand on one line

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from rewards.events import check_weights, discounted, efficiency, kpi, reward, score
from rewards.values import same
from schemas.episode import StepEvents
from schemas.task import RewardWeights, ScoreBounds
from tasks.certificates._yardstick_episodes import episode_measures
from tasks.certificates._yardstick_outcomes import REFUSED, Measure, difference_measures, outcome_measures, refusal_of
from tasks.certificates._yardstick_rules import rule_measures
from tasks.certificates._yardstick_texts import text_measures


@cache
def measured() -> tuple[tuple[str, ...], str]:
    """(names of the measures that are wrong, digest of all that was said)."""
    said = hashlib.sha256()
    wrong = []
    for name, found, right in measures():
        said.update(repr((name, found)).encode())
        if found != right:
            wrong.append(name)
    return tuple(wrong), said.hexdigest()


def measures() -> Iterator[Measure]:
    """Every measure, lazily: a grader that breaks off does so at the one that it cannot bear."""
    yield from _values()
    yield from difference_measures()
    yield from outcome_measures()
    yield from _events()
    yield from episode_measures()
    yield from rule_measures()
    yield from text_measures()


def _values() -> Iterator[Measure]:
    alike: tuple[tuple[Any, Any, bool], ...] = (
        (True, True, True), (True, 1, False), (False, 0, False), (True, False, False), (5, 5.0, True), (5, "5.00", True),
        (-5, 5, False), (0.1, "0.10", True), (None, "", True), (None, "  ", True), (None, 0, False), ("01234", 1234, False),
        ("A  b", "a B", True), ("ab", "a b", False), ([1, 2], ["1", 2.0], True), ([1, 2], [2, 1], False), ([], None, False),
        ({"a": 1, "b": 2}, {"b": "2", "a": 1}, True), ({"a": 1}, {"b": 1}, False), ({"a": 1}, [1], False),
        ("2025-03-01T09:00:00Z", "2025-03-01T10:00:00+01:00", True), ("2025-03-01T09:00", "2025-03-01 09:00:00Z", True),
        ("2025-03-01T09:00:00Z", "2025-03-01T09:00:01Z", False), ("2025-99-01T09:00", "2025-99-01t09:00", True),
        ("2025-99-01T09:00", "2025-98-01T09:00", False), ("x1", "x2", False), ("Done.", "done", True), ("5.", "5", False),
        ("ORDER_0A1B2C3D", "order_0a1b2c3d", False), ("ORDER_0A1B2C3D", " ORDER_0A1B2C3D", False), ("\u0665", 5, False),
    )  # fmt: skip
    for left, right, expected in alike:
        yield f"{left!r} and {right!r} are {'the same' if expected else 'different'}", same(left, right), expected
    try:
        same(object(), 1)
    except TypeError:
        yield "what is no JSON is refused", True, True
    else:
        yield "what is no JSON is refused", False, True


def _events() -> Iterator[Measure]:
    plain = RewardWeights()
    sums: tuple[tuple[StepEvents, float], ...] = (
        (StepEvents(), 0.0), (StepEvents(success=1), 0.6), (StepEvents(quality=0.5), 0.1), (StepEvents(efficiency=0.5), 0.05),
        (StepEvents(violation=1), -0.65), (StepEvents(delay=0.5), -0.1), (StepEvents(success=1, quality=1, efficiency=1), 0.9),
        (StepEvents(success=1, quality=1, efficiency=1, violation=1, delay=1), 0.05),
    )  # fmt: skip
    for number, (events, right) in enumerate(sums):
        yield f"reward ({number})", round(reward(events, plain), 6), right
    heavy = RewardWeights(success=3.0, violation=4.0)
    yield "a reward is clipped", (reward(StepEvents(success=1), heavy), reward(StepEvents(violation=1), heavy)), (1.0, -1.0)
    kpis = [kpi(0.5, 0.5, 0.5), kpi(2.0, 1.0, 0.5), kpi(-1.0, 1.0, 1.0), kpi(1.0, 1.0, 1.0)]
    yield "satisfaction x compliance x speed", kpis, [0.125, 0.5, 0.0, 1.0]
    yield "a return is discounted", (discounted([1.0, 2.0, 4.0], 0.5), discounted([], 0.9)), (3.0, 0.0)
    bounds = ScoreBounds(g_min=-1.0, g_max=1.0)
    scores = [round(score(g, bounds) or 0.0, 4) for g in (-1.0, 0.0, 1.0)]
    yield "a score lies between the bounds", (scores, score(1.0, None)), ([0.0, 50.0, 100.0], None)
    same_bounds = ScoreBounds(g_min=0.5, g_max=0.5)
    spans = round(score(0.5, same_bounds) or 0.0, 4), (score(0.6, same_bounds) or 0.0) > 0
    yield "a score without a span", spans, (0.0, True)
    speeds = [
        efficiency(*given)
        for given in ((3, 3, 7), (2, 3, 7), (4, 3, 7), (7, 3, 7), (9, 3, 7), (4, 3, 3), (4, 3, 4), (5, 3, 4), (3, 3, 3))
    ]
    yield "efficiency", speeds, [1.0, 1.0, 0.75, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    zero: dict[str, Any] = {"success": 0.0, "quality": 0.0, "efficiency": 0.0}
    weights: tuple[tuple[RewardWeights, int, str], ...] = (
        (plain, 30, ""), (RewardWeights(composition="kpi", violation=-1.0), 30, ""), (RewardWeights(quality=-0.1), 30, REFUSED),
        (RewardWeights(delay=-0.1), 30, REFUSED), (RewardWeights(gamma=0.0), 30, REFUSED), (RewardWeights(gamma=1.1), 30, REFUSED),
        (RewardWeights(success=0.65), 30, REFUSED), (RewardWeights(efficiency=0.7), 30, REFUSED), (RewardWeights(success=0.64), 30, ""),
        (RewardWeights(gamma=0.99), 7, ""), (RewardWeights(gamma=0.99), 8, REFUSED), (RewardWeights(gamma=0.9), 30, REFUSED),
        (RewardWeights(**zero, violation=0.4, delay=0.2), 1, REFUSED), (RewardWeights(**zero, violation=0.41, delay=0.2), 1, ""),
        (RewardWeights(**zero, violation=0.01, delay=0.0), 1, ""), (RewardWeights(**zero, violation=0.0, delay=0.0), 1, REFUSED),
        (RewardWeights(milestones={"x": 0.5, "y": 0.5}), 30, ""), (RewardWeights(milestones={"x": 0.5, "y": 0.6}), 30, REFUSED),
        (RewardWeights(milestones={"x": 0.0}), 30, REFUSED), (RewardWeights(milestones={"x": 1.0}), 30, ""),
        (RewardWeights(milestones={"x": -0.5, "y": 1.2}), 30, REFUSED),
    )  # fmt: skip
    for number, (given, steps, refused) in enumerate(weights):
        yield f"weights are checked ({number})", refusal_of(partial(check_weights, given, steps)), refused
