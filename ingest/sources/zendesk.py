"""Zendesk incremental exports: NDJSON pages of tickets, audits, users, organizations, metrics and satisfaction ratings.

History is the audits. A ticket's row is its *last* state: only its id, organisation, time of creation and whether it was deleted
are taken from it; its status (which the code book must know), tags, assignee and custom fields become no event. Metrics and
ratings are decided by the handling: they are read as changes of their own kinds, at their own times, so that leak checks have
something to refuse.
The API repeats rows across pages: of one id the last telling counts (highest updated_at, then page, then line).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from pydantic import Field

from ingest.decode import converted, line_text, lines, typed
from ingest.source import Context, Output, Part, Row, RowFault, Source, SourceOptions, require_folder
from ingest.sources._zendesk_rows import PAGES, UNUSED_EVENTS, AuditComment, AuditField
from ingest.text import message_text
from ingest.times import Stamp, TimeFault, from_iso, utc_text
from ingest.values import checked, shown_key, shown_name
from schemas.errors import SourceError
from schemas.events import EventType
from schemas.files import sha256_file

OPEN = frozenset({"new", "open", "pending", "hold"})
MERGED = re.compile(r"\bthis (?:request|ticket) was closed and merged into (?:request|ticket) #(\d+)", re.IGNORECASE)
REQUIRED = ("tickets", "ticket_audits")


class ZendeskOptions(SourceOptions):
    system: str = "helpdesk"
    custom_fields: dict[str, str] = Field(default_factory=dict)
    """Custom field id -> canonical name."""
    outcome_field: str | None = None
    """Canonical field whose last value is the outcome code."""
    fallback_charset: str | None = None
    """Charset of lines that are not UTF-8, e.g. "cp1252", counted where it is taken; null sends such lines to quarantine."""


@dataclass(slots=True)
class Reader:
    """One page while it is read."""

    context: Context
    output: Output

    @property
    def system(self) -> str:
        return str(self.context.options.system)

    def stamp(self, text: str, field: str) -> Stamp:
        try:
            return from_iso(text)
        except TimeFault as fault:
            raise RowFault(fault.reason, field=field, found=fault.found, allowed=fault.allowed) from fault

    def value(self, kind: str, field: str, raw: Any) -> Any:
        """A declared field's value as value_json holds it."""
        rule = self.context.code_book.rule(self.system, kind, field)
        if rule is not None and rule.type == "time" and isinstance(raw, str):
            at = self.stamp(raw, f"{self.system}.{kind}.{field}").at
            raw = utc_text(at) if at else None
        return checked(self.context.code_book, (self.system, kind), field, raw)

    def known(self, kind: str, field: str) -> bool:
        """Whether the code book declares the field; one that it does not declare is left out and counted."""
        if self.context.code_book.rule(self.system, kind, field) is not None:
            return True
        self.output.drop_undeclared(f"{self.system}.{kind}.{shown_name(field)}")
        return False

    # --- ticket rows -------------------------------------------------------------------------------------------------

    def ticket(self, row: Row, found: Any) -> None:
        record = (self.system, "ticket", str(found.id))
        created = self.stamp(found.created_at, "created_at")
        order = (f"ticket:{found.id}", 0, 0)
        if found.status != "deleted" and self.context.code_book.rule(self.system, "ticket", "status") is not None:
            self.value("ticket", "status", found.status)  # one that nobody knows may mean as much: the row cannot be taken
        row.mark(record, "opened", created, order)
        if found.organization_id is not None:
            row.owner(record, parent=(self.system, "organization", str(found.organization_id)))
        if found.status == "deleted":
            deleted = self.stamp(found.updated_at or found.created_at, "updated_at")
            # Behind the audits: a deletion ends what they tell.
            row.event(record, EventType.delete, deleted, order=(f"ticket:{found.id}", 0, 1))

    # --- audits ------------------------------------------------------------------------------------------------------

    def audit(self, row: Row, found: Any) -> None:
        record = (self.system, "ticket", str(found.ticket_id))
        at = self.stamp(found.created_at, "created_at")
        actor = self.actor(found.author_id)
        kinds = [entry.get("type") for entry in found.events]
        first = "Create" in kinds
        if first:
            row.event(record, EventType.create, at, order=("audits", found.id, 0), actor=actor)
        for index, entry in enumerate(found.events):
            order = ("audits", found.id, index + 1)
            pos = f"{row.pos}#events/{index}"
            try:
                self.audit_event(row, record, at, entry, order=order, pos=pos, actor=actor, first=first)
            except RowFault as fault:
                fault.pos = fault.pos or pos
                raise
        if into := merged_into(found):
            other = {"system": record[0], "kind": record[1], "record_id": into}
            end = ("audits", found.id, len(found.events) + 1)
            row.event(record, EventType.link, at, order=end, actor=actor, field="merged_into", value=other)

    def audit_event(
        self,
        row: Row,
        record: tuple[str, str, str],
        at: Stamp,
        entry: dict[str, Any],
        *,
        order: tuple[str, int, int],
        pos: str,
        actor: str | None,
        first: bool,
    ) -> None:
        kind = entry.get("type")
        if not isinstance(kind, str):
            kind = None  # no type of event, whatever else it is
        if kind == "Comment":
            comment = converted(entry, AuditComment)
            text = message_text(plain=comment.plain_body, html=comment.html_body, body=comment.body)
            row.event(
                record,
                EventType.message,
                at,
                order=order,
                actor=self.actor(comment.author_id) or actor,
                text=text,
                visibility="public" if comment.public else "internal",
                pos=pos,
            )
            if first:
                row.mark(record, "opening", at, order)
        elif kind in {"Create", "Change"}:
            self.audit_field(row, record, at, converted(entry, AuditField), order=order, pos=pos, actor=actor)
        elif kind in UNUSED_EVENTS:
            self.output.drop(f"{self.system}.audit.{kind}")
        else:
            raise RowFault(
                "unknown type of audit event", field="type", found=shown_key(entry.get("type")), allowed="Create, Change, Comment"
            )

    def audit_field(
        self,
        row: Row,
        record: tuple[str, str, str],
        at: Stamp,
        entry: Any,
        *,
        order: tuple[str, int, int],
        pos: str,
        actor: str | None,
    ) -> None:
        field = self.context.options.custom_fields.get(entry.field_name, entry.field_name)
        if field == "status":
            if entry.value == "deleted":
                row.event(record, EventType.delete, at, order=order, actor=actor, pos=pos)
                return
            status = entry.value if isinstance(entry.value, str) else None  # anything else is refused below
            mark = {"solved": "closed", "closed": "ended"}.get(status or "", "reopened" if status in OPEN else None)
            if mark:
                row.mark(record, mark, at, order)
        if not self.known("ticket", field):
            return
        value = self.value("ticket", field, entry.value)
        change = EventType.create if entry.type == "Create" else EventType.change
        row.event(record, change, at, order=order, actor=actor, field=field, value=value, pos=pos)
        if field == self.context.options.outcome_field and value is not None:
            row.mark(record, "outcome", at, order, str(value))

    def actor(self, number: int | None) -> str | None:
        """-1 is the API's name for the system itself."""
        return None if number is None or number < 0 else f"{self.system}:user:{number}"

    # --- users, organizations, metrics, ratings ----------------------------------------------------------------------

    def static(self, kind: str) -> Callable[[Row, dict[str, Any]], None]:
        def read(row: Row, found: dict[str, Any]) -> None:
            record = (self.system, kind, str(found["id"]))
            at = self.stamp(found["created_at"], "created_at")
            stream = f"{kind}:{found['id']}"
            row.event(record, EventType.create, at, order=(stream, 0, 0))
            row.mark(record, "opened", at, (stream, 0, 0))
            if kind == "organization":
                row.owner(record, organisation=found.get("external_id") or str(found["id"]))
            elif found.get("organization_id") is not None:
                row.owner(record, parent=(self.system, "organization", str(found["organization_id"])))
            for index, (field, raw) in enumerate(self.fields(kind, found, f"{kind}_fields"), 1):
                rule = self.context.code_book.rule(self.system, kind, field)
                if rule is not None and rule.known_at not in {"static", "start", "post_hoc"}:
                    self.output.drop(f"{self.system}.{kind}.{field}")  # the row holds its present value, and there is no history
                elif self.known(kind, field):
                    value = self.value(kind, field, raw)
                    row.event(record, EventType.create, at, order=(stream, 0, index), field=field, value=value)

        return read

    def decided(self, kind: str) -> Callable[[Row, dict[str, Any]], None]:
        """Metrics and ratings: what they say was so at the time of their last update, not before."""

        def read(row: Row, found: dict[str, Any]) -> None:
            record = (self.system, kind, str(found["id"]))
            created = self.stamp(found["created_at"], "created_at")
            updated = self.stamp(found["updated_at"] or found["created_at"], "updated_at")
            stream, ticket = f"{kind}:{found['id']}", str(found["ticket_id"])
            row.event(record, EventType.create, created, order=(stream, 0, 0), reference=ticket)
            row.mark(record, "opened", created, (stream, 0, 0))
            row.owner(record, parent=(self.system, "ticket", ticket))
            for index, (field, raw) in enumerate(self.fields(kind, found), 1):
                if self.known(kind, field):
                    value = self.value(kind, field, raw)
                    at = (stream, 0, index)
                    row.event(record, EventType.change, updated, order=at, field=field, value=value, reference=ticket)

        return read

    def fields(self, kind: str, found: dict[str, Any], custom: str = "") -> list[tuple[str, Any]]:
        """(canonical field, value) of what a row says. Of an object that the code book does not declare as one field, its parts:
        {"calendar": 3} under <key> becomes <key>_calendar, and a custom field goes by its own name."""
        out: list[tuple[str, Any]] = []
        for key, value in found.items():
            declared = self.context.code_book.rule(self.system, kind, key) is not None
            if isinstance(value, dict) and not declared:
                parts = value.items()
                out += [(self.context.options.custom_fields.get(k, k) if key == custom else f"{key}_{k}", v) for k, v in parts]
            elif declared or key not in {"id", "url", "created_at", "updated_at"}:
                out.append((key, value))
        return out


