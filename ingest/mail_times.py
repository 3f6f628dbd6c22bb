"""When an e-mail arrived: by the receiving server's own `Received` header, never by `Date`, which belongs to the sender.

Pure functions of the headers. No source reads mail yet; one that does takes its event times from `received_at`, so that a
sender's wrong clock can neither place a message before the cut nor after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from ingest.times import Stamp, TimeFault, shape_of, to_utc

FORM = "Received: ... ; Day, DD Mon YYYY HH:MM:SS +ZZZZ"
TIME = re.compile(
    r"(?:[A-Za-z]{3},)? ?(?P<day>\d{1,2} [A-Za-z]{3} \d{4}) (?P<clock>\d{2}:\d{2}(?::\d{2})?) ?(?P<zone>[+-]\d{4}|GMT|UTC?|Z)?"
)
COMMENT = re.compile(r"\([^()]*\)")
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
MINUTE = len("HH:MM")


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
