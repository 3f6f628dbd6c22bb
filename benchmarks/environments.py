"""Speed of the environments: reset, call, reward, steps a second (core and gymnasium), fork, and memory per extra episode.

    python benchmarks/environments.py [--rows 1500] [--rounds 20000]

Builds a task set of `--rows` rows in a temporary folder and prints CPU microseconds (best of 7 repetitions, one thread) against
the targets. Grading is off for reset, call and steps; the reward's own figure is what grading adds to a step.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from environments.episode import Episode
from rewards.score import load_grader
from schemas.files import read_models
from schemas.task import Answer
from schemas.taskset import TaskSet, open_taskset
from tests.taskset_factory import build_taskset


def seconds(run: Callable[[int], None], rounds: int, repeats: int = 7) -> float:
    """CPU seconds of one round: the best of the repetitions, which other work on the machine disturbs least."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run(rounds)
        times.append((time.process_time() - start) / rounds)
    return min(times)


def reference_calls(folder: Path) -> dict[str, list[str]]:
    return {
        answer.task_id: [json.dumps({"tool": s.call.tool, "arguments": s.call.arguments}) for s in answer.reference]
        for answer in read_models(folder / "train" / "answers.jsonl", Answer)
    }


def play_all(
    step: Callable[[Any], Any], reset: Callable[[str], Any], calls: Mapping[str, Sequence[Any]]
) -> Callable[[int], None]:
    """Plays references over all tasks until `rounds` steps were made (a few more at the end)."""

    def run(rounds: int) -> None:
        made = 0
        while made < rounds:
            for task_id, actions in calls.items():
                reset(task_id)
                for action in actions:
                    step(action)
                made += len(actions)

    return run


def memory_per_episode(taskset: TaskSet, calls: dict[str, list[str]], episodes: int = 500) -> float:
    """Bytes that each further episode holds after its whole reference was played."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    held = []
    names = list(calls)
    for number in range(episodes):
        episode = Episode(taskset)
        task_id = names[number % len(names)]
        episode.reset(task_id, number)
        for action in calls[task_id]:
            episode.step(action)
        held.append(episode)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / len(held)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1500, help="rows of other customers that every task shares (default 1500)")
    parser.add_argument("--rounds", type=int, default=20_000, help="operations in one repetition (default 20000)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = build_taskset(Path(place) / "speed", name="speed", bystanders=max(1, arguments.rows // 10))
        taskset = open_taskset(folder, "train")
        calls = reference_calls(folder)
        task_id = next(iter(calls))
        rows = sum(len(r) for kinds in taskset.state(taskset.tasks[task_id]).values() for r in kinds.values())
        grader = load_grader(taskset)
        episode, graded = Episode(taskset), Episode(taskset, grader)
        print(f"{len(taskset.tasks)} tasks, {rows} rows a task; microseconds unless said otherwise")

        def resets(rounds: int) -> None:
            for _ in range(rounds):
                episode.reset(task_id)

        reset_us = 1e6 * seconds(resets, arguments.rounds)
        print(f"reset                        {reset_us:9.2f}   target <= 20")
        order = next(iter(taskset.state(taskset.tasks[task_id])["orders"]["order"]))
        lookup = {"tool": "get_order", "arguments": {"order_id": order}}
        write = {"tool": "change_address", "arguments": {"order_id": order, "new_address": "ADDRESS_00000000"}}

        def pairs(call: dict[str, Any], clear: bool) -> Callable[[int], None]:
            def run(rounds: int) -> None:
                for _ in range(rounds):
                    if clear or episode.done or len(episode.observations) > 15:
                        episode.reset(task_id)
                    episode.step(call)

            return run

        episode.reset(task_id)
        read_us = 1e6 * seconds(pairs(lookup, True), arguments.rounds) - reset_us
        write_us = 1e6 * seconds(pairs(write, True), arguments.rounds) - reset_us
        print(f"call, read (get_order)       {read_us:9.2f}   target <= 20")
        print(f"call, write (change_address) {write_us:9.2f}   target <= 20")
        parsed = {name: [json.loads(action) for action in actions] for name, actions in calls.items()}
        mean_us = 1e6 * seconds(play_all(episode.step, episode.reset, parsed), arguments.rounds)
        print(f"call, mean over references   {mean_us:9.2f}   target <= 20")
        core = seconds(play_all(episode.step, episode.reset, calls), arguments.rounds)
        print(f"steps/s, core, references    {1 / core:9.0f}   target >= 20000 (resets and JSON parsing included)")
        with_reward = seconds(play_all(graded.step, graded.reset, calls), arguments.rounds // 2)
        print(f"reward, per step             {1e6 * (with_reward - core):9.2f}   target <= 200")
        from environments.doors.gymnasium import RecordsEnv

        env = RecordsEnv(taskset, grader=grader)
        gym = seconds(play_all(env.step, lambda t: env.reset(options={"task_id": t}), calls), arguments.rounds // 2)
        print(f"steps/s, gymnasium, graded   {1 / gym:9.0f}   target >= 10000")
        episode.reset(task_id)
        for action in calls[task_id][:-1]:
            episode.step(action)

        def forks(rounds: int) -> None:
            for _ in range(rounds):
                episode.fork()

        print(f"fork                         {1e6 * seconds(forks, arguments.rounds):9.2f}")
        ask = episode.fork()

        def questions(rounds: int) -> None:
            for _ in range(rounds):
                ask.fork().step(
                    {"tool": "reply_to_requester", "arguments": {"text": "What is the order number? And your phone?" * 20}}
                )

        print(f"requester, long message      {1e6 * seconds(questions, 500):9.2f}   target < 1000")
        print(f"memory per extra episode, KB {memory_per_episode(taskset, calls) / 1024:9.1f}   target < 20")


if __name__ == "__main__":
    main()
