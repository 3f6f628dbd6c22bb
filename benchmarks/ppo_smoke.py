"""Does PPO learn? A deliberately weak warm start, a few iterations, held-out tasks before and after, on several seeds.

    python benchmarks/ppo_smoke.py [--taskset helpdesk_v1] [--seeds 2] [--iterations 30] [--control shuffled_reward]

Bars on every seed: sampled success rises by at least 0.15 with intervals that do not overlap, violations are halved, and no
outcome class of at least 10 episodes loses more than chance (its interval after lies wholly below the one before). With
`--control shuffled_reward` the bar is that success does NOT rise so. Prints one row a seed; exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from training.config import Config
from training.evaluate import evaluate_run
from training.ppo import train
from training.report import interval, write_report


def rises(before: dict[str, Any], after: dict[str, Any], least: float) -> bool:
    """True where the mean rises by `least` and the intervals do not overlap."""
    apart = before["high"] is not None and after["low"] is not None and after["low"] > before["high"]
    return bool(apart and after["mean"] - before["mean"] >= least)


def fallen(before: dict[str, Any], after: dict[str, Any], sizes: dict[str, int]) -> list[str]:
    """Outcome classes whose recall is lower beyond chance."""
    names = [n for n, size in sizes.items() if size >= 10 and n in before and n in after]
    return [n for n in names if before[n]["low"] is not None and after[n]["high"] < before[n]["low"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--taskset", default="helpdesk_v1")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--warm-epochs", type=int, default=2, help="few make a weak start")
    parser.add_argument("--limit", type=int, default=60, help="held-out tasks of each slice")
    parser.add_argument("--control", choices=["none", "shuffled_reward"], default="none")
    arguments = parser.parse_args()
    missed = 0
    for seed in range(1, arguments.seeds + 1):
        started = time.process_time()
        config = Config(
            taskset=arguments.taskset,
            seed=seed,
            warm_epochs=arguments.warm_epochs,
            iterations=arguments.iterations,
            control=arguments.control,
            save_every=arguments.iterations,
            eval_every=0,
            quiet=True,
        )
        folder = train(config)
        evaluation = evaluate_run(folder, samples=1, limit=arguments.limit, quiet=True)
        write_report(folder)
        before, after = (evaluation["agents"][f"{name}, sampled"] for name in ("warm start", "after PPO"))
        rise = rises(before["all"]["success"], after["all"]["success"], 0.15)
        halved = after["all"]["violations"]["mean"] <= 0.5 * before["all"]["violations"]["mean"]
        lost = fallen(before["classes"], after["classes"], evaluation["classes"])
        good = (rise and halved and not lost) if arguments.control == "none" else not rise
        missed += not good
        print(
            f"seed {seed}: {'ok' if good else 'MISSED'}; sampled success {interval(before['all']['success'])} -> "
            f"{interval(after['all']['success'])}, violations {interval(before['all']['violations'])} -> "
            f"{interval(after['all']['violations'])}, classes that fell: {', '.join(lost) or 'none'}; "
            f"{time.process_time() - started:.0f} CPU s; {folder}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
