"""Times in any format: as people and systems write them, in a text or as a number.

Read anywhere: ISO 8601 (with and without zone, basic, week and ordinal dates), day, month or year first with two or four digits,
month names in twelve languages, glued to their figures or not, whole months, days in Chinese, Japanese and Korean and as programs
write them, RFC 2822, EXIF and log stamps, Unix seconds to nanoseconds, and the time inside a UUID of version 1, 6 or 7 or a ULID.
Read only where the code book says that a field is a time: serial days of a spreadsheet, .NET ticks and Windows file times, which
are ordinary numbers anywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from tasks.leaks._may_hold_times import may_hold_times
from tasks.leaks._month_names import APOSTROPHES, ENDS_NAME, MONTH, is_no_month, number_of
from tasks.leaks._spelled_times import spelled_in
from tasks.leaks._time_ids import ids_in
from tasks.leaks._whole_months import months_in

HORIZON = timedelta(days=20 * 365)
"""A time further after the cut than this is a mark for "never" (9999-12-31) or an ordinary number, and tells nothing."""
NO_ZONE = timedelta(hours=14)
"""What a time of day without a zone may be off, and the begin of a month."""
SOON = timedelta(days=5 * 365)
"""How far after the cut the time of an id may lie that a hash looks like: few hashes read as one so close by."""
MONTH_NAMED, MONTH_IN_FIGURES, BARE_ID = "month", "month in figures", "bare id"

_ZONES = {
    **{"EDT": -4, "EST": -5, "CDT": -5, "CST": -6, "MDT": -6, "MST": -7, "PDT": -7, "PST": -8},  # RFC 2822, obsolete
    **{"BST": 1, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "MEZ": 1, "MESZ": 2, "EET": 2, "EEST": 3},
}
"""Name -> hours ahead of UTC."""
_ZONE_NAME = rf"(?-i:(?:{'|'.join(_ZONES)})\b)"
"""In capitals: in small letters some are words ("est")."""
_SIGN = r"[+\-\u2212]"
_ZONE = (
    rf"(?:\(?(?P<zone>Z\b|(?:UTC|GMT)(?:{_SIGN}[01]?\d(?![\d:])|\s?{_SIGN}[01]?\d:?[0-5]\d(?!\d))?|{_ZONE_NAME}|"
    rf"{_SIGN}\d{{2}}:?\d{{2}}))?"
)
_CLOCK = (
    r"(?:[,T ]|\sat\b|\sum\b|\sà\b|\sa\slas\b|\s-|(?<=\d):)*\s*"
    r"(?P<clock>\d{1,2}[:.hH]\d{2}(?:[:.]\d{2})?(?:[.,]\d+)?\s*(?:[ap]\.?m\b\.?)?|\d{1,2}\s*[ap]\.?m\b\.?)\s*" + _ZONE
)
_YEAR = r"(?P<y>(?:19|20)\d\d)"


def _first(group: str, *, unless: str) -> str:
    """A day or a year at the beginning of a pattern, none of the characters `unless` before it. What may not stand before it is
    looked at behind its first figure, so that a search skips to figures."""
    return {
        "y": rf"(?P<y>(?:1(?<![{unless}]1)9|2(?<![{unless}]2)0)\d\d)",
        "d": rf"(?P<d>\d(?<![{unless}]\d)\d?)",
    }[group]


_SHORT = rf"(?:(?P<y>(?:19|20)\d\d)(?!\d)|(?P<y2>[{APOSTROPHES}]?\d\d)(?!\d|:\d\d(?![:\d])|[^\W_T]))"
"""A year of four or two figures; before a colon two are an hour ("28 Sep 23:15"), before a letter something else ("1dec20ff")."""
_NAME = rf"(?P<n>{MONTH}){ENDS_NAME}"
_TH = "(?:st|nd|rd|th)"
_NOT_GLUED = r"(?:(?<![^\W\d_]\d)(?<![^\W\d_]\d\d)|(?=[\s./-]))"
"""Behind a day: not between two letters, as in a hash that ends in "a1dec20"."""
_FLAGS = re.IGNORECASE
_PATTERNS = [
    re.compile(
        r"(?P<y>(?:1(?<!\d1)(?<!\d-1)9|2(?<!\d2)(?<!\d-2)0)\d\d)"
        rf"(?P<s> ?[-/._] ?|:(?=\d\d:\d\d(?![\d:])))(?P<m>\d\d?)(?P=s)(?P<d>\d\d?)(?:{_CLOCK})?(?!\d)",
        _FLAGS,
    ),
    re.compile(_first("d", unless=r"\d.-") + rf"(?P<s> ?[-/.]| )\s?(?P<m>\d\d?)(?P=s)\s?{_YEAR}(?:{_CLOCK})?(?!\d)", _FLAGS),
    re.compile(
        _first("d", unless=r"\d") + rf"{_NOT_GLUED}(?:(?:{_TH}|er|º),?|\.)?[\s/._-]*(?:(?:day\s+)?of\s+|de\s+)?{_NAME}\.?"
        rf"(?:[\s/,._-]|of\s|de\s|del\s)*{_SHORT}(?:{_CLOCK})?",
        _FLAGS,
    ),
    re.compile(
        rf"(?<![^\W_]){_NAME}(?P<s>[.\s/_-]*)(?:the\s+)?(?P<d>\d\d?){_TH}?(?:\s?[-\u2013]\s?\d\d?{_TH}?(?=,|\s))?"
        rf"(?:(?:[,.\s/_-]|of\s)+(?:{_YEAR}(?!\d)|(?P<y2>[{APOSTROPHES}]\d\d)(?![^\W_]))|(?=[-/])(?P=s)(?P<y3>\d\d)(?![^\W_]|[-/:]))"
        rf"(?:{_CLOCK})?",
        _FLAGS,
    ),
    re.compile(
        rf"\b(?P<n>{MONTH})\s+(?P<d>\d\d?)\s+(?P<clock>\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\s?[ap]\.?m\b\.?)?)\s+"
        rf"(?P<zone>UTC|GMT|Z|{_ZONE_NAME})?\s*{_YEAR}",
        _FLAGS,
    ),
    re.compile(
        _first("y", unless=r"\d")
        + rf"(?:[\s/_-]*|\.|,\s(?=(?-i:[A-Z]))){_NAME}[\s/._-]*(?P<d>\d\d?){_TH}?(?![^\W_T])(?:{_CLOCK})?",
        _FLAGS,
    ),
    re.compile(
        r"(?P<y>20(?<!\d20)\d\d)(?P<m>[01]\d)(?P<d>[0-3]\d)(?:[T_ -]?(?P<clock>[0-2]\d[0-5]\d(?:[0-5]\d)?)(?:[.,]\d+)?"
        rf"(?P<zone>Z|{_SIGN}\d{{2}}:?\d{{2}})?)?(?!\d)",
    ),
    re.compile(_first("y", unless=r"\w-") + rf"-?W(?P<w>[0-5]\d)(?:-?(?P<wd>[1-7]))?(?:{_CLOCK})?(?![\w])", _FLAGS),
    re.compile(_first("y", unless=r"\w-") + rf"-(?P<o>[0-3]\d\d)(?:{_CLOCK})?(?![\w-])", _FLAGS),
    re.compile(
        _first("d", unless=r"\d.,/-")
        + rf"(?P<s>[-/.])(?P<m>\d\d?)(?P=s)(?P<y>[{APOSTROPHES}]?\d\d)(?![\d/-]|[.,]\d)(?:{_CLOCK})?",
        _FLAGS,
    ),
]
_NUMBERS_ALONE = [pattern for pattern in _PATTERNS if "n" not in pattern.groupindex]
_MONTH_WORD = re.compile(rf"(?:{MONTH}){ENDS_NAME}")
"""In lower case, so that the search may skip to the first letters; every pattern with a month's name has no letter behind it."""
_DAY_FIRST, _DAY_THEN_NAME, _NAME_THEN_DAY, _TWO_DIGITS = _PATTERNS[1], _PATTERNS[2], _PATTERNS[3], _PATTERNS[9]
_EPOCH = re.compile(r"(?P<s>(?:1(?<![\w.,+-]1)[2-9]|2(?<![\w.,+-]2)0)\d{8})(?P<f>\d{3}|\d{6}|\d{9}|\.\d{1,9})?(?![\w-]|[.,]\d)")
_UNIX = datetime(1970, 1, 1, tzinfo=UTC)


