"""From candidate records to drafts: a task and its answer before hold-out and certificates. One shard at a time, purely from
clean files."""

from __future__ import annotations

import json
from pathlib import Path

from schemas.files import write_models
from schemas.spec import Spec
from schemas.taskset import SideManifest, TaskSet
from tasks.case import Clean, open_clean, read_cases
from tasks.declared_case import declared_case
from tasks.policy import versions_of
from tasks.record_case import record_cases
from tasks.requester import Vocabulary
from tasks.shard import (
    Shard,
    ShardWork,
    declared_system,
)


def work_shard(work: ShardWork, folder: Path) -> None:
    """Writes drafts.jsonl, ledger.jsonl and content/ of the shard's candidates into `folder`."""
    shard = _open(work, folder)
    cases = read_cases(shard.clean, work.ids)
    if declared_system(work.spec):
        for case in cases:
            declared_case(shard, case)
    else:
        record_cases(shard, cases)
    shard.drafts.sort(key=lambda d: d.task.task_id)
    shard.ledger.sort(key=lambda row: row.record_id)
    write_models(folder / "drafts.jsonl", shard.drafts)
    write_models(folder / "ledger.jsonl", shard.ledger)
    shard.fits.sort(key=lambda f: f.record_id)
    write_models(folder / "fit.jsonl", shard.fits)
    _forget_unused(shard)


def _open(work: ShardWork, folder: Path) -> Shard:
    clean = open_clean(Path(work.clean), work.spec.select)
    clean.log = Path(work.log) if work.log else None
    (folder / "content").mkdir(parents=True, exist_ok=True)
    manifest = SideManifest(taskset=work.spec.name, side="train", tasks=0, files={}, ids={})
    taskset = TaskSet(folder, "train", manifest, {}, {"ask": {}, "tell": {}})
    words = Vocabulary(work.spec.requester.slots, work.known)
    return Shard(work, clean, folder, versions_of(clean.policies()), taskset, words)


def known_values(clean: Clean, spec: Spec) -> dict[str, frozenset[str]]:
    """Slot -> what the records' fields of that name (or "new_" and the name) hold, where codes: a turn may say such a value as
    it stands."""
    import polars as pl

    slots = [
        s for s in spec.requester.slots if any(k.endswith(f".{s}") and r.type == "code" for k, r in clean.codebook.fields.items())
    ]
    if not slots or declared_system(spec):
        return {}
    rows = clean.events().filter(pl.col("field").is_in(slots)).select("field", "value_json").unique().collect()
    found: dict[str, set[str]] = {}
    for name, value in rows.iter_rows():
        decoded = json.loads(value) if value is not None else None
        if isinstance(decoded, str):
            found.setdefault(name, set()).add(decoded)
    return {name: frozenset(values) for name, values in sorted(found.items())}


def _forget_unused(shard: Shard) -> None:
    """Contents that only dropped cases named."""
    used: set[str] = set()
    for draft in shard.drafts:
        task = draft.task
        used.update((*task.state, *task.provenance, *task.policies))
        used.update(str(v).removeprefix("content:") for ref in task.systems for v in ref.config.values() if isinstance(v, str))
    for path in sorted((shard.folder / "content").iterdir()):
        if path.name not in used:
            path.unlink()
