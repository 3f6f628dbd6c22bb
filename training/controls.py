"""Controls of a learning result: what the same time would have brought without the reward.

`shuffled_reward` (in ppo.py) pays each episode another one's return. `supervised`, here, goes on imitating: each iteration reads
as many reference episodes with detours as cost about the CPU time of a rollout and its update, with the same optimiser.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from schemas.errors import StageError
from training import audit
from training.demonstrations import Demonstrator, epoch_of
from training.lab import Lab
from training.policy import action_count
from training.report import Clock
from training.tape import Tape
from training.warmstart import imitation_step

SHARE = 2
"""Demonstrations of an iteration for each episode of a rollout: sampling and scoring cost about as much as the update."""


def imitate(lab: Lab, iteration: int, plain: Mapping[str, Tape], demonstrator: Demonstrator) -> dict[str, Any]:
    """One iteration of continued supervised training; returns its row of metrics. Raises StageError for a loss that is not
    finite."""
    config, clock = lab.config, Clock()
    chance = random.Random(f"supervised/{config.seed}/{iteration}")
    chosen = chance.sample(sorted(plain), min(len(plain), SHARE * config.episodes))
    tapes = epoch_of(demonstrator, {name: plain[name] for name in chosen}, config.warm_epochs + iteration, chance)
    tapes = [tape.thinned(lab.codec.words, config.word_dropout, chance) for tape in tapes]
    for tape in tapes:
        tape.seal()
    clock.lap("rollout")
    total, count = 0.0, 0
    lab.policy.train()
    for _ in range(config.epochs):
        chance.shuffle(tapes)
        for start in range(0, len(tapes), config.minibatch):
            batch = tapes[start : start + config.minibatch]
            loss = imitation_step(
                lab.policy,
                lab.optimizer,
                batch,
                vocabulary_size=lab.codec.size,
                pad=lab.codec.pad,
                part=config.microbatch,
                clip=config.grad_clip,
            )
            if loss is None:
                raise StageError(f"iteration {iteration + 1}: the supervised loss is not finite; try a lower --lr")
            total += loss
            count += action_count(batch)
    audit.append_tapes(lab.folder, iteration + 1, "references", sorted(tapes, key=lambda tape: tape.task_id))
    clock.lap("update")
    return {"iteration": iteration + 1, "supervised_loss": total / max(1, count), "action_tokens": count, **clock.row()}
