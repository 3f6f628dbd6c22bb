"""A profile as a spec, a code book and guesses: what the formats offer, and what concerns the whole."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ingest.draft.book import field_type, known_at_of_rows, known_at_of_single, link_of, listed_codes
from ingest.draft.model import Outcome, Profile, Table
from ingest.draft.offer import Drafted, Offer
from ingest.draft.people import snake
from ingest.draft.prospects import prospects, said
from schemas.guesses import GuessSpec
from schemas.plugins import load_plugin, plugin_names

MOST_LINES, MOST_ALIKE = 100, 10
REFUSALS = re.compile(r"refus|reject|den(y|ied)|declin|not_|unfound|invalid|cancel_")


@dataclass(slots=True)
class Draft:
    """What is written: a spec, a code book, the guesses in both, and what to say beside."""

    spec: dict[str, Any]
    book: dict[str, Any]
    guesses: list[GuessSpec]
    findings: list[str] = field(default_factory=list)
    """What was found and what is missing, a line each."""


def compose(profile: Profile, name: str) -> Draft:
    """The draft under the name of its file."""
    formats = plugin_names("ingest.sources")
    whole = Drafted()
    for offered in plugin_names("ingest.draft.offers"):
        if offered in formats and (made := load_plugin("ingest.draft.offers", offered, "OFFER", Offer).draft(profile)):
            _add(whole, made)
    for table in profile.tables.values():
        if table.name not in whole.covers:
            _unread(whole, profile, table)
    spec: dict[str, Any] = {
        "name": name,
        "supplier": _slug(profile.export.resolve().name),
        "code_book": f"spec:{name}.codebook.json",
    }
    _money(whole, spec)
    spec["sources"] = whole.sources
    _policies(whole, profile, spec)
    _language(whole, profile, spec)
    best = next((one for one in profile.outcomes if one.values and (not whole.record or one.table in whole.covers)), None)
    outcomes, workflows = _outcomes(whole, profile, best)
    system, kind = whole.record or ((snake(best.table), "record") if best else ("unknown", "unknown"))
    spec["select"] = {"record_system": system, "record_kind": kind}
    whole.guess(
        "select", f"{system}.{kind}", "its records have an opening and an outcome" if best else "nothing was found to choose from"
    )
    spec["systems"], spec["workflows"] = whole.systems, [{"name": workflow} for workflow in workflows]
    book = {"supplier": spec["supplier"], "fields": whole.fields, "codes": whole.codes, "outcomes": outcomes}
    return Draft(spec, book, whole.guesses, _findings(profile, whole, formats))


def _add(whole: Drafted, made: Drafted) -> None:
    whole.sources += made.sources
    whole.fields |= made.fields
    whole.codes |= made.codes
    whole.systems += made.systems
    whole.guesses += made.guesses
    whole.covers |= made.covers
    whole.record = whole.record or made.record
    whole.missing += made.missing


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_-") or "supplier"


def _unread(whole: Drafted, profile: Profile, table: Table) -> None:
    """A table that no format here reads: its fields and its layout are guessed all the same, for whoever brings it in."""
    at, history = f"tables.{table.name}", table.history
    if history is not None:
        whole.guess(f"{at}.record", history.record, history.evidence)
        whole.guess(f"{at}.order", history.order, f"rows of one {history.record} are ordered by it; {history.evidence}")
        if history.time:
            whole.guess(f"{at}.time", history.time, "the column of times that differs most within a record")
    elif table.keys:
        whole.guess(f"{at}.key", table.keys[0], f"{table.rows:,} different values in {table.rows:,} rows")
    formats = Counter(c.clock.time_format or "with offset" for c in table.columns.values() if c.clock)
    for column in table.columns.values():
        if column.clock is not None:
            whole.guess(f"{at}.time_format.{column.name}", column.clock.time_format or "fixed", column.clock.evidence)
    if formats and any(c.clock and not c.clock.offset for c in table.columns.values()):
        whole.guess(f"{at}.zone", "UTC", "no time carries a zone and nothing here tells it: ask who runs the system")
    words = Counter(word for column in table.columns.values() for word in column.null_words)
    if words:
        seen = ", ".join(f"{word!r} in {count} columns" for word, count in words.most_common())
        whole.guess(f"{at}.null_words", " ".join(words), seen)
    for column in table.columns.values():
        if column.type == "empty" or (history is not None and column.name == history.record):
            continue
        link = link_of(profile, table.name, column.name)
        rule, why = field_type(column, link)
        if history is not None:
            known, reason = known_at_of_rows(column, table)
        else:
            when, reason = known_at_of_single(column, link)
            known = {"known_at": when}
        codes, listed = listed_codes(column, rule["type"])
        whole.rule(f"{snake(table.name)}.record.{snake(column.name)}", {**rule, **known}, f"{reason}; {why}{listed}", codes)


def _money(whole: Drafted, spec: dict[str, Any]) -> None:
    amounts = [name for name, rule in whole.fields.items() if rule["type"] == "money"]
    if amounts:
        spec["currency"] = "EUR"
        whole.guess("currency", "EUR", f"{len(amounts)} fields look like amounts; nothing here names their currency")


def _policies(whole: Drafted, profile: Profile, spec: dict[str, Any]) -> None:
    folders = Counter(str(PurePosixPath(file.name).parent) for file in profile.files if file.kind == "policy")
    if folders:
        folder, count = folders.most_common(1)[0]
        spec["policies"] = {"path": f"{folder}/*.md", "zone": "UTC"}
        whole.guess("policies.path", f"{folder}/*.md", f"{count} files with a front matter of a policy")
        whole.guess("policies.zone", "UTC", "days of policies carry no zone: in which do they begin?")
        whole.missing.append("rules and the clause table: each numbered clause of the policies needs a line in [[clauses]]")


def _language(whole: Drafted, profile: Profile, spec: dict[str, Any]) -> None:
    told = [
        (c.language, f"{t.name}.{c.name}: {c.language_evidence}")
        for t in profile.tables.values()
        for c in t.columns.values()
        if c.language
    ]
    if told:
        language = Counter(one for one, _ in told).most_common(1)[0][0]
        spec["deid"] = {"language": "en" if language == "mixed" else language}
        whole.guess("deid.language", spec["deid"]["language"], "; ".join(words for _, words in told[:4]))


def _outcomes(whole: Drafted, profile: Profile, best: Outcome | None) -> tuple[dict[str, Any], list[str]]:
    """The code book's outcomes and the workflows that they end."""
    if best is None:
        return {}, []
    kinds, found = profile.kinds[1], {}
    firsts = Counter(snake(value).split("_")[0] for value in best.values)
    for value, rows in best.values.items():
        first = snake(value).split("_")[0]
        if value in kinds:
            kind, own, total = kinds[value]
            workflow, why = (
                _slug(snake(kind)),
                f"{own:,} of {total:,} records with it are of the kind {kind!r} ({profile.kinds[0]})",
            )
        elif not kinds and firsts[first] > 1 and first.isalpha() and len(firsts) > 1:
            workflow, why = first, f"{firsts[first]} values begin with {first}"
        else:
            workflow, why = "request", "nothing tells the kind of request"
        refused = bool(REFUSALS.search(snake(value)))
        found[value] = {"workflow": workflow, "outcome_class": "refuse" if refused else "grant", "label": value.replace("_", " ")}
        says = f"{workflow}, {found[value]['outcome_class']}"
        whole.guess(f"code_book.outcomes.{value}", says, f"{rows:,} rows; {why}; the class is read from the word alone")
    names = sorted({str(one["workflow"]) for one in found.values()})
    for name in names:
        ends = [value for value, one in found.items() if one["workflow"] == name]
        whole.guess(
            f"workflows.{name}",
            name,
            f"{len(ends)} outcomes, {sum(best.values[v] for v in ends):,} rows; {profile.kinds[2] or best.evidence}",
        )
    return found, names


