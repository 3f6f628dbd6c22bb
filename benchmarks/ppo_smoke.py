"""Does PPO learn? A deliberately weak warm start, some iterations, organisations held out before and after, on several seeds.

    python -m benchmarks.ppo_smoke [--seeds 2] [--control shuffled_reward] [--taskset helpdesk_v1]

Without `--taskset` on a small set made for it (8 organisations to learn from, 8 held out, each with 18 cases), which takes about
two CPU minutes a seed, as many seeds at once as there are processors; `tests/integration/test_learning.py` runs the same. Bars on
every seed: sampled success rises by at least 0.15 with intervals that do not overlap, violations are halved, and no outcome class
of at least 10 episodes loses more than chance (its interval after lies wholly below the one before). With `--control
shuffled_reward` the bar is that success does NOT rise so. Prints one row a seed; exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.reference_episodes import add_trajectories
from tests.taskset_factory import build_taskset
from training.config import Config
from training.evaluate import evaluate_run
from training.ppo import train
from training.report import interval, write_report

ORGANISATIONS = 8
"""On either side of the small set."""
WARM_EPOCHS, ITERATIONS, LR = 7, 30, 3e-4
RISE, HALVED = 0.15, 0.5


@dataclass(frozen=True)
class Smoke:
    """What one seed gave: sampled success and violations before and after, with intervals over the organisations."""

    success: tuple[dict[str, Any], dict[str, Any]]
    violations: tuple[dict[str, Any], dict[str, Any]]
    fallen: list[str]
    """Outcome classes whose recall is lower beyond chance."""
    cpu_s: float
    folder: Path

    @property
    def rises(self) -> bool:
        """True where the mean rises by `RISE` and the intervals do not overlap."""
        before, after = self.success
        apart = before["high"] is not None and after["low"] is not None and after["low"] > before["high"]
        return bool(apart and after["mean"] - before["mean"] >= RISE)

    @property
    def halved(self) -> bool:
        before, after = self.violations
        return bool(after["mean"] <= HALVED * before["mean"])

    def row(self) -> str:
        before, after = (f"{interval(s)}, violations {interval(v)}" for s, v in zip(self.success, self.violations, strict=True))
        lost = ", ".join(self.fallen) or "none"
        return f"sampled success {before} -> {after}, classes that fell: {lost}; {self.cpu_s:.0f} CPU s; {self.folder}"


def small_set(folder: Path) -> Path:
    """The task set that is learnt here without another: certified, with reference episodes."""
    return add_trajectories(build_taskset(folder, organisations=ORGANISATIONS))


def smoke(config: Config, limit: int) -> Smoke:
    """Trains and evaluates one seed; `limit`: held-out tasks of each slice."""
    started = time.process_time()
    folder = train(config)
    evaluation = evaluate_run(folder, samples=1, limit=limit, quiet=True)
    write_report(folder)
    before, after = (evaluation["agents"][f"{name}, sampled"] for name in ("warm start", "after PPO"))
    return Smoke(
        (before["all"]["success"], after["all"]["success"]),
        (before["all"]["violations"], after["all"]["violations"]),
        fallen(before["classes"], after["classes"], evaluation["classes"]),
        time.process_time() - started,
        folder,
    )


def settings(taskset: str, seed: int, **more: Any) -> Config:
    """A weak start, then a learning rate for few iterations; rollouts read all words, of which the small set has few."""
    weak = {"warm_epochs": WARM_EPOCHS, "iterations": ITERATIONS, "save_every": ITERATIONS, "lr": LR, "anneal": 0.0}
    weak |= {"rollout_word_dropout": 0.0, "eval_every": 0, "quiet": True, "accept_failed_report": True}
    return Config(taskset=taskset, seed=seed, **weak | more)


def fallen(before: dict[str, Any], after: dict[str, Any], sizes: dict[str, int]) -> list[str]:
    """Outcome classes of at least 10 episodes whose recall is lower beyond chance."""
    names = [n for n, size in sizes.items() if size >= 10 and n in before and n in after]
    return [n for n in names if before[n]["low"] is not None and after[n]["high"] < before[n]["low"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taskset", default="", help="default: the small one made for it")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--warm-epochs", type=int, default=WARM_EPOCHS, help="few make a weak start")
    parser.add_argument("--limit", type=int, default=200, help="held-out tasks of each slice")
    parser.add_argument("--control", choices=["none", "shuffled_reward"], default="none")
    arguments = parser.parse_args()
    missed, started = 0, time.monotonic()
    at_once = min(arguments.seeds, os.cpu_count() or 1)
    with (
        tempfile.TemporaryDirectory() as made,
        ProcessPoolExecutor(at_once, mp_context=multiprocessing.get_context("spawn")) as seeds,
    ):
        taskset = arguments.taskset or str(small_set(Path(made) / "small"))
        more = {"iterations": arguments.iterations, "save_every": arguments.iterations, "warm_epochs": arguments.warm_epochs}
        configs = [settings(taskset, seed, control=arguments.control, **more) for seed in range(1, arguments.seeds + 1)]
        for config, found in zip(configs, seeds.map(smoke, configs, repeat(arguments.limit)), strict=True):
            good = (found.rises and found.halved and not found.fallen) if arguments.control == "none" else not found.rises
            missed += not good
            print(f"seed {config.seed}: {'ok' if good else 'MISSED'}; {found.row()}", flush=True)
    print(f"{time.monotonic() - started:.0f} s for {arguments.seeds} seeds, {at_once} at once")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
