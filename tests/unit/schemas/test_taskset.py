from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemas.errors import LeakError, RecordgymError, StageError
from schemas.taskset import open_taskset
from tests.taskset_factory import build_taskset


@pytest.fixture
def taskset(tmp_path: Path) -> Path:
    build_taskset(tmp_path / "helpdesk")
    return tmp_path / "helpdesk"


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_both_sides_open_and_share_no_task(taskset: Path) -> None:
    train, heldout = open_taskset(taskset, "train"), open_taskset(taskset, "heldout")
    assert train.tasks
    assert heldout.tasks
    assert not train.tasks.keys() & heldout.tasks.keys()


def test_the_state_of_a_task_is_merged_once_and_shared(taskset: Path) -> None:
    train = open_taskset(taskset, "train")
    task = next(iter(train.tasks.values()))
    assert train.state(task) is train.state(task)


def test_an_opened_task_set_holds_no_answer(taskset: Path) -> None:
    train = open_taskset(taskset, "train")
    shown = json.dumps([task.model_dump(mode="json") for task in train.tasks.values()])
    assert '"outcome"' not in shown
    assert '"reference"' not in shown


@pytest.mark.parametrize("name", ["tasks.jsonl", "answers.jsonl"])
def test_a_changed_or_missing_file_is_refused(taskset: Path, name: str) -> None:
    path = taskset / "train" / name
    path.write_text(path.read_text() + "\n")
    with pytest.raises(StageError, match=f"{name} is not what was built"):
        open_taskset(taskset, "train")
    path.unlink()
    with pytest.raises(StageError, match=f"{name} is missing"):
        open_taskset(taskset, "train")


def test_a_task_set_without_certificates_does_not_load(taskset: Path) -> None:
    path = taskset / "certificates.jsonl"
    rows = path.read_text().splitlines()
    train = open_taskset(taskset, "train").tasks
    path.write_text("\n".join(row for row in rows if json.loads(row)["task_id"] not in train))
    with pytest.raises(LeakError, match="has no certificate"):
        open_taskset(taskset, "train")


@pytest.mark.parametrize("verdict", ["failed", "could_not_run"])
def test_a_certificate_that_does_not_hold_keeps_the_set_closed(taskset: Path, verdict: str) -> None:
    path = taskset / "certificates.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["checks"] = [{"id": "C1", "verdict": "passed"}, {"id": "C2", "verdict": verdict}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(LeakError, match=r"does not hold \(C2\)"):
        open_taskset(taskset, "train")


def test_a_certificate_of_another_content_is_stale(taskset: Path) -> None:
    path = taskset / "certificates.jsonl"
    rows = [json.loads(line) | {"task_sha256": "0" * 64} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(LeakError, match="stale"):
        open_taskset(taskset, "train")


def test_a_side_that_says_it_is_the_other_is_refused(taskset: Path) -> None:
    edit(taskset / "train" / "manifest.json", side="heldout")
    with pytest.raises(StageError, match="its manifest says 'heldout'"):
        open_taskset(taskset, "train")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"taskset": 3}'])
@pytest.mark.parametrize("name", ["manifest.json", "train/manifest.json"])
def test_a_broken_manifest_is_one_clear_line(taskset: Path, name: str, text: str) -> None:
    (taskset / name).write_text(text)
    with pytest.raises(RecordgymError, match=r"manifest\.json"):
        open_taskset(taskset, "train")


def test_an_unfinished_task_set_is_refused(taskset: Path) -> None:
    (taskset / "manifest.json").unlink()
    with pytest.raises(StageError, match="was not finished"):
        open_taskset(taskset, "train")