def merged_into(found: Any) -> str | None:
    """The ticket that took this one, told by the audit that closes it: its comment, else the other ticket that `via` names.

    The audit of the other side names this ticket in `via` too, but closes nothing: one merge is one link.
    """
    closes = False
    for entry in found.events:
        if entry.get("type") == "Comment" and (match := MERGED.search(str(entry.get("plain_body") or entry.get("body") or ""))):
            return match[1]
        changed = entry.get("type") == "Change"
        closes |= changed and entry.get("field_name") == "status" and entry.get("value") == "closed"
        tags = entry.get("value") if changed and entry.get("field_name") == "tags" else None
        closes |= isinstance(tags, list) and "closed_by_merge" in tags
    source = (found.via or {}).get("source")
    if not closes or not isinstance(source, dict) or source.get("rel") != "merge":
        return None
    for side in ("to", "from"):
        other = source.get(side)
        number = other.get("ticket_id") if isinstance(other, dict) else None
        if isinstance(number, int) and number != found.ticket_id:
            return str(number)
    return None


def pages(context: Context) -> list[tuple[str, Path]]:
    """(page name without number, path) of every page, sorted; SourceError for what is missing or not known."""
    require_folder(context.root, f"folder of source {context.spec.name!r}")
    found = []
    for path in sorted(context.root.glob("*.ndjson")):
        name = re.sub(r"-\d+$", "", path.stem)
        if name not in PAGES:
            raise SourceError(
                context.file(path), "", "not a page of this export", allowed=", ".join(f"{n}-NNNN.ndjson" for n in PAGES)
            )
        found.append((name, path))
    for name in REQUIRED:
        if name not in {page for page, _ in found}:
            raise SourceError(str(context.root), "", f"pages of {name} are missing", allowed=f"{name}-NNNN.ndjson")
    return found


