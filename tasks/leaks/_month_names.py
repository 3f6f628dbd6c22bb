"""Names of the months in English, German, French and Spanish."""

from __future__ import annotations

_NAMES = (
    *("january jan januar jänner janvier janv enero ene", "february feb februar février fevrier févr fevr febrero"),
    *("march mar märz maerz mrz mars marzo", "april apr avril avr abril abr", "may mai mayo"),
    *("june jun juni juin junio", "july jul juli juillet juil julio", "august aug août aout agosto ago"),
    *("september sept sep septembre septiembre setiembre", "october oct oktober okt octobre octubre"),
    *("november nov novembre noviembre", "december dec dezember dez décembre decembre déc diciembre dic"),
)
NUMBERS = {name: number for number, names in enumerate(_NAMES, 1) for name in names.split()}
"""Name in lower case -> 1 to 12."""
MONTH = "|".join(sorted(NUMBERS, key=len, reverse=True))
ENDS_NAME = r"(?![^\W\d_])"
"""Behind a name: no letter; a figure may follow ("14Nov2023")."""
APOSTROPHES = "'\u2018\u2019\u02bc\u00b4"
"""Of which one may stand before a year of two figures."""


def number_of(name: str) -> int:
    """1 to 12 of a month by its name as a pattern of MONTH finds it: to one that goes by no case, a dotless i is an i."""
    return NUMBERS[name.casefold().replace("\u0131", "i").replace("i\u0307", "i")]
