from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from schemas.errors import LeakError, RecordgymError, StageError
from schemas.task import CERTIFICATE_VERSION
from schemas.taskset import open_taskset
from tests.taskset_factory import build_taskset, seal


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


def certificates(taskset: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Changes the rows of certificates.jsonl in place."""
    path = taskset / "certificates.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    change(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_certificate_of_an_unknown_version_is_refused_though_sealed(taskset: Path) -> None:
    for version in (CERTIFICATE_VERSION - 1, CERTIFICATE_VERSION + 1):
        certificates(taskset, lambda rows, version=version: [row.update(version=version) for row in rows] and None)
        seal(taskset)
        with pytest.raises(LeakError, match=f"of version {version}, this release knows {CERTIFICATE_VERSION}"):
            open_taskset(taskset, "train")


def test_a_certificate_without_one_of_the_checks_does_not_hold_though_sealed(taskset: Path) -> None:
    certificates(taskset, lambda rows: [row["checks"].pop() for row in rows] and None)
    seal(taskset)
    with pytest.raises(LeakError, match=r"does not hold \(without C18\)"):
        open_taskset(taskset, "train")


def test_a_verdict_turned_into_another_is_noticed(taskset: Path) -> None:
    certificates(taskset, lambda rows: rows[0]["checks"][16].update(verdict="not_applicable"))
    with pytest.raises(StageError, match=r"certificates\.jsonl is not what was built"):
        open_taskset(taskset, "train")


def test_a_manifest_that_was_edited_is_noticed_by_its_seal(taskset: Path) -> None:
    edit(taskset / "manifest.json", counts={"train": 3})
    with pytest.raises(StageError, match="its seal is another"):
        open_taskset(taskset, "train")


def test_a_sides_manifest_that_was_exchanged_is_noticed(taskset: Path) -> None:
    edit(taskset / "train" / "manifest.json", ids={})
    with pytest.raises(StageError, match=r"train/manifest\.json is not what was built"):
        open_taskset(taskset, "train")


def test_a_manifest_that_counts_other_rows_is_noticed(taskset: Path) -> None:
    edit(taskset / "train" / "manifest.json", tasks=3)
    with pytest.raises(StageError, match="holds 18 rows of 18 tasks, its manifest says 3"):
        open_taskset(taskset, "train")


def test_a_task_set_of_another_schema_version_is_not_read(taskset: Path) -> None:
    edit(taskset / "manifest.json", schema_version=2)
    seal(taskset)
    with pytest.raises(StageError, match="schema version 2, this release knows 1"):
        open_taskset(taskset, "train")


@pytest.mark.parametrize("side", ["train", "heldout"])
def test_a_task_set_without_its_record_of_the_split_is_not_read(taskset: Path, side: Literal["train", "heldout"]) -> None:
    (taskset / "splits.json").unlink()
    with pytest.raises(StageError, match=r"splits\.json is missing"):
        open_taskset(taskset, side)


def test_a_manifest_without_a_seal_is_one_of_an_older_release(taskset: Path) -> None:
    edit(taskset / "manifest.json", seal="")
    with pytest.raises(StageError, match="older version"):
        open_taskset(taskset, "train")


def test_a_content_that_was_changed_on_disk_is_noticed_when_it_is_read(taskset: Path) -> None:
    train = open_taskset(taskset, "train")
    task = next(iter(train.tasks.values()))
    path = taskset / "content" / task.state[-1]
    path.write_text(path.read_text().replace("new", "old"))
    with pytest.raises(StageError, match="do not match the name"):
        train.state(task)


def test_other_code_than_certified_opens_the_same_set(taskset: Path) -> None:
    certificates(taskset, lambda rows: [row.update(code_version="0123456789abcdef") for row in rows] and None)
    seal(taskset)
    assert open_taskset(taskset, "train").tasks


def test_the_training_side_opens_where_the_other_was_not_copied(taskset: Path) -> None:
    shutil.rmtree(taskset / "heldout")
    assert open_taskset(taskset, "train").tasks


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
