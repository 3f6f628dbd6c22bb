"""Cost of the rules: microseconds a judged call, against a naive judge that copies the state and replays the journal each time.

    python -m benchmarks.rules [--rows 1500] [--rounds 2000]

Plays the references of a task set of `--rows` rows under the rules of the sample's policies. The naive judge is what one would
write first: for every call it copies the state, applies every change so far, and asks the same rules. Both must say the same of
every call, or the exit code is 1. CPU time, the best of the repetitions.
"""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from environments.agents import ReferenceAgent, run_episode
from environments.episode import Episode
from rewards.path import RuleInForce, broken_at, rules_by_tool
from rewards.view import JournalView
from schemas.episode import JournalEntry, Violation
from schemas.files import read_models
from schemas.task import Answer, TaskSpec
from schemas.taskset import State, TaskSet, open_taskset
from tests.taskset_factory import build_taskset

Played = tuple[TaskSpec, State, tuple[JournalEntry, ...], Mapping[str, tuple[RuleInForce, ...]]]
Judge = Callable[[Played], list[list[Violation]]]


def played(taskset: TaskSet, answers: dict[str, Answer]) -> list[Played]:
    """Each reference's journal, with the state and the rules under which it is judged."""
    found = []
    for task_id, answer in answers.items():
        task = taskset.tasks[task_id]
        entries = run_episode(Episode(taskset), ReferenceAgent(answer.reference), task_id).journal.entries
        found.append((task, taskset.state(task), entries, rules_by_tool(task.rules)))
    return found


def growing(one: Played) -> list[list[Violation]]:
    """As the grader does: one view that grows by a call a step."""
    task, state, entries, rules = one
    view = JournalView.of_task(task, state)
    return [broken_at(rules, view, view.append(entry)) for entry in entries]


def naive(one: Played) -> list[list[Violation]]:
    """The whole state copied and every change so far applied again, for every call."""
    task, state, entries, rules = one
    said = []
    for step, entry in enumerate(entries):
        now: Any = copy.deepcopy(state)
        for earlier in entries[:step]:
            for change in earlier.changes if earlier.ok else ():
                rows = now.setdefault(change.system, {}).setdefault(change.kind, {})
                if change.op == "delete":
                    rows.pop(change.record_id, None)
                else:
                    rows.setdefault(change.record_id, {}).update(change.fields)
        view = JournalView.of_task(task, now)
        for earlier in entries[:step]:
            view.append(earlier.model_copy(update={"changes": ()}))
        said.append(broken_at(rules, view, view.append(entry)))
    return said


def microseconds(judge: Judge, cases: list[Played], rounds: int, repeats: int = 5) -> float:
    """CPU microseconds a judged call: the best of the repetitions."""
    calls = sum(len(entries) for _, _, entries, _ in cases)
    turns = max(1, rounds // calls)
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(turns):
            for case in cases:
                judge(case)
        best = min(best, (time.process_time() - start) / (turns * calls))
    return 1e6 * best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1500, help="rows of other customers that every task shares (default 1500)")
    parser.add_argument("--rounds", type=int, default=2000, help="judged calls in one repetition (default 2000)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = build_taskset(Path(place) / "rules", name="rules", bystanders=max(1, asked.rows // 10))
        taskset = open_taskset(folder, "train")
        answers = {a.task_id: a for a in read_models(folder / "train" / "answers.jsonl", Answer)}
        cases = played(taskset, answers)
        same = all(growing(case) == naive(case) for case in cases)
        ours = microseconds(growing, cases, asked.rounds)
        theirs = microseconds(naive, cases, max(100, asked.rounds // 20), repeats=2)
    rules = sum(len(task.rules) for task, _, _, _ in cases) / len(cases)
    print(f"{len(cases)} references, {rules:.1f} rules in force a task; both judges say the same: {'yes' if same else 'NO'}")
    print(f"rules, per call          {ours:10.2f} us")
    print(f"naive judge, per call    {theirs:10.2f} us   {theirs / ours:.0f} times as much")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
