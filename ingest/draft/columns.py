"""What each column of a table holds, from the counts of its distinct values: types, null words, keys, times, people."""

from __future__ import annotations

import re

from ingest.draft import clocks, people, tongues
from ingest.draft.model import Clock, Column, ColumnType, Table
from ingest.draft.store import Store, literal, quoted

NULL_WORDS = ("?", "null", "(null)", "none", "n/a", "na", "nan", "nil", "-", "--", "\\n", "undefined", "#n/a", "nat")
LOOKED_AT = 50_000
"""Distinct values of a column whose forms are counted; of a longer list, a fixed part by hash."""
MOST_CODES = 60
TIME_NAME = re.compile(r"(^|_)(at|on|ts|time|date|datetime|timestamp|epoch|when|created|updated|modified|closed|opened)($|_)")
WORDS_NAME = re.compile(r"subject|title|description|comment|text|note|message|body|(^|_)value$|summary|details")
"""Columns of somebody's words: their values are never listed, however few they are."""
PATTERNS = {
    "whole": r"[+-]?\d{1,18}",
    "number": r"[+-]?\d{1,18}([.,]\d+)?([eE][+-]?\d+)?",
    "bool": r"(?i:true|false|yes|no|y|n|t|f)",
    "json": r"[\[{].*[\]}]",
    "numbered": r"[^\d]{0,30}\d{1,18}",
    "long_numbered": r"[^\d]{0,30}\d{4,18}",
    "uuid": r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}",
}


def profile_columns(store: Store, table: Table) -> None:
    """Fills in the table's columns and keys, and makes its relation one in which null words are null."""
    words: dict[str, list[str]] = {}
    for name in store.columns(table.relation):
        column = column_of(store, table.relation, name, name)
        table.columns[name] = column
        words[name] = list(column.null_words)
        repeated = table.kind == "zendesk" and name == "id" and column.distinct >= 0.9 * table.rows  # pages repeat rows
        first = len(table.columns) == 1 and column.type in ("int", "code")
        unique = column.filled == column.distinct == table.rows and (column.type == "id" or first)
        if table.rows > 1 and (unique or repeated):
            table.keys.append(name)
    _same_order_of_days(table)
    table.relation = store.blank(table.relation, words)


def column_of(store: Store, relation: str, held: str, name: str) -> Column:
    """The column `held` of a relation in numbers, under its name (of a change log's values: the field's)."""
    source = f"(SELECT trim({quoted(held)}) AS v FROM {relation})"
    store.run(f"CREATE OR REPLACE TEMP TABLE vals AS SELECT v, count(*) AS n FROM {source} WHERE v <> '' GROUP BY v")
    marks = ", ".join(literal(word) for word in NULL_WORDS)
    nulls = {str(v): int(n) for v, n in store.all(f"SELECT v, n FROM vals WHERE lower(v) IN ({marks}) ORDER BY v")}
    gone = ", ".join(literal(word) for word in nulls) or "''"
    some = f"(SELECT left(v, 300) AS v, n FROM vals WHERE v NOT IN ({gone}) ORDER BY hash(v) LIMIT {LOOKED_AT})"
    counts = _counts(store, some)
    total = store.one(f"SELECT count(*), sum(n), max(length(v)) FROM vals WHERE v NOT IN ({gone})")
    distinct, filled, longest = (int(cell or 0) for cell in total)
    looked = counts["rows"]
    clock = clocks.clock_of(counts, looked, named_like_a_time=bool(TIME_NAME.search(people.snake(name))))
    kind, evidence = _type(people.snake(name), counts, distinct=distinct, filled=filled, longest=longest, clock=clock)
    column = Column(name, filled, distinct, kind, evidence, nulls, longest, clock=clock)
    numeric = kind in ("int", "number", "time", "date", "bool") and not counts["leading"]
    if kind not in ("bool", "time", "json", "empty"):
        column.person, column.person_evidence = people.person_of(name, counts, looked, numeric=numeric)
    hidden = people.PERSON_COLUMN.search(people.snake(name)) or WORDS_NAME.search(people.snake(name))
    if kind in ("code", "bool") and not column.person and not hidden:
        listed = store.all(f"SELECT v, n FROM vals WHERE n > 1 AND v NOT IN ({gone}) ORDER BY n DESC, v LIMIT {MOST_CODES}")
        column.values = {str(v): int(n) for v, n in listed if len(v) <= 60 and "@" not in v}
    if kind == "text":
        texts = [str(v) for (v,) in store.all(f"SELECT v FROM {some} WHERE length(v) > 20 ORDER BY hash(v) LIMIT 500")]
        column.language, column.language_evidence = tongues.language_of(texts)
    return column


