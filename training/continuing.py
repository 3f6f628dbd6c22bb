"""Going on from a finished run when a new delivery of records has come: `--continue-from RUN --taskset NEW`.

The new run starts from the last checkpoint of RUN: policy, value head, vocabulary. Its optimizer is new, and RUN's policy is what
it is measured against and held near to (the frozen reference). Nothing is imitated. `find` refuses, in one line, what cannot be
gone on from; it opens no held-out side, ids are enough.

No hold-out may be lost on the way: what RUN held out (and what the runs before it did) is never trained on, what RUN was trained
on is never in the new held-out score. Tasks are told by their ids, which a new delivery keeps (decision 18); a set made under
another token key shares none, and then nothing can be told: it is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from schemas.errors import RecordgymError, StageError
from schemas.files import read_json, write_json
from schemas.paths import runs_dir
from schemas.taskset import TaskSet
from training import audit, checkpoint
from training.carried import Carried, carried
from training.config import SMALL, Config
from training.corpus import read_trajectories
from training.models import load_codec
from training.script import Codec
from training.sides import as_it_was, held_out_ids, open_training_side

SMALL_SHAPE = ("model", "width", "layers", "heads", "context")
"""Settings of the small model that must be those of the run that is continued."""
LANGUAGE_SHAPE = ("model", "lora_rank", "decoding", "action_tokens", "template", "context")
"""The same for a language model."""
HELD_OUT = "held_out.json"
"""In each run: the ids of what it held out, and of what the runs before it did."""


@dataclass(frozen=True, slots=True)
class Continued:
    """The run that is continued, and what follows from it for the new one."""

    folder: Path
    step: int
    sha256: str
    """Digest of its checkpoint's state; part of the new run's identity."""
    codec: Codec
    found: Carried
    trained_on: frozenset[str]
    """Tasks that it, or a run before it, was trained on."""
    held_out: frozenset[str]
    """Tasks that it, or a run before it, held out."""
    excluded: tuple[str, ...]
    """Held-out tasks of the new set among `trained_on`: not in the new score."""
    head: dict[str, str]
    """taskset, taskset_folder, taskset_sha256 of its config."""
    old: TaskSet | None
    """Training side of its task set, where that is still what it was."""
    missing: str
    """Why `old` is None."""

    def policy(self) -> dict[str, torch.Tensor]:
        """Parameters of the policy and the value head. Raises StageError for a damaged checkpoint."""
        state: dict[str, torch.Tensor] = checkpoint.load(self.folder, self.step)[1]["policy"]
        return state

    def lines(self, taskset: TaskSet) -> list[str]:
        """What the operator is told at the start."""
        out = [f"continuing {self.folder} after iteration {self.step}: its policy, value head and vocabulary; a new optimizer"]
        out.append(self.found.line())
        if self.excluded:
            out.append(
                f"{len(self.excluded)} held-out tasks of the new set were trained on by it, e.g. {self.excluded[0]}: they are "
                "left out of the new held-out score"
            )
        if not (self.trained_on | self.held_out) & (set(taskset.tasks) | held_out_ids(taskset)):
            out.append("the two sets have no task in common (another token key?): tasks that are the same cannot be told")
        return out

    def write(self, folder: Path) -> None:
        """continued.json of the new run: all that its evaluation and its report need to know of the old one."""
        row = {"run": self.folder.name, "folder": str(self.folder.resolve()), "step": self.step, "checkpoint_sha256": self.sha256}
        lists = {"excluded": list(self.excluded), "trained_on": sorted(self.trained_on)}
        write_json(folder / "continued.json", {**row, **self.head, "carried": asdict(self.found), **lists})


def find(config: Config, taskset: TaskSet) -> Continued:
    """The run that `--continue-from` names. Raises StageError, one line, where it or the new task set does not allow it."""
    flag = f"--continue-from {config.continue_from}"
    if config.warm_from:
        raise StageError(f"{flag}: it starts from that run's policy, so --warm-from cannot be given, too")
    folder = Path(config.continue_from) if Path(config.continue_from).is_dir() else runs_dir() / config.continue_from
    if not (folder / "config.json").is_file():
        raise StageError(f"{flag}: {folder} is no run (config.json is missing)")
    known = read_json(folder / "config.json")
    if not isinstance(known, dict) or not {"settings", "taskset", "taskset_folder", "taskset_sha256"} <= known.keys():
        raise StageError(f"{flag}: {folder / 'config.json'} is damaged; a run cannot go on from it")
    step = _last_step(flag, folder, known["settings"])
    _same_shape(flag, config, known["settings"])
    log = audit.check(folder, step)
    if log is None or log.faults:
        why = "is missing" if log is None else f"is broken: {log.faults[0]}"
        raise StageError(f"{flag}: what it was trained on cannot be told ({folder / audit.NAME} {why})")
    head = {name: known[name] for name in ("taskset", "taskset_folder", "taskset_sha256")}
    old, missing = _old_side(head)
    held = _held_out(flag, folder, old)
    if leaked := sorted(held & set(taskset.tasks)):
        raise StageError(
            f"{flag}: {len(leaked)} training tasks of {taskset.manifest.taskset} were held out for that run, e.g. {leaked[0]}; a "
            "policy trained on them could not be tested on them any more, so hold them out in the new set as well"
        )
    new_held = held_out_ids(taskset, gone=False)
    excluded = tuple(sorted(new_held & log.tasks))
    if new_held and len(excluded) == len(new_held):
        raise StageError(f"{flag}: it was trained on all {len(new_held)} held-out tasks of the new set; none is left to score")
    codec = load_codec(config, folder)
    found = carried(codec.vocabulary, taskset, read_trajectories(taskset))
    if found.unwritable:
        raise StageError(
            f"{flag}: {taskset.manifest.taskset} needs what the vocabulary of that run cannot write: {_named(found.unwritable)}; "
            "train a new run"
        )
    return Continued(
        folder=folder,
        step=step,
        sha256=checkpoint.digest(folder, step),
        codec=codec,
        found=found,
        trained_on=log.tasks,
        held_out=held,
        excluded=excluded,
        head=head,
        old=old,
        missing=missing,
    )


def write_held_out(folder: Path, taskset: TaskSet, continued: Continued | None) -> None:
    """held_out.json: a later run that goes on from this one must not train on them, wherever their task set is by then."""
    write_json(folder / HELD_OUT, {"ids": sorted(held_out_ids(taskset) | (continued.held_out if continued else frozenset()))})


def _last_step(flag: str, folder: Path, settings: dict[str, Any]) -> int:
    steps = checkpoint.steps(folder)
    if not steps:
        raise StageError(f"{flag}: {folder} has no checkpoint")
    if steps[-1] < settings["iterations"]:
        raise StageError(
            f"{flag}: it is not finished ({steps[-1]} of {settings['iterations']} iterations); the command that began it goes on"
        )
    return steps[-1]


def _same_shape(flag: str, config: Config, settings: dict[str, Any]) -> None:
    shape = SMALL_SHAPE if config.model == settings["model"] == SMALL else LANGUAGE_SHAPE
    differ = [name for name in shape if settings.get(name) != getattr(config, name)]
    if differ:
        flags = " ".join(f"--{name.replace('_', '-')} {settings.get(name)}" for name in differ)
        raise StageError(f"{flag}: its model or sizes are others; a run that continues it needs {flags}")


def _old_side(head: dict[str, str]) -> tuple[TaskSet | None, str]:
    """(training side of the old task set, "") or (None, why not)."""
    try:
        return open_training_side(str(as_it_was(Path(head["taskset_folder"]), head["taskset_sha256"]))), ""
    except RecordgymError as error:
        return None, str(error)


def _held_out(flag: str, folder: Path, old: TaskSet | None) -> frozenset[str]:
    path = folder / HELD_OUT
    if path.is_file():
        found = read_json(path)
        if not isinstance(found, dict) or not isinstance(found.get("ids"), list):
            raise StageError(f"{flag}: what it held out cannot be told ({path} is damaged)")
        return frozenset(found["ids"])
    if (folder / "continued.json").is_file():
        raise StageError(f"{flag}: what the runs before it held out cannot be told ({path} is missing)")
    if old is None:
        raise StageError(f"{flag}: what it held out cannot be told ({path} is missing, and so is its task set as it was)")
    return held_out_ids(old)


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
