"""E-mail: mbox files, maildirs and folders of single mails, in any nesting. Conversations are rebuilt; a thread is a record.

A row is a mail, its place the file and the bytes in it; it is read whole or goes to quarantine whole. Copies of one mail (the
same Message-ID, sender and Date in two folders, or the same content under an altered Message-ID) count as repeated. Record
`mail.thread`: its id is made from the Message-ID of the conversation's root; its opening fields (subject, from, from_name, to,
cc, and as `requester` the writer's address where it is not of `own_domains`) are those of its first mail. Each mail is a message
at the time at which the receiving server had it (`Received`; the sender's `Date` only where no server wrote a line, and
counted), with `attachments` (names, types, sizes, never their bytes) and `link`: {"number", "answers", "by"}, which earlier mail
it answers and what says so. The code book declares the fields that are wanted. Quoted older mails are left out of a text where
they are mails of the same thread.

Never shown: folder names, flags and labels of the mailbox, which tell of the handling, and Bcc.

What mails cannot tell, and no option makes up for: an outcome (records have none, so that no task comes of mails alone: what was
decided stands in another system), the history of a field, who read a mail and when, what was deleted or said elsewhere, and
whether the address in From is truly its writer's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from pydantic import Field

from ingest.source import Context, Output, Part, Row, Source, SourceOptions, require_folder
from ingest.sources._mail_body import Reading
from ingest.sources._mail_files import Found, found_files, places
from ingest.sources._mail_parse import Mail
from ingest.sources._mail_plan import Planned, planned, read_mail
from ingest.values import TEXTS, checked
from schemas.errors import SourceError
from schemas.events import EventType
from schemas.files import sha256_file, sha256_json

KIND, PERSON = "thread", "mailbox"
"""A record is a thread; whoever writes is known by a mailbox's address ("mail:mailbox:anna@example.com")."""
PART = 500
"""Mails that one part reads; fixed, so that outputs do not depend on the number of workers."""
MAILBOX_FILES = (
    ".gitignore", ".gitattributes", ".DS_Store", "Thumbs.db", "dovecot*", "courier*", "maildirfolder", "maildirsize",
    "subscriptions", "*.msf", "*.lock", "*.cmeta",
)  # fmt: skip
"""What mail programs and file managers lay beside mails."""
MAIL_PROVIDERS = (
    "gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "yahoo.com", "icloud.com", "me.com", "aol.com",
    "gmx.de", "gmx.net", "web.de", "t-online.de", "proton.me", "protonmail.com", "orange.fr", "free.fr", "libero.it",
    "mail.ru", "qq.com",
)  # fmt: skip


class MailOptions(SourceOptions):
    system: str = "mail"
    form: Literal["auto", "mbox", "maildir", "mails"] = "auto"
    """What the files are. auto: a file in cur/ or new/ of a maildir is a mail of it; one that begins with "From <sender> <date>"
    and a header is an mbox; any other is one mail. mails: each file is one mail."""
    ignore: tuple[str, ...] = MAILBOX_FILES
    """Patterns (of a file's name, or its path in the source's folder) of files that hold no mails. They are counted."""
    hosts: tuple[str, ...] = ()
    """The supplier's own mail servers: a mail's time is that of its entry into the house. Empty: that of its last hop."""
    time_from_date: bool = True
    """Whether the sender's Date counts where no server's line tells a time (mails that were sent, archives of lists). False sends
    such mails to quarantine."""
    fallback_charset: str | None = "cp1252"
    """Charset of texts that are neither what they say nor UTF-8, counted where it is taken; null sends them to quarantine."""
    window_days: int = Field(default=30, ge=1)
    """Days within which a mail without reply headers may answer another, by quote or subject."""
    organisation: Literal["domain", "none"] = "none"
    """Whose a thread is. domain: the domain of the first address outside of `own_domains` in its first mail (the whole address
    where the domain is one of `provider_domains`). none: nobody's, as far as mails tell."""
    own_domains: tuple[str, ...] = ()
    """The supplier's own domains. A mail between its addresses alone is internal; all others are public."""
    provider_domains: tuple[str, ...] = MAIL_PROVIDERS
    """Domains of mail providers of the public, whose addresses have nothing in common."""
    max_mail_bytes: int = Field(default=25_000_000, ge=1)
    """A larger mail goes to quarantine."""
    max_text: int = Field(default=1_000_000, ge=1)
    """Characters of a mail's text; a longer one goes to quarantine."""
    max_parts: int = Field(default=1_000, ge=1)
    """MIME parts of a mail; one with more goes to quarantine."""


@dataclass(frozen=True, slots=True)
class Slice:
    """What one part reads."""

    mails: tuple[Planned, ...]
    passed: tuple[tuple[str, int], ...]
    """Files passed over, by reason; told by the first part."""


def found(context: Context) -> Found:
    """The files of the source. SourceError where there is no folder, or nothing in it to read."""
    require_folder(context.root, f"folder of source {context.spec.name!r}")
    options: MailOptions = context.options
    code_book = context.export / "codebook.json"
    files = found_files(context.root, options.form, options.ignore, frozenset({code_book}))
    if not files.files:
        raise SourceError(str(context.root), "", "holds no file of mails", found="nothing to read")
    return files


