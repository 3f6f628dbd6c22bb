"""Lockstep rollouts and the update on them: same tokens, same probabilities, no gradient from what was read."""

from __future__ import annotations

import copy

import pytest
import torch

from rewards.score import Grader
from schemas.taskset import TaskSet
from training.policy import Batch, Policy, collate, microbatches, score
from training.rollout import Played, play
from training.script import Codec
from training.tape import ACTION, Tape


def roll(policy: Policy, taskset: TaskSet, grader: Grader, codec: Codec, tasks: list[str]) -> list[Played]:
    return play(
        policy,
        taskset,
        grader,
        codec,
        [(task, 0) for task in tasks],
        context=384,
        generator=torch.Generator().manual_seed(5),
    )


@pytest.fixture
def played(policy: Policy, taskset: TaskSet, grader: Grader, codec: Codec) -> list[Played]:
    return roll(policy, taskset, grader, codec, sorted(taskset.tasks)[:8])


def batch_of(tapes: list[Tape], codec: Codec) -> Batch:
    return collate(tapes, codec.size, codec.pad, torch.device("cpu"))


def test_training_gives_each_sampled_token_the_rollouts_log_probability(
    policy: Policy, played: list[Played], codec: Codec
) -> None:
    """Ratio 1 at step 0, to 1e-5 in fp32."""
    tapes = [p.tape for p in played]
    with torch.no_grad():
        new = score(policy, batch_of(tapes, codec)).logprob
    old = torch.tensor([tape.logprobs[p] for tape in tapes for p in tape.actions()])
    assert float((new - old).abs().max()) <= 1e-5


def test_rows_in_lockstep_are_what_each_would_be_alone(policy: Policy, taskset: TaskSet, grader: Grader, codec: Codec) -> None:
    tasks = sorted(taskset.tasks)[:6]

    def greedy(of: list[str]) -> list[list[int]]:
        jobs = [(task, 0) for task in of]
        done = play(policy, taskset, grader, codec, jobs, context=384, generator=torch.Generator(), greedy=True)
        return [p.tape.ids for p in done]

    assert greedy(tasks) == [greedy([task])[0] for task in tasks]


def test_trained_ids_are_the_sampled_ids(played: list[Played]) -> None:
    for episode in played:
        assert episode.tape.intact()
        changed = copy.deepcopy(episode.tape)
        changed.ids[-1] += 1
        assert not changed.intact()


def test_the_tape_holds_one_reward_a_call_and_ends_with_the_journal(played: list[Played]) -> None:
    for episode in played:
        grade = episode.trace.grade
        assert grade is not None
        assert len(episode.tape.rewards) == len(episode.trace.journal.entries)
        if not episode.token_limit:
            assert sum(episode.tape.action_rewards()) == pytest.approx(sum(grade.rewards))


def test_a_full_context_cuts_the_episode_off_and_bootstraps(
    policy: Policy, taskset: TaskSet, grader: Grader, codec: Codec
) -> None:
    done = play(
        policy,
        taskset,
        grader,
        codec,
        [(t, 0) for t in taskset.tasks],
        context=96,
        generator=torch.Generator().manual_seed(0),
    )
    cut = [p for p in done if p.token_limit]
    assert cut
    for episode in cut:
        assert episode.tape.truncated
        assert episode.trace.journal.ended_by == "token_limit"
        assert episode.trace.grade is not None
        assert not episode.trace.grade.success


def test_observation_tokens_have_no_gradient_of_their_own(policy: Policy, played: list[Played], codec: Codec) -> None:
    """The loss reads logits at action tokens alone: the gradient of the logits is zero everywhere else (what a token's meaning
    gives to a later choice, by attention or by being pointed to, is another matter)."""
    policy.pointer = None
    tapes = [p.tape for p in played]
    batch = batch_of(tapes, codec)
    seen: list[torch.Tensor] = []
    plain = policy.hidden

    def hidden(ids: torch.Tensor, cache: object = None) -> torch.Tensor:
        out = plain(ids)
        out.retain_grad()
        seen.append(out)
        return out

    policy.hidden = hidden  # type: ignore[method-assign]
    score(policy, batch).logprob.sum().backward()
    gradient = seen[0].grad
    assert gradient is not None
    chosen_from = torch.zeros(batch.ids.shape, dtype=torch.bool)
    chosen_from[batch.rows, batch.columns - 1] = True
    assert float(gradient[~chosen_from].abs().max()) == 0.0
    assert float(gradient[chosen_from].abs().max()) > 0.0
    assert sum(kind == ACTION for tape in tapes for kind in tape.kinds) == int(chosen_from.sum())


def gradients(policy: Policy, groups: list[list[Tape]], codec: Codec) -> torch.Tensor:
    policy.zero_grad(set_to_none=True)
    for group in groups:
        scores = score(policy, batch_of(group, codec))
        (scores.logprob.sum() + scores.value.sum()).backward()
    return torch.cat([p.grad.flatten() for p in policy.parameters() if p.grad is not None])


def test_neither_padding_nor_microbatches_change_the_gradient(policy: Policy, played: list[Played], codec: Codec) -> None:
    tapes = [p.tape for p in played]
    whole = gradients(policy, [tapes], codec)
    for size in (1, 3):
        parts = gradients(policy, microbatches(tapes, size), codec)
        assert torch.allclose(whole, parts, rtol=0, atol=1e-5 * float(whole.abs().max()))
