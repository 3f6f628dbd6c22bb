"""One mail from its bytes (RFC 5322, MIME: RFC 2045 to 2047): who, to whom, when, the text, what is attached. Or a RowFault.

The standard library's parser does not refuse: it notes defects and goes on, so each is counted as a finding here. Its compat32
policy is used, since the newer one raises on headers of real mails; charsets and encoded words are read by `_mail_text`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import Message
from typing import Any

from ingest.mail_times import date_header, received_at
from ingest.source import RowFault
from ingest.sources import _mail_text as texts
from ingest.sources._mail_body import LIBRARY_FAULTS, Body, Reading
from ingest.text import repaired
from ingest.times import Stamp, TimeFault, utc_text
from schemas.files import canonical_json

ID = re.compile(r"<\s*([^<>\s]{1,500})\s*>")
FIELD = re.compile(rb"[A-Za-z][!-9;-~]{0,100}[ \t]*:")
MOST_REFERENCES = 200
"""Of a longer list the first and the last halves are taken: the root and the parent stand at its ends."""
FAR = timedelta(days=1)
"""Date and Received further apart than this are a finding."""
HEADERS = 2_000
"""Headers of one mail that are looked at."""


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail."""

    message_id: str
    """As the mail tells it, without brackets; "" where it tells none."""
    digest: str
    """Of sender, recipients, time, subject and text: the same for copies whose Message-ID or transport headers differ."""
    references: tuple[str, ...]
    in_reply_to: tuple[str, ...]
    subject: str
    sender: tuple[str, str]
    """(name, address in lower case); both "" where no header tells."""
    to: tuple[str, ...]
    cc: tuple[str, ...]
    list_id: str
    """What tells mails of one mailing list, or ""."""
    stamp: Stamp
    full: str
    """The whole text, quoted parts too."""
    own: str
    """The text without quoted parts and signature."""
    html: bool
    """Whether the text was HTML, in which quotes carry no mark."""
    attachments: tuple[dict[str, Any], ...]
    """{"name", "type", "size"} (bytes, null where it cannot be told) of each part that is no text to read."""
    findings: tuple[tuple[str, int], ...]
    unshown: tuple[str, ...]
    """Names of headers that the mail holds and no task may show: flags and labels of the mailbox."""
    sent: str
    """The sender's own time in UTC, or ""."""


def parsed(raw: bytes, reading: Reading) -> Mail:
    """The mail, or RowFault with reason, shape and what is allowed: never a text of the mail."""
    if len(raw) > reading.most_bytes:
        raise RowFault("the mail is too large", found=f"{len(raw)} bytes", allowed=f"max_mail_bytes = {reading.most_bytes}")
    if not FIELD.match(raw.lstrip(b"\r\n")):
        raise RowFault("no mail: it does not begin with a header", found=f"{len(raw)} bytes", allowed="Name: value (RFC 5322)")
    findings: Counter[str] = Counter()
    message, headers = _message(raw.lstrip(b"\r\n"), reading)
    first: dict[str, str] = {}
    for name, value in headers:
        first.setdefault(name, texts.header_text(value, reading.fallback))
        findings["long_header"] += len(value) > texts.MOST_HEADER
    sender = _sender(first, reading.fallback)
    to, cc = _addresses(headers, ("to",), reading), _addresses(headers, ("cc",), reading)
    stamp = _time(headers, first, reading, findings)
    body = Body(reading, findings)
    body.take(message, 0)
    full = repaired(body.text())
    if len(full) > reading.most_text:
        raise RowFault("the text is too long", found=f"{len(full)} characters", allowed=f"max_text = {reading.most_text}")
    own = texts.without_quote(repaired(body.text(quoted=False)) if body.html else full)
    subject = texts.words_decoded(first.get("subject", ""), reading.fallback)
    ids = _ids(first.get("message-id", ""), bare=True)
    findings["from_missing"] += not sender[1]
    findings["message_id_missing"] += not ids
    sent = _sent(first, reading)
    told = [
        sender[1],
        sorted({*to, *cc}),
        sent,
        subject.casefold(),
        " ".join(full.split()),
        [a["name"] for a in body.attachments],
    ]
    return Mail(
        message_id=ids[0] if ids else "",
        digest=hashlib.sha256(canonical_json(told if sent else [*told, _instant(stamp)]).encode()).hexdigest(),
        references=_bounded(_ids(" ".join(texts.header_text(v, None) for n, v in headers if n == "references"))),
        in_reply_to=_bounded(_ids(first.get("in-reply-to", ""))),
        subject=subject,
        sender=sender,
        to=to,
        cc=cc,
        list_id=_list_id(first),
        stamp=stamp,
        full=full,
        own=own,
        html=body.html,
        attachments=tuple(body.attachments),
        findings=tuple(sorted((name, count) for name, count in findings.items() if count)),
        unshown=tuple(sorted({n for n, _ in headers if n in UNSHOWN})),
        sent=sent,
    )