def _files(profile: Profile) -> list[str]:
    """A line a file; where a folder holds many of one kind, one for all of them."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for file in profile.files:
        note = f" ({file.note})" if file.note else ""
        groups.setdefault((str(PurePosixPath(file.name).parent), file.kind, note), []).append(file.name)
    lines = []
    for (_, kind, note), names in groups.items():
        if len(names) > MOST_ALIKE:
            lines.append(f"files {names[0]} and {len(names) - 1:,} more of the folder: {kind}{note}")
        else:
            lines += [f"file {name}: {kind}{note}" for name in names]
    return lines


def _findings(profile: Profile, whole: Drafted, formats: list[str]) -> list[str]:
    lines = _files(profile)
    if not profile.files:
        lines.append("the folder is empty")
    lines += [
        f"table {t.name}: {t.rows:,} rows, {len(t.columns)} columns, keys {', '.join(t.keys) or 'none'}"
        for t in profile.tables.values()
    ]
    lines += [
        f"link {one.table}.{one.field or one.column} -> {one.to_table}.{one.to_column}: {one.matched:,} of {one.distinct:,} "
        f"values ({one.share:.0%})"
        for one in profile.links
    ]
    told = {"evidence": "back-filled, by evidence:", "suspect": "back-filled? a suspect:", "planned": "a plan, or back-filled:"}
    lines += [
        f"{told[one.grade]} {t.name}.{one.column}: {one.why}"
        for t in profile.tables.values()
        for one in (t.history.suspicions if t.history else ())
        if one.grade in told
    ]
    for t in profile.tables.values():
        never = [one.column for one in (t.history.suspicions if t.history else ()) if one.grade == "constant"]
        if never:
            lines.append(f"never varies within a record of {t.name} (static, or filled in afterwards?): {', '.join(never)}")
    lines += [f"outcome? {one.table}.{one.column}: {one.evidence}" for one in profile.outcomes]
    lines += [f"opening? {one.table} by {one.record}: {one.evidence}" for one in profile.openings]
    lines += [f"odd: {text}" for text in profile.findings[:MOST_LINES]]
    if len(profile.findings) > MOST_LINES:
        lines.append(f"odd: {len(profile.findings) - MOST_LINES:,} findings more")
    unread: dict[str, list[str]] = {}
    for table in profile.tables.values():
        if table.name not in whole.covers and table.file not in unread.setdefault(table.kind, []):
            unread[table.kind].append(table.file)
    mail = any(source["format"] == "mail" for source in whole.sources)
    for file in profile.files:
        if file.kind == "xlsx" or (file.kind in ("mbox", "eml") and not mail):
            unread.setdefault(file.kind, []).append(file.name)
    for kind, names in sorted(unread.items()):
        if names:
            why = (
                f"no source format here drafts {kind} (there are {', '.join(formats)}); load it into a database, or add a format"
            )
            lines.append(f"not read: {names[0]}{f' and {len(names) - 1:,} more' if len(names) > 1 else ''}: {why}")
    lines += [f"missing: {text}" for text in whole.missing]
    if len(whole.sources) > 1:
        lines.append("missing: tasks that span the sources need tokens.scope and a recorded agreement (who, when, purpose)")
    has_book = any(file.kind == "code_book" for file in profile.files)
    if has_book:
        lines.append("the export holds a code book: name it in `code_book` instead of the drafted one if it is the supplier's")
    return lines + said(profile, prospects(profile, readable=whole.covers, has_book=has_book))
