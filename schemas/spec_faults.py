"""What is wrong with a spec: the faults of single fields, and those that only several fields together show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ValidationError

from schemas.plugins import plugin_names

SYSTEMS = "environments.systems"
"""Folder of the system plug-ins: their names are listed, none is imported here."""


def faults_of(error: ValidationError, prefix: str = "", *, model: type[BaseModel] | None = None) -> list[str]:
    """Each pydantic fault as "dotted.path: message"; values are not repeated (they may be secret). Of a field that is missing
    the message says what belongs there, as `model` describes it."""
    faults = []
    for fault in error.errors(include_url=False, include_input=False):
        path = ".".join([prefix, *map(str, fault["loc"])] if prefix else map(str, fault["loc"]))
        message = fault["msg"]
        if fault["type"] == "missing":
            what = described(model, fault["loc"]) if model is not None else ""
            message = f"is missing ({what})" if what else "is missing"
        faults.append(f"{path or '(top)'}: {message}")
    return faults


def described(model: type[BaseModel], place: Sequence[int | str]) -> str:
    """What the field at that place is, in the first sentence of its description; "" where it has none."""
    models, words = [model], ""
    for part in place:
        field = next((m.model_fields[part] for m in models if isinstance(part, str) and part in m.model_fields), None)
        if field is None:  # a number in a list, or a name of the supplier's own in a table
            continue
        words = " ".join((field.description or "").split())
        models = list(_models_in(field.annotation))
    return words.partition(". ")[0].rstrip(".")


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a field's type is made from."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def cross_faults(raw: dict[str, Any]) -> list[str]:
    """Faults that no single field shows. `raw` may itself be faulty: what has another shape is passed over here."""
    faults: list[str] = []
    sources, systems = _tables(raw.get("sources")), _tables(raw.get("systems"))
    workflows, rules = _tables(raw.get("workflows")), _tables(raw.get("rules"))
    zones = {f"sources.{index}.zone": source.get("zone") for index, source in sources}
    if isinstance(policies := raw.get("policies"), dict):
        zones["policies.zone"] = policies.get("zone")
    faults += [f"{path}: {zone!r} is not an IANA zone" for path, zone in zones.items() if not _zone_known(zone)]
    for group, key, tables in (
        ("sources", "name", sources),
        ("systems", "name", systems),
        ("workflows", "name", workflows),
        ("rules", "id", rules),
    ):
        counts = Counter(str(table[key]) for _, table in tables if key in table)
        faults += [f"{group}: {name!r} is declared twice" for name, count in sorted(counts.items()) if count > 1]
    there = plugin_names(SYSTEMS)
    for index, system in systems:
        plugin = system.get("plugin")
        if isinstance(plugin, str) and plugin not in there:
            faults.append(f"systems.{index}.plugin: {plugin!r} is no file of {SYSTEMS} ({', '.join(there)})")
    known = {str(table.get("name")) for _, table in workflows}
    for index, rule in rules:
        named = rule.get("workflows")
        for name in named if isinstance(named, list | tuple) else ():
            if name not in known:
                faults.append(f"rules.{index}.workflows: {name!r} is not a workflow ({', '.join(sorted(known))})")
    holdout = raw.get("holdout")
    if isinstance(holdout, dict) and holdout.get("group", "organisation") != "organisation" and not holdout.get("cannot_promise"):
        faults.append(f"holdout.cannot_promise: a hold-out by {holdout['group']!r} has to say what it cannot promise")
    faults += _clause_faults(_tables(raw.get("clauses")), [rule for _, rule in rules])
    tokens = raw.get("tokens")
    scope = tokens.get("scope") if isinstance(tokens, dict) else None
    if scope in ("per_supplier", "cross_system") and raw["tokens"].get("agreement") is None:
        faults.append(f"tokens.agreement: scope {scope!r} links sources and needs a recorded agreement (who, when, purpose)")
    dates = tokens.get("dates") if isinstance(tokens, dict) else None
    if dates == "as_recorded" and raw["tokens"].get("agreement") is None:
        faults.append("tokens.agreement: dates that are not moved need a recorded agreement (who, when, purpose)")
    return faults


def _clause_faults(clauses: list[tuple[int, dict[str, Any]]], rules: list[dict[str, Any]]) -> list[str]:
    """Where the clause table and the rules do not say the same of each other; an empty table says nothing of any rule."""
    by_id = {str(rule.get("id")): rule for rule in rules}
    faults: list[str] = []
    listed: Counter[tuple[str, str, str]] = Counter()
    for index, row in clauses:
        place, named = f"clauses.{index}", _names(row.get("rules"))
        versions = _names(row.get("versions"))
        listed.update((str(row.get("document")), version, str(row.get("clause"))) for version in versions)
        if bool(named) == (row.get("not_enforceable") is not None):
            faults.append(f"{place}: give `rules` or `not_enforceable`, one of the two")
        standing: set[str] = set()
        for rule_id in named:
            rule = by_id.get(rule_id)
            if rule is None:
                faults.append(f"{place}.rules: {rule_id!r} is not a rule of this spec")
            elif (rule.get("document"), rule.get("clause")) != (row.get("document"), row.get("clause")):
                found = f"{rule.get('document')} {rule.get('clause')}"
                faults.append(f"{place}.rules: {rule_id!r} names {found}, not {row.get('document')} {row.get('clause')}")
            else:
                standing.update(_names(rule.get("versions")))
        if named and (bare := [v for v in versions if v not in standing]):
            faults.append(f"{place}: no rule named stands for version {', '.join(bare)}")
    for (document, version, clause), count in sorted(listed.items()):
        if count > 1:
            faults.append(f"clauses: {document} version {version} clause {clause} is listed {count} times")
    if clauses:
        held = {rule_id for _, row in clauses for rule_id in _names(row.get("rules"))}
        loose = [rule_id for rule_id, rule in by_id.items() if rule.get("document") is not None and rule_id not in held]
        faults += [f"rules: {rule_id!r} stands for a policy clause, but no line of `clauses` names it" for rule_id in loose]
    return faults


def _names(value: Any) -> list[str]:
    """The entries of a list, as text; of anything else none (its shape is another check's fault)."""
    return [str(one) for one in value] if isinstance(value, list | tuple) else []


def _tables(value: Any) -> list[tuple[int, dict[str, Any]]]:
    """The tables of an array of tables, with their places in it."""
    return [(i, table) for i, table in enumerate(value) if isinstance(table, dict)] if isinstance(value, list | tuple) else []


def _zone_known(zone: Any) -> bool:
    """A zone that is absent or no text is another check's fault."""
    if not isinstance(zone, str):
        return True
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
