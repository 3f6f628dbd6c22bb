"""What policy and warm start say about a rollout before its update, and whether that is what it was sampled from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from schemas.errors import StageError
from training import losses
from training.config import SMALL
from training.lab import Lab
from training.policy import collate, score
from training.tape import Tape

STEP_ZERO_TOLERANCE = 1e-5
"""Largest |rollout - training| log-probability in fp32 at the first rollout of a process; on a GPU it is only logged."""
STEP_ZERO_LANGUAGE_MODEL = 1e-3
"""The same for a language model: rounding in 30 layers of SmolLM2 gives 3.6e-5, a wrong position or mask above 1e-2."""
ENGINE_TOLERANCE = 0.1
"""Largest mean |engine - trainer| log-probability of a rollout. In bfloat16 about 0.01 is usual, with other masks above 1."""


@dataclass(slots=True)
class Scored:
    """The action tokens of one forward pass; on the CPU."""

    logprob: torch.Tensor
    """(N,) of the policy."""
    kl: torch.Tensor
    """(N,) to the warm start (k1)."""
    value: torch.Tensor
    """(N,)"""
    last_value: torch.Tensor
    """(B,)"""


@torch.no_grad()
def scored(lab: Lab, part: Sequence[Tape]) -> Scored:
    """One forward pass of the current policy and one of the warm start."""
    config = lab.config
    batch = collate(part, lab.codec.size, lab.codec.pad, lab.policy.device)
    lab.policy.eval()
    now = score(lab.policy, batch, temperature=config.temperature)
    warm = lab.reference.logprob(batch, temperature=config.temperature) if config.kl_warm else now.logprob
    return Scored(now.logprob.cpu(), losses.k1(now.logprob, warm).cpu(), now.value.cpu(), now.last_value.cpu())


def check_agreement(lab: Lab, apart: torch.Tensor, first: bool) -> None:
    """`apart` (N,): |rollout - training| log-probabilities. Raises StageError where the first rollout of this process, or any of
    an engine of its own, was not sampled from the policy that is trained."""
    if lab.engine is not None:
        mean = float(apart.mean())
        if not mean <= ENGINE_TOLERANCE:
            raise StageError(
                f"the engine's log-probabilities are {mean:.2f} from the trainer's on average (allowed {ENGINE_TOLERANCE}): it "
                "serves another model or old weights, or lacks --logprobs-mode processed_logprobs"
            )
        return
    drift, allowed = float(apart.max()), STEP_ZERO_TOLERANCE if lab.config.model == SMALL else STEP_ZERO_LANGUAGE_MODEL
    if first and drift > allowed and lab.policy.exact:
        raise StageError(f"rollout and training disagree about log-probabilities by {drift:.1e} (allowed {allowed:.0e})")
