"""Zendesk: tickets from their audits; custom fields by number, the outcome field by when it is set."""

from __future__ import annotations

from pathlib import PurePosixPath

from ingest.draft.book import field_type, link_of, listed_codes
from ingest.draft.model import Column, FieldChanges, Profile
from ingest.draft.offer import Drafted, Offer
from ingest.draft.people import snake
from schemas.plugins import plugin_names

SYSTEM = "helpdesk"
KINDS = {"users": "user", "organizations": "organization", "ticket_metrics": "metric", "satisfaction_ratings": "rating"}
UNREAD = ("id", "url", "created_at", "updated_at", "organization_id", "external_id")


def draft(profile: Profile) -> Drafted | None:
    files = [file for file in profile.files if file.kind == "zendesk"]
    if not files:
        return None
    made = Drafted(covers={name for name, table in profile.tables.items() if table.kind == "zendesk"})
    folders = sorted({str(PurePosixPath(file.name).parent) for file in files})
    at = f"sources.{SYSTEM}"
    options: dict[str, object] = {"system": SYSTEM}
    made.sources.append({"name": SYSTEM, "format": "zendesk", "path": folders[0], "zone": "UTC", "options": options})
    pages = sorted({str(file.extra["page"]) for file in files})
    made.guess(f"{at}.format", "zendesk", f"{len(files)} files are pages of {', '.join(pages)}")
    made.guess(
        f"{at}.zone", "UTC", "all its times carry their offset" if _offsets(profile) else "some of its times carry no offset"
    )
    made.missing += [f"pages of {name} (format zendesk needs them)" for name in ("tickets", "ticket_audits") if name not in pages]
    made.missing += [f"Zendesk pages in several folders: only {folders[0]} is drafted"] if len(folders) > 1 else []
    log = next((table for table in profile.tables.values() if table.kind == "zendesk" and table.log), None)
    if log is not None and log.log is not None:
        made.record = (SYSTEM, "ticket")
        outcome = next((one.column for one in profile.outcomes if one.table == log.name and one.filled_late), "")
        custom = _custom(profile, log.name, log.log.fields, outcome)
        if custom:
            options["custom_fields"] = custom
        for change in log.log.fields.values():
            name = custom.get(change.name, change.name)
            if change.name in custom:
                made.guess(f"{at}.options.custom_fields.{change.name}", name, _told(change))
            _field(made, profile, log.name, change, name, outcome=outcome)
        if outcome and not outcome.startswith("status"):
            options["outcome_field"] = custom.get(outcome, outcome)
            best = next(one for one in profile.outcomes if one.column == outcome)
            made.guess(f"{at}.options.outcome_field", str(options["outcome_field"]), best.evidence)
    for page, kind in KINDS.items():
        _rows(made, profile, page, kind)
    if SYSTEM in plugin_names("environments.systems"):
        made.systems.append({"name": SYSTEM, "plugin": SYSTEM})
        made.guess(f"systems.{SYSTEM}", f"plugin {SYSTEM}", "there is a plug-in of this name for a helpdesk's tools")
    return made


def _offsets(profile: Profile) -> bool:
    clocks = [c.clock for t in profile.tables.values() if t.kind == "zendesk" for c in t.columns.values() if c.clock]
    return all(clock.offset for clock in clocks)


def _custom(profile: Profile, table: str, fields: dict[str, FieldChanges], outcome: str) -> dict[str, str]:
    """Field number -> a name by what it holds; the names are yours to choose."""
    kind_field, names = profile.kinds[0], {}
    for name, change in fields.items():
        if not name.isdigit():
            continue
        link = link_of(profile, table, "", name)
        if name == outcome:
            names[name] = "resolution_code"
        elif name == kind_field:
            names[name] = "request_kind"
        elif link is not None or (change.column is not None and change.column.type == "id"):
            names[name] = "about_record" if "about_record" not in names.values() else f"about_{name}"
        else:
            names[name] = f"field_{name}"
    return names


def _told(change: FieldChanges) -> str:
    return (
        f"set in {change.records:,} tickets, in {change.late:,} of them after the opening, at {change.place:.2f} of the way on "
        f"average (1 = last); {change.distinct:,} different values; {change.changed:,} tickets with several"
    )


def _field(made: Drafted, profile: Profile, table: str, change: FieldChanges, name: str, *, outcome: str) -> None:
    column = change.column
    if column is None or column.type == "empty":
        return
    link = link_of(profile, table, "", change.name)
    rule, why = field_type(_named(column, name), link)
    late = change.late / change.records if change.records else 0
    if change.name in (outcome, "status") or (late > 0.5 and change.place > 0.5 and change.name.isdigit()):
        known, reason = "post_hoc", "set by handling the ticket"
    elif snake(name) in ("subject", "requester_id", "organization_id"):
        known, reason = "start", "the opening gives it"
    elif change.name == profile.kinds[0]:
        known, reason = "post_hoc", "agents sort the ticket by it after the opening: no fact of the request"
    else:
        known, reason = "history", "the audits tell each change"
    codes, listed = listed_codes(column, rule["type"])
    made.rule(f"{SYSTEM}.ticket.{name}", {**rule, "known_at": known}, f"{reason}; {_told(change)}; {why}{listed}", codes)


def _named(column: Column, name: str) -> Column:
    return Column(
        name, column.filled, column.distinct, column.type, column.evidence, column.null_words, column.longest,
        column.person, column.person_evidence, column.language, column.language_evidence, column.clock, column.values,
    )  # fmt: skip


def _rows(made: Drafted, profile: Profile, page: str, kind: str) -> None:
    table = profile.tables.get(page)
    for column in table.columns.values() if table else ():
        if column.name in UNREAD or column.type in ("empty", "json"):
            continue
        decided = kind in ("metric", "rating")
        if not decided and not column.person:
            continue
        rule, why = field_type(column, link_of(profile, page, column.name))
        known = "post_hoc" if decided else "static"
        reason = "decided by the handling" if decided else "no history: on your word that it never changes"
        made.rule(f"{SYSTEM}.{kind}.{column.name}", {**rule, "known_at": known}, f"{reason}; {why}")


OFFER = Offer(draft)
