"""Imitated episodes with detours: they end as the reference does, and only the reference's own choices are imitated."""

from __future__ import annotations

import random

from rewards.score import Grader
from schemas.taskset import TaskSet
from training.corpus import read_trajectories, warm_tapes
from training.demonstrations import Demonstrator, epoch_of
from training.symbols import SymbolCodec
from training.tape import ACTION, FORCED
from training.tokens import Vocabulary

CONTEXT = 512


def demonstrator(taskset: TaskSet, grader: Grader, vocabulary: Vocabulary, rate: float) -> Demonstrator:
    return Demonstrator(taskset, grader, SymbolCodec(vocabulary), CONTEXT, rate=rate)


def test_without_detours_it_is_the_reference(taskset: TaskSet, grader: Grader, vocabulary: Vocabulary) -> None:
    shown = demonstrator(taskset, grader, vocabulary, 0.0)
    for task_id in sorted(taskset.tasks):
        tape = shown.tape(task_id, 0)
        assert tape is not None
        called = [vocabulary.symbols[t][2:] for t in tape.ids if vocabulary.symbols[t].startswith("T:")]
        assert called == [step.call.tool for step in grader.criteria(task_id).answer.reference]


def test_a_detour_is_read_and_not_imitated(taskset: TaskSet, grader: Grader, vocabulary: Vocabulary) -> None:
    plain, longer = (demonstrator(taskset, grader, vocabulary, rate) for rate in (0.0, 0.9))
    seen = 0
    for task_id in sorted(taskset.tasks):
        short, tape = plain.tape(task_id, 3), longer.tape(task_id, 3)
        if short is None or tape is None:
            continue
        calls = [(k, vocabulary.symbols[t][2:]) for t, k in zip(tape.ids, tape.kinds, strict=True)]
        calls = [(kind, name) for kind, name in calls if name in shown_tools(taskset, vocabulary)]
        own = [name for kind, name in calls if kind == ACTION]
        seen += sum(kind == FORCED for kind, _ in calls)
        steps = [step.call.tool for step in grader.criteria(task_id).answer.reference]
        # The reference in its order, less what a detour has shown already.
        left = iter(steps)
        assert all(name in left for name in own)
        assert own[-1] == steps[-1]
    assert seen > 0


def shown_tools(taskset: TaskSet, vocabulary: Vocabulary) -> set[str]:
    return {symbol[2:] for symbol in vocabulary.symbols if symbol.startswith("T:")}


def test_detours_change_nothing_in_any_system(taskset: TaskSet, grader: Grader, vocabulary: Vocabulary) -> None:
    shown = demonstrator(taskset, grader, vocabulary, 0.9)
    for task_id in sorted(taskset.tasks):
        row = shown.open(task_id, 5)
        chance = random.Random(task_id)
        for _ in range(4):
            if not row.over:
                shown.detour(row, chance, set())
        assert not row.episode.rows_written


def test_an_epoch_is_the_same_twice_and_another_is_other(taskset: TaskSet, grader: Grader, vocabulary: Vocabulary) -> None:
    tapes, _ = warm_tapes(taskset, read_trajectories(taskset), SymbolCodec(vocabulary), CONTEXT)
    plain = {tape.task_id: tape for tape in tapes}

    def ids(epoch: int) -> list[list[int]]:
        shown = demonstrator(taskset, grader, vocabulary, 0.5)
        return [tape.ids for tape in epoch_of(shown, plain, epoch, random.Random(epoch))]

    assert ids(1) == ids(1)
    assert ids(1) != ids(2)
    assert len(ids(1)) == len(plain)
