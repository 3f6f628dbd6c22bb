"""What each setting of a run may be by itself; how settings fit one another is in config.py."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any

from schemas.errors import StageError

LEAST: Mapping[str, float] = {
    "seed": 0, "threads": 1, "width": 2, "layers": 1, "heads": 1, "context": 32, "min_count": 1, "warm_epochs": 0,
    "warm_batch": 1, "warm_lr": 0, "iterations": 0, "episodes": 1, "minibatch": 1, "microbatch": 1, "epochs": 1, "lr": 0,
    "value_lr": 0, "anneal": 0, "gamma": 0, "lambda_pi": 0, "lambda_v": 0, "adaptive_alpha": 0, "samples_per_task": 1,
    "clip_low": 0, "replay": 0, "replay_old": 0, "clip_high": 0, "dual_clip": 0, "value_clip": 0, "value_weight": 0,
    "entropy": 0, "kl_warm": 0, "kl_stop": 0, "value_warmup": 0, "grad_clip": 1e-9, "temperature": 1e-3, "eval_every": 0,
    "save_every": 1,
}  # fmt: skip
MOST: Mapping[str, float] = {
    "seed": 2**31 - 1,
    "replay": 1,
    "replay_old": 1,
    "anneal": 1,
    "gamma": 1,
    "lambda_pi": 1,
    "lambda_v": 1,
    "clip_low": 1,
}
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""A run is a folder directly under data/runs: nothing that leads elsewhere."""


def check_bounds(config: Any) -> None:
    """Raises StageError for the first number of a run's settings that is not finite or out of its bounds, and for a name of a
    run that is no plain folder name."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        low, high = LEAST.get(field.name, -math.inf), MOST.get(field.name, math.inf)
        if not math.isfinite(value) or not low <= value <= high:
            allowed = f"{low:g} or more" if high == math.inf else f"{low:g} to {high:g}"
            raise StageError(f"--{field.name.replace('_', '-')} {value}: allowed is {allowed}")
    if config.run and not NAME.fullmatch(config.run):
        raise StageError(f"--run {config.run}: a run is a folder under data/runs; allowed are letters, digits, '.', '_' and '-'")