class Time(NamedTuple):
    """A time found in a text."""

    readings: tuple[datetime, ...]
    """Two where day and month could be either way round ("04/09/2025")."""
    start: int
    clock: bool
    """True where it says the time of day, as stamps do and people's plans seldom do."""
    zone: bool = True
    """False where a time of day says no zone."""
    kind: str = ""
    """MONTH_NAMED or MONTH_IN_FIGURES for a whole month, read at its begin; BARE_ID for an id that a hash may look like."""

    @property
    def month(self) -> bool:
        return self.kind.startswith(MONTH_NAMED)

    def after(self, cut: datetime, slack: timedelta = timedelta()) -> bool:
        """True where the reading nearest to the cut lies after it: people and systems mostly write of times close by. A month
        lies after it as a whole, in any zone."""
        nearest = self.readings[0] if len(self.readings) == 1 else min(self.readings, key=lambda at: abs(at - cut))
        if self.kind:
            slack, horizon = (slack, SOON) if self.kind == BARE_ID else (max(slack, NO_ZONE), HORIZON)
            return slack < nearest - cut < horizon
        return slack < nearest - cut < HORIZON


def instant(text: str) -> datetime | None:
    """An ISO 8601 instant or day as UTC, or None."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def times_in(text: str) -> Iterator[Time]:
    """Every time in a text, each span once."""
    if not may_hold_times(text):
        return
    taken: list[tuple[int, int]] = []
    named = _MONTH_WORD.search(text.lower()) is not None
    for pattern in _PATTERNS if named else _NUMBERS_ALONE:
        for match in pattern.finditer(text):
            if any(a < match.end() and match.start() < b for a, b in taken):
                continue
            found = _dated(match)
            if found is not None:
                taken.append(match.span())
                yield found
    for match in _EPOCH.finditer(text):
        if not any(a < match.end() and match.start() < b for a, b in taken):
            yield Time((_UNIX + timedelta(seconds=int(match["s"])),), match.start(), clock=True)
    for spelled in spelled_in(text):
        if not any(a < spelled.end and spelled.start < b for a, b in taken):
            taken.append((spelled.start, spelled.end))
            yield Time((spelled.at,), spelled.start, spelled.clock, not spelled.clock, MONTH_NAMED if spelled.month else "")
    for at, start, bare in ids_in(text):
        yield Time((at,), start, clock=True, kind=BARE_ID if bare else "")
    for at, start, end, figures in months_in(text, named=named):
        if not any(a < end and start < b for a, b in taken):
            yield Time((at,), start, clock=False, kind=MONTH_IN_FIGURES if figures else MONTH_NAMED)


def stamps(value: float) -> Iterator[Time]:
    """The instants that a number in a field of times may name: Unix time in any unit, a spreadsheet's serial day, .NET ticks, a
    Windows file time, a month."""
    units = [
        (1, _UNIX),
        (1e3, _UNIX),
        (1e6, _UNIX),
        (1e9, _UNIX),
        (1e7, datetime(1, 1, 1, tzinfo=UTC)),
        (1e7, datetime(1601, 1, 1, tzinfo=UTC)),
    ]
    units.append((1 / 86400, datetime(1899, 12, 30, tzinfo=UTC)))
    if 199001 <= value <= 210012 and int(value) == value and 1 <= value % 100 <= 12:  # as 202511
        yield Time((datetime(int(value) // 100, int(value) % 100, 1, tzinfo=UTC),), 0, clock=False, kind=MONTH_IN_FIGURES)
    for unit, origin in units:
        seconds = value / unit
        if 0 < seconds < 2e11:
            try:
                at = origin + timedelta(seconds=seconds)
            except OverflowError:
                continue
            if 1990 <= at.year <= 2100:
                yield Time((at,), 0, clock=True)


def _dated(match: re.Match[str]) -> Time | None:
    parts = match.groupdict()
    digits = (parts["y"] or parts.get("y2") or parts["y3"]).lstrip(APOSTROPHES)
    year = int(digits) if len(digits) == 4 else 2000 + int(digits)
    clock = parts.get("clock")
    if match.re is _TWO_DIGITS and int(digits) > 68:
        return None
    if match.re is _DAY_THEN_NAME and match.start("y2") == match.end("n") and match.string[match.start("n") - 1] in "-/":
        return None  # "May 13-May17"
    if match.re is _NAME_THEN_DAY and is_no_month(match.string, match.start(), match["n"]):
        return None
    readings: list[date] = []
    for y, m, d in _days(parts, year, either=match.re in (_DAY_FIRST, _TWO_DIGITS), short=match.re is _TWO_DIGITS):
        try:
            readings.append(date(y, m, d))
        except ValueError:
            continue
    try:
        if parts.get("w"):
            readings = [date.fromisocalendar(year, int(parts["w"]), int(parts["wd"] or 1))]
        elif parts.get("o"):
            readings = [date(year, 1, 1) + timedelta(days=int(parts["o"]) - 1)] if 1 <= int(parts["o"]) <= 366 else []
        of_day = _of_day(clock, parts.get("zone")) if clock else timedelta()
    except ValueError:
        return None
    if not readings:
        return None
    found = tuple(dict.fromkeys(datetime(d.year, d.month, d.day, tzinfo=UTC) + of_day for d in readings))
    return Time(found, match.start(), clock=bool(clock), zone=not clock or bool(parts.get("zone")))


def _days(parts: dict[str, str], year: int, *, either: bool, short: bool) -> Iterator[tuple[int, int, int]]:
    if not parts.get("d"):
        return
    day = int(parts["d"])
    if parts.get("n"):
        yield year, number_of(parts["n"]), day
        return
    month = int(parts["m"])
    yield year, month, day
    if either:
        yield year, day, month
    if short:
        yield 2000 + day, month, year - 2000


def _of_day(clock: str, zone: str | None) -> timedelta:
    digits = re.findall(r"\d+", clock)
    if len(digits) == 1 and len(digits[0]) > 2:
        digits = [digits[0][:2], digits[0][2:4], digits[0][4:6] or "0"]
    hours, minutes = int(digits[0]), int(digits[1]) if len(digits) > 1 else 0
    low = clock.casefold()
    afternoon, morning = "p" in low, "a" in low
    hours = hours % 12 + 12 * afternoon if afternoon or morning else hours
    if hours > 24 or minutes > 59:
        raise ValueError("no time of day")
    seconds = int(digits[2]) if len(digits) > 2 and len(digits[2]) <= 2 else 0
    return timedelta(hours=hours, minutes=minutes, seconds=min(seconds, 59)) - _ahead(zone or "")


def _ahead(zone: str) -> timedelta:
    """How far a zone is ahead of UTC: by its name, or by an offset ("-0500", "UTC-5", "GMT+05:30")."""
    offset = re.search(r"(\D)(\d{1,2}?):?(\d\d)?$", zone)
    if offset is None:
        return timedelta(hours=_ZONES.get(zone, 0))
    return timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0)) * (1 if offset[1] == "+" else -1)
