"""Checkpoints: `step_N/` written under a temporary name and renamed, so that a kill leaves the last whole one in place.

state.pt   policy, optimizer and how the tasks went so far (tensors, numbers and strings only: it is read with weights_only)
meta.json  iteration, digests of task set, config and state.pt
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from schemas.errors import StageError
from schemas.files import read_json, sha256_file, write_json
from training import team

FORMAT = 2


@dataclass(frozen=True, slots=True)
class Meta:
    """What a checkpoint belongs to."""

    step: int
    """Finished PPO iterations; 0 is the warm start."""
    taskset_sha256: str
    config_sha256: str


def save(run: Path, meta: Meta, state: dict[str, Any], *, keep: int = 2) -> Path:
    """Writes `run/step_N` and removes older steps but the warm start and the newest `keep`.

    Raises StageError where the folder cannot be written (a full disk included) and where a parameter is not finite.
    """
    for name, value in state["policy"].items():
        if not bool(torch.isfinite(value).all()):
            raise StageError(f"{run}: parameter {name} is not finite; step {meta.step} is not saved, the one before it is whole")
    folder, temporary = run / f"step_{meta.step}", run / f".step_{meta.step}.{os.getpid()}"
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        torch.save(state, temporary / "state.pt")
        digest = sha256_file(temporary / "state.pt")
        write_json(
            temporary / "meta.json",
            {
                "format": FORMAT,
                "step": meta.step,
                "taskset_sha256": meta.taskset_sha256,
                "config_sha256": meta.config_sha256,
                "state_sha256": digest,
            },
        )
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(temporary, folder)
    except (OSError, RuntimeError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise StageError(f"cannot write the checkpoint {folder}: {error}") from error
    for step in steps(run)[:-keep]:
        if step != 0:
            shutil.rmtree(run / f"step_{step}")
    return folder


@team.by_one
def tidy(run: Path) -> None:
    """Removes what a kill left half written."""
    for folder in run.glob(".step_*"):
        shutil.rmtree(folder)


def steps(run: Path) -> list[int]:
    """Numbers of the whole checkpoints of a run, ascending."""
    return sorted(int(p.parent.name[5:]) for p in run.glob("step_*/meta.json") if p.parent.name[5:].isdigit())


def digest(run: Path, step: int) -> str:
    """sha256 of the state of a checkpoint, as it was written. Raises StageError where that cannot be told."""
    return str(_meta(run / f"step_{step}")["state_sha256"])


def _meta(folder: Path) -> dict[str, Any]:
    """meta.json of a checkpoint. Raises StageError where it is damaged or of another format."""
    meta = read_json(folder / "meta.json")
    if not isinstance(meta, dict) or not {"format", "step", "taskset_sha256", "config_sha256", "state_sha256"} <= meta.keys():
        raise StageError(f"{folder}/meta.json is damaged; remove the folder to go on from the checkpoint before it")
    if meta["format"] != FORMAT:
        raise StageError(f"{folder} has format {meta['format']}, this version reads {FORMAT}")
    return meta


def newest(run: Path) -> str:
    """What to go on from, in words; nothing where there is no whole checkpoint yet."""
    found = steps(run)
    return f"the checkpoint {run}/step_{found[-1]}" if found else ""


def load(run: Path, step: int) -> tuple[Meta, dict[str, Any]]:
    """A whole checkpoint. Raises StageError where it is missing, damaged or of another format."""
    folder = run / f"step_{step}"
    meta = _meta(folder)
    if not (folder / "state.pt").is_file() or sha256_file(folder / "state.pt") != meta["state_sha256"]:
        raise StageError(f"{folder}/state.pt is damaged; remove the folder to go on from the checkpoint before it")
    state: dict[str, Any] = torch.load(folder / "state.pt", map_location="cpu", weights_only=True)
    return Meta(meta["step"], meta["taskset_sha256"], meta["config_sha256"]), state
