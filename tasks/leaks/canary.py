"""The canary stands in every held-out file and in no other: who trains on held-out files can be found out."""

from __future__ import annotations

import re
from dataclasses import replace

from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import fact_texts, prompt_texts, shared_texts

HELD = "heldout/"
_BETWEEN = re.compile(r"[\s_{}-]+")


def run(data: LeakInput) -> list[Finding]:
    if not data.canary:
        return [Finding("canary", "not_applicable", detail="the files are not written yet")]
    if not any(name.startswith(HELD) for name in data.files):
        raise ValueError("no held-out file was given to look at")
    findings = []
    marked = any(task.canary for task in data.tasks)
    mark = _plain(data.canary)
    for task in data.tasks:
        shown = (*prompt_texts(task), *fact_texts(task), *shared_texts(data, task))
        if any(mark in _plain(text) for _, text in shown):
            findings.append(Finding("canary", "failed", "shown", "an agent is shown the canary", (task.task_id,)))
        if marked and data.held_out(task) and task.canary != data.canary:
            findings.append(Finding("canary", "failed", "canary", "a held-out task without the canary", (task.task_id,)))
        if task.canary and not data.held_out(task):
            findings.append(Finding("canary", "failed", "canary", "a training task carries the canary", (task.task_id,)))
    for name, text in sorted(data.files.items()):
        holds = data.canary in text if name.startswith(HELD) else mark in _plain(text)
        if name.startswith(HELD) and name.endswith(".jsonl"):
            holds = holds and all(data.canary in line for line in text.splitlines() if line.strip())
        if name.startswith(HELD) and not holds:
            findings.append(Finding("canary", "failed", name, "held out, without the canary"))
        elif not name.startswith(HELD) and holds:
            findings.append(Finding("canary", "failed", name, "not held out, with the canary"))
    return findings


def _plain(text: str) -> str:
    """In one case and without what could be put between its parts."""
    return _BETWEEN.sub("", text).casefold()


def planted(data: LeakInput) -> LeakInput:
    name = next(n for n in sorted(data.files) if not n.startswith(HELD))
    return replace(data, files={**data.files, name: f"{data.files[name]}{data.canary}\n"})


LEAK = Leak("canary", run, planted)
