"""How fast is the trainer with a language model? Tokens a second by phase, peak memory, and the share of what the machine can do.

    python -m benchmarks.gpu_speed [--tiny] [--device auto] [--episodes 64] [--iterations 3] [--lora-rank 0]

The model has the shape of Qwen3-0.6B and RANDOM parameters (no hub is asked): speed depends on the shape, what it does in an
episode is meaningless. The tokenizer is learnt from the task set of the tests, so openings are shorter than with a published one.
Operations are counted from the shape (2 a weight and token, attention; gradient twice the forward pass); the limit is a
large matrix product measured in the same run. The first iteration is not counted. `--tiny` is the same on a CPU in a minute.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._model_ground import Work, limit, peak_memory, random_model, settle, small_taskset
from training import ppo
from training.config import Config, defaults, device_of
from training.lab import Lab, prepare, references
from training.models import computes_in
from training.policy import microbatches
from training.rollout import play
from training.sides import open_training_side
from training.warmstart import imitation_step


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--episodes", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=0)
    parser.add_argument("--lora-rank", type=int, default=0)
    parser.add_argument("--gradient-checkpointing", action="store_true")
    arguments = parser.parse_args()
    episodes = arguments.episodes or (4 if arguments.tiny else 64)
    with tempfile.TemporaryDirectory() as name:
        ground = Path(name)
        os.environ["RECORDGYM_DATA"] = str(ground / "data")
        taskset = small_taskset(ground)
        model = random_model(ground, taskset, tiny=arguments.tiny)
        settings = defaults(str(model), arguments.lora_rank) | {
            "context": 4096,
            "episodes": episodes,
            "minibatch": max(1, episodes // 4),
            "microbatch": 2 if arguments.tiny else 8,
            "value_warmup": 0,
            "kl_stop": 100.0,
            "min_count": 1,
        }
        config = Config(
            taskset=str(taskset), run="speed", model=str(model), device=arguments.device, lora_rank=arguments.lora_rank,
            gradient_checkpointing=arguments.gradient_checkpointing, validation_share=0.0, quiet=True, **settings,
        )  # fmt: skip
        torch.set_num_threads(config.threads)
        side = open_training_side(config.taskset)
        lab = prepare(config, ppo.run_folder(config, side), side)
        lab.reference.load(lab.policy.trained())
        measure(lab, arguments.iterations or (1 if arguments.tiny else 3))
    return 0


def measure(lab: Lab, iterations: int) -> None:
    config, device = lab.config, device_of(lab.config.device)
    work, dtype = Work.of(lab.policy.model), computes_in(config)
    most = limit(device, dtype)
    millions = sum(p.numel() for p in lab.policy.model.parameters()) / 1e6
    print(f"model: Qwen3's architecture, {millions:.1f} million RANDOM parameters, computed in {dtype}, on {device}")
    print(f"limit: {most / 1e12:.3f} TFLOP/s (a matrix product measured here)")
    plain, _, _ = references(lab)
    tapes = list(plain.values())[: config.minibatch]
    seconds: dict[str, float] = {}
    for turn in range(2):
        settle(device)
        started = time.perf_counter()
        imitation_step(
            lab.policy, lab.optimizer, tapes, vocabulary_size=lab.codec.size, pad=lab.codec.pad, part=config.microbatch
        )
        settle(device)
        seconds["warm start"] = time.perf_counter() - started if turn else 0.0
    backward = 4.0 if config.gradient_checkpointing else 3.0
    lengths = [len(tape.ids) for tape in tapes]
    line("warm start", sum(lengths), backward * work.forward(lengths), seconds["warm start"], most)
    totals: dict[str, list[float]] = {name: [0.0, 0.0, 0.0] for name in ("rollout", "score", "update")}
    written = calls = 0
    for iteration in range(iterations + 1):
        made = torch.Generator().manual_seed(iteration)
        marks = [_now(device)]
        played = play(
            lab.policy, lab.taskset, lab.grader, lab.codec, ppo.jobs(lab, iteration), context=config.context, generator=made,
            at_once=config.lockstep,
        )  # fmt: skip
        marks.append(_now(device))
        samples, _ = ppo.advantages(lab, [p.tape for p in played], 1, made)
        marks.append(_now(device))
        ppo.update(lab, samples, iteration, made)
        marks.append(_now(device))
        if iteration == 0:
            continue
        lengths = [len(s.tape.ids) for s in samples]
        once = work.forward(lengths)
        flops = {"rollout": once, "score": 2 * once, "update": config.epochs * backward * once}
        passes = {"rollout": 1, "score": 2, "update": config.epochs}
        for place, phase in enumerate(totals):
            totals[phase][0] += passes[phase] * sum(lengths)
            totals[phase][1] += flops[phase]
            totals[phase][2] += marks[place + 1] - marks[place]
        written += sum(kind > 0 for s in samples for kind in s.tape.kinds)
        calls += sum(len(s.tape.rewards) for s in samples)
    for phase, (tokens, flops_done, spent) in totals.items():
        line(phase, int(tokens), flops_done, spent, most)
    spent = totals["rollout"][2]
    parts = len(microbatches([s.tape for s in samples], config.microbatch))
    print(f"rollout: {calls / spent:.2f} calls/s, {written / spent:.0f} written tokens/s, {config.lockstep} episodes at once")
    print(f"peak memory: {peak_memory(device):.2f} GiB; {parts} passes of {config.microbatch} episodes")


def _now(device: torch.device) -> float:
    settle(device)
    return time.perf_counter()


def line(phase: str, tokens: int, flops: float, seconds: float, most: float) -> None:
    print(
        f"{phase:10s} {tokens:9d} tokens {seconds:8.2f} s {tokens / seconds:10.0f} tokens/s "
        f"{flops / seconds / 1e12:9.3f} TFLOP/s {flops / seconds / most:6.1%} of the limit",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
