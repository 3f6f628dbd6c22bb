"""The clipped losses against the published formulas, written here a second time and plainly."""

from __future__ import annotations

import math

import pytest
import torch

from training import losses


def published_policy_loss(ratio: float, advantage: float, low: float, high: float, dual: float) -> float:
    """PPO eq. 7 with two clips; dual clip: for A < 0 the objective is max(min(rA, clip(r)A), cA)."""
    objective = min(ratio * advantage, max(1 - low, min(1 + high, ratio)) * advantage)
    if advantage < 0 and dual > 0:
        objective = max(objective, dual * advantage)
    return -objective


@pytest.mark.parametrize("dual", [0.0, 3.0])
def test_policy_loss_is_the_published_objective(dual: float) -> None:
    ratios = [0.1, 0.7, 0.8, 0.95, 1.0, 1.2, 1.28, 1.5, 2.9, 3.1, 10.0]
    for advantage in (-2.0, -0.3, 0.0, 0.4, 1.7):
        new = torch.tensor([math.log(r) for r in ratios], dtype=torch.float64)
        loss, held = losses.policy_loss(
            new, torch.zeros_like(new), torch.full_like(new, advantage), clip_low=0.2, clip_high=0.28, dual_clip=dual
        )
        expected = [published_policy_loss(r, advantage, 0.2, 0.28, dual) for r in ratios]
        assert loss.tolist() == pytest.approx(expected, abs=1e-12)
        outside = [advantage != 0 and ((r > 1.28 and advantage > 0) or (r < 0.8 and advantage < 0)) for r in ratios]
        assert [bool(h) for h in held] == [
            o or (dual > 0 and advantage < 0 and r > dual) for o, r in zip(outside, ratios, strict=True)
        ]


def test_a_held_token_has_no_gradient() -> None:
    new = torch.tensor([math.log(2.0), math.log(0.5), math.log(5.0)], requires_grad=True)
    loss, _ = losses.policy_loss(
        new, torch.zeros(3), torch.tensor([1.0, -1.0, -1.0]), clip_low=0.2, clip_high=0.28, dual_clip=3.0
    )
    loss.sum().backward()
    assert new.grad is not None
    assert new.grad.tolist() == [0.0, 0.0, 0.0]


def test_value_loss_is_the_clipped_one_of_the_baselines_code() -> None:
    for new, old, target in ((0.9, 0.0, 1.0), (0.3, 0.0, 1.0), (-2.0, 0.0, 1.0), (1.0, 0.9, 0.0)):
        loss = losses.value_loss(torch.tensor([new]), torch.tensor([old]), torch.tensor([target]), clip=0.5)
        clipped = old + max(-0.5, min(0.5, new - old))
        assert float(loss) == pytest.approx(0.5 * max((new - target) ** 2, (clipped - target) ** 2), abs=1e-6)
    assert float(losses.value_loss(torch.tensor([2.0]), torch.tensor([0.0]), torch.tensor([1.0]), clip=0.0)) == 0.5


def test_k3_is_never_negative_and_its_mean_is_the_divergence() -> None:
    old = torch.log_softmax(torch.tensor([0.3, -0.4, 1.0], dtype=torch.float64), 0)
    new = torch.log_softmax(torch.tensor([0.1, 0.4, 0.7], dtype=torch.float64), 0)
    estimate = losses.k3(new, old)
    assert bool((estimate >= 0).all())
    assert float((old.exp() * estimate).sum()) == pytest.approx(float((old.exp() * (old - new)).sum()), abs=1e-12)
    assert float((old.exp() * losses.k1(old, new)).sum()) == pytest.approx(float((old.exp() * (old - new)).sum()), abs=1e-12)


def test_whitened_advantages_have_mean_0_and_deviation_1() -> None:
    white = losses.whiten(torch.tensor([1.0, 2.0, 3.0, 10.0], dtype=torch.float64))
    assert float(white.mean()) == pytest.approx(0.0, abs=1e-9)
    assert float(white.std(unbiased=False)) == pytest.approx(1.0, abs=1e-6)
    assert losses.whiten(torch.full((4,), 0.5)).tolist() == [0.0] * 4


def test_explained_variance_is_1_for_perfect_values_and_0_for_their_mean() -> None:
    targets = torch.tensor([0.0, 1.0, 2.0])
    assert losses.explained_variance(targets, targets) == pytest.approx(1.0)
    assert losses.explained_variance(torch.ones(3), targets) == pytest.approx(0.0)
    assert math.isnan(losses.explained_variance(targets, torch.ones(3)))


def test_illegal_tokens_have_no_probability_no_entropy_and_no_gradient() -> None:
    logits = torch.tensor([[5.0, 1.0, 0.0, 2.0]], requires_grad=True)
    legal = torch.tensor([[False, True, True, False]])
    logprobs = losses.masked_logprobs(logits, legal)
    assert logprobs.exp().tolist()[0] == pytest.approx([0.0, 1 / (1 + math.exp(-1)), 1 / (1 + math.e), 0.0])
    spread = losses.entropy(logprobs)
    p = 1 / (1 + math.e)
    assert float(spread.detach()) == pytest.approx(-(p * math.log(p) + (1 - p) * math.log(1 - p)))
    (spread.sum() + logprobs[0, 1]).backward()
    assert logits.grad is not None
    assert bool(torch.isfinite(logits.grad).all())
    assert logits.grad[0, 0] == 0.0
    assert logits.grad[0, 3] == 0.0
