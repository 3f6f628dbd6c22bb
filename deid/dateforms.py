"""The forms in which people write a date: those that can be moved (`find_dates`), and those that cannot (`unclear`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise

from deid.fold import even

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
MONTH = "(?:" + "|".join([*MONTHS, *(f"{m[:3]}\\.?" for m in MONTHS), "Sept\\.?"]) + ")"
DAY = r"(?:3[01]|[12]\d|0?[1-9])"
YEAR = r"(?:19|20)\d\d"
TENS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
TENS += "sixteenth seventeenth eighteenth nineteenth twentieth "
ONES = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]
ORDINALS = [*TENS.split(), *(f"twenty-{n}" for n in ONES), "thirtieth", "thirty-first"]
"""Days of a month in words, from the first."""
WORD = "(?:" + "|".join(w.replace("-", "[ -]") for w in reversed(ORDINALS)) + ")"
Years = tuple[int, int]
YEARS: Years = (2000, 2039)
"""Years (first, last) that two figures or a count of seconds may mean, where a supplier's own times do not say."""

START, THE = r"(?<![a-z0-9])", r"\s+(?:the\s+)?"
TH = r"(?P<o>st|nd|rd|th)?"
TO_MONTH = r"(?P<s1>\s*[-/]\s*|\s+(?:day\s+)?(?:of\s+)?|)"
NAME = rf"(?P<m>{MONTH})(?![a-z])"
TO_YEAR = r"(?P<s2>\s*[-/,]\s*|\.|,?\s+(?:of\s+|in\s+)?|)"
CLOCK = r"\s+\d\d?:\d\d(?::\d\d)?(?:\s+[A-Z]{2,4}|\s+[+-]\d{4})?"
ONE = rf"{DAY}(?:st|nd|rd|th)?(?!\d)"
LISTED = r"(?:\s*[,/&-]\s*|,?\s+(?:and|or|to|until|till|through|thru)\s+(?:the\s+)?)"
DAYS = rf"(?P<ds>{ONE}(?:{LISTED}{ONE})+)"


def _named(pattern: str) -> re.Pattern[str]:
    return re.compile(START + pattern, re.IGNORECASE)


