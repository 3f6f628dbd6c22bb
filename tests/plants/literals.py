"""The outcome's code or label, written in some way, where an agent reads."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from schemas.task import Fact, TaskSpec
from tasks.leaks import LeakInput
from tests.plants._edit import Edit, choose, code_of, key_of, label_of, other_row, own, task_and_row
from tests.plants._planted import Plant, Planted, UnplantableError

SECTION = "outcome literal"


def _long(data: LeakInput, rng: Random) -> TaskSpec:
    """A task whose code has several parts: one word alone may be an ordinary word."""
    return choose(data, rng, lambda t: code_of(data, t.task_id).count("_") >= 1)


def camel(code: str) -> str:
    first, *rest = code.split("_")
    return first + "".join(part.capitalize() for part in rest)


SPELLINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "exact": ("as it is", lambda c: c),
    "upper": ("in upper case", str.upper),
    "spaces": ("with blanks", lambda c: c.replace("_", " ")),
    "hyphens": ("with hyphens", lambda c: c.replace("_", "-")),
    "dots": ("with dots and a prefix", lambda c: "state." + c.replace("_", ".")),
    "camel": ("in camel case", camel),
    "pascal": ("in Pascal case", lambda c: "".join(p.capitalize() for p in c.split("_"))),
    "joined": ("run together", lambda c: c.replace("_", "")),
    "double": ("with two underscores and a suffix", lambda c: c.replace("_", "__") + "_v2"),
    "tags": ("in a list of tags", lambda c: ["priority_low", c, "web"]),
    "colon_tag": ("in a tag after a colon", lambda c: ["channel:web", f"outcome:{c}"]),
}


def _spelled(form: str) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        task = _long(data, rng)
        at = other_row(data, task, rng)
        value = SPELLINGS[form][1](code_of(data, task.task_id))
        edit = Edit(data).declare(key_of(at, "hint"), "tags" if isinstance(value, list) else "text")
        return Planted(edit.field(task.task_id, at, "hint", value).done(), (task.task_id,))

    return make


def field_name(data: LeakInput, rng: Random) -> Planted:
    task = _long(data, rng)
    at = other_row(data, task, rng)
    name = f"is_{code_of(data, task.task_id)}"
    edit = Edit(data).declare(key_of(at, name), "bool")
    return Planted(edit.field(task.task_id, at, name, True).done(), (task.task_id,))


def nested_key(data: LeakInput, rng: Random) -> Planted:
    task = _long(data, rng)
    at = other_row(data, task, rng)
    edit = Edit(data).declare(key_of(at, "flags"), "json")
    return Planted(
        edit.field(task.task_id, at, "flags", {"set": {camel(code_of(data, task.task_id)): 1}}).done(), (task.task_id,)
    )


def tool_enum(data: LeakInput, rng: Random) -> Planted:
    """The list of codes that the finishing tool accepts holds only the true one."""
    task = choose(data, rng, lambda t: any("codes" in s.config for s in t.systems))
    code = code_of(data, task.task_id)
    systems = [s.model_copy(update={"config": {**s.config, "codes": [code]}}) if "codes" in s.config else s for s in task.systems]
    return Planted(Edit(data).task(task.task_id, systems=tuple(systems)).done(), (task.task_id,))


def tool_default(data: LeakInput, rng: Random) -> Planted:
    task = _long(data, rng)
    code = code_of(data, task.task_id)
    first, *rest = task.systems
    config = {**first.config, "default_code": code}
    edit = Edit(data).task(task.task_id, systems=(first.model_copy(update={"config": config}), *rest))
    return Planted(edit.done(), (task.task_id,))


def enum_order(data: LeakInput, rng: Random) -> Planted:
    """In each task the true code stands first in the list of codes."""
    edit = Edit(data)
    for task in data.tasks:
        code = code_of(data, task.task_id)
        systems = [
            s.model_copy(update={"config": {**s.config, "codes": [code, *(c for c in s.config["codes"] if c != code)]}})
            if code in s.config.get("codes", ())
            else s
            for s in task.systems
        ]
        edit.task(task.task_id, systems=tuple(systems))
    if not any("codes" in s.config for t in data.tasks for s in t.systems):
        raise UnplantableError("no list of codes")
    return Planted(edit.done())


def label_field(data: LeakInput, rng: Random) -> Planted:
    task, at = task_and_row(data, rng)
    text = f"Last seen as: {label_of(data, task.task_id)} (system)"
    edit = Edit(data).declare(key_of(at, "remark"), "text")
    return Planted(edit.field(task.task_id, at, "remark", text).done(), (task.task_id,))


def label_lower(data: LeakInput, rng: Random) -> Planted:
    """The label in the opening, in lower case, with a line break inside."""
    task = choose(data, rng)
    label = "\n".join(label_of(data, task.task_id).lower().split(" ", 1))
    text = f"{task.opening.text}\n-- footer: {label} --"
    return Planted(Edit(data).opening(task.task_id, text=text).done(), (task.task_id,))


def opening(data: LeakInput, rng: Random) -> Planted:
    task = _long(data, rng)
    text = f"{task.opening.text}\n[{camel(code_of(data, task.task_id))}]"
    return Planted(Edit(data).opening(task.task_id, text=text).done(), (task.task_id,))


def subject(data: LeakInput, rng: Random) -> Planted:
    task = _long(data, rng)
    code = code_of(data, task.task_id).replace("_", " ").upper()
    return Planted(Edit(data).opening(task.task_id, subject=f"{code}: {task.opening.subject}").done(), (task.task_id,))


def fact_value(data: LeakInput, rng: Random) -> Planted:
    task = _long(data, rng)
    code = code_of(data, task.task_id)
    fact = Fact(id="f95", slots=("state",), values={"state": code}, question="What does it show?", answer=f"It shows {code}.")
    return Planted(Edit(data).fact(task.task_id, fact).done(), (task.task_id,))


def fact_slot(data: LeakInput, rng: Random) -> Planted:
    task = _long(data, rng)
    fact = Fact(id="f95", slots=(code_of(data, task.task_id),), question="Which one is it?", answer="The blue one, I think.")
    return Planted(Edit(data).fact(task.task_id, fact).done(), (task.task_id,))


def grade_mark(data: LeakInput, rng: Random) -> Planted:
    task = _long(data, rng)
    return Planted(Edit(data).task(task.task_id, grades=(*task.grades, code_of(data, task.task_id))).done(), (task.task_id,))


def class_word(data: LeakInput, rng: Random) -> Planted:
    """The outcome's class as the value of a field of the own record that is named like a decision."""
    task = choose(data, rng)
    system, kind, rid = own(task)
    edit = Edit(data).declare(f"{system}.{kind}.decision", "code")
    value = data.answers[task.task_id].outcome_class
    return Planted(edit.field(task.task_id, (system, kind, rid), "decision", value).done(), (task.task_id,))


