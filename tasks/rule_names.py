"""What the rules name, checked against what the task set has, before any draft is made: a rule about a misspelt tool would never
judge anything, and nobody would see it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from environments.tool import System, Tool, did_you_mean
from rewards.rule import Parameters, Rule
from schemas.errors import SpecError, WorldError
from schemas.plugins import load_plugin
from schemas.records import CodeBook
from schemas.spec import RuleSpec, Spec, check_options
from schemas.spec_faults import faults_of
from tasks.declared import Api
from tasks.policy import Version
from tasks.shard import DECLARED, system_refs

STATE_OF_DECLARED = ("request", "request_type", "item")
"""Fields of a recorded query in the state."""

COUNTS_DAYS = frozenset({"window", "limit"})
"""Rules for which zero days hold nothing; a thing can well be more than zero days overdue."""


@dataclass(frozen=True, slots=True)
class Known:
    """What rules may name."""

    tools: Mapping[str, Tool]
    fields: Collection[str]
    """system.kind.field"""
    versions: Mapping[str, Collection[int]] = field(default_factory=dict)
    """Policy document -> its versions."""
    slots: Collection[str] = ()
    """What requesters can be asked for."""
    codes: Mapping[str, Collection[str]] = field(default_factory=dict)
    """system.kind.field -> the values that it may have, where they are listed."""


def known_of(spec: Spec, codebook: CodeBook, apis: Mapping[str, Api], versions: Sequence[Version]) -> Known:
    """The tools of the spec's systems, the fields of the code book and of what tools write, and the policy versions.

    `apis` are the query interfaces of a declared system. Raises SpecError for a system's bad configuration, WorldError for one
    that cannot be built.
    """
    tools: dict[str, Tool] = {}
    fields = set(codebook.fields)
    for index, ref in enumerate(system_refs(spec, codebook)):
        config: Mapping[str, Any] = ref.config
        if ref.plugin == DECLARED:
            mine = [apis[w.name].declaration() for w in spec.workflows if w.name in apis]
            config = {"declarations": mine, "system": ref.name}
            fields |= {f"{ref.name}.{each['api']}.{name}" for each in mine for name in STATE_OF_DECLARED}
        system = load_plugin("environments.systems", ref.plugin, "SYSTEM", System)
        options = check_options(system.options, dict(config), spec.name, f"systems.{index}.config")
        tools |= {tool.name: tool for tool in system.tools(options, _no_content)}
    for tool in tools.values():
        if tool.effect is not None:
            written = (*tool.effect.fields, *tool.effect.fixed, *tool.effect.decided, *tool.effect.ignored)
            fields |= {f"{tool.effect.system}.{tool.effect.kind}.{name}" for name in written}
    held: dict[str, set[int]] = {}
    for version in versions:
        held.setdefault(version.policy.document, set()).add(version.policy.version)
    return Known(tools, fields, held, tuple(spec.requester.slots), codebook.codes)


def _no_content(reference: str) -> Any:
    raise WorldError(f"{reference[:80]!r}: no content is stored before the drafts are made")


def check_rules(spec: Spec, known: Known) -> None:
    """Raises SpecError naming every tool, argument, value, field and policy version of a rule that the task set does not have."""
    faults = [fault for index, rule in enumerate(spec.rules) for fault in _rule_faults(rule, f"rules.{index}", known)]
    if faults:
        raise SpecError(spec.name, faults)


def _rule_faults(rule: RuleSpec, place: str, known: Known) -> Iterator[str]:
    yield from _version_faults(rule, place, known)
    try:
        plugin = load_plugin("rewards.rules", rule.rule, "RULE", Rule)
    except WorldError as error:
        yield f"{place}.rule: {error}"
        return
    try:
        parameters: Parameters = plugin.parameters.model_validate(rule.parameters)
    except ValidationError as error:
        yield from faults_of(error, f"{place}.parameters")
        return
    yield from _number_faults(rule, parameters, f"{place}.parameters")
    yield from _walk(parameters, f"{place}.parameters", parameters.tool, known)


def _number_faults(rule: RuleSpec, parameters: Parameters, place: str) -> Iterator[str]:
    """Numbers that the grader can compute with and no policy means: no days at all, an act of no amount."""
    if rule.rule in COUNTS_DAYS and getattr(parameters, "days", None) == 0:
        yield f"{place}.days: 0 found; allowed are 1 or more"
    for name, amount in (getattr(parameters, "amounts", None) or {}).items():
        if amount < 1:
            yield f"{place}.amounts.{name}: {amount} found; allowed are 1 or more, in minor units"


def _version_faults(rule: RuleSpec, place: str, known: Known) -> Iterator[str]:
    if rule.document is None:
        if rule.versions:
            yield f"{place}.versions: versions of no document; name the document, or leave them out"
        return
    if rule.document not in known.versions:
        yield f"{place}.document: {_unknown(rule.document, 'policy document of the export', known.versions)}"
        return
    there = known.versions[rule.document]
    if not rule.versions:
        yield f"{place}.versions: none given, so that it is never in force ({rule.document} has {_listed(there)})"
    for version in rule.versions:
        if version not in there:
            yield f"{place}.versions: {rule.document} has no version {version} (there: {_listed(there)})"


def _walk(part: BaseModel, place: str, tool: str, known: Known) -> Iterator[str]:
    """The faults of parameters or a piece of them: what a field names is told by its own name, in every rule alike.

    tool, request_tool, tools: tools. argument, about, match: arguments of the judged `tool`. when: its arguments and their
    values. listed, numbers: its arguments. same, told: arguments of the tools in `tools`; what `told` maps them to: slots of the
    requester. returned: values that some tool in `tools` answers with. system + kind with field, match, time, factors, where:
    fields of rows.
    """
    given = {name: getattr(part, name) for name in type(part).model_fields}
    for name in ("tool", "request_tool"):
        if isinstance(given.get(name), str):
            yield from _tool_faults(given[name], f"{place}.{name}", known)
    for at, other in enumerate(given.get("tools") or ()):
        yield from _tool_faults(other, f"{place}.tools.{at}", known)
    for name in ("argument", "about", "match"):
        if isinstance(given.get(name), str):
            yield from _argument_faults(given[name], f"{place}.{name}", tool, known)
    for name, values in (given.get("when") or {}).items():
        yield from _argument_faults(name, f"{place}.when", tool, known)
        yield from _value_faults(values, f"{place}.when.{name}", tool, name, known)
    for name in (*(given.get("listed") or ()), *(given.get("numbers") or ())):
        yield from _argument_faults(
            name, f"{place}.listed" if name in (given.get("listed") or ()) else f"{place}.numbers", tool, known
        )
    for name, values in (given.get("listed") or {}).items():
        yield from _value_faults(values, f"{place}.listed.{name}", tool, name, known)
    for key in ("same", "told"):
        for name, to in (given.get(key) or {}).items():
            for other in given.get("tools") or ():
                yield from _argument_faults(name, f"{place}.{key}", other, known)
            if key == "same" and isinstance(to, str):
                yield from _argument_faults(to, f"{place}.{key}.{name}", tool, known)
            elif isinstance(to, BaseModel):
                yield from _walk(to, f"{place}.{key}.{name}", tool, known)
            elif to not in known.slots:
                yield f"{place}.{key}.{name}: {_unknown(str(to), 'slot of requester.slots', known.slots)}"
    for name, value in (given.get("returned") or {}).items():
        yield from _returned_faults(name, value, f"{place}.returned", given.get("tools") or (), known)
    yield from _field_faults(given, place, known)
    for name, value in given.items():
        if isinstance(value, BaseModel):
            yield from _walk(value, f"{place}.{name}", tool, known)
        elif isinstance(value, list | tuple):
            for at, each in enumerate(value):
                if isinstance(each, BaseModel):
                    yield from _walk(each, f"{place}.{name}.{at}", tool, known)


def _tool_faults(name: str, place: str, known: Known) -> Iterator[str]:
    if name not in known.tools:
        yield f"{place}: {_unknown(name, 'tool of this spec', known.tools)}"


def _argument_faults(name: str, place: str, tool: str, known: Known) -> Iterator[str]:
    """An unknown tool is a fault of its own, and its arguments are none."""
    if tool not in known.tools:
        return
    arguments = known.tools[tool].parameters["properties"]
    if name not in arguments:
        yield f"{place}: {_unknown(name, f'argument of {tool}', arguments)}"


def _returned_faults(name: str, value: Any, place: str, tools: Sequence[str], known: Known) -> Iterator[str]:
    """A value that none of the tools answers with, so that the demand could never be met; or one that the field never has."""
    there: set[str] = set()
    allowed: set[str] = set()
    for tool in (known.tools[one] for one in tools if one in known.tools):
        own = [full.split(".", 2) for full in known.fields if full.startswith(f"{tool.system}.")]
        answers = tool.answers(part for _, _, part in own)
        if answers is None:
            return
        there |= answers
        lists = [known.codes.get(f"{tool.system}.{kind}.{name}") for _, kind, part in own if part == name]
        if name in (tool.returns or ()) or name in tool.parameters["properties"] or None in lists or not lists:
            allowed.add("")  # no list says what it may be
        allowed |= {code for codes in lists if codes for code in codes}
    if there and name not in there:
        yield f"{place}: {_unknown(name, f'value that {_listed(tools)} answers with', there)}"
    elif there and "" not in allowed and value is not None and str(value) not in allowed:
        yield f"{place}.{name}: {_unknown(str(value), f'value that {name} may have', allowed)}"


def _value_faults(values: Iterable[Any], place: str, tool: str, argument: str, known: Known) -> Iterator[str]:
    schema = known.tools[tool].parameters["properties"].get(argument, {}) if tool in known.tools else {}
    for value in values:
        if "enum" in schema and value not in schema["enum"]:
            yield f"{place}: {_unknown(str(value), f'value that {tool} takes', schema['enum'])}"


def _field_faults(given: Mapping[str, Any], place: str, known: Known) -> Iterator[str]:
    """Where a look-up or a choice of rows names a row that no code book and no tool knows."""
    if not isinstance(given.get("system"), str) or not isinstance(given.get("kind"), str):
        return
    start = f"{given['system']}.{given['kind']}."
    there = {name.removeprefix(start) for name in known.fields if name.startswith(start)}
    if not there:
        kinds = {name.rpartition(".")[0] for name in known.fields}
        yield f"{place}.kind: {_unknown(start[:-1], 'kind of record of this spec', kinds)}"
        return
    named = [(key, given[key]) for key in ("field", "match", "time") if isinstance(given.get(key), str)]
    named += [(f"factors.{at}", name) for at, name in enumerate(given.get("factors") or ())]
    named += [("where", name) for name in given.get("where") or ()]
    for key, name in named:
        if name not in there:
            yield f"{place}.{key}: {_unknown(name, f'field of {start[:-1]}', there)}"


def _unknown(name: str, what: str, there: Iterable[str]) -> str:
    there = sorted(map(str, there))
    close = did_you_mean(name, there).removeprefix(", ")
    return f"{name!r} is no {what}; {close or 'there: ' + _listed(there)}"


def _listed(there: Iterable[Any]) -> str:
    return ", ".join(map(str, sorted(there))) or "none"
