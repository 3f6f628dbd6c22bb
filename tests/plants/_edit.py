"""Changes of a clean set: copies, never the set itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from schemas.files import sha256_json, sha256_text
from schemas.records import FieldRule, FieldType, KnownAt
from schemas.task import Fact, TaskSpec
from tasks.leaks import LeakInput
from tests.plants._planted import UnplantableError

State = dict[str, dict[str, dict[str, dict[str, Any]]]]
DAY = 86_400


def when(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def later(task: TaskSpec, rng: Random, least_days: float = 2, most_days: float = 20) -> datetime:
    """An instant after the cut, to the second."""
    return (when(task.started_at) + timedelta(seconds=rng.uniform(least_days, most_days) * DAY)).replace(microsecond=0)


def state_of(data: LeakInput, task: TaskSpec) -> State:
    """The task's state, merged from its parts as an environment does; a copy of its upper three levels."""
    merged: State = {}
    for digest in task.state:
        for system, kinds in data.content(digest).items():
            for kind, rows in kinds.items():
                merged.setdefault(system, {}).setdefault(kind, {}).update(rows)
    return merged


class Edit:
    """A set being changed: tasks and contents are collected, `done` returns the changed set."""

    def __init__(self, data: LeakInput) -> None:
        self.data = data
        self.tasks = {task.task_id: task for task in data.tasks}
        self.stored: dict[str, Any] = {}
        self.fields: dict[str, FieldRule] = {}
        self.closed: dict[str, str] = {}

    def content(self, digest: str) -> Any:
        return self.stored[digest] if digest in self.stored else self.data.content(digest)

    def put(self, value: Any) -> str:
        digest = sha256_json(value)
        self.stored[digest] = value
        return digest

    def task(self, task_id: str, **update: Any) -> Edit:
        self.tasks[task_id] = self.tasks[task_id].model_copy(update=update)
        return self

    def opening(self, task_id: str, **update: Any) -> Edit:
        return self.task(task_id, opening=self.tasks[task_id].opening.model_copy(update=update))

    def requester(self, task_id: str, **update: Any) -> Edit:
        return self.task(task_id, requester=self.tasks[task_id].requester.model_copy(update=update))

    def fact(self, task_id: str, fact: Fact) -> Edit:
        return self.requester(task_id, facts=(*self.tasks[task_id].requester.facts, fact))

    def rows(self, task_id: str, rows: State) -> Edit:
        """More rows, or rows shown with more fields: a part of the state of its own, with its source references."""
        task = self.tasks[task_id]
        shown: State = {}
        for digest in task.state:
            for system, kinds in self.content(digest).items():
                for kind, there in kinds.items():
                    for rid in rows.get(system, {}).get(kind, {}):
                        if rid in there:
                            shown.setdefault(system, {}).setdefault(kind, {})[rid] = there[rid]
        part = {
            s: {
                k: {rid: {**shown.get(s, {}).get(k, {}).get(rid, {}), **fields} for rid, fields in there.items()}
                for k, there in kinds.items()
            }
            for s, kinds in rows.items()
        }
        source = {
            s: {
                k: {r: {f: f"ref-{sha256_text(f'{task_id}/{s}/{k}/{r}/{f}')[:16]}" for f in row} for r, row in there.items()}
                for k, there in kinds.items()
            }
            for s, kinds in part.items()
        }
        return self.task(task_id, state=(*task.state, self.put(part)), provenance=(*task.provenance, self.put(source)))

    def field(self, task_id: str, at: tuple[str, str, str], name: str, value: Any) -> Edit:
        system, kind, record_id = at
        return self.rows(task_id, {system: {kind: {record_id: {name: value}}}})

    def declare(self, key: str, type_: FieldType, known_at: KnownAt = "history", **more: Any) -> Edit:
        """The supplier's code book gets (or changes) a field."""
        self.fields[key] = FieldRule(type=type_, known_at=known_at, **more)
        return self

    def done(self, **changes: Any) -> LeakInput:
        fields = {**self.data.code_book.fields, **self.fields}
        changes.setdefault("tasks", tuple(self.tasks.values()))
        if self.closed:
            changes.setdefault("closed_at", {**self.data.closed_at, **self.closed})
        if self.stored:
            changes.setdefault("content", _layered(self.data.content, self.stored))
        if self.fields:
            changes.setdefault("code_book", self.data.code_book.model_copy(update={"fields": fields}))
        return replace(self.data, **changes)


