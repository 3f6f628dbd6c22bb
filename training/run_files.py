"""What stands in a run folder, read once for report, card and comparison. What was not run is None or empty, never 0."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas.errors import SourceError, StageError
from schemas.files import read_json, sha256_file
from schemas.paths import runs_dir
from training import audit
from training.alarms import Alarm, alarms

BEFORE, AFTER = "warm start", "after PPO"
"""Names of the two policies in evaluation.json and episodes.jsonl, before ", greedy" and ", sampled"."""
MODES = ("greedy", "sampled")


@dataclass(frozen=True, slots=True)
class RunFiles:
    """A run as it lies on disk."""

    name: str
    config: Mapping[str, Any]
    warm: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]] = ()
    """Of metrics.jsonl."""
    made: Mapping[str, Any] | None = None
    continued: Mapping[str, Any] | None = None
    """The run that this one goes on from."""
    evaluation: Mapping[str, Any] | None = None
    evaluation_sha256: str = ""
    episodes: Sequence[Mapping[str, Any]] = ()
    transcripts: Sequence[Mapping[str, Any]] | None = None
    review: Sequence[Mapping[str, Any]] | None = None
    labels: Mapping[str, Any] | None = None
    """The newest version of what people said."""
    comparison: Mapping[str, Any] | None = None
    audit: audit.Audit | None = None
    alarms: Sequence[Alarm] = field(default_factory=tuple)

    @property
    def control(self) -> str:
        return str(self.config["settings"].get("control", "none"))


def find_run(run: str) -> Path:
    """The folder of a run by its name or path. Raises StageError where it is none."""
    folder = Path(run) if (Path(run) / "config.json").is_file() else runs_dir() / run
    if not (folder / "config.json").is_file():
        raise StageError(
            f"{folder} is not a run folder (config.json is missing); `python -m training.ppo` prints its run's folder"
        )
    return folder


def json_lines(path: Path) -> list[dict[str, Any]] | None:
    """Whole lines of a file of JSON objects; None where there is no file. Raises SourceError for a line that is none."""
    if not path.exists():
        return None
    out = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise SourceError(str(path), str(number), "not JSON") from error
        out.append(row)
    return out


def label_files(folder: Path) -> list[Path]:
    """labels_1.json, labels_2.json, ... in the order of their versions."""
    found = [path for path in folder.glob("labels_*.json") if path.stem[7:].isdigit()]
    return sorted(found, key=lambda path: int(path.stem[7:]))


def load_run(folder: Path) -> RunFiles:
    """Reads a run folder. Raises StageError or SourceError where a file is damaged."""
    rows = json_lines(folder / "metrics.jsonl") or []
    evaluated = (folder / "evaluation.json").exists()
    labels = label_files(folder)
    return RunFiles(
        name=folder.name,
        config=read_json(folder / "config.json"),
        warm=read_json(folder / "warmstart.json"),
        rows=rows,
        made=_optional(folder / "made.json"),
        continued=continued_by(folder),
        evaluation=_optional(folder / "evaluation.json"),
        evaluation_sha256=sha256_file(folder / "evaluation.json") if evaluated else "",
        episodes=(json_lines(folder / "episodes.jsonl") or []) if evaluated else [],
        transcripts=json_lines(folder / "transcripts.jsonl") if evaluated else None,
        review=json_lines(folder / "review.jsonl") if evaluated else None,
        labels=read_json(labels[-1]) if labels else None,
        comparison=_optional(folder / "comparison.json"),
        audit=audit.check(folder, rows[-1]["iteration"] if rows else 0),
        alarms=alarms(rows),
    )


def continued_by(folder: Path) -> Any:
    """continued.json of a run that goes on from another; None for any other run."""
    return _optional(folder / "continued.json")


def trained_before(folder: Path) -> frozenset[str]:
    """Tasks that the runs which this one continues were trained on; none for any other run."""
    continued = continued_by(folder)
    return frozenset(continued["trained_on"]) if continued is not None else frozenset()


def _optional(path: Path) -> Any:
    return read_json(path) if path.exists() else None
