"""The bench of certificates: what parts from the reference is judged as if it had been played from its start."""

from __future__ import annotations

import pytest

from environments.episode import Episode
from rewards.score import Grader
from schemas.episode import Observation
from schemas.files import read_models
from schemas.task import Answer
from schemas.taskset import TaskSet, open_taskset
from tasks.certificates._bench import Bench
from tasks.certificates.c18_other_orders import other_orders
from tasks.certify import CHECKS
from tests.taskset_certified import SOUND, placed
from tests.taskset_factory import PROOF, build_taskset


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[TaskSet, dict[str, Answer]]:
    folder = build_taskset(tmp_path_factory.mktemp("small") / "small")
    answers = {a.task_id: a for a in read_models(folder / "train" / "answers.jsonl", Answer)}
    return open_taskset(folder, "train"), answers


@pytest.mark.parametrize("key", SOUND)
def test_what_parts_from_the_reference_is_judged_as_when_played_from_the_start(
    small: tuple[TaskSet, dict[str, Answer]], key: str
) -> None:
    taskset, answers = small
    task, answer = taskset.tasks[f"small-{key}"], answers[f"small-{key}"]
    bench = Bench(taskset, task, answer, PROOF, placed(task), Grader(taskset, {task.task_id: answer}), Episode(taskset))
    bench.whole()
    CHECKS["C6"].run(bench)
    paths = [bench.calls, bench.calls[:1], (), *(mutant.calls for mutant, _ in bench.mutants)]
    paths += [[bench.calls[at] for at in order] for order in other_orders(bench)]
    paths += [(*bench.calls[:at], *bench.calls[at + 1 :]) for at in range(len(bench.calls))]
    for calls in paths:
        parted, whole = bench.vary(calls), bench.play(calls)
        assert parted.journal == whole.journal
        assert parted.grade == whole.grade
        assert parted.comparison == whole.comparison
    assert bench.shown() == tuple(o.text for o in bench_observations(bench))


def bench_observations(bench: Bench) -> list[Observation]:
    """What a replay of the reference by an episode of its own shows."""
    episode = Episode(bench.taskset)
    episode.reset(bench.task.task_id, bench.seed)
    return [episode.step(call).observation for call in bench.calls]


def test_other_orders_keep_every_dependency(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    orders = 0
    for key in SOUND:
        task, answer = taskset.tasks[f"small-{key}"], answers[f"small-{key}"]
        bench = Bench(taskset, task, answer, PROOF, placed(task), Grader(taskset, {task.task_id: answer}), Episode(taskset))
        for order in other_orders(bench):
            orders += 1
            assert sorted(order) == list(range(len(answer.reference)))
            assert order[-1] == len(answer.reference) - 1
            for at, step in enumerate(answer.reference):
                needed = [int(s.split()[1]) for s in step.derived_from.values() if s.startswith("step")]
                assert all(order.index(one) < order.index(at) for one in needed)
    assert orders > len(SOUND) // 2
