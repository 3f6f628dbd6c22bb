"""Kinds of records that are in no task's state at all, and the field of the spec that says whose they are.

The state of a task is what its organisation's records held at the start. A record without an organisation, or with one that
never asks for anything, is in none: its tools then find nothing, and every case that needs it is lost as underivable. A whole
kind of such records is nearly always a field that the spec left out. Pure functions of the table of records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from schemas.spec import Spec

if TYPE_CHECKING:
    import polars as pl

DECLARED = "declared"
"""Plug-in of systems of recorded queries: each belongs to its case, not to an organisation."""


def absent_kinds(spec: Spec, records: pl.DataFrame, groups: Mapping[str, str]) -> list[dict[str, Any]]:
    """{"kind", "records", "why", "set"} of every kind of the task set's systems of which no record is in any task's state.

    `records` is the whole table of the clean records; `groups` names the group of organisations that were merged.
    """
    import polars as pl

    request = (spec.select.record_system, spec.select.record_kind)
    of_request = (pl.col("system") == request[0]) & (pl.col("kind") == request[1])
    asking = {groups.get(one, one) for one in records.filter(of_request)["organisation"].drop_nulls()}
    systems = sorted(s.name for s in spec.systems if s.plugin != DECLARED)
    others = records.filter(pl.col("system").is_in(systems) & ~of_request)
    found = []
    for (system, kind), rows in sorted(others.group_by(["system", "kind"]), key=lambda item: str(item[0])):
        owners = {groups.get(one, one) for one in rows["organisation"].drop_nulls()}
        if owners & asking:
            continue
        why = _why(len(owners), len(asking), ".".join(request))
        found.append({"kind": f"{system}.{kind}", "records": rows.height, "why": why, "set": _set(spec, str(system), str(kind))})
    return found


def _why(owners: int, asking: int, request: str) -> str:
    if not asking:
        return f"no {request} has an organisation"
    if not owners:
        return "none says whose it is"
    return f"they belong to {owners} organisations, none of which is that of a {request}"


def _set(spec: Spec, system: str, kind: str) -> str:
    """The option that says whose records of that kind are; "" for a format that has none."""
    for source in spec.sources:
        tables = source.options.get("tables", ())
        for table in tables if isinstance(tables, list | tuple) else ():
            if isinstance(table, dict) and (table.get("system"), table.get("kind")) == (system, kind):
                return f"sources.{source.name}.options.tables.{table.get('table')}.organisation (or .parent)"
    return ""


def in_words(found: Mapping[str, Any]) -> str:
    """One line of the console and of the report."""
    told = f"{found['kind']}: none of its {found['records']} records is in any task's state: {found['why']}"
    return f"{told}; set {found['set']}" if found["set"] else told
