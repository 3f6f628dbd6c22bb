"""Fields that carry the outcome, or that the code book does not allow."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote

from tasks.leaks import LeakInput
from tests.plants._edit import Edit, choose, code_of, key_of, label_of, other_row, own, state_of, task_and_row
from tests.plants._planted import Plant, Planted, UnplantableError

SECTION = "outcome field"
NOT_ALLOWED = "field not allowed"


def _json_field(name: str, value: Callable[[str], Any], *, text: bool = False) -> Callable[[LeakInput, Random], Planted]:
    """The outcome inside a field that the supplier declares as known from history."""

    def make(data: LeakInput, rng: Random) -> Planted:
        task, at = task_and_row(data, rng)
        edit = Edit(data).declare(key_of(at, name), "text" if text else "json")
        return Planted(edit.field(task.task_id, at, name, value(code_of(data, task.task_id))).done(), (task.task_id,))

    return make


def post_hoc(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    at, name = own(task), "close_verdict"
    edit = Edit(data).declare(key_of(at, name), "code", "post_hoc")
    return Planted(edit.field(task.task_id, at, name, code_of(data, task.task_id)).done(), (task.task_id,))


def post_hoc_elsewhere(data: LeakInput, rng: Random) -> Planted:
    """A row of another system copies what the case ended with; the value is a number that means nothing by itself."""
    task, at = task_and_row(data, rng)
    edit = Edit(data).declare(key_of(at, "reopened_times"), "int", "post_hoc")
    return Planted(edit.field(task.task_id, at, "reopened_times", 3).done(), (task.task_id,))


def existing_post_hoc(data: LeakInput, rng: Random) -> Planted:
    """A field that this supplier's own code book declares as known only afterwards."""
    task = choose(data, rng)
    system, kind, _ = own(task)
    prefix = f"{system}.{kind}."
    names = sorted(
        k.removeprefix(prefix) for k, r in data.code_book.fields.items() if k.startswith(prefix) and r.known_at == "post_hoc"
    )
    if not names:
        raise UnplantableError("the code book has no field known only afterwards")
    name = rng.choice(names)
    value = {"int": 2, "bool": True, "tags": ["vip"]}.get(data.code_book.fields[prefix + name].type, "team-7")
    return Planted(Edit(data).field(task.task_id, own(task), name, value).done(), (task.task_id,))


def inside_message(data: LeakInput, rng: Random) -> Planted:
    """A message of an earlier case carries a key that says how the present case ended."""
    task = choose(data, rng)
    system, kind, rid = own(task)
    note = [
        {"at": "2001-02-03T04:05:06Z", "from": "agent", "text": "Noted, thank you.", "resolution": code_of(data, task.task_id)}
    ]
    edit = Edit(data).declare(f"{system}.{kind}.messages", "json", "history")
    return Planted(edit.rows(task.task_id, {system: {kind: {rid: {"messages": note}}}}).done(), (task.task_id,))


def in_tool_declaration(data: LeakInput, rng: Random) -> Planted:
    """What a tool will answer stands in its declaration."""
    task = choose(data, rng)
    edit = Edit(data)
    digest = edit.put({"api": "lookup", "returns": {"status": "ok", "resolution": code_of(data, task.task_id)}})
    first, *rest = task.systems
    config = {**first.config, "declarations": f"content:{digest}"}
    edit.task(task.task_id, systems=(first.model_copy(update={"config": config}), *rest))
    return Planted(edit.done(), (task.task_id,))


def recoded(data: LeakInput, rng: Random) -> Planted:
    """A field declared as known at the start whose numbers stand one to one for the outcome classes of its workflow."""
    edit = Edit(data)
    first = choose(data, rng)
    system, kind, _ = own(first)
    edit.declare(f"{system}.{kind}.routing", "int", "start")
    classes: dict[str, list[str]] = {}
    for task in data.tasks:
        seen = classes.setdefault(task.workflow, [])
        outcome = data.answers[task.task_id].outcome_class
        if outcome not in seen:
            seen.append(outcome)
        edit.field(task.task_id, own(task), "routing", 10 * seen.index(outcome) + 10)
    return Planted(edit.done(), where=("routing",))


def never(data: LeakInput, rng: Random) -> Planted:
    task, at = task_and_row(data, rng)
    edit = Edit(data).declare(key_of(at, "internal_grade"), "code", "never")
    return Planted(edit.field(task.task_id, at, "internal_grade", "B2").done(), (task.task_id,))


def undeclared(data: LeakInput, rng: Random) -> Planted:
    task, at = task_and_row(data, rng)
    return Planted(Edit(data).field(task.task_id, at, "sys_mod_count", 7).done(), (task.task_id,))


