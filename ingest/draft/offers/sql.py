"""A database: tables with their keys, whose their records are, and the layout of the tables that log their changes."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import Any

from ingest.draft.book import CREATED, field_type, known_at_of_log, known_at_of_single, link_of, listed_codes, singular
from ingest.draft.model import ChangeLog, FoundFile, Profile, Table
from ingest.draft.offer import Drafted, Offer
from ingest.draft.people import snake
from schemas.plugins import plugin_names

RECORDED = ("recorded", "logged", "entered", "stored", "known")


def draft(profile: Profile) -> Drafted | None:
    files = {t.file for t in profile.tables.values() if t.kind in ("sqlite", "sql_dump")}
    if not files:
        return None
    made = Drafted()
    for file in profile.files:
        if file.name in files:
            _database(made, profile, file)
    return made


def _database(made: Drafted, profile: Profile, file: FoundFile) -> None:
    tables = {n: t for n, t in profile.tables.items() if t.file == file.name}
    logs = {t.log.of: t for t in tables.values() if t.log and t.log.of}
    made.covers |= set(tables)
    stem = snake(PurePosixPath(file.name).stem) or "database"
    taken = {source["name"] for source in made.sources} | {"helpdesk", "star"}
    name = next(one for one in (stem, *(f"{stem}_{n}" for n in range(2, 10_000))) if one not in taken)
    at = f"sources.{name}"
    clocks = Counter(c.clock.time_format for t in tables.values() for c in t.columns.values() if c.clock and c.clock.time_format)
    options: dict[str, Any] = {"url": f"sqlite:///{{path}}/{PurePosixPath(file.name).stem}.sqlite"}
    if file.kind == "sqlite":
        options["url"] = f"sqlite:///{{path}}/{PurePosixPath(file.name).name}"
    else:
        made.missing.append(f"{file.name} is a dump: load it into {PurePosixPath(file.name).stem}.sqlite (or a server) first")
    source: dict[str, Any] = {"name": name, "format": "sql", "path": str(PurePosixPath(file.name).parent), "zone": "UTC"}
    made.guess(f"{at}.format", "sql", f"{file.note}; {len(tables)} tables with rows")
    made.guess(f"{at}.zone", "UTC", _zone(tables))
    if clocks:
        source["time_format"] = clocks.most_common(1)[0][0]
        others = f"; {len(clocks) - 1} other formats" if len(clocks) > 1 else ""
        made.guess(
            f"{at}.time_format",
            source["time_format"],
            f"of {sum(clocks.values())} columns of times {clocks.most_common(1)[0][1]}{others}",
        )
    if logs:
        options["history"] = _layout(made, at, logs, tables)
    options["tables"] = []
    for table in tables.values():
        if table.log is not None and table.log.of:
            continue
        if drafted := _table(made, profile, table, logs.get(table.name), at):
            options["tables"].append(drafted)
    made.sources.append({**source, "options": options})


def _zone(tables: dict[str, Table]) -> str:
    clocks = [c.clock for t in tables.values() for c in t.columns.values() if c.clock]
    bare = sum(not clock.offset for clock in clocks)
    if not clocks:
        return "no column holds times"
    if not bare:
        return "all columns of times carry their offset"
    return f"{bare} of {len(clocks)} columns of times carry no zone and nothing here tells it: ask who runs the system"


def _layout(made: Drafted, at: str, logs: dict[str, Table], tables: dict[str, Table]) -> dict[str, Any]:
    """The layout that most logs have; one that differs is named."""
    found: dict[str, dict[str, Any]] = {}
    for of, table in logs.items():
        log = table.log
        if log is None:
            continue
        recorded = [t for t in log.times if any(word in snake(t) for word in RECORDED)]
        own = [t for t in log.times if t not in recorded] or list(log.times)
        layout = {
            "suffix": table.name.removeprefix(of) if table.name.startswith(of) else "",
            "seq": log.seq or "",
            "key": log.record,
            "op": log.op or "",
            "field": log.field,
            "value": log.value,
            "event_ts": own[0] if own else "",
            "recorded_ts": recorded[0] if recorded else None,
            "actor": log.actor,
            "reference": log.reference,
        }
        found[of] = {key: value for key, value in layout.items() if value is not None}
    usual = Counter(tuple(sorted(layout.items())) for layout in found.values()).most_common(1)[0][0]
    layout = dict(usual)
    for of, other in found.items():
        differing = sorted(key for key in {*layout, *other} if layout.get(key) != other.get(key))
        if differing:
            made.missing.append(f"the history of {of} differs from the others' in {', '.join(differing)}")
    if lacking := sorted(key for key, value in layout.items() if value == ""):
        made.missing.append(f"histories without {', '.join(lacking)}: say what it is in {at}.options.history")
    order = ("suffix", "seq", "key", "op", "field", "value", "event_ts", "recorded_ts", "actor", "reference")
    first: ChangeLog | None = next(iter(logs.values())).log
    evidence = f"{len(logs)} of {len(tables) - len(logs)} tables have one; {first.evidence if first else ''}"
    made.guess(f"{at}.options.history", ", ".join(f"{key} {layout[key]}" for key in order if key in layout), evidence)
    return {key: layout[key] for key in order if key in layout}


def _table(made: Drafted, profile: Profile, table: Table, log: Table | None, at: str) -> dict[str, Any] | None:
    key = next(iter(sorted(table.keys, key=lambda k: not snake(k).startswith(singular(table.name)))), None)
    place = f"{at}.options.tables.{table.name}"
    if key is None:
        made.missing.append(f"table {table.name} has no column whose values are all different: it is left out")
        return None
    system = table.name if table.name in plugin_names("environments.systems") else at.removeprefix("sources.")
    kind = singular(table.name)
    drafted: dict[str, Any] = {"table": table.name, "system": system, "kind": kind, "key": key}
    more = ", ".join(k for k in table.keys if k != key) or "none"
    made.guess(
        f"{place}.key",
        key,
        f"{table.rows:,} different values in {table.rows:,} rows; others: {more}",
    )
    if system == table.name and {"name": system, "plugin": system} not in made.systems:
        made.systems.append({"name": system, "plugin": system})
        made.guess(
            f"systems.{system}",
            f"plugin {system}",
            f"there is a plug-in of the name of table {table.name}; its fields may be called otherwise",
        )
    _owner(made, profile, table, drafted, place)
    if log is None:
        times = [c.name for c in table.columns.values() if c.clock]
        begin = next((t for t in times if CREATED.search(snake(t))), None)
        if begin is None:
            made.missing.append(f"table {table.name} has neither a history nor a time at which a row began: it is left out")
            return None
        drafted |= {"history": False, "created": begin}
        made.guess(f"{place}.created", begin, "no table logs its changes; the time is named like a beginning")
    columns = {}
    for column in table.columns.values():
        if column.name == key or column.type == "empty":
            continue
        columns[column.name] = snake(column.name)
        link = link_of(profile, table.name, column.name)
        rule, why = field_type(column, link)
        change = log.log.fields.get(column.name) if log is not None and log.log is not None else None
        if log is not None:
            known, reason = known_at_of_log(change)
        else:
            known, reason = known_at_of_single(column, link)
        rule["known_at"] = known
        if column.clock is not None and any(
            word in snake(column.name) for word in ("due", "promis", "expect", "planned", "until")
        ):
            rule["planned_future"] = True
        codes, listed = listed_codes(column, rule["type"], change)
        made.rule(f"{system}.{kind}.{snake(column.name)}", rule, f"{reason}; {why}{listed}", codes)
    return {**drafted, "columns": columns}


def _owner(made: Drafted, profile: Profile, table: Table, drafted: dict[str, Any], place: str) -> None:
    """Whose its records are: an organisation's by a link or a name, else those of the record they point to."""
    mine = [link for link in profile.links if link.table == table.name and not link.field]
    own = next((link for link in mine if snake(link.to_table).startswith(("organi", "compan", "customer"))), None)
    named = next((c for c in table.columns if snake(c).startswith(("organi", "org_", "company"))), None)
    if own is not None or named is not None:
        drafted["organisation"] = own.column if own else named
        why = (
            f"{own.matched:,} of {own.distinct:,} values stand in {own.to_table}.{own.to_column}"
            if own
            else "its name; no link shows it"
        )
        made.guess(f"{place}.organisation", str(drafted["organisation"]), why)
        return
    same = {t.name for t in profile.tables.values() if t.file == table.file and not t.log}
    up = next((link for link in mine if link.to_table in same and link.column != drafted["key"]), None)
    if up is None:
        made.missing.append(f"table {table.name} names no organisation and no record that has one: no task's state will hold it")
        return
    drafted["parent"] = {"column": up.column, "table": up.to_table}
    made.guess(
        f"{place}.parent",
        f"{up.column} -> {up.to_table}",
        f"{up.matched:,} of {up.distinct:,} values stand in {up.to_table}.{up.to_column}",
    )


OFFER = Offer(draft)
