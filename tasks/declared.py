"""Cases of a declared system (STAR): what its query interfaces look like to the agent, what was recorded of them, and how such
a case ended.

The interfaces come from the supplier's own descriptions; no interface is known by name here. Arguments that are free text
(LongString) are neither compared nor offered: two people never write them alike. Conditions other than equality ("at most 10")
are no value an agent can give. A choice from a list of which nobody ever spoke is one that was left open: it is no part of that
case's queries, and an agent leaves it out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from environments.seen import Seen
from rewards.listed import Listed
from rewards.yes_no import is_yes_no
from schemas.spec import OutcomePattern, Spec
from tasks.case import Case, Clean
from tasks.requester import surface
from tasks.telling import normal

TYPES = {"ShortString": "string", "Integer": "integer", "Boolean": "boolean", "Categorical": "enum"}
"""Type of a described input -> type of a declared one; RequestType tells checking from booking and is no argument."""
IDENTIFYING = frozenset({"ShortString", "Integer"})
"""Types whose values say what is asked for, rather than choose from a list."""
REQUEST_TYPE = "RequestType"
ITEM = "item"


@dataclass(frozen=True, slots=True)
class Query:
    """One recorded query of a case."""

    record_id: str
    api: str
    arguments: dict[str, Any]
    """All that were given, RequestType left out."""
    request_type: str | None
    item: dict[str, Any] | None
    order: int


def without(queries: Sequence[Query], names: Collection[str]) -> list[Query]:
    """The queries with these arguments left open."""
    return [replace(q, arguments={n: v for n, v in q.arguments.items() if n not in names}) for q in queries]


@dataclass(frozen=True, slots=True)
class Api:
    """A query interface as the supplier describes it."""

    name: str
    inputs: Mapping[str, Mapping[str, Any]]
    booking: bool
    required: frozenset[str]
    """Inputs that every recorded query gave. (A choice from a list may still be left open: nobody may have made it.)"""
    slots: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The spec's words that ask the requester for an input."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Input -> the value of its list that stands for "the requester does not know", as the spec declares it."""

    def listed(self, name: str) -> Listed:
        """The list from which an input chooses, yes and no of a boolean; () of any other."""
        given = self.inputs.get(name, {})
        if given.get("Type") == "Boolean":
            return ("yes", "no")
        return tuple(str(c) for c in given.get("Categories", ())) if TYPES.get(given.get("Type", "")) == "enum" else ()

    def given(self, arguments: Mapping[str, Any], texts: Sequence[str]) -> dict[str, Any]:
        """The arguments as the agent gives them: texts as the requester said them, listed values as they are listed."""
        return {name: value if self.listed(name) else spoken(value, texts) for name, value in arguments.items()}

    def compared(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that the agent's tool takes: free text and open conditions left out."""
        return {
            name: value
            for name, value in arguments.items()
            if value is not None and self.inputs.get(name, {}).get("Type") in TYPES and not is_condition(value)
        }

    def asked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """As `compared`, with the open conditions on what identifies: what was really asked, whether or not an agent's tool can
        ask it. A choice among categories left open is one that was not made: there the argument is left out."""
        held = {name: self.inputs.get(name, {}).get("Type") for name in arguments}
        return {
            name: value
            for name, value in arguments.items()
            if value is not None and held[name] in (IDENTIFYING if is_condition(value) else TYPES)
        }

    def declaration(self) -> dict[str, Any]:
        """What environments/systems/declared.py builds tools from."""
        inputs = []
        for name, given in self.inputs.items():
            kind = TYPES.get(given["Type"])
            if kind is None:
                continue
            categories = list(self.listed(name)) if kind == "enum" else []
            asks = is_yes_no(self.listed(name)) or name in self.unknown
            inputs.append(
                {
                    "name": name,
                    "type": kind if categories or kind != "enum" else "string",
                    "enum": categories,
                    "required": name in self.required and not self.listed(name),
                    "description": given.get("ReadableName", name),
                    "asked_by": list(self.slots.get(name, ())) if asks else [],
                    "unknown": self.unknown.get(name, ""),
                }
            )
        return {
            "api": self.name,
            "description": f"{self.name.replace('_', ' ').capitalize()}.",
            "inputs": inputs,
            "booking": self.booking,
        }


def is_condition(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("api.") and value.endswith(")")


def apis_of(clean: Clean, spec: Spec | None = None) -> dict[str, Api]:
    """Every described interface with the inputs that all its recorded queries gave, by name. `spec`: what says how its inputs are
    asked for, and what stands for "unknown"."""
    import polars as pl

    described = {d["APIName"]: d for d in clean.declarations()}
    rows = (
        clean.events()
        .filter(pl.col("kind").is_in(sorted(described)) & (pl.col("type") == "create"))
        .group_by("kind", "field")
        .agg(pl.col("record_id").n_unique().alias("queries"))
        .collect()
    )
    given: dict[str, Counter[str | None]] = {}
    for kind, name, count in rows.iter_rows():
        given.setdefault(kind, Counter())[name] = count
    unknown = unknown_of(spec) if spec else {}
    found = {}
    for name in sorted(described):
        inputs = {i["Name"]: i for i in described[name]["input"]}
        counts = given.get(name, Counter())
        asked = counts[None]
        required = frozenset(n for n in inputs if asked and counts[n] == asked)
        own = {n: value for n, value in unknown.items() if n in inputs}
        found[name] = Api(name, inputs, REQUEST_TYPE in inputs, required, spec.requester.slots if spec else {}, own)
    return found


def unknown_of(spec: Spec) -> dict[str, str]:
    """Input -> the value that stands for "the requester does not know": `unknown` in the declared system's config."""
    return {name: str(value) for system in spec.systems for name, value in system.config.get("unknown", {}).items()}


def queries_of(case: Case) -> list[Query]:
    """The case's queries in the order in which they were made."""
    found: dict[str, dict[str, Any]] = {}
    for write in case.writes:
        held = found.setdefault(
            write.record_id, {"api": write.kind, "fields": {}, "order": write.seq if write.seq is not None else 0}
        )
        held["fields"].update(write.fields)
        held["order"] = min(held["order"], write.seq if write.seq is not None else 0)
    queries = []
    for record_id, held in found.items():
        fields = dict(held["fields"])
        item, kind = fields.pop(ITEM, None), fields.pop(REQUEST_TYPE, None)
        queries.append(Query(record_id, held["api"], fields, kind, item if isinstance(item, dict) else None, held["order"]))
    return sorted(queries, key=lambda q: (q.order, q.record_id))


def item_text(item: Mapping[str, Any] | None) -> str:
    return " ".join(str(v) for v in (item or {}).values())


def outcome_code(patterns: Sequence[OutcomePattern], workflow: str, item: Mapping[str, Any] | None) -> str | None:
    """The code of the first pattern of the workflow that the recorded answer fits, or None: it decides nothing."""
    text = item_text(item)
    for pattern in patterns:
        if pattern.workflow in (None, workflow) and re.search(pattern.pattern, text, re.IGNORECASE):
            return pattern.code
    return None


@dataclass(frozen=True, slots=True)
class DeclaredCase:
    """A case that got through the funnel."""

    workflow: str
    queries: list[Query]
    last: Query
    """The query that decides."""
    code: str
    in_opening: bool
    """Every value that was asked for, longer than two letters or digits, stands in the requester's first words."""


def screen_case(case: Case, spec: Spec, apis: Mapping[str, Api]) -> DeclaredCase | str:
    """The case as its funnel reads it, or the first reason why it is none (in the order of tasks.select.REASONS)."""
    options = spec.select.options
    for name, wanted in options.get("complete", {}).items():
        if case.last.get(name) != wanted:
            return "not_complete"
    task = case.last.get(options.get("task_field", "task"))
    if not isinstance(task, str):
        return "several_tasks"
    if task not in {w.name for w in spec.workflows} or task not in apis:
        return "out_of_scope"
    queries = [q for q in queries_of(case) if q.arguments or q.request_type]
    if not queries:
        return "no_query"
    turns = [t.text for t in case.turns if t.by_requester]
    if len(turns) < spec.select.min_requester_turns:
        return "few_turns"
    last = queries[-1]
    code = outcome_code(spec.outcomes, task, last.item)
    if code is None:
        return "no_definite_answer"
    return DeclaredCase(task, queries, last, code, all_in(last.arguments, turns[0]))


def all_in(arguments: Mapping[str, Any], opening: str) -> bool:
    """True if every value longer than two letters or digits stands in the opening, and there are some."""
    values = [normal(v) for v in arguments.values() if len(normal(v)) > 2]
    return bool(values) and all(v in normal(opening) for v in values)


def spoken(value: Any, texts: Sequence[str]) -> Any:
    """The value as the requester said it, where it is said otherwise than it was typed ("3515-315" for "3515315"); else
    unchanged."""
    if not isinstance(value, str) or any(Seen(text).holds(value) for text in texts):
        return value
    return next((form for text in texts if (form := surface(text, value)) is not None), value)


def written(value: Any) -> str:
    """A recorded value in words: a boolean is a yes or a no."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def values_by_slot(queries: Sequence[Query], apis: Mapping[str, Api]) -> dict[str, frozenset[str]]:
    """Argument -> every value that a query of the case gave for it, free text too: what a requester's turn may say."""
    found: dict[str, set[str]] = {}
    for query in queries:
        for name, value in query.arguments.items():
            if value is None or is_condition(value) or name not in apis[query.api].inputs:
                continue
            found.setdefault(name, set()).add(written(value))
    return {name: frozenset(values) for name, values in found.items()}


def lists_by_slot(queries: Sequence[Query], apis: Mapping[str, Api]) -> dict[str, Listed]:
    """Argument that chooses from a list -> the list, of the interfaces that the case asked."""
    return {name: listed for query in queries for name in apis[query.api].inputs if (listed := apis[query.api].listed(name))}


def tried(queries: Sequence[Query], made_us: Mapping[str, int], slot: str, value: str, before_us: int | None) -> bool:
    """True if a query made before the instant gave `value` for the argument: what the requester said was acted upon."""
    return any(
        normal(written(query.arguments.get(slot))) == normal(value)
        and (before_us is None or made_us.get(query.record_id, 0) <= before_us)
        for query in queries
    )


def state_of(system: str, queries: Sequence[Query], apis: Mapping[str, Api], texts: Sequence[str]) -> dict[str, Any]:
    """The recorded queries as the declared system answers from them: {system: {api: {record: {request, request_type, item}}}}.

    Of a query that was made several times only the last one, whose answer the case went on with: records are named by
    pseudonyms, so nothing else in the state would tell which was the last.
    """
    latest: dict[Any, tuple[str, str, dict[str, Any]]] = {}
    for query in queries:
        request = apis[query.api].given(apis[query.api].compared(query.arguments), texts)
        key = (query.api, query.request_type, tuple(sorted((name, normal(value)) for name, value in request.items())))
        row = {"request": request, "request_type": query.request_type, "item": query.item}
        latest[key] = (query.api, query.record_id, row)
    kinds: dict[str, dict[str, Any]] = {}
    for api, record_id, row in latest.values():
        kinds.setdefault(api, {})[record_id] = row
    return {system: kinds}