DAY_MONTH = _named(rf"(?P<d>{DAY})(?P<o>(?:st|nd|rd|th)[.,]?|\.)?{TO_MONTH}{NAME}(?:{TO_YEAR}(?P<y>{YEAR})(?!\d))?")
MONTH_DAY = _named(
    rf"(?P<m>{MONTH})(?P<s1>{THE})(?P<d>{DAY}){TH}(?![\d:])(?:(?P<s2>\s*[-/,]\s*|\s+(?:of\s+|in\s+)?)(?P<y>{YEAR})(?!\d))?"
)
MONTH_DAY_YEAR = _named(rf"(?P<m>{MONTH})(?P<s1>\s*[-/.]\s*|)(?P<d>{DAY}){TH}(?!\d)(?P<s2>\s*[-/,.]\s*|\s+)(?P<y>{YEAR})(?!\d)")
MONTH_YEAR = _named(rf"{NAME}(?P<s1>\s*[-/,]\s*|\.|,?\s+(?:of\s+|in\s+)?|)(?P<y>{YEAR})(?!\d)")
MONTH_YEAR_SHORT = _named(rf"{NAME}(?P<s1>,?\s*')(?P<y2>\d\d)(?!\d)")
YEAR_NAME_DAY = re.compile(
    rf"(?<!\d)(?P<y>{YEAR})(?P<s1>\s*[-/.,_]\s*|\s+|){NAME}(?P<s2>\s*[-/.,_]\s*|\s+|)(?P<d>{DAY}){TH}(?![\d:])", re.IGNORECASE
)
YEAR_NAME = re.compile(rf"(?<!\d)(?P<y>{YEAR})(?P<s1>[-/]|,?\s+){NAME}", re.IGNORECASE)
DAY_MONTH_CLOCK = _named(rf"(?P<d>{DAY})(?P<s1>\s+|-){NAME}(?P<s2>{CLOCK}\s+)(?P<y>{YEAR})(?!\d)")
MONTH_DAY_CLOCK = _named(rf"{NAME}(?P<s1>\s+)(?P<d>{DAY})(?P<s2>,?{CLOCK}\s+)(?P<y>{YEAR})(?!\d)")
DAY_MONTH_SHORT = _named(
    rf"(?P<d>{DAY})(?P<o>(?:st|nd|rd|th)[.,]?|\.)?{TO_MONTH}{NAME}(?P<s2>,?\s*'|\s*[-/]\s*|,?\s+|)(?P<y2>\d\d)(?![\d%]|[:.,]\d)"
)
MONTH_DAY_SHORT = _named(
    rf"(?P<m>{MONTH})(?P<s1>{THE}|\s*[-/.]\s*)(?P<d>{DAY}){TH}(?!\d)(?P<s2>,?\s*'|\s*[-/]\s*|,?\s+)(?P<y2>\d\d)(?![\d%]|[:.,]\d)"
)
DAYS_MONTH = _named(rf"(?<!\d[-./:,]){DAYS}\.?(?P<s1>\s*[-/]\s*|\s+(?:of\s+)?){NAME}(?:{TO_YEAR}(?P<y>{YEAR})(?!\d))?")
MONTH_DAYS = _named(rf"(?P<m>{MONTH})(?P<s1>{THE}){DAYS}(?![:%]|[.,]\d)(?:(?P<s2>,?\s+(?:of\s+)?)(?P<y>{YEAR})(?!\d))?")
WORD_MONTH = _named(rf"(?P<w>{WORD})(?P<s1>\s+(?:day\s+)?(?:of\s+)?){NAME}(?:{TO_YEAR}(?P<y>{YEAR})(?!\d))?")
MONTH_WORD = _named(rf"(?P<m>{MONTH})(?P<s1>{THE})(?P<w>{WORD})(?![a-z])(?:(?P<s2>,?\s+(?:of\s+)?)(?P<y>{YEAR})(?!\d))?")
DAY_ONLY = re.compile(
    r"(?i)\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+(?:the\s+)?|(?:on|by|until|till|since)\s+the\s+)"
    rf"(?P<d>{DAY})(?P<o>st|nd|rd|th)(?=\s*(?:$|[.;:!?)\n])|,?\s+(?:it|i|we|at|but|so|because|in|you|they|he|she|already|as)\b)"
)
"""A day of the month nearest to the text's own day."""
NAMED = (
    DAY_MONTH, MONTH_DAY, MONTH_DAY_YEAR, MONTH_YEAR, MONTH_YEAR_SHORT, YEAR_NAME_DAY, YEAR_NAME, DAY_MONTH_CLOCK,
    MONTH_DAY_CLOCK, DAY_MONTH_SHORT, MONTH_DAY_SHORT, DAYS_MONTH, MONTH_DAYS, WORD_MONTH, MONTH_WORD,
)  # fmt: skip
BEHIND = (MONTH_DAY, MONTH_DAYS)
LEADING = (YEAR_NAME, YEAR_NAME_DAY)
HAS_MONTH = re.compile("jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec", re.IGNORECASE)

YEAR_FIRST = re.compile(rf"(?<![\d.])(?P<y>{YEAR})(?P<s>[-./_])(?P<m>1[0-2]|0?[1-9])(?P=s)(?P<d>{DAY})(?!\d|\.\d)")
ISO = re.compile(rf"(?<!\d)(?P<y>{YEAR})-(?P<m>0[1-9]|1[0-2])-(?P<d>0[1-9]|[12]\d|3[01])(?!\d)")
SPACED = re.compile(
    rf"(?<![\d./-])(?P<y>{YEAR})(?P<s>\s[-./]\s|\s)(?P<m>0[1-9]|1[0-2])(?P=s)(?P<d>0[1-9]|[12]\d|3[01])(?!\d|[-./]\d)"
)
COMPACT = re.compile(
    rf"(?<!\d)(?<!\d[.,])(?P<y>{YEAR})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?!\d(?!\d{{3}}(?:\d\d)?(?!\d)))(?![.,]\d)"
)
MONTH_OF_YEAR = re.compile(
    rf"(?<![\d./,-])(?<!\d\s[./-]\s)(?P<m>0[1-9]|1[0-2]|[1-9](?=/))(?P<s>[-./])(?P<y>{YEAR})(?!\d|[-./,:]\d)"
)
YEAR_OF_MONTH = re.compile(rf"(?<![\d./,-])(?P<y>{YEAR})(?P<s>[-./])(?P<m>0[1-9]|1[0-2])(?!\d|\s?[-./,:_]\d)")
EPOCH = re.compile(r"(?<![\d$€£+])(?<!\d[.,])(?P<e>[1-4]\d{9}(?:\d{3}){0,2})(?!\d)")
FIGURES = (ISO, YEAR_FIRST, SPACED, COMPACT, MONTH_OF_YEAR, YEAR_OF_MONTH, EPOCH)
BARE = (COMPACT, EPOCH)
"""Runs of figures: a telephone number first, where they may be one."""

