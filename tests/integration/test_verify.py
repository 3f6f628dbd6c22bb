"""Tasks carry their proof: from the folder alone, on a machine without any data library, every certificate is derived again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.files import read_models, write_models
from schemas.task import Answer, Certificate, TaskSpec
from schemas.taskset import open_taskset, task_digest
from tests.stopping import INTERRUPTED, all_gone, stop
from tests.taskset_certified import build_certified, write_side
from tests.taskset_factory import seal

CASES = ("late_grant", "damaged_refused", "cancel_refused", "address_grant", "goodwill_refused")
HEAVY = (
    *("polars", "duckdb", "sklearn", "great_expectations", "presidio_analyzer", "presidio_anonymizer", "pandas", "pyarrow"),
    *("numpy", "spacy", "msgspec", "sqlalchemy", "torch", "transformers", "ingest", "deid", "samples"),
)
REFUSES = f"""
import sys
class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY!r}:
            raise ImportError(f"{{name}} is not on this machine")
sys.meta_path.insert(0, Refuses())
"""
"""A sitecustomize: each process of the command, its workers included, is on a machine without those packages."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_certified(tmp_path_factory.mktemp("certified") / "small", cases=CASES)


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy somewhere else, as on another machine."""
    return Path(shutil.copytree(whole, tmp_path / "a folder of another length" / "small"))


@pytest.fixture(scope="module")
def verify(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    hook = tmp_path_factory.mktemp("hook")
    (hook / "sitecustomize.py").write_text(REFUSES)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tasks", "verify", *map(str, arguments)]
        environment = {**kept, "PYTHONPATH": f"{hook}{os.pathsep}{repo_root}", "RECORDGYM_DATA": str(hook / "none")}
        return subprocess.run(command, env=environment, cwd=hook, capture_output=True, text=True, check=False)

    return run


Verify = Callable[..., subprocess.CompletedProcess[str]]


def test_the_command_really_runs_without_the_data_libraries(verify: Verify, repo_root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", REFUSES + "import polars"], cwd=repo_root, capture_output=True, text=True, check=False
    )
    assert "is not on this machine" in done.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_every_certificate_is_derived_again_elsewhere_and_agrees(verify: Verify, folder: Path, workers: int) -> None:
    tasks = sum(len(open_taskset(folder, side).tasks) for side in ("train", "heldout"))
    done = verify(folder, "--workers", workers)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tasks} of {tasks} certificates hold; 0 disagreements" in done.stdout
    assert f"verify small: {tasks}/{tasks}" in done.stderr


def test_one_task_is_verified_by_its_id(verify: Verify, folder: Path) -> None:
    done = verify(folder, "--task", "small-h-cancel_grant", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 of 1 certificates hold; 0 disagreements" in done.stdout


def test_a_task_whose_answer_was_exchanged_is_named_though_all_digests_fit(verify: Verify, folder: Path) -> None:
    """Who can write the folder can make every digest fit; that the reference solves the task cannot be made up."""
    tasks = list(read_models(folder / "train" / "tasks.jsonl", TaskSpec))
    answers = list(read_models(folder / "train" / "answers.jsonl", Answer))
    at = next(i for i, answer in enumerate(answers) if answer.task_id == "small-late_grant")
    outcome = answers[at].outcome.model_copy(update={"code": "refund_refused_window"})
    answers[at] = answers[at].model_copy(update={"outcome": outcome})
    write_side(folder, "train", tasks, answers)
    digest = task_digest(next(t for t in tasks if t.task_id == answers[at].task_id), answers[at])
    certificates = [
        c.model_copy(update={"task_sha256": digest}) if c.task_id == answers[at].task_id else c
        for c in read_models(folder / "certificates.jsonl", Certificate)
    ]
    write_models(folder / "certificates.jsonl", certificates)
    seal(folder)
    assert open_taskset(folder, "train").tasks
    done = verify(folder, "--workers", 1, "--quiet")
    assert done.returncode == 1
    assert "small-late_grant: C1 failed" in done.stdout
    assert "small-late_grant: C1 is failed, the certificate says passed" in done.stdout
    assert "small-cancel_refused:" not in done.stdout


def rewrite(path: Path, change: Callable[[Any], None]) -> None:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        change(row)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _verdict(folder: Path) -> str:
    rewrite(folder / "certificates.jsonl", lambda row: row["checks"][16].update(verdict="not_applicable"))
    return "certificates.jsonl: is not what was built"


def _grades(folder: Path) -> str:
    rewrite(folder / "certificates.jsonl", lambda row: row.update(grades_sha256="0" * 64))
    seal(folder)
    return "the grades of its replays are others"


def _content(folder: Path) -> str:
    task = next(iter(read_models(folder / "train" / "tasks.jsonl", TaskSpec)))
    path = folder / "content" / task.state[-1]
    path.write_text(path.read_text(encoding="utf-8").replace("closed", "opened"), encoding="utf-8")
    return f"content/{path.name}: the bytes do not match the name"


def _bounds(folder: Path) -> str:
    rewrite(folder / "train" / "answers.jsonl", lambda row: row["bounds"].update(g_min=-9.0))
    return "its score bounds are others"


def _placed(folder: Path) -> str:
    splits = json.loads((folder / "splits.json").read_text(encoding="utf-8"))
    splits["tasks"]["small-h-late_grant"]["cluster"] = "small-late_grant"
    (folder / "splits.json").write_text(json.dumps(splits), encoding="utf-8")
    seal(folder)
    return "small-late_grant: C16 failed: its cluster small-late_grant stands on both sides"


def _lost(folder: Path) -> str:
    path = folder / "certificates.jsonl"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[1:]), encoding="utf-8")
    return "has no certificate"


@pytest.mark.parametrize("tamper", [_verdict, _grades, _content, _bounds, _placed, _lost])
def test_what_was_changed_is_listed(verify: Verify, folder: Path, tamper: Callable[[Path], str]) -> None:
    expected = tamper(folder)
    done = verify(folder, "--workers", 1, "--quiet")
    assert done.returncode == 1, done.stdout + done.stderr
    assert expected in done.stdout


@pytest.mark.parametrize("gone", ["manifest.json", "splits.json", "certificates.jsonl", "heldout/answers.jsonl"])
def test_a_folder_that_is_not_whole_is_one_line_and_exit_code_2(verify: Verify, folder: Path, gone: str) -> None:
    (folder / gone).unlink()
    done = verify(folder, "--quiet")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert Path(gone).name in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [("--task", "nobody"), ("--workers", "-1")])
def test_what_cannot_be_asked_is_exit_code_2(verify: Verify, folder: Path, arguments: tuple[str, str]) -> None:
    assert verify(folder, *arguments).returncode == 2


def test_an_interrupt_of_a_verification_is_one_line_and_leaves_no_process(folder: Path, repo_root: Path) -> None:
    """Ctrl-C reaches the whole group, as from a terminal; a killed parent leaves no worker behind either."""
    code = f"""
import functools
import tasks.verify
from pipeline.cli import run_command
tasks.verify.CHUNK = 1
tasks.verify.progress = functools.partial(tasks.verify.progress, every_s=0)
run_command(lambda: tasks.verify.main([{str(folder)!r}, "--workers", "2"]))
"""
    for sent in (signal.SIGINT, signal.SIGKILL):
        command = [sys.executable, "-c", code]
        with subprocess.Popen(command, cwd=repo_root, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
            assert running.stderr is not None
            line = next(line for line in running.stderr if ": 1/" in line)
            assert "verify" in line
            stop(running.pid, sent)
            rest = [line for line in running.stderr.read().splitlines() if not line.startswith("verify ")]
        if sent == signal.SIGINT:
            assert running.returncode == 130
            assert rest == [INTERRUPTED]
        assert all_gone(running.pid)


def test_a_command_that_is_not_there_names_those_that_are(repo_root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tasks", "verfy", "x"], cwd=repo_root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "did you mean 'verify'?" in done.stderr
    assert "explain, verify, report, audit" in done.stderr
