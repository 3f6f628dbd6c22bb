"""Advantages: against brute force, and blind to everything that is not an action token."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from training.gae import gae, group_baseline, length_adaptive_lambda, terminal_only, turn_gae
from training.tape import Tape


def brute_force(rewards: Sequence[float], values: Sequence[float], bootstrap: float, gamma: float, lam: float) -> list[float]:
    """A_t = sum over k of (gamma lam)^k delta_{t+k}, written out."""
    n = len(rewards)
    following = [*values[1:], bootstrap]
    deltas = [rewards[t] + gamma * following[t] - values[t] for t in range(n)]
    return [sum((gamma * lam) ** (k - t) * deltas[k] for k in range(t, n)) for t in range(n)]


def episode(seed: int) -> tuple[list[float], list[float], float]:
    chance = random.Random(seed)
    n = chance.randint(1, 40)
    rewards = [chance.choice((0.0, 0.0, chance.uniform(-1, 1))) for _ in range(n)]
    return rewards, [chance.uniform(-1, 1) for _ in range(n)], chance.choice((0.0, chance.uniform(-1, 1)))


@pytest.mark.parametrize("lam", [0.0, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_gae_is_brute_force_to_1e_9(gamma: float, lam: float) -> None:
    for seed in range(50):
        rewards, values, bootstrap = episode(seed)
        advantages, targets = gae(rewards, values, bootstrap, gamma=gamma, lambda_pi=lam, lambda_v=0.7)
        expected = brute_force(rewards, values, bootstrap, gamma, lam)
        critic = brute_force(rewards, values, bootstrap, gamma, 0.7)
        assert advantages == pytest.approx(expected, abs=1e-9)
        assert targets == pytest.approx([a + v for a, v in zip(critic, values, strict=True)], abs=1e-9)


def test_with_lambda_v_1_a_value_target_is_the_discounted_return() -> None:
    rewards, values = [0.1, 0.0, 0.5], [0.3, -0.2, 0.9]
    _, targets = gae(rewards, values, 0.25, gamma=0.9)
    assert targets[2] == pytest.approx(0.5 + 0.9 * 0.25, abs=1e-12)
    assert targets[0] == pytest.approx(0.1 + 0.9 * (0.0 + 0.9 * (0.5 + 0.9 * 0.25)), abs=1e-12)


def test_the_value_of_a_token_is_that_of_the_state_before_it() -> None:
    """Off by one, the first advantage would hold the second value."""
    advantages, _ = gae([0.0, 1.0], [0.25, 0.5], gamma=1.0, lambda_pi=0.0)
    assert advantages == pytest.approx([0.5 - 0.25, 1.0 - 0.5], abs=1e-12)


def test_an_episode_that_was_cut_off_bootstraps_and_one_that_ended_does_not() -> None:
    ended, _ = gae([0.0], [0.2], 0.0)
    cut, _ = gae([0.0], [0.2], 0.7)
    assert ended == pytest.approx([-0.2])
    assert cut == pytest.approx([0.5])


def tape_with(gaps: Sequence[int], forced: Sequence[int]) -> Tape:
    """Three turns of two action tokens each, with so many observation tokens before and forced tokens within each turn."""
    tape = Tape("t")
    for turn, (gap, force) in enumerate(zip(gaps, forced, strict=True)):
        tape.read([7] * gap, turn - 1)
        tape.choose(8, turn, (8, 9), -0.5)
        for _ in range(force):
            tape.force(5, turn)
        tape.choose(9, turn, (8, 9), -0.7)
    tape.rewards = [0.0, -0.3, 0.9]
    return tape


@pytest.mark.parametrize("lam", [0.0, 0.3, 0.95, 1.0])
def test_inserted_observation_and_forced_tokens_change_no_advantage(lam: float) -> None:
    values = [0.1, 0.4, -0.2, 0.3, 0.6, 0.5]
    results = []
    for gaps, forced in (((1, 1, 1), (0, 0, 0)), ((5, 40, 1), (0, 3, 1)), ((1, 200, 17), (2, 0, 0))):
        tape = tape_with(gaps, forced)
        results.append(gae(tape.action_rewards(), values, gamma=1.0, lambda_pi=lam))
        results.append(turn_gae(tape.action_rewards(), values, tape.action_turns(), lambda_pi=lam))
    for token, turn in zip(results[2::2], results[3::2], strict=True):
        assert token[0] == pytest.approx(results[0][0], abs=1e-9)
        assert token[1] == pytest.approx(results[0][1], abs=1e-9)
        assert turn[0] == pytest.approx(results[1][0], abs=1e-9)


def test_a_turn_is_known_by_its_id_and_not_by_a_reward_that_happens_to_be_zero() -> None:
    advantages, targets = turn_gae([0.0, 0.0, 0.0, 1.0], [0.5, 9.0, 0.25, 9.0], [0, 0, 1, 1], lambda_pi=0.0)
    assert advantages == pytest.approx([0.25 - 0.5] * 2 + [1.0 - 0.25] * 2)
    assert targets == pytest.approx([1.0] * 4)


def test_a_reward_of_a_turn_without_a_decision_is_paid_at_the_decision_before_it() -> None:
    tape = Tape("t")
    tape.read([1, 2], -1)
    tape.choose(3, 0, (3, 4), -0.1)
    tape.read([1], 0)
    tape.force(5, 1)
    tape.rewards = [0.25, 0.5]
    assert tape.action_rewards() == [0.75]


def test_terminal_only_keeps_the_return_and_pays_it_last() -> None:
    rewards = [0.1, -0.4, 0.0, 0.9]
    paid = terminal_only(rewards, 0.9)
    assert paid[:-1] == [0.0] * 3
    assert sum(0.9**t * r for t, r in enumerate(paid)) == pytest.approx(sum(0.9**t * r for t, r in enumerate(rewards)))


def test_adaptive_lambda_grows_with_length() -> None:
    assert length_adaptive_lambda(100, 0.05) == pytest.approx(0.8)
    assert length_adaptive_lambda(10, 0.05) == 0.0
    assert length_adaptive_lambda(0) == 0.0


def test_a_group_baseline_is_the_mean_of_the_same_task() -> None:
    assert group_baseline([1.0, 0.0, 0.5], ["a", "a", "b"]) == [0.5, -0.5, 0.0]
