"""Which tasks a rollout plays."""

from __future__ import annotations

from collections import Counter

import torch

from training.curriculum import Record, by_difficulty, passes

IDS = [f"t{number}" for number in range(40)]


def drawn(record: Record, count: int, replay: float, seed: int = 0) -> list[str]:
    return by_difficulty(IDS, record, count, replay, torch.Generator().manual_seed(seed))


def known(wins: dict[str, float], tries: int = 30) -> Record:
    record = Record()
    for task, share in wins.items():
        for number in range(tries):
            record.add(task, number % 10 < 10 * share)
    return record


def test_passes_play_every_task_once_before_any_twice() -> None:
    first, second = passes(IDS, 0, 40, seed=3), passes(IDS, 40, 40, seed=3)
    assert sorted(first) == sorted(second) == sorted(IDS)
    assert first != second
    assert passes(IDS, 10, 20, seed=3) == first[10:30]


def test_tasks_solved_half_the_time_come_more_often_than_those_always_or_never_solved() -> None:
    record = known({task: (1.0, 0.0, 0.5)[number % 3] for number, task in enumerate(IDS)})
    counts = Counter(number for seed in range(200) for number in (int(t[1:]) % 3 for t in drawn(record, 8, 0.0, seed)))
    assert counts[2] > 3 * counts[0]
    assert counts[2] > 3 * counts[1]


def test_a_task_never_played_comes_before_one_that_is_known_to_be_solved() -> None:
    record = known(dict.fromkeys(IDS[:20], 1.0))
    fresh = sum(int(t[1:]) >= 20 for seed in range(100) for t in drawn(record, 8, 0.0, seed))
    assert fresh > 0.8 * 800


def test_replay_draws_from_all_tasks_alike() -> None:
    record = known(dict.fromkeys(IDS[:39], 1.0) | {"t39": 0.5})
    counts = Counter(t for seed in range(300) for t in drawn(record, 8, 1.0, seed))
    assert set(counts) == set(IDS)
    assert max(counts.values()) < 2 * min(counts.values())


def test_no_task_is_played_twice_while_others_are_left() -> None:
    record = known({task: number / 40 for number, task in enumerate(IDS)})
    for seed in range(20):
        assert len(set(drawn(record, 40, 0.25, seed))) == 40
        assert Counter(drawn(record, 80, 0.25, seed)).most_common(1)[0][1] <= 41


def test_a_record_that_was_stored_draws_the_same() -> None:
    record = known({task: number / 40 for number, task in enumerate(IDS)})
    assert drawn(Record.of(record.state()), 12, 0.25) == drawn(record, 12, 0.25)


def test_what_was_long_ago_counts_less() -> None:
    record = known({"t0": 0.0}, tries=50)
    for _ in range(10):
        record.add("t0", success=True)
    assert record.solved("t0") > 0.5
