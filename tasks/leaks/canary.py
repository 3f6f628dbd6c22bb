"""The canary stands in every held-out file and in no other: who trains on held-out files can be found out."""

from __future__ import annotations

from dataclasses import replace

from tasks.leaks._states import once
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Texts, fact_texts, prompt_texts, shared_texts

HELD = "heldout/"


def run(data: LeakInput) -> list[Finding]:
    if not data.canary:
        return [Finding("canary", "not_applicable", detail="the files are not written yet")]
    if not any(name.startswith(HELD) for name in data.files):
        raise ValueError("no held-out file was given to look at")
    findings = []
    marked = any(task.canary for task in data.tasks)
    mark = _closed_up(data.canary)

    @once
    def holds_it(texts: Texts) -> bool:
        return any(mark in _closed_up(text) for _, text in texts)

    for task in data.tasks:
        own = mark in _closed_up("\f".join([f"|{text}|" for _, text in (*prompt_texts(task), *fact_texts(task))]))
        if own or holds_it(shared_texts(data, task)):
            findings.append(Finding("canary", "failed", "shown", "an agent is shown the canary", (task.task_id,)))
        if marked and data.held_out(task) and task.canary != data.canary:
            findings.append(Finding("canary", "failed", "canary", "a held-out task without the canary", (task.task_id,)))
        if task.canary and not data.held_out(task):
            findings.append(Finding("canary", "failed", "canary", "a training task carries the canary", (task.task_id,)))
    for name, text in sorted(data.files.items()):
        holds = data.canary in text if name.startswith(HELD) else mark in _closed_up(text)
        if name.startswith(HELD) and name.endswith(".jsonl"):
            holds = holds and all(data.canary in line for line in text.split("\n") if line.strip())
        if name.startswith(HELD) and not holds:
            findings.append(Finding("canary", "failed", name, "held out, without the canary"))
        elif not name.startswith(HELD) and holds:
            findings.append(Finding("canary", "failed", name, "not held out, with the canary"))
    return findings


_BETWEEN = b" \t\n\r\f\v\x1c\x1d\x1e\x1f_-{}"
_LOWER = bytes(range(256)).lower()


def _closed_up(text: str) -> bytes:
    """The text in one case, without blanks and whatever else could be put between the characters of a GUID, which are ASCII."""
    return text.encode("ascii", "ignore").translate(_LOWER, _BETWEEN)


def planted(data: LeakInput) -> LeakInput:
    name = next(n for n in sorted(data.files) if not n.startswith(HELD))
    return replace(data, files={**data.files, name: f"{data.files[name]}{data.canary}\n"})


LEAK = Leak("canary", run, planted)
