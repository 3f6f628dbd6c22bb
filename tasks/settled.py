"""Which certified tasks stay: those that hold and do not leak, certified with what was learnt from records that do not leak.

Message forms and the requesters' understanding are learnt from training records before anything is certified, since every replay
uses them. A record that then turns out to leak may have taught what it must not: it goes, all is learnt anew from those that are
left, in their order, and they are certified again. That costs the certificates once more, and only where something leaked.
A record whose own certificate fails leaks nothing: it stays a teacher, as any training record that became no task might.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.engines import run_shards
from pipeline.stage import one_shard
from schemas.errors import StageError
from schemas.files import read_models
from schemas.spec import Spec
from tasks.case import Clean
from tasks.certified import Certified, Decided, certify_shard, drafts_dir, in_memory, teach, work_of
from tasks.leak_input import Background, background, leak_input
from tasks.leaks import Finding, LeakInput, run_leaks
from tasks.shard import read_drafts

ROUNDS = 4
"""Times that leaking tasks are taken out and the set is looked at again."""
Reasons = dict[str, tuple[str, str]]


def settle(
    spec: Spec, clean: Clean, decided: Decided, lines: Sequence[Certified], reasons: Reasons, scratch: Path
) -> tuple[list[Certified], list[Finding]]:
    """The tasks that stay, and the findings on them; why each other went is put into `reasons`, and `decided` then holds what
    was learnt without those that leak. `scratch` is a folder for certificates made again."""
    drafts, known = drafts_dir(spec.name), background(clean)
    decided.counters = known.counters
    leaking: set[str] = set()
    kept = holding(lines, reasons)
    findings: list[Finding] = []
    for number in range(ROUNDS):
        data = leak_input_of(spec, clean, decided, kept, drafts, known)
        findings = run_leaks(data, spec)
        named = names(findings)
        if not named:
            break
        if named.keys() & set(decided.teachers):
            # What a leaking record taught may be what was found: without it the checks name the record alone.
            named = names(run_leaks(replace(data, forms={}, trajectories=()), spec)) or named
        leaking |= named.keys()
        reasons.update({t: ("leak", check) for t, check in named.items()})
        if leaking & set(decided.teachers):
            kept = _again(spec, decided, leaking, scratch / f"again-{number}", reasons)
        else:
            kept = [c for c in kept if c.draft.task.task_id not in named]
    return kept, findings


def names(findings: Sequence[Finding]) -> dict[str, str]:
    """Task that a failed check names -> the check."""
    return {t: f.check for f in findings if f.verdict == "failed" for t in f.task_ids}


def holding(lines: Sequence[Certified], reasons: Reasons) -> list[Certified]:
    """The tasks whose certificate holds; why another's does not is put into `reasons`."""
    kept = []
    for line in lines:
        if line.certificate.holds:
            kept.append(line)
            continue
        bad = [c for c in line.certificate.checks if c.verdict in ("failed", "could_not_run")]
        reasons[line.draft.task.task_id] = ("certificate", "; ".join(f"{c.id} {c.detail}" for c in bad)[:300])
    return kept


def _again(spec: Spec, decided: Decided, leaking: set[str], scratch: Path, reasons: Reasons) -> list[Certified]:
    """Learns and certifies anew without the tasks that leak; what failed its certificate before may hold now."""
    drafts = [d for d in read_drafts(drafts_dir(spec.name)) if d.task.task_id not in leaking]
    teachers = set(decided.teachers) - leaking
    teach(decided, spec, [d for d in drafts if d.task.task_id in teachers])
    for task_id in [t for t, (reason, _) in reasons.items() if reason == "certificate"]:
        del reasons[task_id]
    shutil.rmtree(scratch, ignore_errors=True)
    jobs = [(shard.payload, scratch / shard.name) for shard in work_of(spec, decided, drafts)]
    folders = sorted(run_shards(one_shard, certify_shard, jobs, workers=os.cpu_count() or 1, engine="pool"))
    if len(folders) != len(jobs):
        raise StageError(f"{len(folders)} of {len(jobs)} shards were certified again")
    found = [line for folder in folders for line in read_models(folder / "certified.jsonl", Certified)]
    return holding(sorted(found, key=lambda c: c.draft.task.task_id), reasons)


def leak_input_of(
    spec: Spec, clean: Clean, decided: Decided, kept: Sequence[Certified], folder: Path, known: Background
) -> LeakInput:
    taskset = in_memory(spec, folder, {}, decided.forms)
    episodes = [c.trajectory for c in kept if c.trajectory is not None]
    drafts = [c.draft for c in kept]
    data = leak_input(spec, clean, decided.split, drafts, taskset.content, known, decided.forms, episodes)
    taught = tuple(decided.requester["learnt"]["fitted_on"])
    return replace(data, fitted_on={"forms": decided.teachers, "requester": taught})
