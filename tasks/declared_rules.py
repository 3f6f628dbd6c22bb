"""The rules that every declared system brings with it, so that no spec can forget them: its interfaces answer to exactly what was
recorded, and who tries through the values of a list would find it without asking anybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from schemas.errors import SpecError
from schemas.spec import RuleSpec, Spec
from tasks.case import Clean
from tasks.declared import Api, apis_of, unknown_of
from tasks.shard import declared_system

if TYPE_CHECKING:
    from environments.tool import Tool

RULE = "shown_before"


def with_declared_rules(spec: Spec, clean: Clean) -> Spec:
    """The spec with a `shown_before` rule for every tool of its declared system for which it has none itself, in force in the
    tool's own workflow; any other spec as it is. SpecError where `unknown` of the system's config is in no interface's list."""
    if declared_system(spec) is None:
        return spec
    apis = apis_of(clean, spec)
    lists = {name: api.listed(name) for api in apis.values() for name in api.inputs}
    if faults := [
        f"systems.config.unknown: {value[:60]!r} is no value of {name}; allowed: {', '.join(lists.get(name, ())) or 'none'}"
        for name, value in unknown_of(spec).items()
        if value not in lists.get(name, ())
    ]:
        raise SpecError(spec.name, faults)
    tools = tools_of(spec, apis)
    own = {rule.parameters.get("tool") for rule in spec.rules if rule.rule == RULE}
    added = [
        RuleSpec(id=f"{name}_uses_what_was_shown", rule=RULE, workflows=(workflow,), parameters=parameters)
        for workflow, name in tools_by_workflow(spec, apis)
        if name not in own and (parameters := parameters_of(tools[name])) is not None
    ]
    return spec.model_copy(update={"rules": (*spec.rules, *added)})


def tools_by_workflow(spec: Spec, apis: Mapping[str, Api]) -> Iterator[tuple[str, str]]:
    """(workflow, tool) for every tool of the interface of each workflow."""
    for workflow in spec.workflows:
        api = apis.get(workflow.name)
        if api is not None:
            names = [f"{api.name}_check", f"{api.name}_book"] if api.booking else [api.name]
            yield from ((workflow.name, name) for name in names)


def tools_of(spec: Spec, apis: Mapping[str, Api]) -> dict[str, Tool]:
    """The tools of the spec's declared system, by name."""
    from environments.systems.declared import SYSTEM, Options

    name = declared_system(spec)
    assert name is not None
    declarations = [apis[w.name].declaration() for w in spec.workflows if w.name in apis]
    options = Options.model_validate({"declarations": declarations, "system": name}, strict=False)
    return {tool.name: tool for tool in SYSTEM.tools(options, _nothing)}


def parameters_of(tool: Tool) -> dict[str, Any] | None:
    """What the rule judges of a tool: arguments that choose from a list and whole numbers; None where it takes neither."""
    from rewards.yes_no import is_yes_no

    listed = {name: list(choice.listed) for name, choice in tool.chosen.items()}
    asked = {name: choice for name, choice in tool.chosen.items() if is_yes_no(choice.listed) or choice.unknown}
    numbers = [name for name, schema in tool.parameters["properties"].items() if schema["type"] == "integer"]
    if not listed and not numbers:
        return None
    asked_by = {name: list(choice.phrases) for name, choice in asked.items()}
    unknown = {name: choice.unknown for name, choice in asked.items() if choice.unknown}
    parts = {"listed": listed, "asked_by": asked_by, "unknown": unknown, "numbers": numbers}
    return {"tool": tool.name, **{name: part for name, part in parts.items() if part}}


def _nothing(reference: str) -> Any:
    raise LookupError(reference)
