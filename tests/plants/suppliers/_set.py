"""What both suppliers share: tokens, the split by the product's own hold-out, the set with its files."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from schemas.files import sha256_json, sha256_text
from schemas.records import CodeBook
from schemas.spec import HoldoutSpec
from schemas.task import Answer, TaskSpec, Trajectory
from tasks.holdout import Candidate, Split, decide
from tasks.leaks import LeakInput
from tests.plants._edit import line_of, stamp


def token(kind: str, *parts: object) -> str:
    return f"{kind}_{sha256_text('/'.join(map(str, parts)))[:8].upper()}"


@dataclass(slots=True)
class Draft:
    task: TaskSpec
    answer: Answer
    closed: datetime
    said_later: tuple[str, ...]
    requester: str


@dataclass(slots=True)
class Store:
    """Contents by digest."""

    values: dict[str, Any] = field(default_factory=dict)

    def put(self, value: Any) -> str:
        digest = sha256_json(value)
        self.values[digest] = value
        return digest


def _us(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


def split_of(drafts: Iterable[Draft], spec: HoldoutSpec, seed: int) -> Split:
    return decide(
        [
            Candidate(
                d.task.task_id,
                d.task.workflow,
                d.task.organisation,
                _us(datetime.fromisoformat(d.task.started_at)),
                _us(d.closed),
                f"{d.task.opening.subject}\n{d.task.opening.text}",
            )
            for d in drafts
        ],
        spec,
        seed,
    )


def clean_set(
    name: str,
    drafts: list[Draft],
    store: Store,
    code_book: CodeBook,
    holdout: HoldoutSpec,
    seed: int,
    first_seen: Mapping[str, str],
    **more: Any,
) -> LeakInput:
    """The tasks that the hold-out places, with the files of a built set."""
    split = split_of(drafts, holdout, seed)
    canary = str(uuid.uuid5(uuid.NAMESPACE_URL, f"plants:{name}:{seed}"))
    kept: list[Draft] = []
    for draft in sorted(drafts, key=lambda d: d.task.task_id):
        place = split.slices.get(draft.task.task_id)
        if place is not None:
            mark = {"canary": canary} if place != "train" else {}
            draft.task = draft.task.model_copy(update={"slice": place, **mark})
            draft.answer = draft.answer.model_copy(update=mark)
            kept.append(draft)
    train = [d for d in kept if d.task.slice == "train"]
    boundary = split.boundary_us
    return LeakInput(
        tasks=tuple(d.task for d in kept),
        answers={d.task.task_id: d.answer for d in kept},
        content=store.values.__getitem__,
        code_book=code_book,
        later_messages={d.task.task_id: d.said_later for d in kept},
        first_seen=dict(first_seen),
        groups={
            holdout.group: {d.task.task_id: d.task.organisation for d in kept},
            "requester": {d.task.task_id: d.requester for d in kept},
        },
        closed_at={d.task.task_id: stamp(d.closed) for d in kept},
        boundary=stamp(datetime.fromtimestamp(boundary / 1e6, UTC)) if boundary is not None else None,
        embargo_s={w: e / 1e6 for w, e in split.embargo_us.items()},
        files=files_of(name, kept, canary),
        canary=canary,
        fitted_on={"forms": tuple(d.task.task_id for d in train), "vocabulary": tuple(d.task.task_id for d in train)},
        forms=forms_of(kept),
        trajectories=episodes_of(kept),
        seed=seed,
        **more,
    )


def episodes_of(kept: list[Draft]) -> tuple[Trajectory, ...]:
    """The reference of each training task: the opening, and what each call shows."""
    found = []
    for draft in kept:
        task = draft.task
        if task.slice != "train":
            continue
        shown = [
            json.dumps({"case": task.task_id, "subject": task.opening.subject, "text": task.opening.text, "now": task.started_at})
        ]
        for step in draft.answer.reference:
            said = [f.answer for f in task.requester.facts] if step.call.tool == "reply_to_requester" else []
            shown.append(said[0] if said else json.dumps({"ok": True, "shown": step.call.arguments}))
        actions = tuple(json.dumps(step.call.model_dump(mode="json")) for step in draft.answer.reference)
        found.append(Trajectory(task_id=task.task_id, agent="reference", observations=tuple(shown), actions=actions))
    return tuple(found)


def forms_of(kept: list[Draft]) -> dict[str, dict[str, list[str]]]:
    """Questions and plain closing words of training cases, without numbers."""
    ask: dict[str, list[str]] = {}
    tell: dict[str, list[str]] = {}
    for draft in kept:
        if draft.task.slice == "train":
            for fact in draft.task.requester.facts:
                ask.setdefault(fact.slots[0], []).append(fact.question)
            words = draft.said_later[-1].rpartition(",")[0]
            if words:
                tell.setdefault(draft.answer.outcome.code, []).append(words)
    return {"ask": {k: sorted(set(v)) for k, v in ask.items()}, "tell": {k: sorted(set(v)) for k, v in tell.items()}}


def files_of(name: str, kept: list[Draft], canary: str) -> dict[str, str]:
    found = {}
    for side in ("train", "heldout"):
        rows = [d for d in kept if (d.task.slice == "train") == (side == "train")]
        found[f"{side}/tasks.jsonl"] = "".join(line_of(d.task) + "\n" for d in rows)
        found[f"{side}/answers.jsonl"] = "".join(line_of(d.answer) + "\n" for d in rows)
        manifest = {
            "taskset": name,
            "side": side,
            "tasks": len(rows),
            "files": {},
            "ids": {d.task.task_id: sha256_text(d.task.task_id) for d in rows},
            "canary": canary if side == "heldout" else "",
        }
        found[f"{side}/manifest.json"] = json.dumps(manifest, sort_keys=True, indent=1) + "\n"
    episodes = []
    for draft in kept:
        if draft.task.slice == "train":
            actions = [json.dumps(s.call.model_dump(mode="json")) for s in draft.answer.reference]
            line = {
                "task_id": draft.task.task_id,
                "agent": "reference",
                "observations": [draft.task.opening.text],
                "actions": actions,
            }
            episodes.append(json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n")
    found["train/trajectories.jsonl"] = "".join(episodes)
    found["manifest.json"] = json.dumps({"name": name, "counts": {"kept": len(kept)}}, indent=1) + "\n"
    return found
