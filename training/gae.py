"""Generalised advantage estimation over the action tokens of an episode, and its variants.

The decision process has one step per ACTION token: observation, template and forced tokens are not in it at all, so inserting
them between turns changes nothing. Turns are explicit ids; nothing is inferred from a reward being zero or not.

    A_t = delta_t + gamma * lambda_pi * A_{t+1},   delta_t = r_t + gamma * V_{t+1} - V_t
    value target_t = V_t + the same recursion with lambda_v (decoupled: VC-PPO arXiv:2503.01491, VAPO arXiv:2504.05118)

V after the last token is 0 where the episode ended by itself and `bootstrap` where it was cut off (a budget ran out).
All functions are pure, over Python floats (float64); tests hold a brute-force twin of each.
"""

from __future__ import annotations

from collections.abc import Sequence


def recursion(rewards: Sequence[float], values: Sequence[float], bootstrap: float, *, gamma: float, lam: float) -> list[float]:
    """Advantages (T,) of one episode by the backward recursion. Raises ValueError if the lengths differ."""
    if len(rewards) != len(values):
        raise ValueError(f"{len(rewards)} rewards for {len(values)} values")
    advantages = [0.0] * len(rewards)
    following, next_value = 0.0, bootstrap
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_value - values[t]
        following = delta + gamma * lam * following
        advantages[t], next_value = following, values[t]
    return advantages


def gae(
    rewards: Sequence[float],
    values: Sequence[float],
    bootstrap: float = 0.0,
    *,
    gamma: float = 1.0,
    lambda_pi: float = 0.95,
    lambda_v: float = 1.0,
) -> tuple[list[float], list[float]]:
    """(advantages, value targets), each (T,), with separate lambdas in [0, 1] for the policy and the critic."""
    advantages = recursion(rewards, values, bootstrap, gamma=gamma, lam=lambda_pi)
    critic = advantages if lambda_v == lambda_pi else recursion(rewards, values, bootstrap, gamma=gamma, lam=lambda_v)
    return advantages, [a + v for a, v in zip(critic, values, strict=True)]


def length_adaptive_lambda(length: int, alpha: float = 0.05) -> float:
    """lambda_pi = 1 - 1 / (alpha * length), not below 0 (VAPO): long episodes discount the critic's bias less."""
    return max(0.0, 1.0 - 1.0 / (alpha * length)) if length else 0.0


def turn_gae(
    rewards: Sequence[float],
    values: Sequence[float],
    turns: Sequence[int],
    bootstrap: float = 0.0,
    *,
    gamma: float = 1.0,
    lambda_pi: float = 0.95,
    lambda_v: float = 1.0,
) -> tuple[list[float], list[float]]:
    """GAE with one step per TURN: the value at the turn's first action token, the advantage broadcast to all its tokens.

    `turns` (T,) holds the turn id of each action token, non-decreasing. Returns (advantages, value targets), each (T,).
    """
    starts = [t for t in range(len(turns)) if t == 0 or turns[t] != turns[t - 1]]
    ends = [*starts[1:], len(turns)]
    per_turn = [sum(rewards[a:b]) for a, b in zip(starts, ends, strict=True)]
    advantages, targets = gae(
        per_turn, [values[s] for s in starts], bootstrap, gamma=gamma, lambda_pi=lambda_pi, lambda_v=lambda_v
    )
    spread = [i for i, (a, b) in enumerate(zip(starts, ends, strict=True)) for _ in range(a, b)]
    return [advantages[i] for i in spread], [targets[i] for i in spread]


def terminal_only(rewards: Sequence[float], gamma: float = 1.0) -> list[float]:
    """The same return paid at the last action token alone (for comparison with outcome-only training)."""
    if not rewards:
        return []
    total = sum(r * gamma ** (t - (len(rewards) - 1)) for t, r in enumerate(rewards))
    return [0.0] * (len(rewards) - 1) + [total]


def group_baseline(returns: Sequence[float], groups: Sequence[str]) -> list[float]:
    """Return minus the mean return of the same group (task): one scalar an episode, as in GRPO, undivided by the spread."""
    totals: dict[str, tuple[float, int]] = {}
    for group, value in zip(groups, returns, strict=True):
        total, count = totals.get(group, (0.0, 0))
        totals[group] = (total + value, count + 1)
    return [value - totals[group][0] / totals[group][1] for group, value in zip(groups, returns, strict=True)]
