"""The reference pages, written from the code that they are about: `python -m training.reference` (docs/reference/*.md).

A page that is not what the code says fails a test; a name that the code has and no page explains is an error here.
"""

# ruff: noqa: E501 - the sentences of the pages stand as they are read

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import rewards.events
import rewards.score
import training.gae
from environments import episode, requester, tool
from environments.tool import System, Tool
from environments.worlds.records import OPENING
from rewards.rule import Rule
from rewards.score import INVALID
from schemas.episode import JournalEntry, Observation, Refusal, RefusalKind, RowChange, StepEvents
from schemas.files import write_text
from schemas.plugins import load_plugins
from schemas.spec import load_spec
from schemas.task import Opening, Outcome, RequesterSpec, RewardWeights, TaskSpec
from training import evaluate, figures
from training.config import Config

SPEC = Path(__file__).resolve().parents[1] / "tasks" / "specs" / "helpdesk_v1.toml"
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
HEAD = "<!-- written by `make reference`; change the code, not this page -->\n"


def attribute_docs(kind: type) -> dict[str, str]:
    """Name -> docstring of each attribute of a class or enumeration, from its source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for before, after in pairwise(tree.body):
        target = before.target if isinstance(before, ast.AnnAssign) else None
        if isinstance(before, ast.Assign) and len(before.targets) == 1:
            target = before.targets[0]  # type: ignore[assignment]
        if isinstance(target, ast.Name) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found[target.id] = " ".join(str(after.value.value).split())
    return found


def constant(module: ModuleType, name: str) -> str:
    """A constant's value with what stands below it in the source."""
    tree = ast.parse(inspect.getsource(module)).body
    for before, after in pairwise(tree):
        named = isinstance(before, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in before.targets)
        if named and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            return f"`{name}` = {getattr(module, name)}: {' '.join(str(after.value.value).split())}"
    return f"`{name}` = {getattr(module, name)}"


def cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(map(cell, row)) + " |" for row in rows)]) + "\n"


def model_table(model: type[BaseModel], without: Collection[str] = ()) -> str:
    """Fields of a model with type, default and meaning."""
    rows = []
    for name, field in model.model_fields.items():
        if name in without:
            continue
        default = "required" if field.is_required() else ("" if field.default is PydanticUndefined else repr(field.default))
        rows.append((f"`{name}`", f"`{type_name(field.annotation)}`", f"`{default}`" if default else "", field.description or ""))
    return table(("field", "type", "default", "meaning"), rows)


def type_name(annotation: Any) -> str:
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return annotation.__name__
    return str(annotation).replace("typing.", "").replace("schemas.task.", "").replace("schemas.episode.", "")


def doc(thing: object) -> str:
    return inspect.cleandoc(inspect.getdoc(thing) or "")


def module_doc(function: object) -> str:
    """The first paragraph of the module in which a function stands."""
    return " ".join(doc(inspect.getmodule(function)).split("\n\n")[0].split())


# --- the pages ----------------------------------------------------------------------------------------------------------


def state_page() -> str:
    parts = [
        "# State and observations\n",
        "A task holds the state of the systems at the moment at which it began. An agent sees none of it but what its calls show.\n",
        "## The task (`tasks.jsonl`)\n",
        model_table(TaskSpec),
        "## The state\n",
        "`{system: {kind: {record id: {field: value}}}}`, in parts by content digest that tasks share; later parts replace rows of\n"
        "earlier ones. Ids are pseudonyms `TYPE_XXXXXXXX`; amounts are whole minor units in fields ending in `_minor`; times are\n"
        "ISO 8601 in UTC; what the records do not tell as of the cut is not there, or null where only its value is unknown.\n",
        "## The request (`opening`)\n",
        model_table(Opening),
        "## The requester\n",
        model_table(RequesterSpec),
        f"- {constant(requester, 'SIMILAR')}\n- {constant(requester, 'CROWDED')}\n- {constant(requester, 'MAX_READ')}\n",
        "## What an agent reads\n",
        model_table(Observation),
        "The first observation (`opening`) is compact JSON:\n",
        table(("key", "meaning"), [(f"`{key}`", meaning) for key, meaning in OPENING.items()]),
        "A `result` is the compact JSON that the tool returned, a `requester` answer "
        '`{"requester": words}`, a `refusal` its kind and one sentence.\n',
        *(f"- {constant(tool, name)}\n" for name in ("MAX_SHOWN", "PAGE")),
        f"- {constant(episode, 'MAX_OBSERVATION')}\n",
        "## What is recorded of each call (the journal)\n",
        model_table(JournalEntry),
        "A change of a row:\n",
        model_table(RowChange),
    ]
    return "\n".join(parts)


