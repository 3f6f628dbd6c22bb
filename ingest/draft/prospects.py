"""Which records may become tasks, how many at most, and what is missing, in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.draft.model import Outcome, Profile, Table


@dataclass(frozen=True, slots=True)
class Prospect:
    """A kind of record that may become tasks."""

    table: str
    at_most: int
    """Records that have an outcome; each screen that follows only lowers it."""
    outcome: str
    lacks: tuple[str, ...]


def prospects(profile: Profile, *, readable: set[str], has_book: bool) -> list[Prospect]:
    """One a table with a candidate outcome, largest first. `readable`: tables that a drafted source reads."""
    found: dict[str, Prospect] = {}
    for outcome in profile.outcomes:
        if outcome.table in found:
            continue
        table = profile.tables[outcome.table]
        found[outcome.table] = Prospect(
            outcome.table,
            outcome.records,
            outcome.column,
            tuple(_lacks(profile, table, outcome, readable, has_book=has_book)),
        )
    return sorted(found.values(), key=lambda one: (len(one.lacks), -one.at_most, one.table))


def _lacks(profile: Profile, table: Table, outcome: Outcome, readable: set[str], *, has_book: bool) -> list[str]:
    lacks = []
    if outcome.table not in readable:
        lacks.append("no source format here reads it")
    if table.log is None and table.history is None:
        lacks.append("no history: what was known at the start cannot be told")
    if not outcome.filled_late:
        lacks.append(f"no proof of when {outcome.column} was filled")
    opening = next((one for one in profile.openings if one.table == outcome.table), None)
    if opening is None or not opening.words:
        lacks.append("no requester's text: tasks would be of the grade no_requester")
    if not any(file.kind == "policy" for file in profile.files):
        lacks.append("no policy documents: tasks would be of the grade no_policy (select.allow_no_policy)")
    if not has_book:
        lacks.append("no code book of the supplier: every field of the drafted one is a guess")
    return lacks


def said(profile: Profile, found: list[Prospect]) -> list[str]:
    """The prospects as lines; an export without outcomes says so."""
    lines = []
    if not profile.tables:
        return ["no table was found: nothing here can become a task"]
    if not found:
        lines.append(
            "no outcome was found: no column has few values and is filled at a record's end or named so; "
            "without one nothing becomes a task"
        )
    for one in found:
        lines.append(f"{one.table}: at most {one.at_most:,} tasks (records with {one.outcome})")
        lines += [f"  missing: {lack}" for lack in one.lacks]
    if not any(table.history or table.log for table in profile.tables.values()):
        lines.append("no history was found: no table shows how records changed, so no state of the past can be rebuilt")
    return lines