def undeclared_on_own(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    return Planted(Edit(data).field(task.task_id, own(task), "x_custom_17", None).done(), (task.task_id,))


def undeclared_kind(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    rows = {own(task)[0]: {"breach_log": {"BREACH_0A1B2C3D": {"minutes": 41}}}}
    return Planted(Edit(data).rows(task.task_id, rows).done(), (task.task_id,))


def undeclared_system(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    rows = {"warehouse_mirror": {"snapshot": {"SNAPSHOT_0A1B2C3D": {"rows": 12}}}}
    return Planted(Edit(data).rows(task.task_id, rows).done(), (task.task_id,))


def other_case(data: LeakInput, rng: Random) -> Planted:
    """A post-hoc field not on the task's own record but on an earlier case of the same kind that the state shows."""
    task = choose(data, rng, lambda t: len(state_of(data, t).get(own(t)[0], {}).get(own(t)[1], {})) > 1)
    system, kind, rid = own(task)
    other = rng.choice(sorted(set(state_of(data, task)[system][kind]) - {rid}))
    edit = Edit(data).declare(f"{system}.{kind}.made_deadline", "bool", "post_hoc")
    return Planted(edit.field(task.task_id, (system, kind, other), "made_deadline", False).done(), (task.task_id,))


def label_named(data: LeakInput, rng: Random) -> Planted:
    task = choose(data, rng)
    at = other_row(data, task, rng)
    edit = Edit(data).declare(key_of(at, "u_final"), "text")
    return Planted(edit.field(task.task_id, at, "u_final", label_of(data, task.task_id)).done(), (task.task_id,))


def _nested(code: str) -> Any:
    return {"workflow": {"last": {"step": 4, "resolution": code}}}


def _listed(code: str) -> Any:
    return [{"field": "queue", "to": "second line"}, {"field": "resolution", "to": code}]


PLANTS = (
    Plant("post_hoc_own", SECTION, "field known only afterwards, on the request's own record, with the true code", post_hoc),
    Plant("post_hoc_existing", SECTION, "one of the code book's own post-hoc fields on the request's record", existing_post_hoc),
    Plant(
        "post_hoc_elsewhere",
        SECTION,
        "field known only afterwards, a plain number, on a row of another system",
        post_hoc_elsewhere,
    ),
    Plant("post_hoc_other_case", SECTION, "field known only afterwards on an earlier case that the state shows", other_case),
    Plant("nested_three_levels", SECTION, "outcome three levels deep in a JSON field", _json_field("details", _nested)),
    Plant("change_list", SECTION, "outcome in a list of changes in a JSON field", _json_field("changes", _listed)),
    Plant(
        "json_in_string",
        SECTION,
        "outcome in JSON inside a text field",
        _json_field("payload", lambda code: json.dumps(_nested(code)), text=True),
    ),
    Plant(
        "json_twice_encoded",
        SECTION,
        "outcome in JSON inside JSON inside a text field",
        _json_field("payload", lambda code: json.dumps({"body": json.dumps(_nested(code))}), text=True),
    ),
    Plant(
        "query_string",
        SECTION,
        "outcome in the query of a link",
        _json_field("link", lambda code: f"https://desk.example/case?view=2&close_code={quote(code)}#top", text=True),
    ),
    Plant(
        "html_attribute",
        SECTION,
        "outcome in an attribute of HTML inside a text field",
        _json_field("body_html", lambda code: f'<p class="note" data-state="{code}">See above.</p>', text=True),
    ),
    Plant(
        "base64_field",
        SECTION,
        "outcome code in Base64 in a text field",
        _json_field("cursor", lambda code: base64.b64encode(f"state={code}".encode()).decode(), text=True),
    ),
    Plant("message_key", SECTION, "outcome as a key of a message in a list", inside_message),
    Plant("label_other_name", SECTION, "outcome's label in a field of another name on another row", label_named),
    Plant("tool_declaration", SECTION, "a tool's declaration holds what it will answer", in_tool_declaration),
    Plant("recoded_numbers", SECTION, "numbers declared as known at the start that stand one to one for the outcome", recoded),
    Plant("never_known", NOT_ALLOWED, "field that the code book says cannot be rebuilt, with a harmless value", never),
    Plant("undeclared_field", NOT_ALLOWED, "field that the code book does not know, on another row", undeclared),
    Plant("undeclared_null", NOT_ALLOWED, "field that the code book does not know, null, on the own record", undeclared_on_own),
    Plant("undeclared_kind", NOT_ALLOWED, "rows of a kind that the code book does not know", undeclared_kind),
    Plant("undeclared_system", NOT_ALLOWED, "rows of a system that the code book does not know", undeclared_system),
)
