"""The world of business records: any set of systems over rows as they stood at the cut, and a requester who answers messages."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from pydantic import ValidationError

from environments.asking import Learnt, learnt_from
from environments.requester import Requester, prepare
from environments.state import Base, Layer
from environments.tool import System, Tool
from environments.world import Compiled, World
from schemas.episode import Observation
from schemas.errors import WorldError
from schemas.files import canonical_json
from schemas.plugins import load_plugin
from schemas.spec_faults import faults_of
from schemas.task import PolicySpec, SystemRef, TaskSpec
from schemas.taskset import TaskSet

Shared = dict[object, object]
OPENING = {
    "ticket": "id of the record that the case is about; the finishing act changes it",
    "from": "address from which the request came",
    "requester": "pseudonym of the person who asks",
    "name": "how they sign",
    "subject": "subject line",
    "text": "the request in the requester's own, pseudonymised words",
    "now": "the moment at which the task begins (the cut), ISO 8601 UTC; each call takes a second",
    "policies": "documents in force, which `read_policy` shows",
}
"""What each key of the opening observation says, in its order."""


def _resolver(taskset: TaskSet) -> Any:
    def resolve(reference: str) -> Any:
        prefix, _, digest = reference.partition(":")
        if prefix != "content" or not digest:
            raise WorldError(f"{reference[:80]!r} does not name a content; write content:<digest>")
        return taskset.content(digest)

    return resolve


def system_tools(taskset: TaskSet, ref: SystemRef, shared: Shared) -> list[Tool]:
    """The tools of one system under its configuration, built once. WorldError names each fault of the configuration."""
    key = ("tools", ref.name, ref.plugin, canonical_json(ref.config))
    if key not in shared:
        system = load_plugin("environments.systems", ref.plugin, "SYSTEM", System)
        try:
            options = system.options.model_validate(ref.config)
        except ValidationError as error:
            faults = "; ".join(faults_of(error, f"systems.{ref.name}.config"))
            raise WorldError(f"{taskset.manifest.taskset}: {faults}") from error
        tools = system.tools(options, _resolver(taskset))
        for tool in tools:
            if tool.system != ref.name:
                raise WorldError(
                    f"system {ref.name}: its plug-in {ref.plugin} makes tools of system {tool.system}; name both alike"
                )
        shared[key] = tools
    return cast("list[Tool]", shared[key])


def all_tools(taskset: TaskSet, task: TaskSpec, shared: Shared) -> dict[str, Tool]:
    """Tools by name, in the order of the systems. WorldError for two of one name or for none that finishes."""
    key = ("all", *(("tools", r.name, r.plugin, canonical_json(r.config)) for r in task.systems))
    if key not in shared:
        tools: dict[str, Tool] = {}
        for ref in task.systems:
            for tool in system_tools(taskset, ref, shared):
                if tool.name in tools:
                    raise WorldError(f"systems {tools[tool.name].system} and {ref.name} both have a tool {tool.name}")
                tools[tool.name] = tool
        if not any(tool.finishing for tool in tools.values()):
            raise WorldError(f"{taskset.manifest.taskset}: no system of task {task.task_id} has a finishing tool")
        shared[key] = tools
    return cast("dict[str, Tool]", shared[key])


def _base(taskset: TaskSet, task: TaskSpec, shared: Shared) -> Base:
    key = ("base", task.state)
    if key not in shared:
        layers = []
        for digest in task.state:
            if ("layer", digest) not in shared:
                shared[("layer", digest)] = Layer(digest, taskset.content(digest))
            layers.append(cast("Layer", shared[("layer", digest)]))
        shared[key] = Base(tuple(layers))
    return cast("Base", shared[key])


def _policies(taskset: TaskSet, task: TaskSpec, shared: Shared) -> tuple[PolicySpec, ...]:
    key = ("policies", task.policies)
    if key not in shared:
        shared[key] = tuple(taskset.policies(task))
    return cast("tuple[PolicySpec, ...]", shared[key])


def _requester(taskset: TaskSet, task: TaskSpec, shared: Shared) -> Requester:
    """The words that ask for a slot come from the `slots` of the system through which the requester is reached; what training
    records taught is the task set's."""
    if "learnt" not in shared:
        shared["learnt"] = learnt_from(taskset.requester.get("learnt"))
    slots: dict[str, Any] = {}
    for ref in task.systems:
        slots.update(ref.config.get("slots", {}))
    return prepare(task.requester, slots, learnt=cast("Learnt", shared["learnt"]), workflow=task.workflow)


def _opening(task: TaskSpec, policies: tuple[PolicySpec, ...]) -> Observation:
    opening = task.opening
    values = (
        opening.record.record_id,
        opening.contact,
        opening.requester_id,
        opening.requester_name,
        opening.subject,
        opening.text,
        task.started_at,
        [policy.document for policy in policies],
    )
    shown = dict(zip(OPENING, values, strict=True))
    return Observation(kind="opening", text=json.dumps(shown, separators=(",", ":"), ensure_ascii=False))


def _clocks(task: TaskSpec) -> tuple[str, ...]:
    try:
        start = datetime.fromisoformat(task.started_at)
    except ValueError as error:
        raise WorldError(f"task {task.task_id}: started_at is not an ISO 8601 instant") from error
    if start.tzinfo is None:
        raise WorldError(f"task {task.task_id}: started_at has no zone")
    start = start.astimezone(UTC)
    return tuple((start + timedelta(seconds=s)).isoformat().replace("+00:00", "Z") for s in range(task.max_steps + 1))


def compile_task(taskset: TaskSet, task: TaskSpec, shared: Shared) -> Compiled:
    policies = _policies(taskset, task, shared)
    return Compiled(
        task=task,
        tools=all_tools(taskset, task, shared),
        base=_base(taskset, task, shared),
        policies=policies,
        requester=_requester(taskset, task, shared),
        opening=_opening(task, policies),
        clocks=_clocks(task),
    )


WORLD = World(name="records", compile=compile_task)
