"""Held-out files are refused by what stands in them: copied, renamed, linked, or with their manifest edited."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.errors import LeakError, RecordgymError
from schemas.files import read_models, sha256_file, write_json, write_models
from schemas.heldout import refuse_held_out
from schemas.task import Answer, TaskSpec
from schemas.taskset import open_taskset
from tests.taskset_factory import build_taskset, seal
from training.corpus import read_trajectories
from training.sides import open_training_side

CANARY = "0b1f2f4e-8d0a-4c39-9d0e-2f6f8f0f8a11"


def rehash(folder: Path, **changes: object) -> None:
    """The manifest of a side as if its files had been built so."""
    manifest = json.loads((folder / "manifest.json").read_text())
    files = {name: sha256_file(folder / name) for name in manifest["files"]}
    write_json(folder / "manifest.json", {**manifest, "files": files, **changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task set whose held-out side carries a canary, as a build writes it."""
    made = build_taskset(tmp_path / "small")
    held = made / "heldout"
    for name, model in (("tasks.jsonl", TaskSpec), ("answers.jsonl", Answer)):
        write_models(held / name, [row.model_copy(update={"canary": CANARY}) for row in read_models(held / name, model)])
    rehash(held, canary=CANARY)
    seal(made)
    return made


def copied(folder: Path) -> Path:
    return Path(shutil.copytree(folder / "heldout", folder / "more_training"))


def linked(folder: Path) -> Path:
    (folder / "extra").symlink_to(folder / "heldout", target_is_directory=True)
    return folder / "extra"


def edited(folder: Path) -> Path:
    rehash(folder / "heldout", side="train")
    return folder / "heldout"


def copied_and_edited(folder: Path) -> Path:
    rehash(copied(folder), side="train")
    return folder / "more_training"


def as_the_training_side(folder: Path) -> Path:
    shutil.rmtree(folder / "train")
    shutil.copytree(folder / "heldout", folder / "train")
    rehash(folder / "train", side="train", canary="")
    return folder


def train_is_a_link(folder: Path) -> Path:
    shutil.rmtree(folder / "train")
    (folder / "train").symlink_to(folder / "heldout", target_is_directory=True)
    return folder


def in_a_set_of_its_own(folder: Path) -> Path:
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    as_the_training_side(other)
    shutil.rmtree(other / "heldout")
    return other / "train"


def one_row_slipped_in(folder: Path) -> Path:
    row = (folder / "heldout" / "tasks.jsonl").read_text().splitlines()[0]
    with (folder / "train" / "tasks.jsonl").open("a") as handle:
        handle.write(row + "\n")
    rehash(folder / "train")
    return folder


def without_a_manifest(folder: Path) -> Path:
    (folder.parent / "bare" / "train").mkdir(parents=True)
    for name in ("tasks.jsonl", "answers.jsonl"):
        shutil.copyfile(folder / "heldout" / name, folder.parent / "bare" / "train" / name)
    return folder.parent / "bare"


WAYS = [
    copied,
    linked,
    edited,
    copied_and_edited,
    as_the_training_side,
    train_is_a_link,
    in_a_set_of_its_own,
    one_row_slipped_in,
    without_a_manifest,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_training_refuses_held_out_files_whatever_they_are_called(folder: Path, way: Callable[[Path], Path]) -> None:
    with pytest.raises(RecordgymError):
        open_training_side(str(way(folder)))


def test_the_training_side_opens_by_its_set_by_its_folder_and_through_a_link(folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder / "train", target_is_directory=True)
    for path in (folder, folder / "train", folder.parent / "link"):
        assert set(open_training_side(str(path)).tasks) == set(open_taskset(folder, "train").tasks)


def held_rows(folder: Path) -> dict[str, TaskSpec]:
    return {t.task_id: t for t in read_models(folder / "heldout" / "tasks.jsonl", TaskSpec)}


def guard(folder: Path, tasks: dict[str, TaskSpec]) -> None:
    refuse_held_out(folder, folder / "train", ["tasks.jsonl", "answers.jsonl"], tasks)


def test_each_sign_alone_is_enough_to_refuse(folder: Path) -> None:
    guard(folder, open_taskset(folder, "train").tasks)
    (folder / "splits.json").unlink()
    rows = held_rows(folder)
    with pytest.raises(LeakError, match=r"is held out \(unseen_organisations\)"):
        guard(folder, {t: row.model_copy(update={"canary": ""}) for t, row in rows.items()})
    unmarked = {t: row.model_copy(update={"slice": "train"}) for t, row in rows.items()}
    with pytest.raises(LeakError, match="carries the canary"):
        guard(folder, unmarked)
    clean = {t: row.model_copy(update={"canary": ""}) for t, row in unmarked.items()}
    guard(folder, clean)
    placed = {t: {"slice": "both", "sha256": "0", "cluster": t} for t in rows}
    write_json(folder / "splits.json", {"tasks": placed})
    with pytest.raises(LeakError, match=rf"{len(rows)} tasks are held out by .*splits\.json"):
        guard(folder, clean)


@pytest.mark.parametrize("name", ["answers.jsonl", "trajectories.jsonl", "notes.jsonl"])
def test_a_canary_in_any_file_of_the_training_side_closes_it(folder: Path, name: str) -> None:
    with (folder / "train" / name).open("a") as handle:
        handle.write(json.dumps({"canary": CANARY}) + "\n")
    rehash(folder / "train")
    with pytest.raises(RecordgymError, match=f"{name} carries the canary of the hold-out"):
        open_training_side(str(folder))


def test_warm_starts_read_no_held_out_side(folder: Path) -> None:
    with pytest.raises(RecordgymError, match="training side alone"):
        read_trajectories(open_taskset(folder, "heldout"))


def test_only_evaluate_opens_the_held_out_side(repo_root: Path) -> None:
    openers = set()
    for path in sorted((repo_root / "training").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and "open_taskset" in ast.unparse(node.func)
                and "train" not in ast.unparse(node.args[1])
            ):
                openers.add(path.name)
    assert openers == {"evaluate.py"}