DIRECTIVES = {
    "%d": rf"(?P<d>{DAY})", "%m": r"(?P<m>1[0-2]|0?[1-9])", "%Y": rf"(?P<y>{YEAR})", "%y": r"(?P<y2>\d\d)",
    "%B": rf"(?P<B>{MONTH})", "%b": rf"(?P<B>{MONTH})",
}  # fmt: skip
DAY_FIGURES = re.compile(
    rf"(?<!\d)(?<![./|-])(?<!\d[./|-]\s)(?P<a>\d{{1,2}})(?P<s>\s?[./|-]\s?|_|\s)(?P<b>\d{{1,2}})(?P=s)(?P<c>{YEAR}|\d\d)"
    r"(?![\d/]|\s?[.-]\d)"
)
"""A day and a month in figures, in either order, with a year: which is which, only a declared format can tell."""
STEMS = "jan|feb|f[eé]v|mar|m[äa]e?r|mrz|apr|avr|abr|ma[iy]|ju[nil]|ao[uû]|aug|sep|o[ck]t|nov|de[cz]|d[eé]c"
HAS_STEM = re.compile(rf"(?:{STEMS})", re.IGNORECASE)
ALMOST = re.compile(
    rf"{START}\d{{1,2}}(?:st|nd|rd|th)?\.?\s*(?:of\s+|de\s+)?[-/.]?\s*(?:{STEMS})[^\W\d_]{{0,9}}[\s.,/-]{{1,3}}(?:de\s+)?{YEAR}(?!\d)"
    rf"|{START}(?:{STEMS})[^\W\d_]{{0,9}}[\s./-]{{1,2}}\d{{1,2}}(?:st|nd|rd|th)?,?\s+{YEAR}(?!\d)"
    rf"|{START}{DAY}\.\s*(?:Januar|Jänner|Februar|März|Maerz|Mrz|Mai|Juni|Juli|Oktober|Okt|Dezember|Dez)(?![a-z])"
    rf"|{START}{MONTH}[-/]\d\d(?![\d:/-])",
    re.IGNORECASE,
)
"""A month in another language or with a typing error, a day that no month has, "Mar-05" (a day or a year)."""
REST = re.compile(r"\s?/\s?\d{1,2}(?![\d/])")
"""What follows a whole date in "2025-03-05/06": the rest of a range."""

