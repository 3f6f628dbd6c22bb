"""Supervised warm start: the reference episodes of the training side, action tokens only, under the grammar's masks.

Without it PPO on these tasks learns nothing (a random policy never succeeds). Few epochs on few episodes give a deliberately
weak start (`--warm-epochs`, `--warm-share`); which setting a run used stands in its config and its report.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from schemas.errors import StageError
from training import shard, team
from training.policy import Policy, action_count, collate, microbatches, score
from training.tape import Tape


@dataclass(frozen=True, slots=True)
class WarmEpoch:
    """One pass over the warm-start tapes."""

    epoch: int
    loss: float
    """Mean negative log-likelihood of an action token, in nats, during the epoch."""
    validation_loss: float
    """The same over the validation tapes after the epoch; NaN where there are none."""
    validation_accuracy: float
    """Share of validation action tokens that are the most likely legal one."""
    validation_success: float
    """Share of the validation tasks that the greedy policy solves after the epoch; NaN where it was not asked for."""
    seconds: float


def warm_start(
    policy: Policy,
    episodes: Callable[[int], Sequence[Tape]],
    number: int,
    validation: Sequence[Tape],
    *,
    vocabulary_size: int,
    pad: int,
    epochs: int,
    batch: int,
    lr: float,
    seed: int,
    words: frozenset[int],
    word_dropout: float,
    part: int = 0,
    success: Callable[[], float] | None = None,
    log: Callable[[WarmEpoch], None],
    weight_decay: float = 0.05,
) -> None:
    """Trains the policy in place (not its value head) and leaves it at its best epoch: by `success` on the validation tasks,
    which is asked for in the second half of the epochs, then by validation loss.

    `episodes` gives the `number` tapes of an epoch. In each epoch a share `word_dropout` of the tokens in
    `words` is left out of the observations, anew: the requests are few. `part` episodes are in one forward pass (0: half
    a batch).

    Raises StageError where the loss is not finite; the parameters of the best epoch so far are then in place.
    """
    optimizer = torch.optim.AdamW(policy.actor_parameters(), lr=lr, weight_decay=weight_decay, betas=(0.9, 0.98))
    steps = epochs * math.ceil(number / batch)
    warmup = max(1, steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warmup, 0.5 * (1 + math.cos(math.pi * min(1.0, s / max(1, steps)))) + 0.02)
    )
    generator = torch.Generator().manual_seed(seed)
    best, best_state = (-math.inf, -math.inf), {k: v.clone() for k, v in policy.trained().items()}
    for epoch in range(epochs):
        started, total, count = time.perf_counter(), 0.0, 0
        policy.train()
        chance = random.Random(f"{seed}/{epoch}")
        seen = [tape.thinned(words, word_dropout, chance) for tape in episodes(epoch)]
        for chosen in _groups(seen, batch, generator):
            loss = imitation_step(
                policy, optimizer, chosen, vocabulary_size=vocabulary_size, pad=pad, part=part or max(1, batch // 2)
            )
            if loss is None:
                policy.load_trained(best_state)
                raise StageError(f"warm start, epoch {epoch}: the loss is not finite; lower --warm-lr (now {lr})")
            total += loss
            count += action_count(chosen)
            schedule.step()
        held_loss, accuracy = judge(policy, validation, vocabulary_size=vocabulary_size, pad=pad, batch=part or batch)
        solved = success() if success is not None and 2 * (epoch + 1) > epochs else math.nan
        log(WarmEpoch(epoch, total / max(1, count), held_loss, accuracy, solved, time.perf_counter() - started))
        measure = (-math.inf if math.isnan(solved) else solved, -(held_loss if validation else total / max(1, count)))
        if measure > best:
            best, best_state = measure, {k: v.clone() for k, v in policy.trained().items()}
    policy.load_trained(best_state)


def imitation_step(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    tapes: Sequence[Tape],
    *,
    vocabulary_size: int,
    pad: int,
    part: int,
    clip: float = 1.0,
) -> float | None:
    """One optimizer step on the action tokens of these tapes, `part` of them in one forward pass; returns the summed negative
    log-likelihood in nats, or None, without a step, where it is not finite."""
    optimizer.zero_grad(set_to_none=True)
    tokens, total = action_count(tapes), 0.0
    for few, counts in shard.rounds(microbatches(tapes, part), policy.model):
        loss = -score(policy, collate(few, vocabulary_size, pad, policy.device)).logprob.sum()
        (loss / tokens if counts else 0.0 * loss).backward()
        total += float(loss.detach()) if counts else 0.0
    total = team.sums({"loss": total})["loss"]
    if not math.isfinite(total):
        return None
    shard.add_gradients(policy)
    shard.clip_gradients(policy.actor_parameters(), clip)
    optimizer.step()
    return total


@torch.no_grad()
def judge(policy: Policy, tapes: Sequence[Tape], *, vocabulary_size: int, pad: int, batch: int) -> tuple[float, float]:
    """(mean negative log-likelihood, accuracy) of action tokens; (NaN, NaN) without tapes."""
    policy.eval()
    totals = {"loss": 0.0, "right": 0.0, "count": 0.0}
    for part, counts in shard.rounds(microbatches(tapes, batch), policy.model):
        data = collate(part, vocabulary_size, pad, policy.device)
        scores = score(policy, data)
        if not counts:
            continue
        totals["loss"] -= float(scores.logprob.sum())
        totals["right"] += int((scores.likeliest == data.targets).sum())
        totals["count"] += len(data.targets)
    totals = team.sums(totals)
    count = totals["count"]
    return (totals["loss"] / count, totals["right"] / count) if count else (math.nan, math.nan)


def _groups(tapes: Sequence[Tape], size: int, generator: torch.Generator) -> list[list[Tape]]:
    order = torch.randperm(len(tapes), generator=generator).tolist()
    return [[tapes[i] for i in order[start : start + size]] for start in range(0, len(order), size)]