UNSHOWN = frozenset(
    {
        "bcc",
        "status",
        "x-status",
        "x-keywords",
        "x-mozilla-status",
        "x-mozilla-status2",
        "x-mozilla-keys",
        "x-gmail-labels",
        "x-folder",
    }
)
"""Headers that a mailbox writes after the mail has come (read, answered, labelled: they tell of its handling), and who was not
to be seen as a recipient."""


def _message(raw: bytes, reading: Reading) -> tuple[Message, list[tuple[str, str]]]:
    try:
        message = message_from_bytes(raw, policy=policy.compat32)
        headers = [(name.casefold(), str(value)) for name, value in list(message.raw_items())[:HEADERS]]
        parts = sum(1 for _, _ in zip(message.walk(), range(reading.most_parts + 1), strict=False))
    except RecursionError as error:
        raise RowFault("parts are nested too deep", found="more than the parser follows") from error
    except LIBRARY_FAULTS as error:
        raise RowFault("the parser of mails gives up", found=type(error).__name__) from error
    if parts > reading.most_parts:
        raise RowFault("too many parts", found=f"more than {reading.most_parts}", allowed=f"max_parts = {reading.most_parts}")
    return message, headers


def _instant(stamp: Stamp) -> str:
    return utc_text(stamp.at) if stamp.at else ""


def _sent(first: dict[str, str], reading: Reading) -> str:
    """The sender's own time, which all copies of a mail share; "" where it tells none."""
    try:
        return _instant(date_header(first.get("date", ""), reading.zone))
    except TimeFault:
        return ""


def _time(headers: list[tuple[str, str]], first: dict[str, str], reading: Reading, findings: Counter[str]) -> Stamp:
    """When the mail came: the receiving server's word, else (counted) the sender's."""
    lines = [(name, value[:MOST_RECEIVED]) for name, value in headers if name == "received"]
    try:
        arrived = received_at(lines, reading.hosts)
    except TimeFault as fault:
        if not reading.time_from_date:
            raise RowFault(fault.reason, field="received", found=fault.found, allowed=fault.allowed) from fault
        arrived = None
        findings["received_unreadable"] += bool(lines) and not reading.hosts
    text = first.get("date", "")[:MOST_RECEIVED]
    findings["date_missing"] += not text
    try:
        sent = date_header(text, reading.zone) if text else None
    except TimeFault as fault:
        if arrived is None:
            raise RowFault(fault.reason, field="date", found=fault.found, allowed=fault.allowed) from fault
        findings["date_unreadable"] += 1
        sent = None
    if arrived is None:
        if sent is None:
            raise RowFault("no time: neither a Received nor a Date header", field="date", found="none", allowed="one of them")
        findings["time_by_date_only"] += 1
        return sent
    if sent is not None and sent.at and arrived.at:
        findings["date_far_from_received"] += abs(sent.at - arrived.at) > FAR
    return arrived


MOST_RECEIVED = 5_000
"""Characters of a header of time that are read."""


def _sender(first: dict[str, str], fallback: str | None) -> tuple[str, str]:
    for name in ("from", "sender"):
        if found := texts.addresses(first.get(name, ""), fallback):
            return found[0]
    return "", ""


def _addresses(headers: list[tuple[str, str]], names: tuple[str, ...], reading: Reading) -> tuple[str, ...]:
    """The addresses of all headers of these names, each once, in their order."""
    found: dict[str, None] = {}
    for name, value in headers:
        if name in names:
            found |= dict.fromkeys(a for _, a in texts.addresses(texts.header_text(value, reading.fallback), reading.fallback))
    return tuple(found)


def _ids(value: str, *, bare: bool = False) -> list[str]:
    """Message ids of a header: what stands in angle brackets; with `bare`, a single word without them, too."""
    found = ID.findall(value)
    if not found and bare and (word := value.strip().strip("<>")) and not re.search(r"\s", word):
        return [word]
    return list(dict.fromkeys(found))


def _bounded(ids: list[str]) -> tuple[str, ...]:
    half = MOST_REFERENCES // 2
    return tuple(ids if len(ids) <= MOST_REFERENCES else ids[:half] + ids[-half:])


def _list_id(first: dict[str, str]) -> str:
    """RFC 2919's List-Id, else what older list programs write."""
    for name in ("list-id", "list-post", "x-mailing-list", "mailing-list", "x-beenthere", "x-loop"):
        if value := first.get(name):
            inside = re.findall(r"<([^<>]{1,200})>", value)
            return (inside[-1] if inside else value.strip())[:200].casefold()
    return ""