NO_SUBJECT = re.compile(r"(?i)\b(?:you|we|i|they|he|she|it|one|that|which|who|this|there|and)\s+$")
CUE = re.compile(
    r"(?i)\b(?:on|by|until|till|since|from|before|after|am|the|due|dated?|born|dob|birthday|arrive[sd]?|delivered|ordered|placed)"
    r"[:\s]+$"
)
VERB = re.compile(
    r"(?i)\s+(?:be|have|not|also|need|take|come|go|get|still|well|or|only|never|want|look|seem|help|work|cost|fail|vary|apply|"
    r"require|arrive|contain|include|cause|differ|make|do|call|ask|use|on|in|to|out|off|through|up|down|over|into)\b"
)
CLOSED = re.compile(r"\s*(?:$|[.,;:!?)\n])")
UNIT = (
    r"\s?(?:[\"%x×°]|(?:mm|cm|km|m|in|inch|inches|ft|kg|g|mg|lb|oz|ml|cl|l|v|w|kw|a|px|am|pm|hz|gb|mb|eur|usd|percent|people)\b)"
)
COUNTED = re.compile(
    rf"{UNIT}"
    r"|\s+(?!is\b|was\b|has\b|this\b|as\b|us\b|its\b|does\b|always\b|unless\b|perhaps\b)[a-z]{2,}s\b"
)
"""A unit, or a noun in the plural: what stands before is a number of something."""
A_UNIT = re.compile(UNIT)
MEASURED = re.compile(
    r"(?i)\b(?:sizes?|versions?|ver|v|release|firmware|build|ratio|clause|section|chapter|scale|dimensions?|measur\w+|threads?|"
    r"models?|ip|grade|kernel|driver|revision|rev)[\s.:#]*$"
)


@lru_cache(maxsize=64)
def pattern_of(fmt: str) -> re.Pattern[str]:
    """A strptime format of days, months and years as a regular expression with groups d, m, y, y2, B."""
    parts = [DIRECTIVES.get(part, re.escape(part)) for part in re.split(r"(%[a-zA-Z])", fmt)]
    return re.compile(r"(?<![\d.])" + "".join(parts) + r"(?![\d]|\.\d)", re.IGNORECASE)


Found = tuple[int, int, re.Match[str]]


def find_dates(text: str, formats: tuple[str, ...], years: Years = YEARS) -> list[Found]:
    """Dates in a text that can be moved, as (start, end, match): English month names with a day or a year, lists and spans
    of days, year first, a month and a year, counts of seconds, and the declared formats. They may overlap."""
    text = even(text)
    found: list[Found] = []
    if HAS_MONTH.search(text):
        for pattern in NAMED:
            found.extend((m.start(), m.end(), m) for m in pattern.finditer(text) if _is_named(m, years))
        begun = {m.start("m") for _, _, m in found if m.re is DAY_MONTH}
        if begun:  # "5 Mar 25 boxes": the day stands before
            found = [f for f in found if not (f[2].re in BEHIND and f[2].start() in begun and not f[2]["y"])]
        ends = {m.end("y") for _, _, m in found if m.re not in LEADING and m.groupdict().get("y")}
        found = [f for f in found if f[2].re not in LEADING or f[2].end("y") not in ends]  # "March 2025, April 3"
    if any(c.isdigit() for c in text):
        found.extend((m.start("d"), m.end(), m) for m in DAY_ONLY.finditer(text))
        for pattern in [*FIGURES, *map(pattern_of, formats)]:
            found.extend((m.start(), m.end(), m) for m in pattern.finditer(text) if _is_figures(m, years))
    return found


def _is_named(match: re.Match[str], years: Years) -> bool:
    """Whether a day and the name of a month are a date: "lines 3 and 5 may be missing" and "you may 7" hold none."""
    pattern, groups, text = match.re, match.groupdict(), match.string
    after = text[match.end() :]
    if groups.get("y2"):
        return short_year(match, years) == "year"
    if (ds := groups.get("ds")) and not _goes_up(ds):
        return False
    if pattern is MONTH_DAYS and not groups["y"]:
        pair = re.fullmatch(r"\w+\s*,\s*\w+", ds or "")
        if COUNTED.match(after) or (pair and not CLOSED.match(after)):
            return False  # "March 5, 12 of them"
    if groups.get("y"):
        return True
    if pattern is DAY_MONTH:
        if (groups["o"] or "")[-1:] in (".", ",") and groups["s1"] and re.match(r"\s+\d{1,2}(?!\d)", after):
            return False  # "Feb 5th, March 3": the day stands behind
        if not groups["s1"] and (after[:1].isalnum() or "-" in (after[:1], text[match.start() - 1 : match.start()])):
            return False
    low = groups["m"]
    if low not in ("may", "march"):
        return not (low == "mar" and pattern in (WORD_MONTH, MONTH_WORD))
    before = text[: match.start()]
    if pattern in (WORD_MONTH, MONTH_WORD):
        return low == "march" and " of " in match.group()
    if pattern in (MONTH_DAY, MONTH_DAYS):
        return not NO_SUBJECT.search(before)
    if groups.get("o"):
        return True
    return not VERB.match(after) and (low == "march" or bool(CLOSED.match(after) or CUE.search(before)))