def tools() -> Iterator[tuple[str, Tool]]:
    """(system, tool) of every system, configured as for the sample's task set."""
    spec = load_spec(SPEC)
    given = {ref.plugin: dict(ref.config) for ref in spec.systems} | {"declared": {"system": "apis", "declarations": []}}
    given["helpdesk"] |= {"codes": ["granted", "refused"]}  # in a task set the codes are those of the export's code book
    for name, system in load_plugins("environments.systems", "SYSTEM", System).items():
        for one in system.tools(system.options.model_validate(given.get(name, {})), lambda reference: reference):
            yield name, one


def actions_page() -> str:
    kinds = attribute_docs(RefusalKind)
    if missing := [kind.value for kind in RefusalKind if kind.value not in kinds]:
        raise KeyError(f"no docstring for the refusal kinds {', '.join(missing)}")
    price = {True: "a violation (`invalid_call`)", False: "waste, paid through `delay`"}
    parts = [
        "# Tools and actions\n",
        f"An action is `{episode.FORM}`, or its JSON text. It is checked against the tool's JSON schema before anything happens; a\n"
        "refused call changes nothing, is written into the journal and is an observation from which the agent goes on.\n",
        "## Invalid actions\n",
        table(("kind", "when", "price"), [(f"`{k.value}`", kinds[k.value], price[k in INVALID]) for k in RefusalKind]),
        model_table(Refusal),
        *(f"- {constant(episode, name)}\n" for name in ("MAX_ACTION", "MAX_RAW")),
        *(f"- {constant(tool, name)}\n" for name in ("MAX_ID", "MAX_PROSE", "MAX_INT", "MAX_DEPTH")),
        "An episode ends with an accepted finishing tool, when the requester leaves, or when a budget of steps or tokens runs out.\n",
        "## Tools\n",
        "As the sample's spec configures them; the lists of codes and reasons are the spec's own. The tools of `declared` systems come\n"
        "from the export's own declarations: one per query (`NAME`), two for a booking (`NAME_check`, `NAME_book`).\n",
    ]
    system = ""
    for name, one in tools():
        if name != system:
            system = name
            parts.append(f"### {system}\n")
        marks = [word for word, is_so in (("writes", one.effect is not None), ("finishes", one.finishing)) if is_so]
        marks += ["the requester answers"] if one.speaks else []
        parts.append(f"#### `{one.name}`" + (f" ({', '.join(marks)})" if marks else "") + f"\n\n{one.description.strip()}\n")
        parts.append(f"```json\n{json.dumps(one.parameters, indent=1, ensure_ascii=False)}\n```\n")
    return "\n".join(parts)


def rewards_page() -> str:
    weights = RewardWeights()
    meaning = attribute_docs(StepEvents)
    signs = {"violation": "-", "delay": "-"}
    rows = [
        (f"`{name}`", f"{signs.get(name, '+')}{getattr(weights, name)}", meaning[name])
        for name in ("success", "quality", "efficiency", "violation", "delay")
    ]
    rules = [(f"`{name}`", module_doc(kind.check)) for name, kind in load_plugins("rewards.rules", "RULE", Rule).items()]
    parts = [
        "# Rewards\n",
        "## Coefficients\n",
        table(("event", "weight", "paid when"), rows),
        f"```\n{doc(rewards.events.reward)}\n```\n",
        "A spec may set them under `[reward]`, within what is promised below; they travel in each task (`weights`), with:\n",
        model_table(RewardWeights, without=signs.keys() | {"success", "quality", "efficiency"}),
        "## Events and delayed penalties\n",
        f"```\n{doc(rewards.score)}\n```\n",
        "A delayed term is paid at the step at which it comes due, not at the end: patience when a message brings nothing, waste at\n"
        "the wasted call, the reopened case at the finishing act.\n",
        "## What weights must promise\n",
        f"{doc(rewards.events.check_weights)}\n",
        "## Composition `kpi`\n",
        f"{doc(rewards.events.kpi)}\n",
        "## Score\n",
        f"{doc(rewards.events.score)} {doc(rewards.events.efficiency)}\n",
        "## The outcome that is compared\n",
        model_table(Outcome),
        "## Rules of the path\n",
        table(("kind", "what it demands"), rules),
    ]
    return "\n".join(parts)


