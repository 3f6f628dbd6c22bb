"""A task set whose quality report failed is refused, whatever else is right with it, and an accepted one says so in the card."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from pipeline.cli import run_command
from schemas.errors import RecordgymError, SourceError, StageError
from schemas.files import write_json
from schemas.paths import runs_dir
from training.card import limits
from training.config import Config
from training.passed import report_faults, require_passed
from training.ppo import main, train
from training.run_files import load_run

FAULTS = ["late_time: 3 findings", "C17: 1 task", "hold-out: organisations overlap", "probe"]


@pytest.fixture
def folder(small_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_folder, tmp_path / "small"))


def failed(folder: Path, verdict: object = "failed", faults: object = FAULTS) -> Path:
    write_json(folder / "report.json", {"verdict": verdict, "faults": faults})
    return folder


def test_a_failed_report_is_refused_before_anything_is_written(tiny: Config, folder: Path) -> None:
    with pytest.raises(StageError, match=r"says FAIL \(late_time: 3 findings; .*and 1 more\).*--accept-failed-report"):
        train(dataclasses.replace(tiny, taskset=str(failed(folder)), run="refused"))
    assert not (runs_dir() / "refused").exists()


def test_the_command_says_so_in_one_line_and_exits_with_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run_command(lambda: main(["--taskset", str(failed(folder)), "--run", "refused", "--iterations", "1"]))
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_accepted_one_is_trained_on_and_the_card_says_so(tiny: Config, folder: Path) -> None:
    config = dataclasses.replace(tiny, taskset=str(failed(folder)), run="accepted", accept_failed_report=True)
    assert any("said FAIL, which was accepted: late_time" in line for line in limits(load_run(train(config))))


@pytest.mark.parametrize("verdict", ["PASSED", None, True, "could_not_run"])
def test_a_report_that_cannot_be_read_has_not_passed(folder: Path, verdict: object) -> None:
    with pytest.raises(SourceError, match="not a report of this version"):
        report_faults(failed(folder, verdict, []))
    with pytest.raises(SourceError):
        report_faults(failed(folder, "passed", None))


def test_a_damaged_report_is_one_error_of_ours(folder: Path) -> None:
    (folder / "report.json").write_text('{"verdict": "pas')
    with pytest.raises(RecordgymError):
        require_passed(folder, accepted=False)


def test_a_passed_report_says_nothing_and_a_missing_one_that_it_is_not_known(folder: Path) -> None:
    (folder / "report.json").unlink(missing_ok=True)
    assert "not known" in require_passed(folder, accepted=False)
    assert require_passed(failed(folder, "passed", []), accepted=False) == ""
    with pytest.raises(StageError, match="no reason is given"):
        require_passed(failed(folder, "failed", []), accepted=False)
    with pytest.raises(StageError, match="late_time"):
        require_passed(failed(folder, "passed"), accepted=False)
