"""What no decision may depend on tells the outcome class: ids, order in the set, hour and weekday, lengths of the request.

By a probe over all of it together, and by the single feature that tells most: the form of the request (capitals, blanks, the
shape of the sender's address), what goes with the task (hour and weekday, what the requester can tell, rules, policies, weights),
and the organisation that asks. Which policies and rules there are follows from the day: outcomes are shuffled among tasks of one
period.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._chance import Group, Told, alpha_of, best_feature, periods, testable
from tasks.leaks._probe import probe_workflows
from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import TOKEN, must_instant, words

FORM, WITH, WHO = 0.5, 0.2, 0.3
"""Cramer's V from which the form of the request, and (beyond chance) what goes with the task and who asks, is worth acting on:
0.2 in two classes is what the probe has to lie above chance."""
HOURS = 6
"""Hours of a part of the day, which may begin at any hour."""


def run(data: LeakInput) -> list[Finding]:
    order = {task.task_id: number for number, task in enumerate(data.tasks)}
    findings = probe_workflows(data, "metadata_probe", "metadata", lambda tasks: features(tasks, order))
    groups = testable(data)
    alpha = alpha_of(groups)
    for group in groups:
        form = best_feature(_form(group.tasks), group.classes, [0] * len(group.tasks), data.seed)
        findings += _single(group, "form", form, alpha, form is not None and form.strength >= FORM)
        days = periods(data, group.tasks)
        goes = best_feature(_with(group.tasks), group.classes, days, data.seed)
        findings += _single(group, "with", goes, alpha, goes is not None and goes.beyond >= WITH)
        # Organisations are many and have few tasks each: none is merged, and how much they tell is counted beyond chance.
        who = best_feature({"organisation": [t.organisation for t in group.tasks]}, group.classes, days, data.seed, rare=1)
        findings += _single(group, "who", who, alpha, who is not None and who.beyond >= WHO)
    return findings


def _single(group: Group, name: str, told: Told | None, alpha: float, strong: bool) -> list[Finding]:
    if told is None:
        return []
    numbers = {"strength": round(told.strength, 4), "p": told.p, "alpha": alpha, "tasks": len(group.tasks)}
    detail = f"{group.workflow}: {told.feature}, Cramer's V {told.strength:.2f}, p {told.p:.5f}, {len(group.tasks)} tasks"
    path = f"metadata/{name}/{group.workflow}"
    bad = strong and told.p <= alpha
    return [Finding("metadata_probe", "failed" if bad else "passed", path, detail, numbers=numbers)]


def _form(tasks: Sequence[TaskSpec]) -> dict[str, list[Any]]:
    """How the request is written down, whatever it says."""
    found: dict[str, list[Any]] = {
        "shape of the contact": [_shape(task.opening.contact) for task in tasks],
        "shape of the name": [_shape(task.opening.requester_name) for task in tasks],
    }
    for name, texts in (("subject", [t.opening.subject for t in tasks]), ("text", [t.opening.text for t in tasks])):
        bare = [TOKEN.sub("", text) for text in texts]
        found[f"{name} in capitals"] = [text.isupper() for text in bare]
        found[f"{name} in small letters"] = [text.islower() for text in bare]
        found[f"{name} begins"] = [text[:1].isupper() for text in bare]
        found[f"{name} ends"] = ["" if text[-1:].isalnum() else text[-1:] for text in texts]
        found[f"blanks around {name}"] = [text != text.strip() for text in texts]
        found[f"two blanks in {name}"] = ["  " in text.strip() for text in texts]
    return found


def _with(tasks: Sequence[TaskSpec]) -> dict[str, list[Any]]:
    """What goes with the task."""
    times = [must_instant(task.started_at, f"{task.task_id}.started_at") for task in tasks]
    return {
        "hour": [at.hour for at in times],
        **{f"from {start} to {(start + HOURS) % 24}": [(at.hour - start) % 24 < HOURS for at in times] for start in range(24)},
        "weekday": [at.weekday() for at in times],
        "weekend": [at.weekday() > 4 for at in times],
        "full hour": [at.minute == 0 for at in times],
        "facts": [len(task.requester.facts) for task in tasks],
        "turns of not knowing": [len(task.requester.dont_know) for task in tasks],
        "slots": [",".join(sorted({slot for fact in task.requester.facts for slot in fact.slots})) for task in tasks],
        "facts with values": [sum(bool(fact.values) for fact in task.requester.facts) for task in tasks],
        "rules": [",".join(rule.id for rule in task.rules) for task in tasks],
        "policies": [",".join(task.policies) for task in tasks],
        "weights": [task.weights.model_dump_json() for task in tasks],
    }


def _shape(text: str) -> str:
    """What an address is made of: its token's type, letters and digits by their kind."""
    return re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", re.sub(r"_[0-9A-F]{8}", "", text)))[:24]


def features(tasks: Sequence[TaskSpec], order: dict[str, int]) -> Any:
    """(tasks, features) scaled to mean 0 and spread 1; a feature that never varies is dropped."""
    import numpy as np

    rows = []
    for task in tasks:
        at = must_instant(task.started_at, f"{task.task_id}.started_at")
        text = task.opening.text
        row = [order[task.task_id], at.hour, at.minute, at.second, len(task.opening.subject), len(text), len(words(text))]
        row += [len(TOKEN.findall(text)), text.count("\n"), len(task.state), len(task.provenance), len(task.grades)]
        row += [int(at.weekday() == day) for day in range(7)]
        for name in (task.task_id, task.opening.record.record_id, task.opening.requester_id):
            digits = [int(c, 16) for c in name if c in "0123456789ABCDEFabcdef"][-3:]
            row += [digits[-1] if digits else 0, digits[-1] % 2 if digits else 0, digits[-3] if len(digits) > 2 else 0, len(name)]
        rows.append(row)
    table = np.array(rows, dtype=float)
    spread = table.std(axis=0)
    kept = spread > 0
    return (table[:, kept] - table[:, kept].mean(axis=0)) / spread[kept]


def planted(data: LeakInput) -> LeakInput:
    by_class = sorted(data.tasks, key=lambda task: (data.answers[task.task_id].outcome_class, task.task_id))
    return replace(data, tasks=tuple(by_class))


LEAK = Leak("metadata_probe", run, planted, statistical=True)
