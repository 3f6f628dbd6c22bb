"""Times move by whole weeks: order, intervals and weekdays stay."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from functools import lru_cache

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
SHORT = {name[:3].casefold(): number for number, name in enumerate(MONTHS, 1)} | {"sept": 9}
LONG = {name.casefold(): number for number, name in enumerate(MONTHS, 1)}
MONTH = "(?:" + "|".join([*MONTHS, *(f"{m[:3]}\\.?" for m in MONTHS), "Sept\\.?"]) + ")"
DAY = r"(?:3[01]|[12]\d|0?[1-9])"
ISO = re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])-(?P<d>0[1-9]|[12]\d|3[01])(?!\d)")
YEAR_FIRST = re.compile(
    r"(?<![\d.])(?P<y>(?:19|20)\d\d)(?P<s>[./_])(?P<m>1[0-2]|0?[1-9])(?P=s)(?P<d>3[01]|[12]\d|0?[1-9])(?![\d]|\.\d)"
)
DAY_MONTH = re.compile(
    rf"\b(?P<d>{DAY})(?P<o>st|nd|rd|th|\.)?(?P<s1>\s+(?:of\s+)?|-)(?P<m>{MONTH})(?![a-z])(?:(?P<s2>,?\s+|-)(?P<y>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
MONTH_DAY = re.compile(
    rf"\b(?P<m>{MONTH})(?P<s1>\s+(?:the\s+)?)(?P<d>{DAY})(?P<o>st|nd|rd|th)?(?![\d:])(?:(?P<s2>,?\s+)(?P<y>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
MONTH_YEAR = re.compile(rf"\b(?P<m>{MONTH})(?P<s1>,?\s+|-)(?P<y>(?:19|20)\d\d)\b", re.IGNORECASE)
UNDECLARED = re.compile(
    r"(?<![\d./-])(?:(?P<a>\d{1,2})(?P<s>[./-])(?P<b>\d{1,2})(?P=s)(?:19|20)\d\d|(?P<a2>\d{1,2})/(?P<b2>\d{1,2})/\d\d"
    r"|(?P<a3>\d\d)\.(?P<b3>\d\d)\.\d\d)(?![\d/]|[.-]\d)"
)
"""A day and a month in figures, in either order, with a year: which is which, only a declared format can tell."""
DIRECTIVES = {
    "%d": r"(?P<d>3[01]|[12]\d|0?[1-9])", "%m": r"(?P<m>1[0-2]|0?[1-9])", "%Y": r"(?P<y>(?:19|20)\d\d)", "%y": r"(?P<y2>\d\d)",
    "%B": rf"(?P<B>{MONTH})", "%b": rf"(?P<B>{MONTH})",
}  # fmt: skip
MIDDLE = 15
DAY_S = 86_400
TWO_YEARS_S = 2 * 366 * DAY_S
ORDINAL = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


@lru_cache(maxsize=64)
def pattern_of(fmt: str) -> re.Pattern[str]:
    """A strptime format of days, months and years as a regular expression with groups d, m, y, y2, B."""
    parts = [DIRECTIVES.get(part, re.escape(part)) for part in re.split(r"(%[a-zA-Z])", fmt)]
    return re.compile(r"(?<![\d.])" + "".join(parts) + r"(?![\d]|\.\d)", re.IGNORECASE)


def find_dates(text: str, formats: tuple[str, ...]) -> list[tuple[int, int, re.Match[str]]]:
    """Dates in a text: year first, English month names (a month and a year too), the declared formats; (start, end, match)."""
    found: list[tuple[int, int, re.Match[str]]] = []
    for pattern in [ISO, YEAR_FIRST, DAY_MONTH, MONTH_DAY, MONTH_YEAR, *map(pattern_of, formats)]:
        found.extend((m.start(), m.end(), m) for m in pattern.finditer(text) if pattern is not DAY_MONTH or _is_date(m))
    return found


def _is_date(match: re.Match[str]) -> bool:
    """ "lines 3 and 5 may be missing" holds no date."""
    return match["m"] not in ("may", "march") or bool(match["y"] or match["o"])


def month_number(name: str) -> int:
    low = name.casefold().rstrip(".")
    return LONG.get(low) or SHORT[low]


def shift_match(match: re.Match[str], days: int, near: date) -> str | None:
    """The matched date moved by `days`, in the form it was written; None where it is no date. A missing year is the
    one closest to `near`; a month without a day is moved by its middle."""
    groups = match.groupdict()
    name = groups.get("B") or (groups["m"] if not groups["m"].isdigit() else "")
    month = month_number(name) if name else int(groups["m"])
    day, year = int(groups.get("d") or MIDDLE), groups.get("y")
    if groups.get("y2"):
        year = f"20{groups['y2']}"
    moved = _moved(day, month, int(year) if year else None, days, near)
    if moved is None:
        return None
    put = {
        "d": _day(groups.get("d") or "", moved.day), "m": "", "B": "", "y": f"{moved.year:04d}", "y2": f"{moved.year % 100:02d}",
        "o": ORDINAL.get(moved.day, "th") if groups.get("o") not in (None, ".") else groups.get("o"),
    }  # fmt: skip
    if name:
        put["B" if groups.get("B") else "m"] = _month(name, moved.month)
    else:
        put["m"] = f"{moved.month:02d}" if groups["m"].startswith("0") or len(groups["m"]) == 2 else str(moved.month)
    base, text = match.start(), match.group()
    for group, value in sorted(((g, v) for g, v in put.items() if groups.get(g) is not None), key=lambda x: -match.start(x[0])):
        text = text[: match.start(group) - base] + str(value) + text[match.end(group) - base :]
    return text


def shift_text(text: str, days: int, near: date, formats: tuple[str, ...]) -> str:
    """A text with every date in it moved by `days`; the longest of overlapping ones counts."""
    taken: list[tuple[int, int, re.Match[str]]] = []
    for start, end, match in sorted(find_dates(text, formats), key=lambda d: (d[0] - d[1], d[0])):
        if not any(t[0] < end and start < t[1] for t in taken):
            taken.append((start, end, match))
    for start, end, match in sorted(taken, key=lambda d: -d[0]):
        text = text[:start] + (shift_match(match, days, near) or match.group()) + text[end:]
    return text


def is_undeclared(text: str, formats: tuple[str, ...]) -> bool:
    """True where a text holds a date in figures that no known form explains: it cannot be moved and must not leave."""
    known = find_dates(text, formats)
    for match in UNDECLARED.finditer(text):
        one, other = (int(match[a] or match[b] or match[c]) for a, b, c in (("a", "a2", "a3"), ("b", "b2", "b3")))
        is_day = 1 <= min(one, other) <= 12 and 1 <= max(one, other) <= 31
        if is_day and not any(start <= match.start() and match.end() <= end for start, end, _ in known):
            return True
    return False


def reads_as_time(value: float, near: date) -> bool:
    """True for a number that counts the seconds, milliseconds or microseconds of a day within two years of `near`."""
    at = (near - date(1970, 1, 1)).days * DAY_S
    return at > TWO_YEARS_S and any(abs(value / unit - at) <= TWO_YEARS_S for unit in (1, 1_000, 1_000_000))


def _moved(day: int, month: int, year: int | None, days: int, near: date) -> date | None:
    candidates = []
    for guess in [year] if year is not None else [near.year - 1, near.year, near.year + 1]:
        try:
            candidates.append(date(guess, month, day))
        except ValueError:
            continue
    if not candidates:
        return None
    return min(candidates, key=lambda c: (abs((c - near).days), c)) + timedelta(days=days)


def _day(old: str, new: int) -> str:
    return f"{new:02d}" if old.startswith("0") or len(old) == 2 else str(new)


def _month(old: str, new: int) -> str:
    bare = old.rstrip(".")
    long = bare.casefold() in LONG and bare.casefold() != "may"
    name = MONTHS[new - 1] if long or (bare.casefold() == "may" and not old.endswith(".")) else MONTHS[new - 1][:3]
    if bare.isupper() and len(bare) > 1:
        name = name.upper()
    elif bare.islower():
        name = name.lower()
    return name + ("." if old.endswith(".") and len(name) == 3 else "")


def shift_value(value: str, days: int, formats: tuple[str, ...]) -> str | None:
    """A whole time or date value moved by `days`, in the same form; None where it is neither ISO 8601 nor of a
    declared format."""
    text = value.strip()
    head = ISO.match(text)
    if head:
        moved = _moved(int(head["d"]), int(head["m"]), int(head["y"]), days, date(2000, 1, 1))
        rest = text[head.end() :]
        if moved is None or not re.fullmatch(r"(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:Z|[+-]\d\d:?\d\d|UTC)?)?", rest):
            return None
        return f"{moved.isoformat()}{rest}"
    for fmt in formats:
        try:
            return (datetime.strptime(text, fmt) + timedelta(days=days)).strftime(fmt)
        except ValueError:
            continue
    return None
