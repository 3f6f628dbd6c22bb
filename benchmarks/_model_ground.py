"""Where the two GPU scripts stand: a task set, a model of a given shape without a hub, and what the machine could do at most."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from schemas.taskset import open_taskset
from tests.language_model_factory import TINY, build_language_model
from tests.reference_episodes import add_trajectories
from tests.taskset_factory import build_taskset

QWEN3_06B: dict[str, Any] = {
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
}
"""The shape of Qwen3-0.6B, as its published config has it."""
ROWS = 151_936
"""Rows of its embedding."""


def small_taskset(folder: Path) -> Path:
    """The task set of the tests, with episodes to imitate."""
    return add_trajectories(build_taskset(folder / "taskset"))


def random_model(folder: Path, taskset: Path, *, tiny: bool) -> Path:
    """A model of Qwen3's architecture with random parameters."""
    shape, rows = (TINY, 5000) if tiny else (QWEN3_06B, ROWS)
    return build_language_model(folder / "model", open_taskset(taskset, "train"), shape=shape, rows=rows)


@dataclass(frozen=True, slots=True)
class Work:
    """Floating point operations of a model, by its shape."""

    layers: int
    inner: int
    """Heads times head size: the width of attention."""
    weights: int
    """Parameters in the layers' matrices, without the embedding."""

    @staticmethod
    def of(model: Any) -> Work:
        config = model.config
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        decoder = model.get_decoder()
        weights = sum(p.numel() for layer in decoder.layers for p in layer.parameters() if p.dim() == 2)
        return Work(config.num_hidden_layers, config.num_attention_heads * head, weights)

    def forward(self, lengths: list[int]) -> float:
        """Of one pass over sequences: 2 a weight and token, and causal attention's two products."""
        return sum(2.0 * self.weights * n + 2.0 * self.layers * self.inner * n * n for n in lengths)


def limit(device: torch.device, dtype: torch.dtype) -> float:
    """Operations a second of a large matrix product here: what the shares are of."""
    size = 8192 if device.type == "cuda" else 1024
    one = torch.randn(size, size, device=device, dtype=dtype)
    best = 0.0
    for _ in range(5):
        settle(device)
        started = time.perf_counter()
        for _ in range(4):
            one @ one
        settle(device)
        best = max(best, 4 * 2.0 * size**3 / (time.perf_counter() - started))
    return best


def settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def peak_memory(device: torch.device) -> float:
    """GiB: of the GPU, else of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
