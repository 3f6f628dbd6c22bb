"""Why a record became a task, and the chain from what the agent sees back to the line of the export.

What the agent sees -> the value in the clean records with its reference -> (with the vault and its key) the place in the
export. The way back is deid's own command, run as a program: stages meet in files and commands, never in each other's code.
Without the vault it stops and says so.
"""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

from schemas.errors import StageError
from schemas.files import get_content, read_models
from schemas.paths import taskset_dir
from schemas.task import Answer, TaskSpec
from schemas.taskset import TaskSet, open_taskset
from tasks.ledger import read_ledger
from tasks.requester import TOKEN

SPECS = Path(__file__).parent / "specs"
LISTED = 20
"""Tasks that a list without a task shows, a side."""
SIDES: tuple[Literal["train", "heldout"], ...] = ("train", "heldout")
Provenance = dict[str, dict[str, dict[str, dict[str, str]]]]


def explain(name: str, task_id: str | None, field: str | None, *, spec: Path | None = None) -> str:
    """The explanation as plain text. Raises StageError for an unknown task set, task or field, with what there is."""
    folder = taskset_dir(name)
    if not folder.is_dir():
        there = sorted(p.name for p in folder.parent.glob("[!.]*")) if folder.parent.is_dir() else []
        raise StageError(f"there is no task set {name!r} in {folder.parent} (there: {', '.join(there) or 'none'})")
    sides = [open_taskset(folder, side) for side in SIDES]
    if task_id is None:
        return _list(sides)
    taskset = next((s for s in sides if task_id in s.tasks), None)
    if taskset is None:
        return _not_a_task(folder, sides, task_id)
    task = taskset.tasks[task_id]
    if field is not None:
        return _chain(taskset, task, field, spec or SPECS / f"{name}.toml")
    return _why(folder, taskset, task)


def _list(sides: list[TaskSet]) -> str:
    lines = []
    for taskset in sides:
        lines.append(f"{taskset.side}: {len(taskset.tasks)} tasks")
        for task in list(taskset.tasks.values())[:LISTED]:
            lines.append(f"  {task.task_id}  {task.workflow:<18}{task.opening.subject[:50]}")
    return "\n".join(lines)


def _not_a_task(folder: Path, sides: list[TaskSet], task_id: str) -> str:
    """A record that became no task is explained by the ledger."""
    row = next((r for r in read_ledger(folder / "ledger.parquet") if r.record_id == task_id), None)
    if row is None:
        close = difflib.get_close_matches(task_id, [t for s in sides for t in s.tasks], n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise StageError(f"{folder.name} has neither a task nor a candidate {task_id!r}{hint}")
    from tasks.select import REASONS

    detail = f" ({row.detail})" if row.detail else ""
    return f"{task_id} did not become a task: {row.reason}: {REASONS.get(row.reason, '')}{detail}"


def _why(folder: Path, taskset: TaskSet, task: TaskSpec) -> str:
    answer = next(a for a in read_models(folder / taskset.side / "answers.jsonl", Answer) if a.task_id == task.task_id)
    row = next(r for r in read_ledger(folder / "ledger.parquet") if r.record_id == task.task_id)
    state = taskset.state(task)
    rows = {f"{system}.{kind}": len(records) for system, kinds in state.items() for kind, records in kinds.items() if records}
    policies = ", ".join(f"{p.document} v{p.version}" for p in taskset.policies(task)) or "none (grade no_policy)"
    hard = f"; hard because of: {', '.join(row.difficulty)}" if row.difficulty else ""
    lines = [
        f"{task.task_id}: {task.workflow}, {task.slice}, {answer.outcome.code} ({answer.outcome_class})",
        f"record    {task.opening.record.system}.{task.opening.record.kind} {task.opening.record.record_id}",
        f"starts    {task.started_at}: only what was stamped and recorded before is in the state",
        f"state     {', '.join(f'{n} {kind}' for kind, n in sorted(rows.items()))}",
        f"policies  {policies}; {len(task.rules)} rules in force",
        f"kept      no reason against it in the ledger{hard}",
        f"requester {len(task.requester.facts)} facts from the real follow-up turns",
        "reference (planned: not in the records, but derivability or a rule demands it)",
    ]
    for number, step in enumerate(answer.reference):
        arguments = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)[:80]}" for k, v in step.call.arguments.items())
        lines.append(f"  {number}. {step.call.tool}({arguments})  {'planned' if step.planned else 'recorded'}")
        if step.required_by:
            lines.append(f"       demanded by {', '.join(step.required_by)}")
        sources = {k: v for k, v in step.derived_from.items() if v not in ("constant", "enum")}
        lines += [f"       {argument}: from {_source_words(source)}" for argument, source in sources.items()]
    lines.append("fields that can be explained (system/kind/record/field), the reference's own first:")
    lines += [f"  {path}" for path in _paths(task, answer, state)[:LISTED]]
    return "\n".join(lines)


