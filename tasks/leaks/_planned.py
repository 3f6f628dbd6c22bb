"""What stands around a time says whether it is of a plan, of the past, or of the handling of the case.

A month behind "until" is planned: contracts, closures and cards are said to end so, long before they do. Not so in a clause that
tells of the past ("was open until July 2017", "lief bis Juli 2017", "Until July 2017 it was shut"): nobody writes that before the
month is over. A clause that plans in the past tense excuses it again ("was extended until July 2017", "they were told by July").
"""

from __future__ import annotations

import re
from functools import lru_cache

from tasks.leaks._times import Time

HANDLED = re.compile(
    r"(?:resolved|closed|solved|refunded|cancell?ed|granted|refused|denied|updated|handled|decided|completed|credited|restored|"
    r"modified|approved|paid|reopened|erledigt|gel[öo]st|geschlossen|abgeschlossen|bearbeitet|erstattet|storniert|genehmigt|"
    r"abgelehnt|r[ée]solue?|cl[ôo]tur[ée]e?|ferm[ée]e?|trait[ée]e?|rembours[ée]e?|annul[ée]e?|accept[ée]e?|refus[ée]e?|"
    r"resuelt[oa]|cerrad[oa]|reembolsad[oa]|cancelad[oa]|aprobad[oa]|rechazad[oa])(?:_?at|_?on)?[\W_]*(?:on|at|by|the|am|le|el|date)?"
    r"[\W_]*(?:\w{2,10}\.?,? )?$",
    re.IGNORECASE,
)
_RUNS = (
    "runs?|running|lasts?|lasting|extend(?:s|ed|ing)?|goes|open|valid|up|moved|postponed|pushed|delayed|deferred|prolonged|renewed|"
    "stays?|rolls|cover(?:s|ed)?|available|booked|paid|planned|scheduled|lease|contract|policy|subscription"
)
_FROM = r"(?:from|between|von|vom|de|du|des|desde|van|dal|od|fra|från)\s[^\s.;]{3,}(?:\s\d{4})?\s(?:to|and|au|à|al?|do|tot|till?)"
_PART = (
    "(?: the| end(?: of)?| mid(?:dle)?(?: of)?| beginning of| start of| early| late| about| around| at least| ende| mitte| "
    "anfang| einschlie(?:ß|ss)lich| etwa| sp[äa]testens| zum| eind| fin| d[ée]but| finales de| fine)*"
)
"""Between such a word and its month."""
PLANNED = re.compile(
    r"\b(?:by|until|till?|before|due|from|for|on|next|planned|expected|promised|scheduled|deliver[yi]?|bis|ab|am|zum|vor|jusqu.?(?:au|à|en)|"
    rf"avant|pour|le|hasta|antes|para|el|tot|voor|vanaf|entro|fino ad?|até|do|od|från|fra|innen|(?:{_RUNS})(?: on)? to|{_FROM})"
    rf"(?: date| on| dem| den)?{_PART}[\W_]*$",
    re.IGNORECASE,
)
"""What stands before a day that is still ahead."""
_END_OF = (
    "exp(?:iry|ires?|iring|iration)?|valid(?:ity)?|warranty|through|thru|best|end(?:s|ing)?|starts?|starting|renew(?:s|al)|"
    "g[üu]ltig|ablauf|garantie|valable|expiration|v[áa]lid[oa]|caduca|due|deadline|eta|target|later than|planned|scheduled|"
    "f[äa]llig|geplant|frist|pr[ée]vue?|estimated|upcoming|forecast|expected|promised|geldig|vervalt|verwacht|uiterlijk|scad(?:e|enza)|previst[oa]|"
    "vence|validade|wa[żz]n[aey]|termin|giltig|gyldig|udl[øo]ber|forventet|sena?est|platnost|term[íi]n|"
    r"(?:next|n[äa]chste[nrs]?|prochaine?|pr[óo]xim[oa]|volgende|prossim[oa])(?: \w+){0,2}"
)
ENDING = re.compile(
    rf"\b(?:{_END_OF})(?: (?:to|in|date|at|on|until|till|bis|im|f[üu]r|en|month))*{_PART}[\W_]*$",
    re.IGNORECASE,
)
"""What stands before a month that nobody plans: the end of a card, the begin of a contract."""
_KEY = re.compile(
    rf"(?:^| )(?:{_END_OF}|until|till|deliver[yi]?|best before|[ée]ch[ée]ance)"
    r"(?: (?:date|month|on|at|by|in|to|from|until|till|thru|through|before|time|day|period|end|start|year|value|bis|ab|am))*$",
    re.IGNORECASE,
)
_UNTIL = re.compile(
    r"(?P<word>\b(?:until|till?|through|thru|by|to|bis|jusqu.?(?:au|à|en)|hasta|tot|fino ad?|até|do))"
    rf"{_PART}[\W_]*$",
    re.IGNORECASE,
)
_WAS = re.compile(
    r"\b(?:was|were|wasn.t|weren.t|had|been|did|ran|lasted|went|stayed|remained|kept|worked|lived|continued|stood|held|"
    r"war(?:en)?|lief(?:en)?|dauerten?|blieb(?:en)?|hatten?|galt(?:en)?|hielt(?:en)?|gingen?|arbeiteten?|standen?|"
    r"[ée]tai(?:t|ent)|avai(?:t|ent)|dur[ée]|rest[ée]e?s?|fut|estuvo|estaban?|era|fueron|fue|dur[óòo]|hab[íi]a|erano|stat[oa]|rimase|"
    r"liep(?:en)?|duurden?|bleef|bleven|estava|foi|durou|by[łl][aoy]?|trwa[łl][ao]?|byl[aoy]?|trval[ao]?|var|varade|pågick|varede)\b",
    re.IGNORECASE,
)
_PLANS = re.compile(
    r"\b(?:will|would|shall|should|could|can|might|must|going|plan(?:ned|ning)|schedul|promis|expect|exten[ds]|postpon|delay|defer|mov(?:e|ing)|"
    r"book(?:ed|ing)|reserved|prolong|renew|paid|hop(?:e|ing)|suppos|meant|want|need|wish|told|due|deadline|grant|approv|offered|allow|"
    r"suspend|agree|ordered|guarant|please|bitte|verl[äa]ng|versch[io]|gebucht|geplant|vorgesehen|angesetzt|"
    r"befristet|zugesagt|versproch|soll|wird|werden|w[üu]rde|woll|m[öo]cht|bestell|bezahlt|gesagt|erwart|vertag|pr[ée]vu|devai|doit|"
    r"sera|ser[áà]|prorrog|previst|promet|deb[eéií]|verleng|uitgesteld|geboekt|gepland|zou|zal|prorog|prenot|adiad|przed[łl]u|prodlou)",
    re.IGNORECASE,
)
_STOPS = re.compile(r"[.,;:!?\n]\s|\n|\b(?:because|since|as|but|which|who|weil|denn|aber|car|mais|porque|pero)\b", re.IGNORECASE)
_INSERTED = re.compile(r", [^,.;:]{1,30}, *$")
"""In the midst of a clause ("was open, as always, until ...")."""
_CAMEL, _NO_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])"), re.compile(r"[\W_]+")
NEAR, CLAUSE, AFTER = 40, 120, 60
"""Characters before a time in which a word of planning is looked for, and of its clause before and from its begin."""


