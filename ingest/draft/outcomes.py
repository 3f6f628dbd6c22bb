"""Columns that may tell how a record ended, and what may open one: few values, filled late, or named so."""

from __future__ import annotations

import re

from ingest.draft.backfill import DECIDED, filled_at_the_end, numbered
from ingest.draft.model import Opening, Outcome, Profile, Table
from ingest.draft.people import PERSON_COLUMN, snake
from ingest.draft.store import Store, literal, quoted

MOST_VALUES = 60
STATE = re.compile(r"(^|_)(status|state|stage|phase)($|_)")
LATE = 0.5
"""Share of the records with a value that had none at first, from which a column counts as filled late."""


def find_outcomes(store: Store, profile: Profile) -> list[Outcome]:
    """Candidates, best first."""
    found: list[tuple[float, Outcome]] = []
    logged = {table.log.of for table in profile.tables.values() if table.log and table.log.of}
    for table in profile.tables.values():
        if table.log is not None:
            found += _of_log(profile, table)
        elif table.history is not None:
            found += _of_rows(store, table)
        elif table.name not in logged and table.keys and table.kind != "zendesk":
            found += _by_name(table)
    found.sort(key=lambda one: (-one[0], one[1].table, one[1].column))
    return [outcome for _, outcome in found]


def _of_log(profile: Profile, table: Table) -> list[tuple[float, Outcome]]:
    log, found = table.log, []
    for field in log.fields.values() if log else ():
        base = profile.tables.get(log.of or "") if log else None
        column = field.column or (base.columns.get(field.name) if base else None)
        if column is None or column.type not in ("code", "bool") or column.person or PERSON_COLUMN.search(snake(field.name)):
            continue
        if not 2 <= field.distinct <= MOST_VALUES or not field.records:
            continue
        late, changed = field.late / field.records, field.changed / field.records
        seen = (
            f"{field.distinct} values; of {field.records:,} records {field.late:,} got it after their first moment, on average "
            f"at {field.place:.2f} of the way (1 = last); {field.changed:,} had several values"
        )
        state = bool(STATE.search(snake(field.name)))
        if late >= LATE:
            score = 2 + field.place - changed + bool(DECIDED.search(snake(field.name))) - state
            found.append((score, Outcome(table.name, field.name, column.values, seen, field.records, True)))
        elif state and changed > 0.1:
            found.append(
                (
                    0.5 + changed,
                    Outcome(
                        table.name, field.name, column.values, f"a state whose last value tells; {seen}", field.records, True
                    ),
                )
            )
    return found


def _of_rows(store: Store, table: Table) -> list[tuple[float, Outcome]]:
    history, found = table.history, []
    if history is None:
        return []
    store.run(f"CREATE OR REPLACE TEMP TABLE placed AS SELECT * FROM {numbered(table, history.record, history.order)}")
    ends = filled_at_the_end(store, table)
    suspected = {one.column: one for one in history.suspicions if one.grade in ("evidence", "suspect")}
    for column in table.columns.values():
        if column.type not in ("code", "bool") or not 2 <= column.distinct <= MOST_VALUES or column.person:
            continue
        filled, late = ends[column.name]
        named = bool(DECIDED.search(snake(column.name)))
        if filled and late >= LATE * filled:
            why = f"{column.distinct} values; {late:,} of {filled:,} records have none in their first row and one in their last"
            found.append((2 + named + late / filled, Outcome(table.name, column.name, column.values, why, filled, True)))
        elif column.name in suspected:
            why = f"{column.distinct} values; {suspected[column.name].why}"
            found.append((2.0 + named, Outcome(table.name, column.name, column.values, why, filled, False)))
        elif column.name in history.changing and STATE.search(snake(column.name)):
            why = f"a state of {column.distinct} values whose last one tells; it changes within records"
            found.append((1.0, Outcome(table.name, column.name, column.values, why, filled, True)))
    return found