def _layered(below: Callable[[str], Any], stored: Mapping[str, Any]) -> Callable[[str], Any]:
    return lambda digest: stored[digest] if digest in stored else below(digest)


# --- choosing a place -------------------------------------------------------------------------------------------------
def code_of(data: LeakInput, task_id: str) -> str:
    return data.answers[task_id].outcome.code


def label_of(data: LeakInput, task_id: str) -> str:
    outcome = data.code_book.outcomes.get(code_of(data, task_id))
    if outcome is None or len(outcome.label.split()) < 2:
        raise UnplantableError("no label of several words")
    return outcome.label


def choose(data: LeakInput, rng: Random, fits: Callable[[TaskSpec], bool] = lambda _: True) -> TaskSpec:
    """A task that fits, any side."""
    tasks = sorted((t for t in data.tasks if fits(t)), key=lambda t: t.task_id)
    if not tasks:
        raise UnplantableError("no task fits")
    return rng.choice(tasks)


def own(task: TaskSpec) -> tuple[str, str, str]:
    """The request's own record."""
    record = task.opening.record
    return record.system, record.kind, record.record_id


def other_row(data: LeakInput, task: TaskSpec, rng: Random) -> tuple[str, str, str]:
    """A row of the task's state that is not the request's own."""
    rows = [
        (system, kind, rid)
        for system, kinds in sorted(state_of(data, task).items())
        for kind, there in sorted(kinds.items())
        for rid in sorted(there)
        if rid != task.opening.record.record_id
    ]
    if not rows:
        raise UnplantableError("no row in the state")
    return rng.choice(rows)


def task_and_row(data: LeakInput, rng: Random) -> tuple[TaskSpec, tuple[str, str, str]]:
    """A task with a row other than its own."""
    for _ in range(200):
        task = choose(data, rng)
        try:
            return task, other_row(data, task, rng)
        except UnplantableError:
            continue
    raise UnplantableError("no task has rows in its state")


def key_of(at: tuple[str, str, str], name: str) -> str:
    return f"{at[0]}.{at[1]}.{name}"


def sides(data: LeakInput, workflow: str | None = None) -> tuple[list[TaskSpec], list[TaskSpec]]:
    """Training tasks, and held-out ones of organisations that training never sees."""
    tasks = sorted((t for t in data.tasks if workflow in (None, t.workflow)), key=lambda t: t.task_id)
    train = [t for t in tasks if t.slice == "train"]
    unseen = [t for t in tasks if t.slice in ("unseen_organisations", "both")]
    if not train or not unseen:
        raise UnplantableError("no organisation is held out")
    return train, unseen


def across(data: LeakInput, rng: Random) -> tuple[TaskSpec, TaskSpec]:
    """A training task and one of an unseen organisation, of one workflow."""
    workflows = sorted({t.workflow for t in data.tasks})
    rng.shuffle(workflows)
    for workflow in workflows:
        try:
            train, unseen = sides(data, workflow)
        except UnplantableError:
            continue
        return rng.choice(train), rng.choice(unseen)
    raise UnplantableError("no workflow stands on both sides")


def words_of(text: str) -> list[str]:
    return text.split()


def likeness(left: str, right: str, size: int = 3) -> float:
    """Jaccard of the word shingles, lower case, punctuation off."""
    sets = []
    for text in (left, right):
        words = ["".join(c for c in w.casefold() if c.isalnum()) for w in text.split()]
        words = [w for w in words if w]
        sets.append({tuple(words[i : i + size]) for i in range(len(words) - size + 1)})
    union = sets[0] | sets[1]
    return len(sets[0] & sets[1]) / len(union) if union else 0.0


def line_of(row: Any) -> str:
    return json.dumps(row.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def subset(data: LeakInput, keep: Iterable[str]) -> LeakInput:
    kept = set(keep)
    return replace(data, tasks=tuple(t for t in data.tasks if t.task_id in kept))
