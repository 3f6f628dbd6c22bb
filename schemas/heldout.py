"""Held-out files told by what stands in them, whatever their folder is called: the guard of the training side.

A held-out row carries its slice and the canary; its id stands in splits.json; and the canary itself stands in every held-out
file. Any one of these is enough to refuse. Does not cover: rows rewritten by hand without all four; they lose their certificates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from schemas.errors import LeakError, StageError
from schemas.files import read_json
from schemas.task import TaskSpec

WHO = "only `python -m training.evaluate` opens it"


def refuse_held_out(folder: Path, here: Path, files: Iterable[str], tasks: Mapping[str, TaskSpec]) -> None:
    """Raises LeakError where anything of `here`, opened as the training side of the task set at `folder`, is held out."""
    for task_id, task in sorted(tasks.items()):
        if task.slice != "train":
            raise LeakError(f"{here / 'tasks.jsonl'}: task {task_id} is held out ({task.slice}); {WHO}")
        if task.canary:
            raise LeakError(f"{here / 'tasks.jsonl'}: task {task_id} carries the canary of the hold-out; {WHO}")
    splits = folder / "splits.json"
    if splits.is_file():
        placed = read_json(splits).get("tasks", {})
        held = sorted(t for t in tasks if placed.get(t, {}).get("slice", "train") != "train")
        if held:
            raise LeakError(f"{here / 'tasks.jsonl'}: {len(held)} tasks are held out by {splits}, e.g. {held[0]}; {WHO}")
    canaries = {canary for path in (here, folder / "heldout") if (canary := _canary(path / "manifest.json"))}
    for name in sorted({*files, *(p.name for p in here.glob("*.jsonl"))}):
        text = (here / name).read_bytes()
        if any(canary.encode() in text for canary in canaries):
            raise LeakError(f"{here / name} carries the canary of the hold-out; {WHO}")


def _canary(manifest: Path) -> str:
    """The canary that a manifest names; "" where there is no such manifest."""
    if not manifest.is_file():
        return ""
    found = read_json(manifest)
    if not isinstance(found, dict):
        raise StageError(f"{manifest} is no manifest; build the task set again")
    return str(found.get("canary", ""))
