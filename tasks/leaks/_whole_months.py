"""Whole months in a text: "November 2025", "Nov '25", "2025-11", "11/2025", "2025-10/2025-12", "report-2025-11.csv".

In figures a month looks like a number of a year ("invoice 2025/11"): behind the name of what is numbered it counts as none, and
neither does one in a column whose numbers go beyond twelve. Without a blank, a name or an apostrophe two figures of a year are no
year ("Nov-25" may be a day).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from tasks.leaks._month_names import APOSTROPHES, BEHIND_DAY, ENDS_NAME, MONTH, is_no_month, number_of

_OF = r"(?:[\s/,._+(\[-]{0,3}|\s(?:of|de|del|du)\s)"
_ENDS = r"(?![^\W_]|[/-]\d|[.,:]\d)"
_NAMED = re.compile(
    rf"(?<![^\W_])(?P<n>{MONTH}){ENDS_NAME}\.?{_OF}(?P<y>(?:19|20)\d\d|[{APOSTROPHES}]\d\d){_ENDS}"
    rf"|(?<![^\W_])(?P<y2>(?:19|20)\d\d)[\s/._+-]{{0,2}}(?P<n2>{MONTH})(?![^\W_])(?!\.?[\s/-]?\d)",
    re.IGNORECASE,
)
_ALONE = r"(?<![^\W_].)(?<![./#,+-].)"
"""Behind a first figure: none before it, and no part of a date, a path or an id."""
_OF_TIME = "|".join(rf"(?<=\b(?:{words})\s\d\d\.)" for words in ("im|in|of|en|am", "vom", "seit|from", "since"))
"""Behind a month and its dot: elsewhere that is a number with a decimal point."""
_TO = r"(?:/|--?|\.\.|:|\u2013)"
"""Between two months of the same form, alone."""
_YEAR_FIRST = re.compile(
    rf"20(?<![^\W_]20)(?<![./#,+-]20)(?P<y>\d\d)(?:[-/](?P<m>0[1-9]|1[0-2])(?:{_ENDS}(?![/-])|(?={_TO}20\d\d[-/][01]\d{_ENDS}))"
    rf"|_(?P<m_>0[1-9]|1[0-2]){_ENDS}(?!_\d))"
)
_YEAR_LAST = re.compile(
    rf"(?P<m>[0-9]{_ALONE}(?:(?<=0)[1-9]|(?<=1)[0-2]|(?<=[1-9])(?= ?/)))(?:-| ?/ ?|\.(?i:{_OF_TIME}))20(?P<y>\d\d)"
    rf"(?:{_ENDS}(?![/-])|(?={_TO}[01]\d[-/]20\d\d{_ENDS}))"
)
_SPAN = re.compile(
    rf"20\d\d(?P<s>[-/])(?:0[1-9]|1[0-2]){_TO}(?P<at>20(?P<y>\d\d)(?P=s)(?P<m>0[1-9]|1[0-2])){_ENDS}"
    rf"|[01]\d(?P<s2>[-/])20\d\d{_TO}(?P<at2>(?P<m2>0[1-9]|1[0-2])(?P=s2)20(?P<y2>\d\d)){_ENDS}"
)
"""Its second month; the first is found as one alone is."""
_BEFORE_YEAR = ("-20", "/20", ".20", "/ 20", ":20")
"""Without one of these no year is last, and no second month is there: told faster than where it stands."""
_FILE_NAME = (
    r"(?=[\w./-]{0,60}?\.(?i:csv|tsv|txt|pdf|xlsx?|ods|jsonl?|ya?ml|xml|html?|md|docx?|odt|rtf|pptx?|png|jpe?g|gif|zip|gz|tar|log|eml|"
    r"msg|ics|parquet|db|sql|bak|dat)(?![^\W_]))"
)
_IN_FILE = re.compile(
    rf"20(?<![^\W_]20)(?P<y>\d\d)[-_./]?(?P<m>0[1-9]|1[0-2])(?![^\W_]|[-_./]\d){_FILE_NAME}"
    rf"|[01](?<![^\W_].)(?P<m2>(?<=0)[1-9]|(?<=1)[0-2])[-_.]20(?P<y2>\d\d)(?![^\W_]|[-_.]\d){_FILE_NAME}"
)
_IN_PATH = re.compile(r"(?<![^\W_])20(?P<y>\d\d)[/\\_-]?(?P<m>0[1-9]|1[0-2])(?![^\W_]|[/\\_.-]\d)")
_NUMBERED = re.compile(
    r"(?<![^\W_])(?:no|nr|num|numbers?|nummer|n[°º]|ref|reference|id|invoice|order|ticket|case|request|issue|po|pr|rma|contract|"
    r"batch|lot|version|release|rev|v|part|article|artikel|rechnung|bestellung|auftrag|vorgang|fall|vertrag|charge|facture|commande|"
    r"dossier|factura|pedido|rooms?|rm|zimmer|raum|desk|unit|apt|apartment|suite|building|gate|platform|gleis|flat|floor|slot|row|"
    r"seat|box|locker|shelf|regal|platz|page|chapter|section|vol|volume|serial|model|flight|train|job|task|project|projekt|file|folder|"
    r"akte|aktenzeichen|az|quote|offer|angebot|lieferschein|gutschrift|credit note|delivery note|chamber|chambre|sala|salle|"
    r"habitaci[óo]n|(?-i:RE(?!:)|RG|RN|GS|LS|AB|AU|KV|BE|INV|SO|WO|CN|DN|QU|SR|CR|RFC|IMG|DSC)|img|scan|photo|foto)[\s.:#_-]*$",
    re.IGNORECASE,
)
LONGEST = 20
"""Characters before a number in which the name of what is numbered is looked for."""
_OF_YEAR = re.compile(
    r"(?<![^\W_])(?<!\d[-/.])(?:20\d\d[-/_](?P<a>\d{1,3}|\d{5,6})|(?P<b>\d{1,3}|\d{5,6})[-/]20\d\d)(?![^\W_]|[-/_]\d)"
)


def months_in(text: str, *, named: bool) -> Iterator[tuple[datetime, int, int, bool]]:
    """(its first instant in UTC, begin, end, True for figures alone) of each month in a text; those by name only if `named`."""
    for match in _NAMED.finditer(text) if named else ():
        name = match["n"] or match["n2"]
        if not _is_other(match, name):
            year = (match["y"] or match["y2"]).lstrip(APOSTROPHES)
            yield _first_of(int(year) % 2000 + 2000 if len(year) == 2 else int(year), number_of(name)), *match.span(), False
    last = any(map(text.__contains__, _BEFORE_YEAR))
    for pattern in (_YEAR_FIRST, _YEAR_LAST) if last else (_YEAR_FIRST,):
        for match in pattern.finditer(text):
            if not _is_numbered(text, match.start()):
                month = match["m"] or match["m_"]
                yield _first_of(2000 + int(match["y"]), int(month)), *match.span(), True
    for pattern in (_SPAN,) * last + (_IN_FILE,) * ("." in text):
        for match in pattern.finditer(text):
            if not _is_numbered(text, match.start()):
                yield _first_of(2000 + int(match["y"] or match["y2"]), int(match["m"] or match["m2"])), *match.span(), True


def months_of_path(name: str) -> Iterator[datetime]:
    """The first instants (in UTC) of the months that a file's name or its folders say in figures ("2025/11/a.log")."""
    for match in _IN_PATH.finditer(name):
        if not _is_numbered(name, match.start()):
            yield _first_of(2000 + int(match["y"]), int(match["m"]))