def short_year(match: re.Match[str], years: Years) -> str:
    """What the two figures behind a day and a month are: "year", "number" or "unclear"."""
    if match.re is MONTH_YEAR_SHORT or "'" in match["s2"]:
        return "year"
    if COUNTED.match(match.string, match.end()):
        return "number"
    if not match["s2"].strip(" ,\t\n"):
        near = years[0] <= 2000 + int(match["y2"]) <= years[1]
        if match.re is DAY_MONTH_SHORT and not match["s2"]:
            return "year"
        closed = bool(CLOSED.match(match.string, match.end()))
        if match.re is MONTH_DAY_SHORT or "," in match["s2"]:
            return "year" if near and closed else "number"
        return "year" if near or closed else "unclear"
    return "year" if match["s1"].strip() or match.re is DAY_MONTH_SHORT else "unclear"


def _goes_up(days: str) -> bool:
    numbers = [int(n) for n in re.findall(r"\d+", days)]
    return all(one < other for one, other in pairwise(numbers))


def epoch_unit(digits: str) -> int:
    """How many of it make a second: 10 figures count seconds, 13 thousandths, 16 millionths."""
    return int(10 ** (len(digits) - 10))


def _is_figures(match: re.Match[str], years: Years) -> bool:
    if match.re is EPOCH:
        seconds = int(match["e"]) // epoch_unit(match["e"])
        return years[0] <= datetime.fromtimestamp(seconds, UTC).year <= years[1]
    return match.re not in (MONTH_OF_YEAR, YEAR_OF_MONTH) or not A_UNIT.match(match.string, match.end())


def unclear(text: str, known: list[Found], years: Years = YEARS) -> Iterator[tuple[int, int]]:
    """Where a text holds a date that none of `known` (its `find_dates`) explains: it cannot be moved and must not leave."""
    text = even(text)

    def is_known(start: int, end: int) -> bool:
        return any(a <= start and end <= b for a, b, _ in known)

    yield from undeclared(text, known, years)
    if HAS_STEM.search(text):
        for match in ALMOST.finditer(text):
            if not is_known(match.start(), match.end()):
                yield match.span()
    if HAS_MONTH.search(text):
        for pattern in (DAY_MONTH_SHORT, MONTH_DAY_SHORT):
            for match in pattern.finditer(text):
                if short_year(match, years) == "unclear" and not is_known(match.start(), match.end()):
                    yield match.span()
    for _, end, found in known:
        if found.re in (ISO, YEAR_FIRST) and (rest := REST.match(text, end)) and not is_known(end, rest.end()):
            yield found.start(), rest.end()


def undeclared(text: str, known: list[Found], years: Years = YEARS) -> Iterator[tuple[int, int]]:
    """Days in figures, with their year, that no declared format explains."""
    text = even(text)
    for match in DAY_FIGURES.finditer(text):
        if _is_day(match, years) and not any(a <= match.start() and match.end() <= b for a, b, _ in known):
            yield match.span()


def _is_day(match: re.Match[str], years: Years) -> bool:
    one, other, year, sign = int(match["a"]), int(match["b"]), match["c"], match["s"].strip()
    if not (1 <= min(one, other) <= 12 and 1 <= max(one, other) <= 31):
        return False
    padded = len(match["a"]) == len(match["b"]) == 2
    if match["s"] != sign and not (len(year) == 4 and (sign or padded)):
        return False
    before, text = match.string[: match.start()], match.string
    cued = bool(CUE.search(before))
    if MEASURED.search(before):
        return False
    if len(year) == 4:
        return cued or not COUNTED.match(text, match.end())
    near = years[0] <= 2000 + int(year) <= years[1]
    if not cued and (COUNTED.match(text, match.end()) or (not near and match["a"] == match["b"] == year)):
        return False
    return near or cued or sign == "/" or (padded and sign == ".")