def handled(text: str, time: Time) -> bool:
    """True where the word before the time says that the case was handled then."""
    return HANDLED.search(text[max(0, time.start - 40) : time.start]) is not None


def planned(text: str, time: Time) -> bool:
    """True where the words before the time say that it is ahead."""
    before = _CAMEL.sub(" ", text[max(0, time.start - NEAR) : time.start]).replace("_", " ").replace("-", " ")
    if PLANNED.search(before) is None and not (time.month and ENDING.search(before)):
        return False
    return not _is_past(text, time.start)


def _is_past(text: str, start: int) -> bool:
    """True behind "until" in a clause that tells of the past and plans nothing."""
    until = _UNTIL.search(text, max(0, start - NEAR), start)
    if until is None:
        return False
    before = _STOPS.split(_INSERTED.sub(" ", text[max(0, start - CLAUSE) : until.start()]))[-1]
    behind = _STOPS.split(text[start : start + AFTER])[0]
    if _PLANS.search(before) or _PLANS.search(behind):
        return False
    return _WAS.search(before if before.strip() else behind) is not None


@lru_cache(maxsize=10_000)
def foretells(path: str) -> bool:
    """True where the last key of a path, or the one above it, says that a month under it is ahead ("due", "validUntil")."""
    names = [name for name in path.split("/") if name not in ("", "*", "(inside)")][-2:]
    return any(_KEY.search(_NO_WORD.sub(" ", _CAMEL.sub(" ", name)).strip()) for name in names)
