from __future__ import annotations

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
    assert "run the same command to continue" in capsys.readouterr().err


def test_success_is_exit_code_0() -> None:
    assert run(lambda: None) == 0
    assert run(lambda: 3) == 3
