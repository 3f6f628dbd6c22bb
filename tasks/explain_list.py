"""The list of a task set's tasks, read without models or tables: it has to come at once."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any, Literal

from schemas.errors import StageError
from schemas.paths import taskset_dir

LISTED = 20
"""Tasks shown, a side."""
SIDES: tuple[Literal["train", "heldout"], ...] = ("train", "heldout")


def folder_of(name: str) -> Path:
    """StageError with the nearest names for a task set that is not there."""
    folder = taskset_dir(name)
    if not folder.is_dir():
        there = sorted(p.name for p in folder.parent.glob("[!.]*") if p.is_dir()) if folder.parent.is_dir() else []
        close = difflib.get_close_matches(name, there, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f" (there: {', '.join(there) or 'none'})"
        raise StageError(f"there is no task set {name!r} in {folder.parent}{hint}")
    return folder


def listed(folder: Path) -> str:
    """The first tasks of each side. Raises StageError for a file that is missing or not a list of tasks."""
    lines = []
    for side in SIDES:
        shown, count = [], 0
        for raw in _lines(folder / side / "tasks.jsonl"):
            count += 1
            if count <= LISTED:
                task = _row(raw, folder / side / "tasks.jsonl", count)
                shown.append(f"  {task['task_id']}  {task['workflow']:<18}{task['opening']['subject'][:50]}")
        lines += [f"{side}: {count} tasks", *shown, *([f"  ... and {count - LISTED} more"] if count > LISTED else [])]
    return "\n".join(lines)


def row_of(folder: Path, task_id: str) -> tuple[Literal["train", "heldout"], str] | None:
    """Side and line of a task, or None."""
    for side in SIDES:
        for raw in _lines(folder / side / "tasks.jsonl"):
            if f'"{task_id}"' in raw and _row(raw, folder / side / "tasks.jsonl", 0)["task_id"] == task_id:
                return side, raw
    return None


def ids(folder: Path) -> list[str]:
    """Every task's id."""
    return [
        str(_row(raw, path, number)["task_id"])
        for path in (folder / side / "tasks.jsonl" for side in SIDES)
        for number, raw in enumerate(_lines(path), 1)
    ]


def _lines(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text(encoding="utf-8").split("\n") if line]
    except FileNotFoundError as error:
        raise StageError(f"{path} is missing; build the task set again") from error
    except (OSError, UnicodeDecodeError) as error:
        raise StageError(f"{path} cannot be read; build the task set again") from error


def _row(raw: str, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(raw)
        row["task_id"], row["workflow"], row["opening"]["subject"]
    except (ValueError, TypeError, KeyError) as error:
        raise StageError(f"{path}:{number} is not a task of this version; build the task set again") from error
    return dict(row)
