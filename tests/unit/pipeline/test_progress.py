from __future__ import annotations

import sys

import pytest

from pipeline.progress import progress


def test_progress_away_from_a_terminal_is_lines_with_counts(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("ingest", 3, every_s=0) as advance:
        advance()
        advance(2)
    assert capsys.readouterr().err == "ingest: 1/3\ningest: 3/3\n"


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("ingest", 3, quiet=True) as advance:
        advance(3)
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_progress_on_a_terminal_is_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress("ingest", 2) as advance:
        advance(2)
    assert "2/2" in capsys.readouterr().err
