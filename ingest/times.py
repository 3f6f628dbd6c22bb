"""Times of an export to UTC: by the declared zone and format, never guessed; what cannot be told is refused with the reason.

A local time that a daylight-saving change made twice is the *later* instant for an event (it may not seem to have been known
earlier than it was) and the *earlier* one for a cut; a local time that the change left out never was and is a fault.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import cache, lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

ISO = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2})")
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""Outside of these a stamp is a mistake of unit (milliseconds, 1904 epochs), not a time of business records."""


class TimeFault(ValueError):  # noqa: N818 - a fault of a text, not of the program
    """A text is not the time that was declared. `found` is its shape (9 for a digit, a for a letter), never the text."""

    def __init__(self, reason: str, found: str, allowed: str) -> None:
        super().__init__(reason)
        self.reason, self.found, self.allowed = reason, found, allowed


@dataclass(frozen=True, slots=True)
class Stamp:
    """An instant with its origin: [at, at + grain_s) in UTC, the original text, the zone that it was read in."""

    at: datetime | None
    text: str
    zone: str
    grain_s: int
    earliest: datetime | None = None
    """The earlier of the two instants that a repeated local hour may mean: what a cut takes. None: there is only `at`."""

    @property
    def as_cut(self) -> datetime | None:
        """The instant that counts where this time *is* the cut (a request arrived then)."""
        return self.earliest or self.at


def shape_of(text: str) -> str:
    """What may be said of a value that may hold anything: its first 24 characters as 9, a and punctuation."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text[:24]))


def _within(at: datetime, text: str) -> datetime:
    if not EARLIEST <= at < LATEST:
        raise _outside(text)
    return at


def _outside(text: str) -> TimeFault:
    return TimeFault("time lies outside of 1970 to 2200", shape_of(text), "a time between 1970 and 2200")


def to_utc(at: datetime, text: str) -> datetime:
    """The instant in UTC of a time that has an offset; TimeFault outside of 1970 to 2200."""
    try:
        return _within(at.astimezone(UTC), text)
    except OverflowError as error:
        raise _outside(text) from error


@lru_cache(maxsize=65536)
def from_iso(text: str) -> Stamp:
    """ISO 8601 with an offset or Z; a time without one is refused (it would have to be guessed). Minutes only: grain 60 s."""
    if not ISO.fullmatch(text):
        raise TimeFault("not an ISO 8601 time with offset", shape_of(text), "9999-99-99T99:99:99Z")
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise TimeFault("no such day or time", shape_of(text), "9999-99-99T99:99:99Z") from error
    grain = 0 if text[16] == ":" else 60
    return Stamp(to_utc(at, text), text, "UTC" if text.endswith("Z") else text[-6:], grain)


def from_unix(seconds: int) -> Stamp:
    """Seconds since 1970-01-01T00:00:00Z."""
    try:
        at = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError) as error:
        raise TimeFault("not Unix seconds", shape_of(str(seconds)), "seconds since 1970") from error
    return Stamp(_within(at, str(seconds)), str(seconds), "UTC", 0)


@cache
def format_faults(time_format: str) -> str | None:
    """Why a strptime format leaves something to guess, or None."""
    try:
        datetime.strptime(EARLIEST.strftime(time_format), time_format)
    except ValueError:
        return "not a format of times, e.g. %Y-%m-%d %H:%M:%S"
    directives = set(re.findall(r"%(.)", time_format))
    if "y" in directives:
        return "%y leaves the century to guess; use a source with four-digit years or convert it first"
    if "I" in directives and "p" not in directives:
        return "%I without %p leaves morning or evening to guess"
    if not ({"Y", "m", "d"} <= directives or {"Y", "j"} <= directives or {"Y", "b", "d"} <= directives or {"c"} & directives):
        return "the format has no full date (%Y with %m and %d)"
    return None


@cache
def grain_of(time_format: str) -> int:
    """Grain in seconds of times written so: 0 exact to the second, 60, 3600 or 86400."""
    directives = set(re.findall(r"%(.)", time_format))
    if directives & {"S", "T", "X", "c", "s"}:
        return 0
    if "M" in directives:
        return 60
    return 3600 if directives & {"H", "I"} else 86400


@lru_cache(maxsize=65536)
def from_local(text: str, zone: str, time_format: str, role: Literal["event", "cut"] = "event") -> Stamp:
    """A local time of `zone` in the declared format. `role`: which of two instants a repeated hour means (see the module)."""
    try:
        local = datetime.strptime(text, time_format)
    except ValueError as error:
        raise TimeFault("not a time of the declared format", shape_of(text), time_format) from error
    if local.tzinfo is not None:
        return Stamp(to_utc(local, text), text, zone, grain_of(time_format))
    at = instant(local, zone, role, text)
    return Stamp(at, text, zone, grain_of(time_format), _earlier(local, zone, at))


def instant(local: datetime, zone: str, role: Literal["event", "cut"] = "event", text: str = "") -> datetime:
    """The instant in UTC of a naive local time; TimeFault where the zone's clocks skipped it, and outside of 1970 to 2200."""
    where = ZoneInfo(zone)
    first, second = (to_utc(local.replace(tzinfo=where, fold=fold), text or local.isoformat(" ")) for fold in (0, 1))
    if first != second and first.astimezone(where).replace(tzinfo=None) != local:
        raise TimeFault("no such local time: the clocks were put forward over it", shape_of(text or local.isoformat(" ")), zone)
    return max(first, second) if role == "event" else min(first, second)


def _earlier(local: datetime, zone: str, at: datetime) -> datetime | None:
    first = instant(local, zone, "cut")
    return first if first != at else None


def day_start(day: date, zone: str) -> datetime:
    """00:00 of a day in `zone`, in UTC (the earlier instant where midnight is repeated)."""
    return instant(datetime.combine(day, time()), zone, "cut")


def utc_text(at: datetime) -> str:
    """How a time stands in a field's JSON: "2025-03-01T09:30:00Z", with microseconds only where there are any."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
