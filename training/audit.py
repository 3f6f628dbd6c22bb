"""The audit log `trained_on.jsonl`: which tasks a policy was trained on, and by which episodes.

One line an iteration, only ever appended: task ids and episode seeds with the digest of their tapes, and the digest of the line
before, so that a line that was changed, taken out or put in is found. Line 0 is the warm start: the tasks whose reference
episodes may have been imitated. A run that goes on from a checkpoint cuts the log to it, like the metrics.

What a chain cannot find: lines cut off at its end, or a whole chain made anew. `head` (the digest of the last line) stands in the
run's card; who was given the card can compare.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.errors import StageError
from schemas.files import canonical_json, sha256_json, sha256_text, write_text
from training import team
from training.tape import Tape

NAME = "trained_on.jsonl"
FIRST = "0" * 64
"""What stands for the line before the first one."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What the log says, and what is wrong with it."""

    lines: int
    head: str
    """Digest of the last line."""
    tasks: frozenset[str]
    """Tasks that the warm start may have imitated or that an iteration was trained on."""
    episodes: int
    """Episodes that iterations were trained on."""
    faults: tuple[str, ...]


def lines(folder: Path) -> list[str]:
    """Whole lines; a last one cut short by a kill is left out."""
    path = folder / NAME
    if not path.exists():
        return []
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def append(folder: Path, iteration: int, what: str, episodes: Iterable[tuple[str, int]], tapes: str = "") -> None:
    """Adds the line of an iteration. Raises StageError where the file cannot be written."""
    so_far = lines(folder)
    row = {
        "iteration": iteration,
        "what": what,
        "episodes": [list(pair) for pair in episodes],
        "tapes_sha256": tapes,
        "before": sha256_text(so_far[-1]) if so_far else FIRST,
    }
    try:
        with (folder / NAME).open("a", encoding="utf-8") as handle:
            handle.write(canonical_json(row) + "\n")
    except OSError as error:
        raise StageError(f"cannot write {folder / NAME}: {error.strerror}") from error


@team.by_one
def append_tapes(folder: Path, iteration: int, what: str, tapes: Sequence[Tape]) -> None:
    """The line of an iteration that was trained on these tapes; they are sealed."""
    episodes = [(tape.task_id, tape.seed) for tape in tapes]
    append(folder, iteration, what, episodes, sha256_json([tape.digest for tape in tapes]))


def cut(folder: Path, step: int) -> None:
    """Keeps the lines up to iteration `step`, as they are: what was wrong with them stays to be found."""
    if (folder / NAME).exists():
        kept = [line for line in lines(folder) if _iteration(line) <= step]
        write_text(folder / NAME, "".join(line + "\n" for line in kept))


def _iteration(line: str) -> int:
    try:
        return int(json.loads(line)["iteration"])
    except (ValueError, KeyError, TypeError):
        return -1


def check(folder: Path, iterations: int) -> Audit | None:
    """Reads the log of a run of `iterations` finished iterations and tests its chain; None where there is no log."""
    if not (folder / NAME).exists():
        return None
    before, expected, episodes = FIRST, 0, 0
    tasks: set[str] = set()
    faults: list[str] = []
    read = lines(folder)
    for number, line in enumerate(read, 1):
        row = _row(line)
        if row is None:
            faults.append(f"line {number} is not a line of this log")
            break
        if row["before"] != before:
            faults.append(f"line {number} does not follow from the line before it: one of them was changed, taken out or put in")
            break
        if row["iteration"] != expected:
            faults.append(f"line {number} is of iteration {row['iteration']}, expected {expected}")
            break
        tasks.update(task for task, _ in row["episodes"])
        episodes += len(row["episodes"]) if row["iteration"] else 0
        before, expected = sha256_text(line), expected + 1
    if not faults and expected <= iterations:
        faults.append(f"it ends before iteration {expected}; {iterations} iterations were run")
    return Audit(len(read), sha256_text(read[-1]) if read else FIRST, frozenset(tasks), episodes, tuple(faults))


def _row(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    if not isinstance(row, dict) or set(row) != {"iteration", "what", "episodes", "tapes_sha256", "before"}:
        return None
    pairs = row["episodes"]
    return row if isinstance(pairs, list) and all(isinstance(p, list) and len(p) == 2 for p in pairs) else None
