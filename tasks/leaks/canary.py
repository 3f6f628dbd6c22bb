"""The canary stands in every held-out file and in no other: who trains on held-out files can be found out."""

from __future__ import annotations

from dataclasses import replace

from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import fact_texts, prompt_texts, shared_texts

HELD = "heldout/"


def run(data: LeakInput) -> list[Finding]:
    if not data.canary:
        return [Finding("canary", "not_applicable", detail="the files are not written yet")]
    if not any(name.startswith(HELD) for name in data.files):
        raise ValueError("no held-out file was given to look at")
    findings = []
    marked = any(task.canary for task in data.tasks)
    mark = _closed_up(data.canary)
    shared: dict[str, bool] = {}
    for task in data.tasks:
        for _, text in (one for one in shared_texts(data, task) if one[1] not in shared):
            shared[text] = mark in _closed_up(text)
        own = any(mark in _closed_up(text) for _, text in (*prompt_texts(task), *fact_texts(task)))
        if own or any(shared[text] for _, text in shared_texts(data, task)):
            findings.append(Finding("canary", "failed", "shown", "an agent is shown the canary", (task.task_id,)))
        if marked and data.held_out(task) and task.canary != data.canary:
            findings.append(Finding("canary", "failed", "canary", "a held-out task without the canary", (task.task_id,)))
        if task.canary and not data.held_out(task):
            findings.append(Finding("canary", "failed", "canary", "a training task carries the canary", (task.task_id,)))
    for name, text in sorted(data.files.items()):
        holds = data.canary in text if name.startswith(HELD) else mark in _closed_up(text)
        if name.startswith(HELD) and name.endswith(".jsonl"):
            holds = holds and all(data.canary in line for line in text.splitlines() if line.strip())
        if name.startswith(HELD) and not holds:
            findings.append(Finding("canary", "failed", name, "held out, without the canary"))
        elif not name.startswith(HELD) and holds:
            findings.append(Finding("canary", "failed", name, "not held out, with the canary"))
    return findings


def _closed_up(text: str) -> str:
    """The text in one case, without blanks and whatever else could be put between the characters of a GUID."""
    text = "".join(text.split())
    for mark in "_-{}":
        text = text.replace(mark, "")
    return text.casefold()


def planted(data: LeakInput) -> LeakInput:
    name = next(n for n in sorted(data.files) if not n.startswith(HELD))
    return replace(data, files={**data.files, name: f"{data.files[name]}{data.canary}\n"})


LEAK = Leak("canary", run, planted)
