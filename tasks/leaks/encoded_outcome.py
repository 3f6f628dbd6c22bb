"""Ids or the order in the set encode the outcome class: digits, prefixes, lengths, the order of ids, the place in the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._chance import Group, alpha_of, best_feature, binned, testable
from tasks.leaks._states import rows_of
from tasks.leaks._types import Finding, Leak, LeakInput

STRENGTH = 0.3
"""Cramer's V from which a telling is worth acting on."""
ONE_FOR_ONE = 0.9
"""Cramer's V from which a field of the case stands for the outcome."""
FEW = 8
"""Values up to which a field can."""
OWN = 0.75
"""Share of different ids from which they are the tasks' own; below, one room or one customer stands in several."""
BLOCKS = 8


def run(data: LeakInput) -> list[Finding]:
    groups = testable(data)
    if not groups:
        return [Finding("encoded_outcome", "not_applicable", "ids", "no workflow has two classes that can be tested")]
    order = {task.task_id: number for number, task in enumerate(data.tasks)}
    findings = []
    for group in groups:
        alpha = alpha_of(groups)
        looked = features(data, group.tasks, order)
        # What several tasks name alike decides in all of them: it tells only where it stands for the class one for one.
        shared = {name: values for name, values in looked.items() if name.partition(":")[0] in _shared(data, group.tasks)}
        own = {name: values for name, values in looked.items() if name not in shared}
        told = best_feature(own, group.classes, [0] * len(group.tasks), data.seed)
        named = best_feature(shared, group.classes, [0] * len(group.tasks), data.seed)
        exact = named is not None and named.strength >= ONE_FOR_ONE
        told = named if exact else told
        if told is None:
            continue
        bad = told.p <= alpha and told.strength >= STRENGTH
        numbers = {"strength": round(told.strength, 4), "p": told.p, "alpha": alpha, "tasks": len(group.tasks)}
        detail = f"{group.workflow}: {told.feature}, Cramer's V {told.strength:.2f}, p {told.p:.5f}, {len(group.tasks)} tasks"
        path = f"ids/{group.workflow}"
        findings.append(Finding("encoded_outcome", "failed" if bad else "passed", path, detail, numbers=numbers))
        findings += _standing_for(data, group, alpha)
    return findings


def _standing_for(data: LeakInput, group: Group, alpha: float) -> list[Finding]:
    """Fields of the case's own row whose values stand for the classes, one for one: the outcome under another name."""
    rows = []
    for task in group.tasks:
        own, values = task.opening.record, {}
        for digest in task.state:
            for row in rows_of(data.content, digest):
                if (row.system, row.kind, row.record_id) == (own.system, own.kind, own.record_id):
                    values.update({f"{leaf.field}/{leaf.inner}".strip("/"): leaf.value for leaf in row.leaves})
        rows.append(values)
    found = []
    for name in sorted({name for values in rows for name in values}):
        column = [values.get(name) for values in rows]
        if 1 < len({str(v) for v in column}) <= FEW:
            told = best_feature({f"field {name} of the case": column}, group.classes, [0] * len(rows), data.seed)
            if told is not None and told.p <= alpha and told.strength >= ONE_FOR_ONE:
                numbers = {"strength": round(told.strength, 4), "p": told.p, "alpha": alpha, "tasks": len(rows)}
                detail = f"{group.workflow}: {told.feature}, Cramer's V {told.strength:.2f}, p {told.p:.5f}, {len(rows)} tasks"
                path = f"state/{group.tasks[0].opening.record.system}/{group.tasks[0].opening.record.kind}/{name}"
                found.append(Finding("encoded_outcome", "failed", path, detail, numbers=numbers))
    return found


def _shared(data: LeakInput, tasks: Sequence[TaskSpec]) -> set[str]:
    """Sources whose ids several tasks name alike."""
    return {name for name, ids in _sources(data, tasks).items() if len(set(ids)) < OWN * len(ids)}


def _sources(data: LeakInput, tasks: Sequence[TaskSpec]) -> dict[str, list[str]]:
    return {
        "task id": [task.task_id for task in tasks],
        "record id": [task.opening.record.record_id for task in tasks],
        "requester id": [task.opening.requester_id for task in tasks],
        "id decided about": [data.answers[task.task_id].outcome.about or "" for task in tasks],
    }


def features(data: LeakInput, tasks: Sequence[TaskSpec], order: dict[str, int]) -> dict[str, list[Any]]:
    """Name -> a value of each task."""
    places = [order[task.task_id] for task in tasks]
    found: dict[str, list[Any]] = {f"place modulo {m}": [place % m for place in places] for m in range(2, 11)}
    found["block of the file"] = list(binned(places, BLOCKS))
    for source, ids in _sources(data, tasks).items():
        ranks = {name: rank for rank, name in enumerate(sorted(set(ids)))}
        found[f"{source}: order"] = list(binned([ranks[name] for name in ids], BLOCKS))
        found[f"{source}: length"] = [len(name) for name in ids]
        found[f"{source}: shape"] = [re.sub(r"[A-Z]+", "A", re.sub(r"[a-z]+", "a", re.sub(r"\d+", "9", n)))[:12] for n in ids]
        found[f"{source}: prefix"] = [(re.match(r"[^\W\d_]*", name) or [""])[0][:8] for name in ids]
        for n in (1, 2, 3):
            found[f"{source}: character {n}"] = [name[n - 1 : n] for name in ids]
            found[f"{source}: character {n} from the end"] = [name[-n:][:1] for name in ids]
        values = [_value(name) for name in ids]
        for m in (2, 3, 4, 5, 7, 10):
            found[f"{source}: number modulo {m}"] = [value % m for value in values]
        found[f"{source}: sum of digits modulo 2"] = [
            sum(int(c, 16) for c in name if c in "0123456789abcdefABCDEF") % 2 for name in ids
        ]
        found[f"{source}: digits"] = [sum(c.isdigit() for c in name) for name in ids]
    return found


def _value(name: str) -> int:
    """The last run of digits as a number, hexadecimal where it is a hash; 0 where there is none."""
    runs = re.findall(r"[0-9a-fA-F]{8,}|\d+", name)
    return int(runs[-1], 16 if len(runs[-1]) >= 8 else 10) if runs else 0


def planted(data: LeakInput) -> LeakInput:
    def marked(task: TaskSpec) -> TaskSpec:
        sign = "7" if data.answers[task.task_id].outcome_class == "grant" else "8"
        record = task.opening.record.model_copy(update={"record_id": task.opening.record.record_id[:-1] + sign})
        return task.model_copy(update={"opening": task.opening.model_copy(update={"record": record})})

    return replace(data, tasks=tuple(marked(task) for task in data.tasks))


LEAK = Leak("encoded_outcome", run, planted, statistical=True)