def _counts(store: Store, some: str) -> dict[str, int]:
    """How many rows have each form. Whole numbers are spared the forms that they cannot have: most of the time is spent here."""
    shapes = {f"is_{kind}": f"sum(n) FILTER (regexp_full_match(v, '{pattern}'))" for kind, pattern in PATTERNS.items()}
    shapes |= {
        "rows": "sum(n)",
        "spaces": "sum(n * (length(v) - length(replace(v, ' ', ''))))",
        "leading": "sum(n) FILTER (regexp_full_match(v, '0\\d+'))",
    }
    forms = {**clocks.counts_sql("v", "n"), **people.counts_sql("v", "n")}

    def ask(asked: dict[str, str]) -> dict[str, int]:
        picked = ", ".join(f"{sql} AS {quoted(key)}" for key, sql in asked.items())
        cells = store.one(f"SELECT {picked} FROM {some}") if asked else ()
        return dict(zip(asked, (int(cell or 0) for cell in cells), strict=True))

    counts = dict.fromkeys(forms, 0) | ask(shapes)
    whole = counts["is_whole"] == counts["rows"]
    able = {"form_unix", "form_unix_ms", "form_compact", "person_phone"} if whole else forms.keys()
    return counts | ask({key: sql for key, sql in forms.items() if key in able})


def _type(
    name: str, counts: dict[str, int], *, distinct: int, filled: int, longest: int, clock: Clock | None
) -> tuple[ColumnType, str]:
    """The type that the counts speak for, and the counts."""
    looked = counts["rows"]
    if not filled:
        return "empty", "no row has a value"
    seen = f"{distinct:,} different values in {filled:,} rows"
    if clock is not None:
        return ("date" if clock.grain_s == 86400 else "time"), clock.evidence
    if counts["is_bool"] == looked and distinct <= 2:
        return "bool", f"all {filled:,} values are true or false"
    naming = bool(re.search(r"(^|_)(id|no|nr|number|num|ref|key|uuid|guid)$", name))
    few = distinct <= MOST_CODES and (distinct <= 12 or distinct <= 0.2 * filled)
    if counts["is_whole"] == looked and not counts["leading"]:
        if naming:
            return "id", f"all {filled:,} values are whole numbers and the name is an id's; {seen}"
        return "int", f"all {filled:,} values are whole numbers; {seen}"
    if counts["is_number"] >= 0.99 * looked:
        return "number", f"{counts['is_number']:,} of {looked:,} values are numbers; {seen}"
    if counts["is_json"] >= 0.9 * looked:
        return "json", f"{counts['is_json']:,} of {looked:,} values are JSON"
    if counts["is_uuid"] >= 0.9 * looked:
        return "id", f"{counts['is_uuid']:,} of {looked:,} values are UUIDs"
    wordy = counts["spaces"] / looked
    if longest <= 60 and (counts["is_long_numbered"] >= 0.9 * looked or (naming and counts["is_numbered"] >= 0.9 * looked)):
        return "id", f"{counts['is_numbered']:,} of {looked:,} values are a word with a number; {seen}"
    if few and longest <= 60 and wordy < 5:
        return "code", seen
    if (naming or counts["is_numbered"] >= 0.9 * looked) and longest <= 60:
        return "id", f"{counts['is_numbered']:,} of {looked:,} values are a word with a number; {seen}"
    if longest > 60 or wordy >= 2:
        return "text", f"{seen}; {wordy + 1:.0f} words on average, the longest has {longest:,} characters"
    return ("code" if distinct < 0.5 * filled else "text"), seen


def _same_order_of_days(table: Table) -> None:
    """A column whose own values do not decide the order of day and month takes the order of those beside it, and says so."""
    decided = [c.clock for c in table.columns.values() if c.clock and c.clock.decided and "%d" in (c.clock.time_format or "")]
    for column in table.columns.values():
        clock = column.clock
        if clock is None or clock.decided or clock.time_format is None or "contradictory" in clock.evidence:
            continue
        if all_month := bool(decided) and all((d.time_format or "").startswith("%m") for d in decided):
            swapped = clock.time_format.replace("%d", "%#").replace("%m", "%d").replace("%#", "%m")
            sql = clock.sql.replace(clock.time_format, swapped)
            column.clock = Clock(swapped, False, sql, clock.share, clock.evidence, False, clock.grain_s)
        if decided:
            order = "month before day" if all_month else "day before month"
            evidence = f"{clock.evidence}; {len(decided)} columns beside it are decided: {order}"
            now = column.clock or clock
            column.clock = Clock(now.time_format, False, now.sql, now.share, evidence, False, now.grain_s)
            column.evidence = evidence
