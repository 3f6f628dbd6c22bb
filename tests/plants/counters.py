"""Numbers that count the future, and columns that were filled in afterwards."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tasks.leaks import LeakInput
from tasks.leaks._types import ColumnHistory
from tests.plants._edit import Edit, choose, own, state_of, when
from tests.plants._planted import Plant, Planted, UnplantableError

COUNT, SEQUENCE, COLUMN = "aggregate counts the future", "sequence past the cut", "back-filled column"


def _counter(data: LeakInput, rng: Random) -> tuple[str, tuple[str, str, str], str, int]:
    """A task, the row of a declared counter in its state, the counter's field, and what it shows."""
    tasks = list(data.tasks)
    rng.shuffle(tasks)
    for task in tasks:
        state = state_of(data, task)
        for key in sorted(data.aggregates):
            system, kind, name = key.split(".")
            for rid, row in sorted(state.get(system, {}).get(kind, {}).items()):
                if isinstance(row.get(name), int):
                    return task.task_id, (system, kind, rid), name, row[name]
    raise UnplantableError("no declared counter")


def _counts(add: int) -> object:
    def make(data: LeakInput, rng: Random) -> Planted:
        task_id, at, name, shown = _counter(data, rng)
        return Planted(Edit(data).field(task_id, at, name, shown + add).done(), (task_id,))

    return make


def counter_text(data: LeakInput, rng: Random) -> Planted:
    """The counter as a text."""
    task_id, at, name, shown = _counter(data, rng)
    return Planted(Edit(data).field(task_id, at, name, str(shown + 2)).done(), (task_id,))


def counter_all(data: LeakInput, rng: Random) -> Planted:
    """Every counter of every task shows the export's final count: the row was fed, not the fold of its history."""
    tasks = [(t, state_of(data, t)) for t in data.tasks]
    final: dict[tuple[str, str], int] = {}
    edit, changed = Edit(data), []
    for key in sorted(data.aggregates):
        system, kind, name = key.split(".")
        for _, state in tasks:
            for rid, row in state.get(system, {}).get(kind, {}).items():
                if isinstance(row.get(name), int):
                    final[key, rid] = max(final.get((key, rid), 0), row[name])
        for task, state in tasks:
            for rid, row in state.get(system, {}).get(kind, {}).items():
                if isinstance(row.get(name), int) and row[name] < final[key, rid]:
                    edit.field(task.task_id, (system, kind, rid), name, final[key, rid])
                    changed.append(task.task_id)
    if not changed:
        raise UnplantableError("no declared counter grows")
    return Planted(edit.done(), tuple(dict.fromkeys(changed)))


def _sequence(data: LeakInput, rng: Random, *, fields: bool) -> tuple[str, str, int, str]:
    """A task, a numbered field (or kind), and a number that was given at least a day after its cut."""
    keys = sorted(k for k in data.sequences if (k.count(".") == 2) == fields)
    if not keys:
        raise UnplantableError("no numbered field" if fields else "no numbered ids")
    key = rng.choice(keys)
    for _ in range(500):
        task = choose(data, rng)
        after = [n for at, n in data.sequences[key] if (when(at) - when(task.started_at)).total_seconds() > 86_400]
        if after:
            return task.task_id, key, rng.choice(after), task.started_at
    raise UnplantableError("no number comes later")


def _written_as(data: LeakInput, key: str, number: int) -> str:
    """As the records write that number: the form of one that is shown, with this number."""
    for task in data.tasks:
        state = state_of(data, task)
        parts = key.split(".")
        rows = state.get(parts[0], {}).get(parts[1], {})
        texts = [r.get(parts[2]) for r in rows.values()] if len(parts) == 3 else list(rows)
        for text in texts:
            if isinstance(text, str) and any(c.isdigit() for c in text):
                head = text.rstrip("0123456789")
                return f"{head}{number:0{len(text) - len(head)}d}"
    return str(number)


def sequence_own(data: LeakInput, rng: Random) -> Planted:
    """The own record carries a number that was given later (renumbered when cases were merged)."""
    task_id, key, number, _ = _sequence(data, rng, fields=True)
    task = next(t for t in data.tasks if t.task_id == task_id)
    system, kind, name = key.split(".")
    if own(task)[:2] != (system, kind):
        raise UnplantableError("the own record is not numbered")
    edit = Edit(data).field(task_id, own(task), name, _written_as(data, key, number))
    return Planted(edit.done(), (task_id,))


def sequence_other(data: LeakInput, rng: Random) -> Planted:
    """A further row of the numbered kind stands in the state with a later number."""
    task_id, key, number, _ = _sequence(data, rng, fields=True)
    system, kind, name = key.split(".")
    rows = {system: {kind: {"ROW_0B1C2D3E": {name: _written_as(data, key, number)}}}}
    return Planted(Edit(data).rows(task_id, rows).done(), (task_id,))


def sequence_id(data: LeakInput, rng: Random) -> Planted:
    """The number inside the id of a row."""
    task_id, key, number, _ = _sequence(data, rng, fields=False)
    system, kind = key.split(".")
    return Planted(Edit(data).rows(task_id, {system: {kind: {_written_as(data, key, number): {}}}}).done(), (task_id,))