def inputs(context: Context) -> dict[str, str]:
    """A digest a folder: exports of single mails have very many files."""
    folders: dict[str, list[tuple[str, str]]] = {}
    files = found(context)
    for path, form in files.files:
        name = f"{context.file(path.parent)}/*" if path.parent != context.export else "*"
        folders.setdefault(name, []).append((path.name, f"{form}:{sha256_file(path)}"))
    told = {name: sha256_json(entries) for name, entries in sorted(folders.items())}
    return {**told, "files passed over": sha256_json(sorted(files.passed.items()))}


def reading(context: Context) -> Reading:
    options: MailOptions = context.options
    return Reading(
        hosts=options.hosts,
        zone=context.spec.zone,
        time_from_date=options.time_from_date,
        fallback=options.fallback_charset,
        most_bytes=options.max_mail_bytes,
        most_text=options.max_text,
        most_parts=options.max_parts,
    )


def parts(context: Context) -> list[Part]:
    """Slices of all mails, in the order of files and places, each mail with its place in its thread (the pass over all mails)."""
    files = found(context)
    every = [place for path, form in files.files for place in places(path, form)]
    plan = planned(every, context.root, reading(context), timedelta(days=context.options.window_days))
    passed = tuple(sorted(files.passed.items()))
    return [
        Part(f"mails-{start // PART + 1:05d}", Slice(tuple(plan[start : start + PART]), passed if start == 0 else ()))
        for start in range(0, len(plan), PART)
    ]


def read(context: Context, part: Part, output: Output) -> None:
    piece: Slice = part.payload
    for why, count in piece.passed:
        output.drop(f"{context.options.system}.file.{why}", count)
    how = reading(context)
    for entry in piece.mails:
        place = entry.place
        file = context.file(place.path)
        folder = f"{file.rpartition('/')[0]}/*".removeprefix("/") if place.alone else None
        with output.row(file, place.pos, place.number, folder=folder) as row:
            mail = read_mail(place, how)
            row.key, row.version = entry.key, "1" if entry.chosen else "0"
            emit(context, output, row, mail, entry)


def emit(context: Context, output: Output, row: Row, mail: Mail, entry: Planned) -> None:
    """The events of one mail; what is odd and what is left out is counted for the copy that counts."""
    options: MailOptions = context.options
    record = (options.system, KIND, entry.thread)
    actor = f"{options.system}:{PERSON}:{mail.sender[1]}" if mail.sender[1] else None
    step = _steps(entry.thread, entry.number)
    if entry.number == 1:
        order = next(step)
        row.event(record, EventType.create, mail.stamp, order=order, actor=actor)
        row.mark(record, "opened", mail.stamp, order)
        if (owner := organisation(mail, options)) is not None:
            row.owner(record, organisation=owner)
    for field, value in fields(mail, entry, options):
        rule = context.code_book.rule(*record[:2], field)
        if rule is None:
            if entry.chosen:
                output.drop_undeclared(f"{options.system}.{KIND}.{field}")
            continue
        told = ", ".join(value) if isinstance(value, list) and rule.type in TEXTS else value
        fitting = checked(context.code_book, record[:2], field, told)
        change = EventType.create if entry.number == 1 else EventType.change
        row.event(record, change, mail.stamp, order=next(step), actor=actor, field=field, value=fitting)
    order = next(step)
    text = mail.own if entry.cut_quote else mail.full
    row.event(record, EventType.message, mail.stamp, order=order, actor=actor, text=text, visibility=visibility(mail, options))
    if entry.number == 1:
        row.mark(record, "opening", mail.stamp, order)
    if entry.chosen:
        for name, count in (*mail.findings, *((note, 1) for note in entry.findings)):
            output.finding(f"{name}:{options.system}", count)
        for name in (*mail.unshown, "folder", *(["flags"] if entry.place.form == "maildir" else [])):
            output.drop(f"{options.system}.{KIND}.{name}")


def _steps(thread: str, number: int) -> Iterator[tuple[str, int, int]]:
    step = 0
    while True:
        yield (thread, number, step)
        step += 1


def fields(mail: Mail, entry: Planned, options: MailOptions) -> Iterator[tuple[str, Any]]:
    """(field, value) of what a mail tells of its thread at its time."""
    if entry.number == 1:
        name, address = mail.sender
        yield "subject", mail.subject
        if address:
            yield "from", address
            if _domain(address) not in options.own_domains:
                yield "requester", address
        if name:
            yield "from_name", name
        yield "to", list(mail.to)
        if mail.cc:
            yield "cc", list(mail.cc)
    if mail.attachments:
        yield "attachments", list(mail.attachments)
    if entry.by is not None:
        yield "link", {"number": entry.number, "answers": entry.answers, "by": entry.by}


def _domain(address: str) -> str:
    return address.rpartition("@")[2]


def organisation(mail: Mail, options: MailOptions) -> str | None:
    """Whose the thread is that this mail opens."""
    if options.organisation == "none":
        return None
    outside = [a for a in (mail.sender[1], *mail.to, *mail.cc) if a and _domain(a) not in options.own_domains]
    if not outside:
        return None
    domain = _domain(outside[0])
    return outside[0] if domain in options.provider_domains else domain


def visibility(mail: Mail, options: MailOptions) -> str:
    known = [a for a in (mail.sender[1], *mail.to, *mail.cc) if a]
    inside = len(known) > 1 and all(_domain(a) in options.own_domains for a in known)
    return "internal" if inside else "public"


SOURCE = Source(options=MailOptions, inputs=inputs, parts=parts, read=read)
