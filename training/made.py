"""What a run was made on: machines and counts of tasks, kept when it runs, because a report may be written elsewhere."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import torch

from schemas.files import read_json, write_json
from training import audit, team
from training.lab import Lab
from training.passed import require_passed


def machine(threads: int) -> dict[str, Any]:
    """This machine, in words. No name of a host or user."""
    return {
        "cpu": _cpu_model(),
        "threads": threads,
        "gpu": torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named and named[0] else platform.processor() or "not known"


@team.by_one
def opened(lab: Lab, done: int) -> None:
    """A run begins, or goes on after iteration `done`: the audit log is cut or begun, and made.json says where it runs."""
    audit.cut(lab.folder, done)
    if done == 0 and not audit.lines(lab.folder):
        if lab.continued is None:
            what, seen = "warm start: references that may be imitated", lab.train_ids
        else:
            what, seen = f"what {lab.continued.folder.name}, which it continues, was trained on", sorted(lab.continued.trained_on)
        audit.append(lab.folder, 0, what, [(task, 0) for task in seen])
    path = lab.folder / "made.json"
    known = read_json(path) if path.exists() else {"machines": []}
    here = machine(lab.config.threads)
    if here not in known["machines"] and (done < lab.config.iterations or not known["machines"]):
        known["machines"].append(here)
    tasks = lab.taskset.tasks
    write_json(
        path,
        {
            "machines": known["machines"],
            "report": require_passed(lab.taskset.folder, accepted=True),
            "train_tasks": len(lab.train_ids),
            "validation_tasks": len(lab.validation_ids),
            "train_organisations": len({tasks[t].organisation for t in lab.train_ids}),
            "validation_organisations": len({tasks[t].organisation for t in lab.validation_ids}),
        },
    )
