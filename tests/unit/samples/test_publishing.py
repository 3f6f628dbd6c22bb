"""The sample is whole or not there, the same bytes for the same settings, made in linear time, and explains itself."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from samples.publish import make_sample
from samples.settings import Settings
from samples.simulate import simulate
from schemas.errors import StageError

SMALL = Settings(tickets=120, seed=3)


def digest(folder: Path) -> str:
    """Of every file but lock and timings."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in (".lock", "timings.json"):
            total.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return total.hexdigest()


def command(folder: Path, *extra: str) -> list[str]:
    return [
        sys.executable, "-m", "samples", "--out", str(folder / "raw"), "--truth", str(folder / "truth"), "--tickets", "120",
        "--seed", "3",
        "--quiet", *extra,
    ]  # fmt: skip


def test_bytes_depend_on_the_settings_alone(tmp_path: Path, repo_root: Path) -> None:
    make_sample(SMALL, tmp_path / "a" / "raw", tmp_path / "a" / "truth")
    environment = {**os.environ, "PYTHONHASHSEED": "77", "TZ": "Asia/Kolkata"}
    subprocess.run(command(tmp_path / "b"), check=True, cwd=repo_root, env=environment, capture_output=True)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    make_sample(Settings(tickets=120, seed=4), tmp_path / "c" / "raw", tmp_path / "c" / "truth")
    assert digest(tmp_path / "a" / "raw" / "helpdesk") != digest(tmp_path / "c" / "raw" / "helpdesk")


def test_second_run_makes_nothing(tmp_path: Path) -> None:
    _, made = make_sample(SMALL, tmp_path / "raw", tmp_path / "truth")
    counts, again = make_sample(SMALL, tmp_path / "raw", tmp_path / "truth")
    assert (made, again) == (True, False)
    assert counts["users"] > 50


def test_lost_truth_is_written_again_as_it_was(tmp_path: Path) -> None:
    make_sample(SMALL, tmp_path / "raw", tmp_path / "truth")
    before = digest(tmp_path)
    (tmp_path / "truth" / "facts.jsonl").unlink()
    _, made = make_sample(SMALL, tmp_path / "raw", tmp_path / "truth")
    assert made
    assert digest(tmp_path) == before


def test_killed_run_is_not_taken_as_whole(tmp_path: Path, repo_root: Path) -> None:
    make_sample(SMALL, tmp_path / "whole" / "raw", tmp_path / "whole" / "truth")
    killed = tmp_path / "killed"
    for delay in (0.4, 0.9):
        process = subprocess.Popen(command(killed), cwd=repo_root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (killed / "raw" / "manifest.json").exists():
            break
        assert not (killed / "raw" / "helpdesk").exists()
    make_sample(SMALL, killed / "raw", killed / "truth")
    assert digest(killed) == digest(tmp_path / "whole")


def test_time_grows_no_faster_than_the_number_of_tickets() -> None:
    simulate(Settings(tickets=100))

    def seconds(tickets: int) -> float:
        started = time.process_time()
        simulate(Settings(tickets=tickets))
        return time.process_time() - started

    assert min(seconds(1600) for _ in range(2)) <= 4 * 1.25 * min(seconds(400) for _ in range(2))


def test_help_teaches_and_bad_settings_are_one_line(tmp_path: Path, repo_root: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "samples", "--help"], cwd=repo_root, capture_output=True, text=True, check=True
    ).stdout
    assert "--tickets" in shown
    assert "truth" in shown
    bad = subprocess.run(command(tmp_path, "--tickets", "3"), cwd=repo_root, capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert bad.stderr.count("\n") == 1
    assert "50 to" in bad.stderr


def test_files_that_are_somebodys_are_never_deleted(tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "letters" / "thesis.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("precious", encoding="utf-8")
    with pytest.raises(StageError, match="holds files that no stage made"):
        make_sample(SMALL, tmp_path / "mine", tmp_path / "truth")
    with pytest.raises(StageError, match="holds files that no stage made"):
        make_sample(SMALL, tmp_path / "raw", tmp_path / "mine")
    assert mine.read_text(encoding="utf-8") == "precious"
    make_sample(SMALL, tmp_path / "raw", tmp_path / "truth")
    before = digest(tmp_path)
    with pytest.raises(StageError, match="is the output of"):
        make_sample(SMALL, tmp_path / "truth", tmp_path / "raw")
    assert digest(tmp_path) == before


def test_truth_never_lies_inside_the_export(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="apart"):
        make_sample(SMALL, tmp_path / "raw", tmp_path / "raw" / "truth")


def test_every_kind_of_obstacle_is_there_from_a_hundred_tickets_on() -> None:
    from samples.settings import OBSTACLES

    world = simulate(Settings(tickets=100, seed=9))
    assert {ticket.obstacle for ticket in world.tickets} == {"", *OBSTACLES}
