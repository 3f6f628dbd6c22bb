"""The canary stands in every held-out file and in no other: who trains on held-out files can be found out."""

from __future__ import annotations

from dataclasses import replace

from tasks.leaks._types import Finding, Leak, LeakInput

HELD = "heldout/"


def run(data: LeakInput) -> list[Finding]:
    if not data.canary:
        return [Finding("canary", "not_applicable", detail="the files are not written yet")]
    if not any(name.startswith(HELD) for name in data.files):
        raise ValueError("no held-out file was given to look at")
    findings = []
    for name, text in sorted(data.files.items()):
        holds = data.canary in text
        if name.startswith(HELD) and not holds:
            findings.append(Finding("canary", "failed", name, "held out, without the canary"))
        elif not name.startswith(HELD) and holds:
            findings.append(Finding("canary", "failed", name, "not held out, with the canary"))
    return findings


def planted(data: LeakInput) -> LeakInput:
    name = next(n for n in sorted(data.files) if not n.startswith(HELD))
    return replace(data, files={**data.files, name: f"{data.files[name]}{data.canary}\n"})


LEAK = Leak("canary", run, planted)