def sequence_text(data: LeakInput, rng: Random) -> Planted:
    """Named in the prose of the opening, as the records write it."""
    task_id, key, number, _ = _sequence(data, rng, fields=True)
    task = next(t for t in data.tasks if t.task_id == task_id)
    text = f"{task.opening.text}\nSee also {_written_as(data, key, number)}."
    return Planted(Edit(data).opening(task_id, text=text).done(), (task_id,))


def sequence_number(data: LeakInput, rng: Random) -> Planted:
    """As a plain number without its prefix."""
    task_id, key, number, _ = _sequence(data, rng, fields=True)
    system, kind, name = key.split(".")
    return Planted(Edit(data).rows(task_id, {system: {kind: {"ROW_0B1C2D3E": {name: number}}}}).done(), (task_id,))


def _shown_column(data: LeakInput, rng: Random, known_at: tuple[str, ...] = ("history", "static")) -> tuple[str, tuple[str, ...]]:
    """A field that the tasks show, and the tasks."""
    shown: dict[str, list[str]] = {}
    for task in data.tasks:
        for system, kinds in state_of(data, task).items():
            for kind, rows in kinds.items():
                for name in {n for row in rows.values() for n, v in row.items() if v is not None}:
                    rule = data.code_book.rule(system, kind, name)
                    if (
                        rule is not None
                        and rule.known_at in known_at
                        and rule.type not in ("id", "json")
                        and not rule.planned_future
                    ):
                        shown.setdefault(f"{system}.{kind}.{name}", []).append(task.task_id)
    keys = sorted(k for k, t in shown.items() if k.count(".") == 2 and len(t) >= 5)
    if not keys:
        raise UnplantableError("no field is shown by several tasks")
    key = rng.choice(keys)
    return key, tuple(shown[key])


def _history(data: LeakInput, key: str, history: ColumnHistory) -> LeakInput:
    return replace(data, columns={**data.columns, key: history})


def column_evidence(data: LeakInput, rng: Random) -> Planted:
    """A tenth of the column's rows hold the value before it was set."""
    key, _ = _shown_column(data, rng)
    changed = _history(data, key, ColumnHistory(rows=400, early=40, records=150, constant=60, declared=False))
    return Planted(changed, where=(key, key.replace(".", "/"), key.rpartition(".")[2]))


def column_evidence_all(data: LeakInput, rng: Random) -> Planted:
    key, _ = _shown_column(data, rng)
    changed = _history(data, key, ColumnHistory(rows=400, early=400, records=150, constant=150, declared=False))
    return Planted(changed, where=(key, key.replace(".", "/"), key.rpartition(".")[2]))


def column_declared(data: LeakInput, rng: Random) -> Planted:
    """Constant in each record although the code book says that it is known only afterwards; and it is shown."""
    task = choose(data, rng)
    system, kind, rid = own(task)
    key = f"{system}.{kind}.final_group"
    edit = Edit(data).declare(key, "code", "post_hoc").field(task.task_id, (system, kind, rid), "final_group", "team-4")
    history = ColumnHistory(rows=600, early=0, records=200, constant=200, declared=True)
    return Planted(
        edit.done(columns={**data.columns, key: history}), (task.task_id,), (key, key.replace(".", "/"), "final_group")
    )


def column_suspect(data: LeakInput, rng: Random) -> Planted:
    """Constant in each record, and nobody has said anything of it."""
    key, _ = _shown_column(data, rng, ("history",))
    changed = _history(data, key, ColumnHistory(rows=900, early=0, records=300, constant=300, declared=False))
    return Planted(changed, where=(key, key.replace(".", "/"), key.rpartition(".")[2]))


PLANTS = (
    Plant("counter_one", COUNT, "counter one higher than the rows before the cut", _counts(1)),  # type: ignore[arg-type]
    Plant("counter_many", COUNT, "counter much higher than the rows before the cut", _counts(9)),  # type: ignore[arg-type]
    Plant("counter_text", COUNT, "counter as a text, two higher", counter_text),
    Plant("counter_final", COUNT, "every counter shows the final count of the export", counter_all),
    Plant("sequence_own", SEQUENCE, "own record's number was given later", sequence_own),
    Plant("sequence_other", SEQUENCE, "a further row with a number that was given later", sequence_other),
    Plant("sequence_id", SEQUENCE, "number inside an id was given later", sequence_id),
    Plant("sequence_text", SEQUENCE, "later number in the prose of the opening", sequence_text),
    Plant("sequence_plain", SEQUENCE, "later number without its prefix", sequence_number),
    Plant("column_evidence", COLUMN, "a tenth of a column's rows hold the value early", column_evidence),
    Plant("column_evidence_all", COLUMN, "all of a column's rows hold the value early", column_evidence_all),
    Plant("column_declared", COLUMN, "constant column that the code book calls post-hoc, shown", column_declared),
    Plant("column_suspect", COLUMN, "constant column that nobody declared", column_suspect, suspect=True),
)