def _source_words(source: str) -> str:
    kind, _, rest = source.partition(" ")
    return {"step": f"what step {rest} showed", "fact": f"the requester's answer {rest}", "opening": "the opening"}.get(
        kind, source
    )


def _paths(task: TaskSpec, answer: Answer, state: Any) -> list[str]:
    """opening/text, then every field of the records that the reference names."""
    named = {str(v) for step in answer.reference for v in step.call.arguments.values()}
    found = ["opening/text"]
    for system, kinds in state.items():
        for kind, records in kinds.items():
            found += [f"{system}/{kind}/{rid}/{name}" for rid in sorted(named & set(records)) for name in records[rid]]
    return found


def _chain(taskset: TaskSet, task: TaskSpec, field: str, spec: Path) -> str:
    if field == "opening/text":
        record = task.opening.record
        references = _merged(taskset.folder, task).get(record.system, {}).get(record.kind, {}).get(record.record_id, {})
        return _told(field, task.opening.text, references.get("opening/text"), spec)
    parts = field.split("/")
    state = taskset.state(task)
    here: Any = state
    for depth, part in enumerate(parts):
        if not isinstance(here, dict) or part not in here:
            known = sorted(here) if isinstance(here, dict) else []
            if not depth:
                known.append("opening/text")
            close = difflib.get_close_matches(part if depth else field, known, n=3) or known[:8]
            raise StageError(
                f"{task.task_id} shows no {'/'.join(parts[: depth + 1])} (there: {', '.join(close) or 'nothing below'})"
            )
        here = here[part]
    if len(parts) != 4:
        raise StageError(f"{field}: name a field as system/kind/record/field (there: {', '.join(sorted(here)[:8])})")
    system, kind, record_id, name = parts
    reference = _merged(taskset.folder, task).get(system, {}).get(kind, {}).get(record_id, {}).get(name)
    return _told(field, here, reference, spec)


def _merged(folder: Path, task: TaskSpec) -> Provenance:
    merged: Provenance = {}
    for digest in task.provenance:
        for system, kinds in get_content(folder / "content", digest).items():
            for kind, records in kinds.items():
                for record_id, fields in records.items():
                    merged.setdefault(system, {}).setdefault(kind, {}).setdefault(record_id, {}).update(fields)
    return merged


def _told(field: str, value: Any, reference: str | None, spec: Path) -> str:
    lines = [f"{field}", f"  the agent sees       {json.dumps(value, ensure_ascii=False)[:400]}"]
    if reference is None:
        if isinstance(value, list):
            reason = "put together from the messages of an earlier case; explain the records themselves"
        else:
            reason = (
                "the log holds no row for it before the start: unknown, shown as null"
                if value is None
                else "given by the builder"
            )
        return "\n".join([*lines, f"  reference            none: {reason}"])
    lines.append(f"  clean records        reference {reference}")
    place = _resolve(reference, spec)
    lines.append(f"  export               {place}")
    if isinstance(value, str):
        for token in dict.fromkeys(TOKEN.findall(value)):
            lines.append(f"  {token:<20} stands for {_resolve(token, spec)}")
    return "\n".join(lines)


def _resolve(what: str, spec: Path) -> str:
    """What deid's own command says; where it cannot (no vault, no key, no deid here), its reason."""
    command = [sys.executable, "-m", "deid", "resolve", "--spec", str(spec), what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return " | ".join(done.stdout.split("\n")).strip(" |")
    reason = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
    return f"not resolved here: only the vault and its key lead further ({reason[:160]})"


__all__ = ["explain"]
