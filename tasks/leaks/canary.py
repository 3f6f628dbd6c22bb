"""The canary stands in every held-out file and in no other: who trains on held-out files can be found out."""

from __future__ import annotations

import re
from dataclasses import replace

from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import fact_texts, prompt_texts, shared_texts

HELD = "heldout/"
_BETWEEN = r"[\s_{}-]*"


def run(data: LeakInput) -> list[Finding]:
    if not data.canary:
        return [Finding("canary", "not_applicable", detail="the files are not written yet")]
    if not any(name.startswith(HELD) for name in data.files):
        raise ValueError("no held-out file was given to look at")
    findings = []
    marked = any(task.canary for task in data.tasks)
    mark = _spelled(data.canary)
    shared: dict[str, bool] = {}
    for task in data.tasks:
        for _, text in (one for one in shared_texts(data, task) if one[1] not in shared):
            shared[text] = mark.search(text) is not None
        own = any(mark.search(text) for _, text in (*prompt_texts(task), *fact_texts(task)))
        if own or any(shared[text] for _, text in shared_texts(data, task)):
            findings.append(Finding("canary", "failed", "shown", "an agent is shown the canary", (task.task_id,)))
        if marked and data.held_out(task) and task.canary != data.canary:
            findings.append(Finding("canary", "failed", "canary", "a held-out task without the canary", (task.task_id,)))
        if task.canary and not data.held_out(task):
            findings.append(Finding("canary", "failed", "canary", "a training task carries the canary", (task.task_id,)))
    for name, text in sorted(data.files.items()):
        holds = data.canary in text if name.startswith(HELD) else mark.search(text) is not None
        if name.startswith(HELD) and name.endswith(".jsonl"):
            holds = holds and all(data.canary in line for line in text.splitlines() if line.strip())
        if name.startswith(HELD) and not holds:
            findings.append(Finding("canary", "failed", name, "held out, without the canary"))
        elif not name.startswith(HELD) and holds:
            findings.append(Finding("canary", "failed", name, "not held out, with the canary"))
    return findings


def _spelled(mark: str) -> re.Pattern[str]:
    """Finds the mark in any case and with whatever could be put between its characters."""
    return re.compile(_BETWEEN.join(map(re.escape, re.sub(_BETWEEN, "", mark))), re.IGNORECASE)


def planted(data: LeakInput) -> LeakInput:
    name = next(n for n in sorted(data.files) if not n.startswith(HELD))
    return replace(data, files={**data.files, name: f"{data.files[name]}{data.canary}\n"})


LEAK = Leak("canary", run, planted)