def inputs(context: Context) -> dict[str, str]:
    return {context.file(path): sha256_file(path) for _, path in pages(context)}


def parts(context: Context) -> list[Part]:
    return [Part(path.stem, (name, path), max(1, path.stat().st_size // 1_000_000)) for name, path in pages(context)]


def read(context: Context, part: Part, output: Output) -> None:
    name, path = part.payload
    row_type, kind = PAGES[name]
    decode = msgspec.json.Decoder(row_type).decode
    reader = Reader(context, output)
    take: dict[str, Callable[[Row, Any], None]] = {
        "ticket": reader.ticket,
        "audit": reader.audit,
        "user": reader.static("user"),
        "organization": reader.static("organization"),
        "metric": reader.decided("metric"),
        "rating": reader.decided("rating"),
    }
    file = context.file(path)
    for number, raw in lines(path, file):
        with output.row(file, f"line:{number}", number) as row:
            text, fell_back = line_text(raw, context.options.fallback_charset)
            found = typed(decode, text)
            row.key, row.version = f"{name}:{found.id}", getattr(found, "updated_at", None) or ""
            take[kind](
                row,
                found
                if kind in {"ticket", "audit"}
                else {k: v for k, v in msgspec.structs.asdict(found).items() if v is not msgspec.UNSET},
            )
            if fell_back:
                output.finding(f"charset_fallback:{file}")


SOURCE = Source(options=ZendeskOptions, inputs=inputs, parts=parts, read=read)
