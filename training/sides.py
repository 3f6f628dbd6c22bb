"""Which tasks a run may read: the training side of its task set, the organisations kept to watch it by, and the ids of what is
held out (ids alone: the held-out side itself is opened by evaluate.py and by nothing else here)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from schemas.errors import StageError
from schemas.files import read_json, sha256_file, sha256_json
from schemas.paths import taskset_dir
from schemas.taskset import TaskSet, open_taskset


def open_training_side(name: str) -> TaskSet:
    """The training side of a task set by name or folder. Refuses what is held out, by its manifest and its rows, whatever the
    folder is called."""
    folder = Path(name) if Path(name).is_dir() else taskset_dir(name)
    manifest = folder / "manifest.json"
    if manifest.is_file():
        side = read_json(manifest).get("side")
        if side == "heldout":
            raise StageError(f"{folder} is held out; only `python -m training.evaluate` opens it")
        if side == "train":
            if folder.resolve().name != "train":
                raise StageError(f"{folder} says that it is a training side, but is not the folder train/ of a task set")
            folder = folder.resolve().parent
    if not folder.is_dir():
        raise StageError(f"no task set {name!r} ({folder} is missing); build it with `make ingest deid build-tasks`")
    return open_taskset(folder, "train")


def taskset_hash(taskset: TaskSet) -> str:
    """Digest of every training task and answer, and of the episodes to imitate."""
    return _digest(taskset.folder, taskset.manifest.ids)


def _digest(folder: Path, ids: Mapping[str, str]) -> str:
    trajectories = folder / "train" / "trajectories.jsonl"
    return sha256_json([ids, sha256_file(trajectories) if trajectories.is_file() else ""])


def as_it_was(folder: Path, sha256: str) -> Path:
    """Where the task set lies whose training side has this digest: at `folder`, or beside it under another name (a build under
    the same name takes the place of the one before). Raises StageError where it is in neither."""
    beside = sorted(folder.parent.iterdir()) if folder.parent.is_dir() else []
    for path in (folder, *beside):
        manifest = path / "train" / "manifest.json"
        found = read_json(manifest) if manifest.is_file() else None
        if isinstance(found, dict) and _digest(path, found.get("ids", {})) == sha256:
            return path
    raise StageError(f"{folder} is not there as it was, nor is a copy beside it")


def held_out_ids(taskset: TaskSet, *, gone: bool = True) -> frozenset[str]:
    """Tasks that this task set holds out, by its splits.json; with those that only earlier deliveries had, or without."""
    path = taskset.folder / "splits.json"
    splits = read_json(path) if path.is_file() else {}
    absent = () if gone else splits.get("gone", ())
    placed = splits.get("tasks", {}).items()
    return frozenset(task for task, entry in placed if entry.get("slice", "train") != "train" and task not in absent)


def split_validation(taskset: TaskSet, share: float, seen: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """(train ids, validation ids): whole organisations, in the order of their digests, until `share` of the tasks is reached.

    An organisation of which a task is among `seen` (what an earlier run was trained on) is none to watch by.
    """
    organisations: dict[str, list[str]] = {}
    for task_id, task in sorted(taskset.tasks.items()):
        organisations.setdefault(task.organisation, []).append(task_id)
    validation: list[str] = []
    for name in sorted(organisations, key=lambda o: sha256_json(["validation", o]))[:-1]:
        fits = len(validation) + len(organisations[name]) / 2 < share * len(taskset.tasks)
        if fits and not any(task in seen for task in organisations[name]):
            validation += organisations[name]
    held = set(validation)
    return [t for t in sorted(taskset.tasks) if t not in held], sorted(validation)