def _by_name(table: Table) -> list[tuple[float, Outcome]]:
    found = []
    for column in table.columns.values():
        plain = snake(column.name)
        if column.type not in ("code", "bool") or not 2 <= column.distinct <= MOST_VALUES or column.person:
            continue
        if DECIDED.search(plain) or STATE.search(plain):
            why = f"{column.distinct} values; only its name speaks for it, no history shows when it was filled"
            score = 0.3 + 0.2 * bool(DECIDED.search(plain))
            found.append((score, Outcome(table.name, column.name, column.values, why, column.filled, False)))
    return found


def find_kinds(store: Store, profile: Profile) -> tuple[str, dict[str, tuple[str, int, int]], str]:
    """(field, outcome value -> (kind that most of its records have, those, all of its records), evidence) of the change log's
    field that says early what kind of request a record is; ("", {}, "") where none does."""
    best = next((o for o in profile.outcomes if profile.tables[o.table].log), None)
    table = profile.tables[best.table] if best else None
    if best is None or table is None or table.log is None:
        return "", {}, ""
    log, held = (
        table.log,
        f"SELECT {quoted(table.log.record)} AS k, last({quoted(table.log.value)}) AS v FROM {table.relation} WHERE ",
    )
    chosen: tuple[float, str, dict[str, tuple[str, int, int]]] = (0.9, "", {})
    for field in log.fields.values():
        column = field.column
        if (
            column is None
            or column.type != "code"
            or field.name == best.column
            or not 2 <= field.distinct <= 20
            or field.place > 0.5
        ):
            continue
        if not column.values or field.changed > 0.05 * field.records or STATE.search(snake(field.name)):
            continue
        sides = [
            f"({held}{quoted(log.field)} = {literal(name)} AND {quoted(log.value)} IS NOT NULL GROUP BY 1)"
            for name in (best.column, field.name)
        ]
        rows = store.all(
            f"SELECT a.v, b.v, count(*) FROM {sides[0]} a JOIN {sides[1]} b USING (k) GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"
        )
        most: dict[str, tuple[str, int, int]] = {}
        for value, kind, count in rows:
            if value in best.values and kind in column.values:
                first = most.get(value, (kind, count, 0))
                most[value] = (first[0], first[1], first[2] + count)
        total = sum(all_of for _, _, all_of in most.values())
        pure = sum(own for _, own, _ in most.values()) / total if total else 0.0
        if pure > chosen[0] and len({kind for kind, _, _ in most.values()}) > 1:
            chosen = (pure, field.name, most)
    if not chosen[1]:
        return "", {}, ""
    words = (
        f"field {chosen[1]} is set early and never again, and tells the kind of {chosen[0]:.1%} of the records with an outcome"
    )
    return chosen[1], chosen[2], words


def find_openings(profile: Profile) -> list[Opening]:
    """What may open a record, with its own words where it has any."""
    found = []
    for table in profile.tables.values():
        if table.log is not None and table.kind == "zendesk":
            words = next((c for c in table.columns.values() if snake(c.name) in ("body", "plain_body", "html_body")), None)
            told = f"{words.filled:,} comments with words" if words else "no comment has words"
            found.append(Opening(table.name, table.log.record, f"the first audit of a ticket; {told}", words is not None))
        elif table.history is not None:
            texts = [
                c.name for c in table.columns.values() if c.type == "text" and not c.person and c.longest > 60 and c.language
            ]
            say = f"texts in {', '.join(texts)}" if texts else "no column holds text"
            why = f"the first row of each {table.history.record} by {table.history.order}; {say}"
            found.append(Opening(table.name, table.history.record, why, bool(texts)))
        elif table.log is None and table.keys and table.kind != "zendesk":
            texts = [
                c.name for c in table.columns.values() if c.type == "text" and not c.person and c.longest > 60 and c.language
            ]
            times = [c.name for c in table.columns.values() if c.clock is not None]
            if texts and times:
                why = f"each row, since {times[0]}; texts in {', '.join(texts)}"
                found.append(Opening(table.name, table.keys[0], why, True))
    return found
