"""The second stage: hold-out decided, each task certified by real replays in its slice, training episodes to imitate."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.stage import Shard as StageShard
from schemas.episode import Frozen
from schemas.files import read_json, sha256_json, write_models
from schemas.paths import taskset_dir
from schemas.proof import Placed, PolicyInterval, Proof
from schemas.spec import Spec
from schemas.task import Answer, Certificate, TaskSpec, Trajectory
from schemas.taskset import SideManifest, TaskSet, task_digest
from tasks.asking import Asked, Dialogue, learn
from tasks.case import iso, open_clean, us
from tasks.certify import Placement, certify_task
from tasks.holdout import UNSEEN_POLICY, Candidate, Split, decide
from tasks.policy import versions_of
from tasks.requester import common_dont_know, message_forms
from tasks.shard import Draft, outcome_codes, read_drafts

SHARD = 100
"""Candidates of a shard, about; an organisation's stay together, so that its snapshots are made once."""


CODE = ("schemas", "pipeline", "environments", "rewards", "tasks")


Forms = dict[str, dict[str, list[str]]]


def drafts_dir(name: str) -> Path:
    """Between the two stages: drafts.jsonl, ledger.jsonl, content/."""
    return taskset_dir(name).parent / ".drafts" / name


class CertifyWork(Frozen):
    """Payload of a shard of the second stage."""

    drafts: str
    """Folder of the drafts."""
    slices: dict[str, str]
    """Task id -> slice, of this shard's tasks."""
    clusters: dict[str, str]
    """Task id -> its cluster of near-duplicates, of this shard's tasks."""
    unseen_policy: tuple[str, ...]
    """Of this shard's tasks those under a policy version that training never saw."""
    forms: Forms
    requester: dict[str, Any]
    """What requesters share, from training records only (TaskSetManifest.requester)."""
    canary: str
    proof: Proof
    sides: dict[str, tuple[str, ...]]
    """Cluster -> the sides on which it has tasks."""
    spec: Spec


class Certified(Frozen):
    """One line of a shard's certified.jsonl."""

    draft: Draft
    certificate: Certificate
    trajectory: Trajectory | None = None


@dataclass(slots=True)
class Decided:
    """What the shards of the second stage and its end share."""

    split: Split = field(default_factory=Split)
    previous: dict[str, Any] | None = None
    proof: Proof | None = None
    forms: Forms = field(default_factory=lambda: {"ask": {}, "tell": {}})
    requester: dict[str, Any] = field(default_factory=dict)
    counters: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Fields that count without the code book's saying so (tasks.counters)."""
    teachers: tuple[str, ...] = ()
    """Tasks of the training side whose records `forms` and `requester` were learnt from."""


def teach(decided: Decided, spec: Spec, train: Sequence[Draft]) -> None:
    """Learns from these training drafts, in their order, what the task set's policies may say and its requesters understand."""
    decided.teachers = tuple(d.task.task_id for d in train)
    decided.forms = message_forms(((d.closing, d.answer.outcome.code, d.task.requester) for d in train), spec.requester.slots)
    decided.requester = shared_requester(spec, train)


