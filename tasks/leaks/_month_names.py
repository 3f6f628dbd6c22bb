"""Names of the months in English, German, French, Spanish, Dutch, Italian, Portuguese, Polish, Czech, Swedish, Danish, Norwegian.

Left out are short forms and names that are everyday words of some language before any number ("set", "out", "gen", "mag", "des",
"leden", "marco"). Polish "marca" (Spanish: brand) and "maja" and Italian "ott" (names of people) are months only behind a day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAMES = (
    "january jan januar jänner janvier janv enero ene januari gennaio janeiro styczeń styczen stycznia styczniu ledna lednu",
    "february feb februar février fevrier févr fevr febrero februari febbraio fevereiro fev luty lutego lutym února unora únoru "
    "únor",
    "march mar märz maerz mrz mars marzo maart mrt março marts marzec marca marcu března brezna březnu březen",
    "april apr avril avr abril abr aprile kwiecień kwiecien kwietnia kwietniu kwi dubna dubnu duben",
    "may mai mayo mei maggio maio maj maja maju května kvetna květnu květen",
    "june jun juni juin junio giugno giu junho czerwiec czerwca czerwcu června cervna červnu červen",
    "july jul juli juillet juil julio luglio julho lipiec lipca lipcu července cervence červenci červenec",
    "august aug août aout agosto ago augustus augusti sierpień sierpien sierpnia sierpniu srpna srpnu srpen",
    "september sept sep septembre septiembre setiembre settembre setembro wrzesień wrzesien września wrzesnia wrześniu wrzesniu "
    "wrz září zari",
    "october oct oktober okt octobre octubre ottobre ott outubro październik pazdziernik października pazdziernika październiku "
    "pazdzierniku paź října rijna říjnu říjen",
    "november nov novembre noviembre novembro listopad listopada listopadzie listopadu",
    "december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro desember grudzień grudzien grudnia grudniu "
    "gru prosince prosinci prosinec",
)
NUMBERS = {name: number for number, names in enumerate(_NAMES, 1) for name in names.split()}
"""Name in lower case -> 1 to 12."""
BEHIND_DAY = frozenset(("maja", "marca", "ott"))
"""Names that are other words where no day stands before them."""


def any_of(words: Iterable[str]) -> str:
    """A pattern of any of the words, the longest that stands there first; what they begin with alike is looked at once."""
    known = {*words}
    tails: dict[str, set[str]] = {}
    for word in known - {""}:
        tails.setdefault(word[0], set()).add(word[1:])
    parts = [re.escape(first) + any_of(rest) for first, rest in sorted(tails.items())]
    whole = parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})" if parts else ""
    return f"(?:{whole})?" if "" in known and whole else whole


MONTH = any_of(NUMBERS)
ENDS_NAME = r"(?![^\W\d_])"
"""Behind a name: no letter; a figure may follow ("14Nov2023")."""
APOSTROPHES = "'\u2018\u2019\u02bc\u00b4"
"""Of which one may stand before a year of two figures."""
_TITLE = re.compile(
    r"(?<![^\W_])(?:m[rs]s?|miss|mx|dr|prof|sir|madam|dear|frau|herrn?|lieber?|mme|mlle|monsieur|madame|sra?|señora?|signora?)\.?\s"
    r"(?:[^\W\d_]\.\s|[^\W\d_]{2,15}\s)?$",
    re.IGNORECASE,
)
"""What stands before somebody who is called like a month ("Ms May", "Mr. T. August")."""
_WHO = re.compile(
    r"(?<![^\W_])(?:i|you|we|they|he|she|it|who|which|there|one|agents?|clients?|customers?|people|users?)\s$",
    re.IGNORECASE,
)
LONGEST = 30
"""Characters before a name in which those are looked for."""


def number_of(name: str) -> int:
    """1 to 12 of a month by its name as a pattern of MONTH finds it: to one that goes by no case, a dotless i is an i."""
    return NUMBERS[name.casefold().replace("\u0131", "i").replace("i\u0307", "i")]


def is_no_month(text: str, start: int, name: str) -> bool:
    """True where the name of a month that begins there is that of a person, or the verb ("you may 2018")."""
    before = text[max(0, start - LONGEST) : start]
    return _TITLE.search(before) is not None or (name in ("may", "MAY") and _WHO.search(before) is not None)
