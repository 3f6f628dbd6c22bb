"""Times move by whole weeks: order, intervals and weekdays stay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from deid.dateforms import DAY_ONLY, ISO, MONTHS, ORDINALS, YEARS, Found, Years, epoch_unit, find_dates, unclear, undeclared
from deid.fold import even

SHORT = {name[:3].casefold(): number for number, name in enumerate(MONTHS, 1)} | {"sept": 9}
LONG = {name.casefold(): number for number, name in enumerate(MONTHS, 1)}
MIDDLE = 15
DAY_S = 86_400
TWO_YEARS_S = 2 * 366 * DAY_S
ORDINAL = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
LISTED_DAY = re.compile(r"(?P<d>\d+)(?P<o>st|nd|rd|th)?", re.IGNORECASE)


def month_number(name: str) -> int:
    low = name.casefold().rstrip(".")
    return LONG.get(low) or SHORT[low]


def shift_match(match: re.Match[str], days: int, near: date) -> str | None:
    """The matched date moved by `days`, in the form it was written; None where it is no date, or where days of one month
    would fall into two years. A missing year is the one closest to `near`; a month without a day is moved by its middle."""
    groups = match.groupdict()
    if groups.get("e"):
        return str(int(groups["e"]) + days * DAY_S * epoch_unit(groups["e"]))
    if match.re is DAY_ONLY:
        return _shift_day(match, days, near)
    name = groups.get("B") or (groups["m"] if not groups["m"].isdigit() else "")
    month = month_number(name) if name else int(groups["m"])
    year = int(groups["y"]) if groups.get("y") else None
    if groups.get("y2"):
        year = _century(int(groups["y2"]), near)
    if groups.get("ds"):
        return _shift_days(match, month, year, days, near)
    word = groups.get("w")
    day = ORDINALS.index(word.casefold().replace(" ", "-")) + 1 if word else int(groups.get("d") or MIDDLE)
    moved = _moved(day, month, year, days, near)
    if moved is None:
        return None
    put = {
        "d": _day(groups.get("d") or "", moved.day), "m": "", "B": "", "y": f"{moved.year:04d}", "y2": f"{moved.year % 100:02d}",
        "o": _ordinal(groups.get("o"), moved.day), "w": ORDINALS[moved.day - 1],
    }  # fmt: skip
    if word and word[0].isupper():
        put["w"] = ORDINALS[moved.day - 1].capitalize()
    if name:
        put["B" if groups.get("B") else "m"] = _month(name, moved.month)
    else:
        put["m"] = f"{moved.month:02d}" if groups["m"].startswith("0") or len(groups["m"]) == 2 else str(moved.month)
    base, text = match.start(), match.group()
    for group, value in sorted(((g, v) for g, v in put.items() if groups.get(g) is not None), key=lambda x: -match.start(x[0])):
        text = text[: match.start(group) - base] + str(value) + text[match.end(group) - base :]
    return text


def _shift_day(match: re.Match[str], days: int, near: date) -> str | None:
    """A day without its month ("on the 5th"): the one nearest to `near`."""
    around = [near + timedelta(days=n) for n in sorted(range(-31, 32), key=lambda n: (abs(n), n))]
    day = next((d for d in around if d.day == int(match["d"])), None)
    if day is None:
        return None
    moved = (day + timedelta(days=days)).day
    return f"{_day(match['d'], moved)}{_ordinal(match['o'], moved)}"


def _shift_days(match: re.Match[str], month: int, year: int | None, days: int, near: date) -> str | None:
    """Several days of one month ("March 5-7, 2025"): each day carries its own month where they come to lie in two."""
    listed, moved = list(LISTED_DAY.finditer(match["ds"])), []
    for day in listed:
        new = _moved(int(day["d"]), month, year, days, near)
        if new is None:
            return None
        moved.append(new)
    if match["y"] and moved[0].year != moved[-1].year:
        return None
    behind = match.start("m") > match.start("ds")
    kept = moved[-1] if behind else moved[0]
    days_text = match["ds"]
    padded = any(day["d"].startswith("0") for day in listed)
    for at in reversed(range(len(listed))):
        day, new = listed[at], moved[at]
        text = (f"{new.day:02d}" if padded else str(new.day)) + (_ordinal(day["o"], new.day) or "")
        beside = moved[at + 1 if behind else at - 1] if 0 <= (at + 1 if behind else at - 1) < len(moved) else new
        if beside.month != new.month:
            named = _month(match["m"], new.month)
            text = f"{text}{match['s1']}{named}" if behind else f"{named}{match['s1']}{text}"
        days_text = days_text[: day.start()] + text + days_text[day.end() :]
    base, text = match.start(), match.group()
    put = {"ds": days_text, "m": _month(match["m"], kept.month)} | ({"y": f"{kept.year:04d}"} if match["y"] else {})
    for group, value in sorted(put.items(), key=lambda x: -match.start(x[0])):
        text = text[: match.start(group) - base] + value + text[match.end(group) - base :]
    return text


def chosen(found: list[Found]) -> list[Found]:
    """Of dates that overlap the longest, then the first; in text order."""
    taken: list[Found] = []
    for start, end, match in sorted(found, key=lambda d: (d[0] - d[1], d[0])):
        if not any(t[0] < end and start < t[1] for t in taken):
            taken.append((start, end, match))
    return sorted(taken, key=lambda d: d[0])


def shift_text(text: str, days: int, near: date, formats: tuple[str, ...], years: Years = YEARS) -> str:
    """A text with every date in it moved by `days`; the longest of overlapping ones counts."""
    if not days:
        return text
    for start, end, match in reversed(chosen(find_dates(text, formats, years))):
        text = text[:start] + (shift_match(match, days, near) or match.group()) + text[end:]
    return text


def unmovable(text: str, days: int, near: date, formats: tuple[str, ...], years: Years = YEARS) -> Iterator[tuple[int, int]]:
    """Where a text holds a date that cannot be moved and so must not leave: in a form that is not known, on a day that no
    calendar has. Where dates do not move, only days in figures of an undeclared form: they may be those of a birth."""
    if len(text) < 4:
        return
    known = find_dates(text, formats, years)
    if not days:
        yield from undeclared(text, known, years)
        return
    yield from unclear(text, known, years)
    for start, end, match in chosen(known):
        if shift_match(match, days, near) is None:
            yield start, end


def reads_as_time(value: float, near: date) -> bool:
    """True for a number that counts the seconds, milliseconds or microseconds of a day within two years of `near`."""
    at = (near - date(1970, 1, 1)).days * DAY_S
    return at > TWO_YEARS_S and any(abs(value / unit - at) <= TWO_YEARS_S for unit in (1, 1_000, 1_000_000))


def _century(year: int, near: date) -> int:
    return 2000 + year if 2000 + year <= near.year + 20 else 1900 + year


def _moved(day: int, month: int, year: int | None, days: int, near: date) -> date | None:
    candidates = []
    for guess in [year] if year is not None else range(max(1, near.year - 4), near.year + 5):
        try:
            candidates.append(date(guess, month, day))
        except ValueError:
            continue
    if not candidates:
        return None
    return min(candidates, key=lambda c: (abs((c - near).days), c)) + timedelta(days=days)


def _day(old: str, new: int) -> str:
    return f"{new:02d}" if old.startswith("0") or len(old) == 2 else str(new)


def _ordinal(old: str | None, day: int) -> str | None:
    return old if not old or old == "." else ORDINAL.get(day, "th") + old[2:]


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
    text = even(value).strip()
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