def _is_other(match: re.Match[str], name: str) -> bool:
    """True where what reads as the name of a month is another word."""
    if match["n2"]:
        return name == "may"  # "in 2018 may be"
    return name.casefold() in BEHIND_DAY or is_no_month(match.string, match.start(), name)


def _is_numbered(text: str, start: int) -> bool:
    return _NUMBERED.search(text[max(0, start - LONGEST) : start]) is not None


def _first_of(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC)


def are_numbers(texts: Iterable[str], called: str = "") -> bool:
    """True where one of the texts numbers something of a year beyond twelve ("2025/47"), so that the others are no months; or
    where most of them look like a number and what they are `called` says that it is numbered ("invoice")."""
    held = list(texts)
    if any(not 1 <= int(m["a"] or m["b"]) <= 12 for text in held for m in _OF_YEAR.finditer(text)):
        return True
    return _NUMBERED.search(called) is not None and 2 * sum(_OF_YEAR.search(text) is not None for text in held) > len(held)


_WITHOUT_YEAR = re.compile(
    rf"(?<![^\W\d_])(?:{MONTH}){ENDS_NAME}(?!\.?{_OF}(?:\d\d?(?:st|nd|rd|th)?[\s,/.-]{{1,3}})?(?:(?:19|20)\d\d|[{APOSTROPHES}]\d\d))",
    re.IGNORECASE,
)


def months_named(text: str) -> set[int]:
    """1 to 12 of the months that a text names without a year behind them."""
    return {number_of(name) for name in _WITHOUT_YEAR.findall(text) if name.casefold() not in BEHIND_DAY}
