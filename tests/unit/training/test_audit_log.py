"""The audit log names every episode that was trained on, and a line that was changed, lost or put in is found."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from training import audit, ppo
from training.config import Config
from training.tape import Tape


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of a warm start and three iterations."""
    audit.append(tmp_path, 0, "warm start", [("t1", 0), ("t2", 0)])
    for iteration in (1, 2, 3):
        tapes = [Tape("t1", seed=iteration), Tape("t3", seed=iteration)]
        for tape in tapes:
            tape.seal()
        audit.append_tapes(tmp_path, iteration, "rollout", tapes)
    return tmp_path


def read(folder: Path) -> list[str]:
    return (folder / audit.NAME).read_text().splitlines()


def write(folder: Path, lines: list[str]) -> None:
    (folder / audit.NAME).write_text("".join(line + "\n" for line in lines))


def faults(folder: Path, iterations: int = 3) -> tuple[str, ...]:
    found = audit.check(folder, iterations)
    assert found is not None
    return found.faults


def test_a_whole_chain_has_no_fault_and_knows_its_tasks(log: Path) -> None:
    found = audit.check(log, 3)
    assert found is not None
    assert (found.faults, found.lines, found.tasks, found.episodes) == ((), 4, {"t1", "t2", "t3"}, 6)


def changed(lines: list[str]) -> list[str]:
    return [lines[0], lines[1].replace("t3", "t4"), *lines[2:]]


def taken_out(lines: list[str]) -> list[str]:
    return [lines[0], *lines[2:]]


def put_in(lines: list[str]) -> list[str]:
    return [*lines[:2], lines[1], *lines[2:]]


def other_order(lines: list[str]) -> list[str]:
    return [lines[0], lines[2], lines[1], lines[3]]


def damaged(lines: list[str]) -> list[str]:
    return [*lines[:2], "{}", lines[3]]


@pytest.mark.parametrize("way", [changed, taken_out, put_in, other_order, damaged], ids=lambda way: way.__name__)
def test_a_broken_chain_is_found(log: Path, way: Callable[[list[str]], list[str]]) -> None:
    write(log, way(read(log)))
    assert faults(log)


def test_a_log_that_ends_too_early_is_found_by_the_iterations(log: Path) -> None:
    write(log, read(log)[:-1])
    assert faults(log, 3) == ("it ends before iteration 3; 3 iterations were run",)


def test_a_run_without_a_log_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    assert audit.check(tmp_path, 3) is None


def test_cutting_keeps_the_lines_as_they_are(log: Path) -> None:
    before = read(log)
    audit.cut(log, 1)
    assert read(log) == before[:2]
    assert faults(log, 1) == ()


def test_a_line_cut_short_by_a_kill_is_dropped(log: Path) -> None:
    with (log / audit.NAME).open("a") as handle:
        handle.write('{"iteration": 4, "epi')
    audit.cut(log, 3)
    audit.append(log, 4, "rollout", [("t1", 4)])
    assert faults(log, 4) == ()


def test_a_resumed_run_has_the_log_of_an_unbroken_one(tiny: Config) -> None:
    whole = ppo.train(dataclasses.replace(tiny, run="whole"))
    part = ppo.train(dataclasses.replace(tiny, run="part"))
    shutil.rmtree(part / "step_4")
    ppo.train(dataclasses.replace(tiny, run="part"))
    assert read(part) == read(whole)
    assert faults(part, 4) == ()
    rows = [json.loads(line) for line in read(whole)]
    assert [len(row["episodes"]) for row in rows[1:]] == [tiny.episodes] * 4


def test_the_supervised_control_says_which_references_it_read(tiny: Config) -> None:
    folder = ppo.train(dataclasses.replace(tiny, run="control", iterations=2, control="supervised"))
    rows = [json.loads(line) for line in read(folder)]
    assert [row["what"] for row in rows[1:]] == ["references", "references"]
    assert all(row["episodes"] and row["tapes_sha256"] for row in rows[1:])
    assert faults(folder, 2) == ()
