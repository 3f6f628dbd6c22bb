"""Why a record became a task, and the chain from what the agent sees back to the line of the export.

What the agent sees -> the value in the clean records with its reference -> (with the vault and its key) the place in the
export. The way back is deid's own command, run as a program: stages meet in files and commands, never in each other's code.
Without the vault it stops and says so.
"""

from __future__ import annotations

import difflib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.errors import StageError
from tasks.explain_list import SIDES, folder_of, ids, listed, row_of

if TYPE_CHECKING:
    from schemas.task import Answer, TaskSpec
    from schemas.taskset import TaskSet
    from tasks.explain_values import Value

SPECS = Path(__file__).parent / "specs"
SHOWN = 20
"""Paths, references and rows shown of a longer list."""
WARNING = (
    "PERSONAL DATA of real people follows: originals that the vault gives back. Do not copy, log or send them on\n"
    "(--no-originals leaves them out)."
)
UNRESOLVED = "not resolved here"
REFERENCE = re.compile(r"R[0-9a-f]{16}")
"""What stands for a place in the export."""
Resolve = Callable[[str], str]


def explain(
    name: str,
    task_id: str | None,
    field: str | None,
    *,
    spec: Path | None = None,
    originals: bool = True,
    resolve: Resolve | None = None,
) -> str:
    """The explanation as plain text. Raises StageError for an unknown task set, task or field, with what is close to it.

    With `originals` tokens of the value are given back by the vault; where one really was, and its people are not the sample's,
    the first line warns of that. Places in the export are looked up in any case: they name files and lines. `resolve` takes the
    place of deid's command.
    """
    folder = folder_of(name)
    if task_id is None:
        return listed(folder)
    found = row_of(folder, task_id)
    if found is None:
        return _not_a_task(folder, task_id)
    taskset, task = _open(folder, *found)
    if field is None:
        return _why(folder, taskset, task)
    from tasks.explain_values import value_at

    chosen = value_at(taskset, task, field)
    if len(chosen) > 1 or chosen[0].path != field:
        return "\n".join([f"{field} holds {len(chosen)} values:", *(f"  {v.path}" for v in chosen[:SHOWN]), *_more(len(chosen))])
    file = spec or SPECS / f"{name}.toml"
    given_back: list[str] = []

    def asked(what: str) -> str:
        told = resolve(what) if resolve else _resolve(what, file)
        if not REFERENCE.fullmatch(what) and not told.startswith(UNRESOLVED):
            given_back.append(what)
        return told

    lines = _chain(chosen[0], file, asked, originals=originals)
    return "\n".join([*([WARNING] if given_back and not _made_up(file) else []), *lines])


def _made_up(spec: Path) -> bool:
    """True for the shipped sample, whose people do not exist; of a spec that cannot be read nobody knows."""
    from schemas.errors import SpecError
    from schemas.spec import load_spec

    try:
        return load_spec(spec).sample
    except SpecError:
        return False


def _open(folder: Path, side: Any, raw: str) -> tuple[TaskSet, TaskSpec]:
    """The one task with its contents: to explain it, the others need not be read."""
    from pydantic import ValidationError

    from schemas.files import get_content, read_json
    from schemas.task import TaskSpec
    from schemas.taskset import SideManifest, TaskSet

    try:
        task = TaskSpec.model_validate_json(raw)
        manifest = SideManifest.model_validate(read_json(folder / side / "manifest.json"))
    except ValidationError as error:
        raise StageError(f"{folder / side} is not of this version; build the task set again") from error
    digest = read_json(folder / "manifest.json").get("forms")
    forms = get_content(folder / "content", digest) if digest else {}
    return TaskSet(folder, side, manifest, {task.task_id: task}, forms), task


def _not_a_task(folder: Path, task_id: str) -> str:
    """A record that became no task is explained by the ledger; one of an earlier delivery that this one lacks, by splits.json."""
    from schemas.files import read_json
    from tasks.ledger import read_ledger
    from tasks.select import REASONS

    row = next((r for r in read_ledger(folder / "ledger.parquet") if r.record_id == task_id), None)
    splits = read_json(folder / "splits.json")
    if row is None and task_id in splits["gone"]:
        held = splits["tasks"][task_id]["slice"]
        return f"{task_id} is no task of this build: {splits['gone'][task_id]}; its place, if it comes again, is {held}"
    if row is None:
        raise StageError(f"{folder.name} has neither a task nor a candidate {task_id!r}; {_unknown(folder, task_id)}")
    detail = f" ({row.detail})" if row.detail else ""
    return f"{task_id} did not become a task: {row.reason}: {REASONS.get(row.reason, '')}{detail}"


