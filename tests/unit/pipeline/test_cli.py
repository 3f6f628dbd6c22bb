from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli import run_command
from schemas.errors import SourceError, StageError


def run(main: object) -> int:
    with pytest.raises(SystemExit) as caught:
        run_command(main)  # type: ignore[arg-type]
    return int(caught.value.code or 0)


def raising(error: BaseException) -> object:
    def main() -> int:
        raise error

    return main


def test_what_the_operator_can_mend_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(raising(StageError("data is\n missing"))) == 2
    assert capsys.readouterr().err == "error: data is missing\n"
    assert run(raising(SourceError("a.jsonl", "3", "not JSON"))) == 2
    assert capsys.readouterr().err == "error: a.jsonl:3: not JSON\n"


def test_anything_else_is_a_traceback() -> None:
    with pytest.raises(KeyError):
        run_command(raising(KeyError("x")))  # type: ignore[arg-type]


def test_an_interrupt_says_how_to_continue(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(raising(KeyboardInterrupt())) == 130
    said = capsys.readouterr().err
    assert "run the same command again" in said
    assert said.count("\n") == 1


PRINTS = """
from pipeline.cli import console, run_command
def main():
    for number in range(100_000):
        {printing}
run_command(main)
"""


@pytest.mark.parametrize("printing", ["print(number, 'words')", "number or [console().print(n, 'words') for n in range(20_000)]"])
def test_a_reader_that_goes_early_ends_the_command_quietly(printing: str, repo_root: Path) -> None:
    command = [sys.executable, "-c", PRINTS.format(printing=printing)]
    with subprocess.Popen(command, cwd=repo_root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "0 words\n"
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("printing", ["print(number, 'words')", "print('words') if number == 0 else None"])
def test_an_output_that_is_full_is_one_line(printing: str, repo_root: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", PRINTS.format(printing=printing)]
        done = subprocess.run(command, cwd=repo_root, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr == "error: the output cannot be written: No space left on device\n"
    assert done.returncode == 2


def test_a_file_that_may_not_be_written_is_one_line_with_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(raising(PermissionError(errno.EACCES, "Permission denied", "data/runs"))) == 2
    assert capsys.readouterr().err == "error: data/runs: Permission denied\n"
    assert run(raising(OSError(errno.ENOSPC, "No space left on device", "a.parquet"))) == 2
    assert capsys.readouterr().err == "error: a.parquet: No space left on device\n"
    with pytest.raises(FileNotFoundError):
        run_command(raising(FileNotFoundError(errno.ENOENT, "No such file", "a")))  # type: ignore[arg-type]


def test_success_is_exit_code_0() -> None:
    assert run(lambda: None) == 0
    assert run(lambda: 3) == 3
