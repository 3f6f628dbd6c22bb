"""Identifiers that the records first hold after the cut."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random

from schemas.task import Fact, PolicyClause, TaskSpec
from tasks.leaks import LeakInput
from tests.plants._edit import Edit, choose, key_of, own, stamp, task_and_row, when
from tests.plants._planted import Plant, Planted, UnplantableError

SECTION = "late identifier"


def _late(data: LeakInput, rng: Random) -> tuple[TaskSpec, str]:
    """A task, and an identifier of the records first seen at least a day after its cut."""
    tokens = sorted(t for t in data.first_seen if t.count("_") == 1)
    if not tokens:
        raise UnplantableError("the set has no times at which identifiers were first seen")
    for _ in range(2000):
        task, token = choose(data, rng), rng.choice(tokens)
        if when(data.first_seen[token]) > when(task.started_at) + timedelta(days=1):
            return task, token
    raise UnplantableError("no identifier comes later")


def _after_close(data: LeakInput, rng: Random) -> tuple[TaskSpec, str]:
    """A requester speaks after the cut and may bring what is new then, but nothing that is newer than the end of the case."""
    for _ in range(2000):
        task, token = _late(data, rng)
        if when(data.first_seen[token]) > when(data.closed_at[task.task_id]) + timedelta(days=1):
            return task, token
    raise UnplantableError("no identifier comes after the end of a case")


ALIKE = str.maketrans("ACEOPTX0123456789-", "АСЕОРТХ０１２３４５６７８９\u2011")
"""Cyrillic letters, figures of full width and a hyphen that no line breaks at."""


def _opening(form: str) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        task, token = _late(data, rng)
        text = f"{task.opening.text}\nPerhaps it has to do with {form.format(token=token, lower=token.lower())}."
        return Planted(Edit(data).opening(task.task_id, text=text).done(), (task.task_id,))

    return make


def subject(data: LeakInput, rng: Random) -> Planted:
    task, token = _late(data, rng)
    return Planted(Edit(data).opening(task.task_id, subject=f"{task.opening.subject} [{token}]").done(), (task.task_id,))


def row_key(data: LeakInput, rng: Random) -> Planted:
    """A row that is created after the cut already stands in the state, with nothing in it."""
    task, token = _late(data, rng)
    _, (system, kind, _) = task_and_row(data, rng)
    return Planted(Edit(data).rows(task.task_id, {system: {kind: {token: {}}}}).done(), (task.task_id,))


def row_key_alike(data: LeakInput, rng: Random) -> Planted:
    """As `row_key`, in letters and figures that look the same."""
    task, token = _late(data, rng)
    _, (system, kind, _) = task_and_row(data, rng)
    return Planted(Edit(data).rows(task.task_id, {system: {kind: {token.translate(ALIKE): {}}}}).done(), (task.task_id,))


def nested_key_alike(data: LeakInput, rng: Random) -> Planted:
    task, token = _late(data, rng)
    system, kind, rid = own(task)
    edit = Edit(data).declare(f"{system}.{kind}.index", "json")
    return Planted(
        edit.field(task.task_id, (system, kind, rid), "index", {"by_id": {token.translate(ALIKE): 1}}).done(), (task.task_id,)
    )


def id_field(data: LeakInput, rng: Random) -> Planted:
    task, token = _late(data, rng)
    system, kind, rid = own(task)
    edit = Edit(data).declare(f"{system}.{kind}.related_to", "id", identity="record")
    return Planted(edit.field(task.task_id, (system, kind, rid), "related_to", token).done(), (task.task_id,))


def id_list(data: LeakInput, rng: Random) -> Planted:
    task, token = _late(data, rng)
    system, kind, rid = own(task)
    edit = Edit(data).declare(f"{system}.{kind}.links", "json")
    return Planted(
        edit.field(task.task_id, (system, kind, rid), "links", [{"type": "child", "to": [token]}]).done(), (task.task_id,)
    )


def json_string(data: LeakInput, rng: Random) -> Planted:
    task, token = _late(data, rng)
    system, kind, rid = own(task)
    edit = Edit(data).declare(f"{system}.{kind}.payload", "text")
    value = json.dumps({"links": [{"to": token}]})
    return Planted(edit.field(task.task_id, (system, kind, rid), "payload", value).done(), (task.task_id,))


def link(data: LeakInput, rng: Random) -> Planted:
    task, token = _late(data, rng)
    system, kind, rid = own(task)
    edit = Edit(data).declare(f"{system}.{kind}.url", "text")
    value = f"https://desk.example/items/{token}/edit?tab=2"
    return Planted(edit.field(task.task_id, (system, kind, rid), "url", value).done(), (task.task_id,))


def fact(data: LeakInput, rng: Random) -> Planted:
    task, token = _after_close(data, rng)
    told = Fact(id="f96", slots=("other",), values={"other": token}, question="Is there another?", answer=f"Yes, {token}.")
    return Planted(Edit(data).fact(task.task_id, told).done(), (task.task_id,))


def question(data: LeakInput, rng: Random) -> Planted:
    """Only the recorded question holds it: an agent's forms and the matching are made from it."""
    task, token = _after_close(data, rng)
    told = Fact(id="f96", slots=("other",), question=f"Do you mean {token}?", answer="I could not say, sorry.")
    return Planted(Edit(data).fact(task.task_id, told).done(), (task.task_id,))


