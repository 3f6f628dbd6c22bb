"""Which keys a task shows, and which are null or absent, tells the outcome class.

Looked at: the row of the case, of the requester, of the record decided about, and of every kind with one row in the state; and
what the task itself is made of. Two questions for each field: null or absent (the same to a reader, so neither may tell a thing),
and filled or not, where what codes already say is no leak (an order that is not delivered has no delivery time): outcomes are
shuffled among rows with the same codes only. Codes of other rows may decide a case, and what is empty there may go with them; the
case's own row was written when it was opened, so that there its own codes alone excuse a field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from schemas.task import TaskSpec
from tasks.leaks._chance import Told, alpha_of, best_feature, periods, testable
from tasks.leaks._plant import with_content, with_task
from tasks.leaks._states import Row, declared_systems, recorded, rows_of
from tasks.leaks._types import Finding, Leak, LeakInput

STRENGTH = 0.3
"""Cramer's V from which a telling is worth acting on."""
FEW = 8
"""Different values up to which a field is a code."""
CASE = "case "
"""Role of the case's own row."""
ABSENT, NO_ROW = object(), object()
Keys = dict[str, dict[str, Any]]
"""Role of a row ("case orders.order") -> field -> value."""


def run(data: LeakInput) -> list[Finding]:
    groups = testable(data)
    if not groups:
        return [Finding("key_presence", "not_applicable", "state", "no workflow has two classes that can be tested")]
    alpha = alpha_of(groups)
    index: dict[str, dict[str, list[Row]]] = {}
    findings = []
    for group in groups:
        rows = [_rows(data, task, index) for task in group.tasks]
        fields = _fields(rows)
        filled = {name: ["no row" if v is NO_ROW else _full(v) for v in values] for name, values in fields.items()}
        case = {name: values for name, values in fields.items() if name.startswith(CASE)}
        others = {name: filled[name] for name in fields.keys() - case.keys()}
        own = {name: filled[name] for name in case}
        told = [
            ("filled or not", best_feature(own, group.classes, _codes(case.values(), len(rows)), data.seed)),
            ("filled or not", best_feature(others, group.classes, _codes(fields.values(), len(rows)), data.seed)),
            ("of the task", best_feature(_made(group.tasks), group.classes, periods(data, group.tasks), data.seed)),
        ]
        for name, values in fields.items():
            held = [n for n, v in enumerate(values) if v is not NO_ROW and not _full(v)]
            kinds = ["absent" if values[n] is ABSENT else "null" for n in held]
            if len(set(kinds)) > 1:
                classes = [group.classes[n] for n in held]
                told.append(("null or absent", best_feature({name: kinds}, classes, [0] * len(held), data.seed)))
        level = alpha / len(told)
        findings += [_finding(group.workflow, question, one, level, len(rows)) for question, one in told if one is not None]
    return findings


def _finding(workflow: str, question: str, told: Told, alpha: float, tasks: int) -> Finding:
    bad = told.p <= alpha and told.strength >= STRENGTH
    numbers = {"strength": round(told.strength, 4), "p": told.p, "alpha": alpha, "tasks": tasks}
    detail = f"{workflow}: {told.feature} {question}, Cramer's V {told.strength:.2f}, p {told.p:.5f}, {tasks} tasks"
    return Finding("key_presence", "failed" if bad else "passed", f"keys/{workflow}", detail, numbers=numbers)


def _rows(data: LeakInput, task: TaskSpec, index: dict[str, dict[str, list[Row]]]) -> Keys:
    """The rows that stand for something in this task, whatever their ids."""
    about = data.answers[task.task_id].outcome.about or ""
    roles = {task.opening.record.record_id: CASE.strip(), task.opening.requester_id: "requester", about: "decided about"}
    skipped = declared_systems(task)
    found: Keys = {}
    kinds: Counter[tuple[str, str]] = Counter()
    single: dict[tuple[str, str], Row] = {}
    for digest in task.state:
        if digest not in index:
            index[digest] = {}
            for row in rows_of(data.content, digest):
                index[digest].setdefault(row.record_id, []).append(row)
        held = index[digest]
        for record_id, role in roles.items():
            for row in held.get(record_id, ()):
                if not recorded(row, skipped):
                    found.setdefault(f"{role} {row.system}.{row.kind}", {}).update(_values(row))
        for rows in held.values() if len(held) <= FEW else ():
            for row in rows:
                kinds[row.system, row.kind] += 1
                single[row.system, row.kind] = row
    for (system, kind), count in kinds.items():
        if count == 1 and not recorded(single[system, kind], skipped):
            found.setdefault(f"only {system}.{kind}", {}).update(_values(single[system, kind]))
    return found


def _values(row: Row) -> dict[str, Any]:
    top = {leaf.field: leaf.value for leaf in row.leaves if not leaf.inner}
    inner = {f"{leaf.field}/{leaf.inner}": leaf.value for leaf in row.leaves if leaf.inner and "(inside)" not in leaf.inner}
    return {**dict.fromkeys(row.values, ""), **inner, **top}


def _fields(rows: Sequence[Keys]) -> dict[str, list[Any]]:
    """ "role system.kind.field" -> its value in each task, ABSENT where the row lacks it, NO_ROW where there is no such row."""
    names = sorted({(role, name) for keys in rows for role, held in keys.items() for name in held})
    return {f"{role}.{name}": [keys[role].get(name, ABSENT) if role in keys else NO_ROW for keys in rows] for role, name in names}


def _full(value: Any) -> bool:
    return value is not ABSENT and value is not NO_ROW and value is not None and value != ""


def _codes(fields: Iterable[list[Any]], tasks: int) -> list[str]:
    """What the codes in the rows of each task say together."""
    codes = []
    for values in fields:
        full = [v for v in values if _full(v)]
        if 1 < len({str(v) for v in full}) <= FEW and all(isinstance(v, str | bool) for v in full):
            codes.append([str(v) if _full(v) else "" for v in values])
    return ["|".join(column[n] for column in codes) for n in range(tasks)]


def _made(tasks: Sequence[TaskSpec]) -> dict[str, list[Any]]:
    """What the task itself is made of."""
    return {
        "subject": [bool(task.opening.subject.strip()) for task in tasks],
        "contact": [bool(task.opening.contact) for task in tasks],
        "name": [bool(task.opening.requester_name) for task in tasks],
        "grades": [",".join(task.grades) for task in tasks],
        "patience": [task.requester.patience for task in tasks],
        "steps": [task.max_steps for task in tasks],
        "parts of the state": [len(task.state) for task in tasks],
        "policies": [len(task.policies) for task in tasks],
        "systems": [",".join(sorted(s.name for s in task.systems)) for task in tasks],
        "keys of the configuration": [
            ",".join(sorted(f"{s.name}.{k}" for s in task.systems for k in s.config)) for task in tasks
        ],
    }


def planted(data: LeakInput) -> LeakInput:
    for number, task in enumerate(data.tasks):
        part = deepcopy(data.content(task.state[0]))
        system, kind = task.opening.record.system, task.opening.record.kind
        for row in part[system][kind].values():
            if data.answers[task.task_id].outcome_class == "grant":
                row["internal_score"] = None
        data, digest = with_content(data, part)
        state = (digest, *task.state[1:])
        data = with_task(data, number, partial(TaskSpec.model_copy, update={"state": state}))
    return data


LEAK = Leak("key_presence", run, planted, statistical=True)
