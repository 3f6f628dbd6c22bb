"""From events to numbers: one step's reward, the return of an episode, its 0-100 score, and what weights must promise."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.episode import StepEvents
from schemas.errors import GraderError
from schemas.task import RewardWeights, ScoreBounds

EPSILON = 1e-9
NOTHING = StepEvents()


def reward(events: StepEvents, weights: RewardWeights) -> float:
    """r = w_s*success + w_q*quality + w_e*efficiency - w_v*violation - w_d*delay, clipped to [-1, 1]."""
    r = (
        weights.success * events.success
        + weights.quality * events.quality
        + weights.efficiency * events.efficiency
        - weights.violation * events.violation
        - weights.delay * events.delay
    )
    return max(-1.0, min(1.0, r))


def kpi(satisfaction: float, compliance: float, speed: float) -> float:
    """The declared alternative: satisfaction x compliance x speed, each clipped to [0, 1]; paid at the finishing act only."""
    product = 1.0
    for part in (satisfaction, compliance, speed):
        product *= max(0.0, min(1.0, part))
    return product


def discounted(rewards: Sequence[float], gamma: float) -> float:
    """G = sum over steps k of gamma^k r_k."""
    total, factor = 0.0, 1.0
    for r in rewards:
        total += factor * r
        factor *= gamma
    return total


def score(return_: float, bounds: ScoreBounds | None) -> float | None:
    """100 (G - G_min) / (G_max - G_min + eps): 100 is the reference, 0 the worst shortcut. Null without bounds."""
    if bounds is None:
        return None
    return 100.0 * (return_ - bounds.g_min) / (bounds.g_max - bounds.g_min + EPSILON)


def efficiency(calls: int, reference_calls: int, max_steps: int) -> float:
    """1 - (calls beyond the reference's) / (budget beyond it), in [0, 1]."""
    beyond, budget = calls - reference_calls, max_steps - reference_calls
    if beyond <= 0:
        return 1.0
    return 1.0 - beyond / max(beyond, budget)


def check_weights(weights: RewardWeights, max_steps: int) -> None:
    """Raises GraderError for weights under which stalling or closing at once could pay.

    What holds by construction (score.py): an episode that finishes after a look at the case and breaks nothing loses at most
    2 w_d (a reopened case, and all patience and waste). One that never finishes loses w_v + w_d and gains at most w_q by
    milestones; one that closes unread and fails loses at least w_v and gains at most w_q. So both are worst where
    gamma^max_steps * w_v > w_q + 2 w_d, and a violation never pays where w_v is above every single positive weight.
    """
    if weights.composition == "kpi":
        return
    parts = {name: getattr(weights, name) for name in ("success", "quality", "efficiency", "violation", "delay")}
    if bad := [name for name, value in parts.items() if value < 0]:
        raise GraderError(f"reward weights below zero: {', '.join(bad)}")
    if not 0 < weights.gamma <= 1:
        raise GraderError(f"reward.gamma is in (0, 1], found {weights.gamma}")
    if weights.violation <= max(weights.success, weights.quality, weights.efficiency):
        raise GraderError("reward.violation must be above each positive weight, or breaking a rule could pay")
    if weights.gamma**max_steps * weights.violation <= weights.quality + 2 * weights.delay:
        raise GraderError(
            "reward weights: gamma^max_steps * violation must be above quality + 2 * delay, "
            "or stalling and closing at once could pay"
        )
    if sum(weights.milestones.values()) > 1 or not all(v > 0 for v in weights.milestones.values()):
        raise GraderError("reward.milestones are each above 0 and at most 1 together")
