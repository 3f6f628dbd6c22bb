"""PPO's losses and diagnostics as pure functions over (N,) tensors of action tokens.

Departures from the 2017 paper: separate clips below and above (DAPO "clip-higher"), dual clip (arXiv:1912.09729), sums
divided by a given count (so that splitting a minibatch changes nothing).
"""

from __future__ import annotations

import torch
from torch import Tensor


def policy_loss(
    new_logprob: Tensor, old_logprob: Tensor, advantage: Tensor, *, clip_low: float, clip_high: float, dual_clip: float
) -> tuple[Tensor, Tensor]:
    """Per-token clipped loss (N,) and whether the clip held the token back (N,) bool.

    max(-A r, -A clip(r, 1-clip_low, 1+clip_high)), and for A < 0 not more than -A * dual_clip (dual_clip > 1; 0 switches it off).
    """
    ratio = torch.exp(new_logprob - old_logprob)
    plain = -advantage * ratio
    clipped = -advantage * ratio.clamp(1.0 - clip_low, 1.0 + clip_high)
    loss = torch.maximum(plain, clipped)
    held = clipped > plain
    if dual_clip > 0:
        ceiling = -advantage * dual_clip
        negative = advantage < 0
        held = held | (negative & (loss > ceiling))
        loss = torch.where(negative, torch.minimum(loss, ceiling), loss)
    return loss, held


def importance(old_logprob: Tensor, rollout_logprob: Tensor, *, cap: float) -> Tensor:
    """Weights (N,) of tokens that something else than the policy to be updated sampled: min(old / rollout, cap), without gradient
    (truncated importance sampling). `old` is that policy before the update, `rollout` what the token was drawn from."""
    return torch.exp(old_logprob - rollout_logprob).clamp(max=cap)


def value_loss(new_value: Tensor, old_value: Tensor, target: Tensor, *, clip: float) -> Tensor:
    """Per-token 0.5 * max((v - R)^2, (v_clipped - R)^2) (N,); v_clipped is within +-clip of the rollout's value (0 = off)."""
    plain = (new_value - target) ** 2
    if clip <= 0:
        return 0.5 * plain
    near = old_value + (new_value - old_value).clamp(-clip, clip)
    return 0.5 * torch.maximum(plain, (near - target) ** 2)


def k1(logprob: Tensor, reference_logprob: Tensor) -> Tensor:
    """log p - log q: unbiased for KL(p || q) under samples of p (http://joschu.net/blog/kl-approx.html)."""
    return logprob - reference_logprob


def k3(new_logprob: Tensor, old_logprob: Tensor) -> Tensor:
    """(r - 1) - log r with r = new/old: non-negative, for KL(old || new) under samples of old (same source)."""
    log_ratio = new_logprob - old_logprob
    return torch.exp(log_ratio) - 1.0 - log_ratio


def whiten(advantage: Tensor) -> Tensor:
    """Mean 0, deviation 1 over the action tokens of the batch; a constant batch becomes zeros."""
    centred = advantage - advantage.mean()
    return centred / (centred.pow(2).mean().sqrt() + 1e-8)


def explained_variance(values: Tensor, targets: Tensor) -> float:
    """1 - Var(target - value) / Var(target): 1 is perfect, 0 no better than the mean; NaN where the targets do not vary."""
    variance = targets.var(unbiased=False)
    if float(variance) == 0.0:
        return float("nan")
    return float(1.0 - (targets - values).var(unbiased=False) / variance)


def masked_logprobs(logits: Tensor, legal: Tensor | None) -> Tensor:
    """Log-probabilities (N, V) renormalised over the legal tokens (None: all), in fp32; illegal ones are -inf. For rollout and
    training."""
    scores = logits.float() if legal is None else logits.float().masked_fill(~legal, float("-inf"))
    return torch.log_softmax(scores, dim=-1)


def entropy(logprobs: Tensor) -> Tensor:
    """Entropy in nats (N,) of rows of `masked_logprobs`; illegal tokens count 0."""
    finite = torch.where(torch.isfinite(logprobs), logprobs, torch.zeros_like(logprobs))
    return -(finite.exp() * finite * torch.isfinite(logprobs)).sum(-1)