def message(data: LeakInput, rng: Random) -> Planted:
    task, token = _late(data, rng)
    system, kind, rid = own(task)
    at = stamp(when(task.started_at) - timedelta(days=2))
    note = [{"at": at, "from": "agent", "text": f"We have opened {token} for you."}]
    edit = Edit(data).declare(f"{system}.{kind}.messages", "json")
    return Planted(edit.rows(task.task_id, {system: {kind: {rid: {"messages": note}}}}).done(), (task.task_id,))


def policy(data: LeakInput, rng: Random) -> Planted:
    tasks = [t for t in data.tasks if t.policies]
    if not tasks:
        raise UnplantableError("no policies")
    for _ in range(50):
        task, token = _late(data, rng)
        if task.policies:
            edit = Edit(data)
            text = dict(data.content(task.policies[0]))
            text["clauses"] = [*text["clauses"], PolicyClause(clause="9.8", text=f"See {token} as an example.").model_dump()]
            edit.task(task.task_id, policies=(edit.put(text), *task.policies[1:]))
            return Planted(edit.done(), (task.task_id,))
    raise UnplantableError("no task with policies")


def new_person(data: LeakInput, rng: Random) -> Planted:
    """The e-mail form of a person whom the records first name after the cut."""
    task, at = task_and_row(data, rng)
    token = "PERSON_" + "".join(rng.choice("0123456789ABCDEF") for _ in range(8))
    seen = stamp(when(task.started_at) + timedelta(days=2))
    first = {**data.first_seen, token: seen, f"{token}_EMAIL": seen}
    edit = Edit(replace(data, first_seen=first)).declare(key_of(at, "watcher"), "email")
    return Planted(edit.field(task.task_id, at, "watcher", f"{token}_EMAIL").done(), (task.task_id,))


def provenance_free_list(data: LeakInput, rng: Random) -> Planted:
    """As a key of a nested object."""
    task, token = _late(data, rng)
    system, kind, rid = own(task)
    edit = Edit(data).declare(f"{system}.{kind}.index", "json")
    return Planted(edit.field(task.task_id, (system, kind, rid), "index", {"by_id": {token: 1}}).done(), (task.task_id,))


PLANTS = (
    Plant("id_opening", SECTION, "in the text of the opening", _opening("{token}")),
    Plant("id_opening_lower", SECTION, "in the text of the opening, in lower case", _opening("{lower}")),
    Plant(
        "id_opening_hash",
        SECTION,
        "in the text of the opening, after a hash sign and glued to a word",
        _opening("case#{token}/a"),
    ),
    Plant("id_subject", SECTION, "in the subject", subject),
    Plant("id_row_key", SECTION, "as the id of an empty row of the state", row_key),
    Plant("id_row_key_alike", SECTION, "as the id of an empty row, in letters and figures that look alike", row_key_alike),
    Plant(
        "id_nested_key_alike", SECTION, "as a key of a nested object, in letters and figures that look alike", nested_key_alike
    ),
    Plant("id_field", SECTION, "in an id field of the own record", id_field),
    Plant("id_list", SECTION, "in a list of links, nested", id_list),
    Plant("id_nested_key", SECTION, "as a key of a nested object", provenance_free_list),
    Plant("id_json_string", SECTION, "in JSON inside a text field", json_string),
    Plant("id_link", SECTION, "inside a link", link),
    Plant("id_fact", SECTION, "in a requester's fact, of a record newer than the end of the case", fact),
    Plant("id_question", SECTION, "only in the recorded question of a fact, newer than the end of the case", question),
    Plant("id_message", SECTION, "in the text of a message of an earlier case", message),
    Plant("id_policy", SECTION, "in a clause of a policy", policy),
    Plant("id_new_person", SECTION, "e-mail form of a person first named after the cut", new_person),
)
