"""Whole months in a text: "November 2025", "Nov '25", "2025-11", "11/2025".

In figures a month looks like a number of a year ("invoice 2025/11"): behind the name of what is numbered it counts as none, and
neither does one in a column whose numbers go beyond twelve. Without a blank, a name or an apostrophe two figures of a year are no
year ("Nov-25" may be a day).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from tasks.leaks._month_names import APOSTROPHES, ENDS_NAME, MONTH, number_of

_OF = r"(?:[\s/,._-]{0,3}|\s(?:of|de|del|du)\s)"
_ENDS = r"(?![^\W_]|[/-]\d|[.,:]\d)"
_NAMED = re.compile(
    rf"(?<![^\W_])(?P<n>{MONTH}){ENDS_NAME}\.?{_OF}(?P<y>(?:19|20)\d\d|[{APOSTROPHES}]\d\d){_ENDS}"
    rf"|(?<![^\W_])(?P<y2>(?:19|20)\d\d)[\s/._-]{{0,2}}(?P<n2>{MONTH})(?![^\W_])(?!\.?[\s/-]?\d)",
    re.IGNORECASE,
)
_ALONE = r"(?<![^\W_].)(?<![./#,+-].)"
"""Behind a first figure: none before it, and no part of a date, a path or an id."""
_OF_TIME = "|".join(rf"(?<=\b(?:{words})\s\d\d\.)" for words in ("im|in|of|en|am", "vom", "seit|from", "since"))
"""Behind a month and its dot: elsewhere that is a number with a decimal point."""
_YEAR_FIRST = re.compile(rf"20(?<![^\W_]20)(?<![./#,+-]20)(?P<y>\d\d)[-/](?P<m>0[1-9]|1[0-2]){_ENDS}(?![/-])")
_YEAR_LAST = re.compile(
    rf"(?P<m>[0-9]{_ALONE}(?:(?<=0)[1-9]|(?<=1)[0-2]|(?<=[1-9])(?= ?/)))(?:-| ?/ ?|\.(?i:{_OF_TIME}))20(?P<y>\d\d){_ENDS}(?![/-])"
)
_BEFORE_YEAR = ("-20", "/20", ".20", "/ 20")
"""Without one of these no year is last: told faster than where it stands."""
_NUMBERED = re.compile(
    r"(?<![^\W_])(?:no|nr|num|numbers?|nummer|n[°º]|ref|reference|id|invoice|order|ticket|case|request|issue|po|pr|rma|contract|"
    r"batch|lot|version|release|rev|v|part|article|artikel|rechnung|bestellung|auftrag|vorgang|fall|vertrag|charge|facture|commande|"
    r"dossier|factura|pedido)[\s.:#_-]*$",
    re.IGNORECASE,
)
LONGEST = 20
"""Characters before a number in which the name of what is numbered is looked for."""
_OF_YEAR = re.compile(r"(?<![^\W_])(?:20\d\d[-/](?P<a>\d\d)|(?P<b>\d\d)[-/]20\d\d)(?![^\W_]|[-/]\d)")


def months_in(text: str, *, named: bool) -> Iterator[tuple[datetime, int, int, bool]]:
    """(its first instant in UTC, begin, end, True for figures alone) of each month in a text; those by name only if `named`."""
    for match in _NAMED.finditer(text) if named else ():
        year = (match["y"] or match["y2"]).lstrip(APOSTROPHES)
        century = 2000 if len(year) == 2 else 0
        yield _first_of(century + int(year), number_of(match["n"] or match["n2"])), *match.span(), False
    for pattern in (_YEAR_FIRST, _YEAR_LAST) if any(map(text.__contains__, _BEFORE_YEAR)) else (_YEAR_FIRST,):
        for match in pattern.finditer(text):
            if not _NUMBERED.search(text[max(0, match.start() - LONGEST) : match.start()]):
                yield _first_of(2000 + int(match["y"]), int(match["m"])), *match.span(), True


def _first_of(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC)


def are_numbers(texts: Iterable[str]) -> bool:
    """True where one of the texts numbers something of a year beyond twelve ("2025/47"), so that the others are no months."""
    return any(not 1 <= int(m["a"] or m["b"]) <= 12 for text in texts for m in _OF_YEAR.finditer(text))


_WITHOUT_YEAR = re.compile(
    rf"(?<![^\W\d_])(?:{MONTH}){ENDS_NAME}(?!\.?{_OF}(?:\d\d?(?:st|nd|rd|th)?[\s,/.-]{{1,3}})?(?:(?:19|20)\d\d|[{APOSTROPHES}]\d\d))",
    re.IGNORECASE,
)


def months_named(text: str) -> set[int]:
    """1 to 12 of the months that a text names without a year behind them."""
    return {number_of(name) for name in _WITHOUT_YEAR.findall(text)}