def settings_page() -> str:
    meaning = attribute_docs(Config)
    rows = []
    for field in dataclasses.fields(Config):
        if field.name not in meaning:
            raise KeyError(f"the setting {field.name} has no docstring")
        default = "required" if field.default is dataclasses.MISSING else repr(field.default)
        rows.append((f"`--{field.name.replace('_', '-')}`", f"`{default}`", meaning[field.name]))
    parts = [
        "# Training settings\n",
        f"{doc(Config)}\n",
        table(("setting", "default", "meaning"), rows),
        "## Advantages\n",
        f"{doc(training.gae)}\n",
        *(
            f"### `{name}`\n\n{doc(thing)}\n"
            for name, thing in sorted(inspect.getmembers(training.gae, inspect.isfunction))
            if thing.__module__ == "training.gae"
        ),
    ]
    return "\n".join(parts)


def evaluation_page() -> str:
    meaning = attribute_docs(figures.Result)
    options = attribute_docs(evaluate.Options)
    config = Config(taskset="")
    parts = [
        "# Evaluation protocol\n",
        f"{doc(evaluate)}\n",
        "## Episodes\n",
        f"- Greedy: one episode a task. Sampled: `--samples` ({evaluate.Options(run='').samples} by default) a task, at temperature "
        f"{config.temperature}, under a fixed generator: the same checkpoint gives the same episodes.\n"
        f"- Length: at most `max_steps` calls of the task ({TaskSpec.model_fields['max_steps'].default} by default) and `--context` "
        f"tokens ({config.context} by default for the model made here); an episode that reaches either is a time-out.\n"
        "- Tasks: every held-out task; slices (`unseen_organisations`, `unseen_months`, `both`, and policies that no training task\n"
        "  shows) are also scored apart.\n",
        table(("option", "default", "meaning"), [
            (f"`--{f.name}`", f"`{f.default!r}`" if f.default is not dataclasses.MISSING else "required", options.get(f.name, ""))
            for f in dataclasses.fields(evaluate.Options)
        ]),
        "## Measures\n",
        table(("measure", "meaning"), [(f"`{name}`", meaning["return_" if name == "return" else name])
                                       for name in figures.MEASURES]),
        "## Intervals\n",
        f"{doc(figures.cluster_mean)} Draws: {figures.RESAMPLES}.\n",
        f"{doc(figures.paired)}\n",
        "## Beside the policy\n",
        f"{doc(evaluate.scripted)}\n",
    ]  # fmt: skip
    return "\n".join(parts)


PAGES = {
    "state-and-observations.md": state_page,
    "tools-and-actions.md": actions_page,
    "rewards.md": rewards_page,
    "training-settings.md": settings_page,
    "evaluation.md": evaluation_page,
}


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    found = {name: HEAD + "\n" + make().rstrip() + "\n" for name, make in PAGES.items()}
    links = "\n".join(f"- [{text.splitlines()[2].removeprefix('# ')}]({name})" for name, text in found.items())
    return {"README.md": f"{HEAD}\n# Reference\n\n{links}\n", **found}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.reference", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write into (default: docs/reference)")
    given = parser.parse_args(argv)
    given.out.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        write_text(given.out / name, text)
    print(f"{len(PAGES) + 1} pages in {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