def canary_of(spec: Spec) -> str:
    """The same for every build of a task set, so that a leaked file of any build can be found."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"recordgym:{spec.supplier}:{spec.name}:{spec.seed}:held-out"))


def certify_shards(spec: Spec, source: Path, decided: Decided) -> list[StageShard]:
    folder = drafts_dir(spec.name)
    drafts = list(read_drafts(folder))
    splits = taskset_dir(spec.name) / "splits.json"
    decided.previous = read_json(splits) if splits.exists() else None
    decided.split = decide([candidate_of(d) for d in drafts], spec.holdout, spec.seed, decided.previous)
    teach(decided, spec, [d for d in drafts if decided.split.slices.get(d.task.task_id) == "train"])
    decided.proof = proof_of(spec, source)
    return work_of(spec, decided, drafts)


def work_of(spec: Spec, decided: Decided, drafts: Sequence[Draft]) -> list[StageShard]:
    """The shards that certify these drafts with what was decided and learnt; a draft without a slice is passed over."""
    folder, slices, sides = drafts_dir(spec.name), decided.split.slices, sides_of(decided.split)
    assert decided.proof is not None
    shards: list[StageShard] = []
    placed = [d.task.task_id for d in drafts if d.task.task_id in slices]
    digests = {d.task.task_id: task_digest(d.task, d.answer) for d in drafts}
    for start in range(0, len(placed), SHARD):
        mine = {task_id: str(slices[task_id]) for task_id in placed[start : start + SHARD]}
        clusters = {t: decided.split.clusters[t] for t in mine}
        unseen = tuple(t for t in decided.split.unseen_policy if t in mine)
        work = CertifyWork(
            drafts=str(folder),
            slices=mine,
            clusters=clusters,
            unseen_policy=unseen,
            forms=decided.forms,
            requester=decided.requester,
            canary=canary_of(spec),
            proof=decided.proof,
            sides={cluster: sides[cluster] for cluster in clusters.values()},
            spec=spec,
        )
        key = sha256_json([work.model_dump(mode="json", exclude={"drafts", "spec"}), [digests[t] for t in mine]])
        shards.append(StageShard(f"part-{len(shards):04d}", key, work, len(mine)))
    return shards


def proof_of(spec: Spec, source: Path) -> Proof:
    """What the certificates are derived from beside the tasks; `source` holds the clean records."""
    clean = open_clean(source, spec.select)
    policies = tuple(
        PolicyInterval(
            document=version.policy.document,
            version=version.policy.version,
            start=iso(version.from_us) if version.from_us is not None else None,
            end=iso(version.to_us) if version.to_us is not None else None,
        )
        for version in versions_of(clean.policies())
    )
    codes = outcome_codes(spec, clean.codebook)
    return Proof(seed=spec.seed, token_scope=spec.tokens.scope, codes=codes, rules=spec.rules, policies=policies)


def sides_of(split: Split) -> dict[str, tuple[str, ...]]:
    """Cluster of near-duplicates -> the sides on which it has tasks."""
    found: dict[str, set[str]] = {}
    for task_id, slice_ in split.slices.items():
        found.setdefault(split.clusters[task_id], set()).add("train" if slice_ == "train" else "heldout")
    return {cluster: tuple(sorted(sides)) for cluster, sides in sorted(found.items())}


def shared_requester(spec: Spec, train: Sequence[Draft]) -> dict[str, Any]:
    """What the requesters of a task set share, from its training drafts alone."""
    dialogues = [
        Dialogue(d.task.task_id, tuple(Asked(message, frozenset(told)) for message, told in d.heard)) for d in train if d.heard
    ]
    unknown: dict[str, dict[str, None]] = {}
    for draft in train:
        for turn in common_dont_know(draft.task.requester, spec.requester.slots):
            for workflow in (draft.task.workflow, ""):
                unknown.setdefault(workflow, {})[turn] = None
    learnt = learn(dialogues, spec.requester.slots, {w: sorted(turns) for w, turns in unknown.items()})
    speaker = spec.requester.speaker.model_dump(mode="json") if spec.requester.speaker else None
    return {"learnt": learnt, "speaker": speaker}


def candidate_of(draft: Draft) -> Candidate:
    from datetime import datetime

    task = draft.task
    started, closed = us(datetime.fromisoformat(task.started_at)), us(datetime.fromisoformat(draft.closed_at))
    assert started is not None
    assert closed is not None
    text = f"{task.opening.subject}\n{task.opening.text}"
    return Candidate(task.task_id, task.workflow, draft.group, started, closed, text, task.policies)


def certify_shard(work: CertifyWork, folder: Path) -> None:
    """Writes certified.jsonl: each task in its slice with its certificate and, on the training side, an episode to imitate."""
    drafts = [d for d in read_drafts(Path(work.drafts)) if d.task.task_id in work.slices]
    lines = []
    taskset = in_memory(work.spec, Path(work.drafts), {}, work.forms, work.requester)
    for draft in drafts:
        held = work.slices[draft.task.task_id] != "train"
        mark = {"canary": work.canary} if held else {}
        unseen = (UNSEEN_POLICY,) if draft.task.task_id in work.unseen_policy else ()
        grades = (*draft.task.grades, *unseen)
        task = draft.task.model_copy(update={"slice": work.slices[draft.task.task_id], "grades": grades, **mark})
        answer = draft.answer.model_copy(update=mark)
        taskset.tasks = {task.task_id: task}
        cluster = work.clusters[task.task_id]
        placed = Placed(slice=task.slice, sha256=task_digest(task, answer), cluster=cluster)
        placement = Placement(placed, frozenset(work.sides[cluster]))
        certificate, bounds = certify_task(taskset, task, answer, work.proof, placement)
        answer = answer.model_copy(update={"bounds": bounds})
        trajectory = None if held or not certificate.holds else _trajectory(taskset, task, answer)
        taskset._states.clear()
        done = draft.model_copy(update={"task": task, "answer": answer})
        lines.append(Certified(draft=done, certificate=certificate, trajectory=trajectory))
    write_models(folder / "certified.jsonl", lines)


def in_memory(
    spec: Spec, folder: Path, tasks: dict[str, TaskSpec], forms: Forms, requester: dict[str, Any] | None = None
) -> TaskSet:
    manifest = SideManifest(taskset=spec.name, side="train", tasks=len(tasks), files={}, ids={})
    return TaskSet(folder, "train", manifest, tasks, forms, requester=requester or {})


def _trajectory(taskset: TaskSet, task: TaskSpec, answer: Answer) -> Trajectory:
    """The reference as an episode: what was read, and the text of each call."""
    from environments.agents import ReferenceAgent, action_text, run_episode
    from environments.episode import Episode

    trace = run_episode(Episode(taskset), ReferenceAgent(answer.reference), task.task_id, name="reference")
    texts = tuple(o.text for o in trace.observations)
    actions = tuple(action_text(entry.call) for entry in trace.journal.entries)
    return Trajectory(task_id=task.task_id, agent="reference", observations=texts, actions=actions)