def message(data: LeakInput, rng: Random) -> Planted:
    task = _long(data, rng)
    system, kind, rid = own(task)
    text = f"Macro applied: {code_of(data, task.task_id).replace('_', '-').upper()}"
    edit = Edit(data).declare(f"{system}.{kind}.messages", "json")
    note = [{"at": "2001-02-03T04:05:06Z", "from": "agent", "text": text}]
    return Planted(edit.rows(task.task_id, {system: {kind: {rid: {"messages": note}}}}).done(), (task.task_id,))


def tool_config_rule(data: LeakInput, rng: Random) -> Planted:
    """The rule sentence of one task is written for the way it ended."""
    task = choose(data, rng, lambda t: bool(t.rules) and code_of(data, t.task_id).count("_") >= 1)
    first, *rest = task.rules
    rule = first.model_copy(update={"sentence": f"{first.sentence} This case: {code_of(data, task.task_id)}."})
    return Planted(Edit(data).task(task.task_id, rules=(rule, *rest)).done(), (task.task_id,))


PLANTS = (
    *(
        Plant(f"code_{form}", SECTION, f"code {words}, in a field of a row", _spelled(form))
        for form, (words, _) in SPELLINGS.items()
    ),
    Plant("code_field_name", SECTION, "code in the name of a field", field_name),
    Plant("code_nested_key", SECTION, "code in camel case as a key of a nested object", nested_key),
    Plant("code_tool_enum", SECTION, "the finishing tool accepts only the true code", tool_enum),
    Plant("code_enum_order", "ids or order encode", "the true code stands first in each task's list of codes", enum_order),
    Plant("code_tool_default", SECTION, "the true code as a default of a tool", tool_default),
    Plant("code_opening", SECTION, "code in camel case below the opening", opening),
    Plant("code_subject", SECTION, "code in upper case with blanks in the subject", subject),
    Plant("code_fact", SECTION, "code as the value of a requester's fact", fact_value),
    Plant("code_fact_slot", SECTION, "code as the slot of a requester's fact", fact_slot),
    Plant("code_grade", SECTION, "code among the marks of the task", grade_mark),
    Plant("code_message", SECTION, "code with hyphens in a message of an earlier case", message),
    Plant("code_rule_sentence", SECTION, "code of the case in the sentence of a rule", tool_config_rule),
    Plant("class_decision_field", SECTION, "outcome's class in a field named decision of the own record", class_word),
    Plant("label_field", SECTION, "label inside a text field", label_field),
    Plant("label_opening", SECTION, "label in lower case with a line break below the opening", label_lower),
)
