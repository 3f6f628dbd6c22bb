"""Days and months whose parts are called by what they are: "2017年6月20日", `datetime.date(2017, 6, 20)`, "year: 2017, month: 6".

A month is named here by a word or by its place in a call, so that none is the number of something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from tasks.leaks._decode import unwrapped
from tasks.leaks._month_names import ENDS_NAME, MONTH, number_of


class Spelled(NamedTuple):
    at: datetime
    """In UTC; the begin of a whole month."""
    start: int
    end: int
    clock: bool
    """True where it says the time of day."""
    month: bool
    """True for a whole month."""


_YEAR = r"(?P<y>(?:19|20)\d\d)"
_EASTERN = re.compile(
    rf"(?<!\d){_YEAR}\s?[年년]\s?(?P<m>\d\d?)\s?[月월](?:\s?(?P<d>\d\d?)\s?[日号號일]"
    r"(?:[\s(（][^\d\s]{1,3}[)）])?(?:\s?(?P<half>[上下]午|午[前後]|오[전후]))?"
    r"(?:\s?(?P<h>\d\d?)\s?(?:[時时点點시]|:(?=\d\d))\s?(?:(?P<min>\d\d?)(?!\d))?)?)?"
)
_OF_YEAR = "年년"
_CALL = re.compile(
    r"\(\s*(?:year\s*=\s*)?" + _YEAR + r"\s*,\s*(?:month\s*=\s*)?(?P<m>\d\d?)\s*(?:,\s*(?:day\s*=\s*)?(?P<d>\d\d?)"
    r"(?:\s*,\s*(?:hour\s*=\s*)?(?P<h>\d\d?)(?:\s*,\s*(?:minute\s*=\s*)?(?P<min>\d\d?))?)?)?\s*(?=[,)\s.])"
)
_CALLED = re.compile(
    r"(?:\w{1,12}\.){0,2}(?:(?P<zero>new\s+Date|Date\.UTC)|(?:(?<![^\W_])(?:date|date_?time|time|timestamp|period|yearmonth)"
    r"|(?<=[a-z])(?-i:Date|DateTime|Timestamp|Month))(?:\.of|\.new)?)$",
    re.IGNORECASE,
)
"""What stands before the bracket; the first two count months from 0."""
_NAMED = re.compile(
    r"(?<![^\W_])(?:tm_)?(?:{year}{is_}{_y}{between}{month}{is_}{_m}(?:{between}{day}{is_}(?P<d>\d\d?))?"
    r"|(?:{day}{is_}(?P<d2>\d\d?){between})?{month}{is_}{_m2}{between}{year}{is_}(?P<y2>(?:19|20)\d\d))(?![^\W_]|[.]\d)".format(
        year="(?:year|jahr|ann[ée]e|a[ñn]o|anno|ano|jaar)",
        month="(?:mon(?:th)?|monat|mois|mes|mese|m[êe]s|maand)",
        day="(?:m?day|tag|jour|d[íi]a|giorno|dag)",
        is_=r"[\"'\\]*\s?[:=]\s?[\"'\\]*",
        between=r"[\"'\\]*[\s,;&]{1,3}[\"'\\]*(?:[a-z]{1,9}_)?",
        _y=_YEAR,
        _m=rf"(?P<m>\d\d?|{MONTH}{ENDS_NAME})",
        _m2=rf"(?P<m2>\d\d?|{MONTH}{ENDS_NAME})",
    ),
    re.IGNORECASE,
)
_YEARS = ("year", "jahr", "année", "annee", "año", "anno", "ano", "jaar")
_PARTS = {
    **dict.fromkeys(_YEARS, "year"),
    **dict.fromkeys(("month", "mon", "monat", "mois", "mes", "mese", "mês", "maand"), "month"),
    **dict.fromkeys(("day", "mday", "tag", "jour", "día", "dia", "giorno", "dag", "dayofmonth"), "day"),
}
_PART_OF = re.compile(
    rf"(?P<of>.*?)[\W_]*(?P<part>(?:{'|'.join(sorted(_PARTS, key=len, reverse=True))})(?:[ _]?value)?)", re.IGNORECASE | re.DOTALL
)
_NUMBER = re.compile(r"\s*(\d{1,4})(?:\.0)?\s*")


def spelled_in(text: str) -> Iterator[Spelled]:
    """Each such time in a text."""
    if not text.isascii() and any(map(text.__contains__, _OF_YEAR)):
        yield from _found(_EASTERN, text)
    if "(" in text:
        yield from _found(_CALL, text)
    low = text.lower()
    if any(map(low.__contains__, _YEARS)):
        yield from _found(_NAMED, text)


def _found(pattern: re.Pattern[str], text: str) -> Iterator[Spelled]:
    for match in pattern.finditer(text):
        one = _read(match)
        if one is not None:
            yield one


def _read(match: re.Match[str]) -> Spelled | None:
    parts = match.groupdict()
    start, zero = match.start(), False
    if match.re is _CALL:
        called = _CALLED.search(match.string, max(0, start - 40), start)
        if called is None:
            return None
        start, zero = called.start(), called["zero"] is not None
    year, month, day = (parts[name] or parts.get(f"{name}2") or "" for name in ("y", "m", "d"))
    number = int(month) + zero if month.isdigit() else number_of(month)
    hour, minute = int(parts.get("h") or 0), int(parts.get("min") or 0)
    afternoon = 12 if (parts.get("half") or "") in ("下午", "午後", "오후") and hour < 12 else 0
    try:
        at = datetime(int(year), number, int(day or 1), tzinfo=UTC) + timedelta(hours=hour + afternoon, minutes=minute)
    except ValueError:
        return None
    return Spelled(at, start, match.end(), bool(parts.get("h")), not day)


def written_out(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path, text that `spelled_in` reads) of each object in a JSON value, or in a text inside it, that holds a year and a month
    under keys that say so ("year", "created_month")."""
    if isinstance(value, dict):
        yield from _of_object(value, path)
        for name, inner in value.items():
            yield from written_out(inner, f"{path}/{name}" if path else str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from written_out(inner, f"{path}/*" if path else "*")
    elif isinstance(value, str) and may_say_year(value) and "{" in value:
        for inner in unwrapped(value):
            if not isinstance(inner, str):
                yield from written_out(inner, f"{path}/(inside)" if path else "(inside)")


def may_say_year(text: str) -> bool:
    """False where no key of a text or path is that of a year."""
    low = text.lower()
    return any(map(low.__contains__, _YEARS))


def _of_object(value: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, part in value.items():
        match = _PART_OF.fullmatch(str(name))
        if match is not None and isinstance(part, int | float | str) and not isinstance(part, bool):
            kind = _PARTS[re.sub(r"[ _]?value$", "", match["part"].lower())]
            number = _NUMBER.fullmatch(str(part))
            found.setdefault(match["of"], {})[kind] = number[1] if number else str(part).strip()
    for of, parts in found.items():
        if "year" in parts and "month" in parts:
            yield (
                f"{path}/{of}".strip("/"),
                ", ".join(f"{kind}: {parts[kind]}" for kind in ("year", "month", "day") if kind in parts),
            )
