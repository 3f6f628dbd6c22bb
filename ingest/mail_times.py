"""When an e-mail arrived: by the receiving server's own `Received` header, and what `Date` says, which belongs to the sender.

Pure functions of the headers. A source of mail takes its event times from `received_at`, so that a sender's wrong clock can
neither place a message before the cut nor after it; only where no server wrote a line (mails that were sent, archives of lists)
is there nothing but `date_header`, and the source says how often.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from ingest.times import Stamp, TimeFault, instant, shape_of, to_utc

FORM = "Received: ... ; Day, DD Mon YYYY HH:MM:SS +ZZZZ"
TIME = re.compile(
    r"(?:[A-Za-z]{3},)? ?(?P<day>\d{1,2} [A-Za-z]{3} \d{4}) (?P<clock>\d{2}:\d{2}(?::\d{2})?) ?(?P<zone>[+-]\d{4}|GMT|UTC?|Z)?"
)
COMMENT = re.compile(r"\([^()]*\)")
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
MINUTE = len("HH:MM")
DATE_FORM = "Date: Day, DD Mon YYYY HH:MM:SS +ZZZZ"
CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:\.\d+)?"
DATE = re.compile(
    r"(?:[A-Za-z]{2,9}\.? ?,?)? ?(?P<day>\d{1,2})[ -](?P<month>[A-Za-z]{3,9})\.?[ -](?P<year>\d{2,4}),? "
    rf"{CLOCK} ?(?P<zone>\S+)?"
)
ASCTIME = re.compile(rf"[A-Za-z]{{3}} (?P<month>[A-Za-z]{{3}}) (?P<day>\d{{1,2}}) {CLOCK} (?P<year>\d{{4}})(?: (?P<zone>\S+))?")
OFFSET = re.compile(r"[+-]\d{2}:?\d{2}")
ZONES = {
    **dict.fromkeys(("UT", "UTC", "GMT", "Z"), "+00:00"),
    **{"EST": "-05:00", "EDT": "-04:00", "CST": "-06:00", "CDT": "-05:00"},
    **{"MST": "-07:00", "MDT": "-06:00", "PST": "-08:00", "PDT": "-07:00"},
}
"""Names of zones that RFC 5322 (4.3) gives an offset; any other name is ambiguous and is a fault."""


def received_at(headers: Iterable[tuple[str, str]], hosts: Iterable[str] = ()) -> Stamp:
    """The instant at which the mail reached the supplier.

    `headers` are the message's headers as (name, value) in their order. Every server writes its line above the others', so that
    the first one is the last hop; with `hosts` (the supplier's own servers, e.g. "mx.example.org") it is the *last* line that one
    of them wrote: the mail's entry into the house, not its way within. Raises TimeFault where no such line tells a time with an
    offset: a mail without one goes to quarantine.
    """
    lines = [_plain(value) for name, value in headers if name.casefold() == "received"]
    own = {host.casefold() for host in hosts}
    if own:
        lines = [line for line in lines if _by(line) in own][-1:]
    if not lines:
        raise TimeFault("no Received header of the receiving server", "none", FORM)
    text = lines[0].rpartition(";")[2].strip()
    told = TIME.fullmatch(text)
    if told is None or told["day"][-8:-5].title() not in MONTHS:
        raise TimeFault("the Received header tells no time", shape_of(text), FORM)
    if told["zone"] is None:
        raise TimeFault("the Received header's time has no offset", shape_of(text), FORM)
    day, month, year = told["day"].split(" ")
    zone = told["zone"] if told["zone"][0] in "+-" else "+0000"
    iso = f"{year}-{MONTHS.index(month.title()) + 1:02d}-{int(day):02d}T{told['clock']}{zone[:3]}:{zone[3:]}"
    try:
        at = datetime.fromisoformat(iso)
    except ValueError as error:
        raise TimeFault("no such day or time", shape_of(text), FORM) from error
    return Stamp(to_utc(at, text), text, zone, 60 if len(told["clock"]) == MINUTE else 0)


def date_header(value: str, zone: str) -> Stamp:
    """The instant that a `Date` header tells; one without an offset is read in `zone` (IANA), which the spec declares.

    Also the obsolete forms of RFC 5322 (4.3): years of two digits (00 to 49 are 2000 and later) and three (1900 added), names of
    North American zones; and the order that C's asctime writes. TimeFault for anything else: other names of zones are ambiguous.
    """
    text = _plain(value)
    told = DATE.fullmatch(text) or ASCTIME.fullmatch(text)
    if told is None or told["month"][:3].title() not in MONTHS:
        raise TimeFault("the Date header tells no time", shape_of(text), DATE_FORM)
    year = int(told["year"])
    if len(told["year"]) < 4:
        year += 1900 if year >= 50 else 2000
    clock = (int(told["hour"]), int(told["minute"]), int(told["second"] or 0))
    named = told["zone"]
    offset = ZONES.get(named.upper(), named) if named else None
    if offset is not None and not OFFSET.fullmatch(offset):
        raise TimeFault("the Date header names a zone without an offset", shape_of(text), DATE_FORM)
    grain = 0 if told["second"] else 60
    try:
        local = datetime(year, MONTHS.index(told["month"][:3].title()) + 1, int(told["day"]), *clock)
        if offset is None:
            return Stamp(instant(local, zone, "event", text), text, zone, grain)
        at = datetime.fromisoformat(f"{local.isoformat()}{offset[:3]}:{offset[-2:]}")
    except TimeFault:
        raise
    except ValueError as error:
        raise TimeFault("no such day or time", shape_of(text), DATE_FORM) from error
    return Stamp(to_utc(at, text), text, offset, grain)


def _plain(value: str) -> str:
    """A header's value on one line, without its comments, which may be nested."""
    text = " ".join(value.split())
    while (shorter := COMMENT.sub(" ", text)) != text:
        text = shorter
    return " ".join(text.split())


def _by(line: str) -> str:
    """The server that wrote a Received line: the word after "by"."""
    found = re.search(r"(?:^|\s)by ([^\s;]+)", line, re.IGNORECASE)
    return found[1].casefold() if found else ""