def _unknown(folder: Path, task_id: str) -> str:
    """What to ask for instead: the nearest id, or, of what is no pseudonym, how one is looked up."""
    from tasks.ledger import read_ledger
    from tasks.requester import TOKEN

    there = ids(folder) or [row.record_id for row in read_ledger(folder / "ledger.parquet")]
    if close := difflib.get_close_matches(task_id, there, n=1, cutoff=0.8):
        return f"did you mean {close[0]!r}?"
    if TOKEN.fullmatch(task_id) or not any(TOKEN.fullmatch(one) for one in there):
        return f"its ids are like {there[0]!r}" if there else "it holds none"
    resolve = f"python -m deid resolve --spec FILE {there[0]}"
    return (
        f"ids are pseudonyms like {there[0]}, never the numbers of the export. Who holds the key and the vault sees which record "
        f"one stands for: {resolve}; the list of tasks, with their subjects: python -m tasks explain {folder.name}"
    )


def _why(folder: Path, taskset: TaskSet, task: TaskSpec) -> str:
    from schemas.files import read_models
    from schemas.task import Answer
    from tasks.explain_values import values
    from tasks.ledger import read_ledger

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
        sources = {k: v for k, v in step.derived_from.items() if v != "constant"}
        lines += [f"       {argument}: from {_source_words(source)}" for argument, source in sources.items()]
    shown = [v.path for v in values(taskset, task)]
    lines.append(
        f"{len(shown)} values can be explained, e.g. of the request, the reference's records, the requester and policies:"
    )
    lines += [f"  {path}" for path in _first(shown, task, answer)]
    return "\n".join(lines)


def _source_words(source: str) -> str:
    kind, _, rest = source.partition(" ")
    words = {"step": f"what step {rest} showed", "fact": f"the requester's answer {rest}", "opening": "the opening"}
    return {**words, "decision": "the agent's own decision"}.get(kind, source)


def _first(paths: list[str], task: TaskSpec, answer: Answer) -> list[str]:
    """Paths worth showing: the request's, the fields of the records that the reference names, and one of each other sort."""
    from tasks.explain_values import RESERVED

    named = {str(v) for step in answer.reference for v in step.call.arguments.values()}
    own = [p for p in paths if p.split("/")[0] not in RESERVED and set(p.split("/")[2:3]) & named]
    sorts = [p for sort in ("requester", "policies", "rules", "systems") if (p := _one(paths, sort))]
    return ["opening/text", *own[:SHOWN], *sorts]


def _one(paths: list[str], sort: str) -> str | None:
    return next((p for p in paths if p.startswith(f"{sort}/")), None)


def _chain(value: Value, spec: Path, resolve: Resolve, *, originals: bool) -> list[str]:
    lines = [value.path, f"  the agent sees       {json.dumps(value.value, ensure_ascii=False)[:400]}"]
    if value.reason:
        lines.append(f"  because              {value.reason}")
    if value.spec_key:
        lines.append(f"  declared             {spec.name}: {value.spec_key}")
    for reference in value.references[:SHOWN]:
        lines.append(f"  clean records        reference {reference}")
        lines.append(f"  export               {resolve(reference)}")
    lines += _more(len(value.references))
    if originals and isinstance(value.value, str):
        from tasks.requester import TOKEN

        for token in dict.fromkeys(TOKEN.findall(value.value)):
            lines.append(f"  {token:<20} stands for {resolve(token)}")
    if not value.explained:
        lines.append("  NOT EXPLAINED: no row, no declaration and no reason is known for it; please report this")
    return lines


def _more(count: int) -> list[str]:
    return [f"  ... and {count - SHOWN} more"] if count > SHOWN else []


def _resolve(what: str, spec: Path) -> str:
    """What deid's own command says; where it cannot (no vault, no key, no deid here), its reason."""
    command = [sys.executable, "-m", "deid", "resolve", "--spec", str(spec), what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return " | ".join(done.stdout.split("\n")).strip(" |")
    reason = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
    return f"{UNRESOLVED}: only the vault and its key lead further ({reason[:160]})"


__all__ = ["SIDES", "WARNING", "explain"]
