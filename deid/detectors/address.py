"""Postal addresses that no table knows: a street and a house number, with the postcode and town that follow."""

from __future__ import annotations

import re

from deid.fold import fold, word_set
from deid.spans import Context, Detector, Span, each

CAP = r"[A-ZÄÖÜ][\wäöüßéèáàóíñç'’-]*"
STREET = r"(?:str(?:aße|asse|\.)|gasse|weg|platz|allee|ufer|damm|ring|chaussee|stieg|steig|promenade)"
SURE = r"(?:stra(?:ß|ss)e|str\.|gasse|allee|weg|platz|chaussee)"
"""What ends a street's name even where nobody wrote a capital."""
GERMAN = (
    rf"\b(?:{CAP}[ -]){{0,3}}(?:[A-ZÄÖÜ][\wäöüß-]*{STREET}|[\wäöüß-]{{4,}}{SURE}|(?:{CAP}[ -])(?:weg|platz|allee|[Rr]ing)"
    r"|(?:[Ss]tra(?:ß|ss)e|Weg|Platz|Allee))\s+(?:[Nn]r\.?\s*)?\d{1,4}(?:\s?[a-z])?\b"
)
ENGLISH = (
    rf"\b\d{{1,5}}[a-zA-Z]?,?\s+(?:{CAP}\s+){{1,3}}"
    r"(?:Street|St\.?|Road|Rd\.?|Avenue|Ave\.?|Lane|Ln\.?|Drive|Dr\.?|Close|Court|Ct\.?|Boulevard|Blvd\.?|Way|Place|Square|"
    r"Terrace|Crescent|Gardens|Row)(?![\w])"
)
GERMAN_TOWN = rf"(?:[A-Z]{{1,2}}-)?\d{{4,5}}\s+{CAP}(?:[ -](?:am|an der|im|bei|ob der|{CAP})){{0,3}}"
ENGLISH_TOWN = rf"{CAP}(?:\s{CAP})?,?\s+(?:[A-Z]{{1,2}}\d[A-Z\d]?\s?\d[A-Z]{{2}}|[A-Z]{{2}}\s+\d{{5}})"
TOWN = rf"(?:\s*[,\n]\s*|\s+)(?:{GERMAN_TOWN}|{ENGLISH_TOWN})"
BY_TOWN = (
    r"\b(?:(?:Am|An der|An den|Im|In der|Zum|Zur|Auf dem|Auf der|Unter den|Alte[rs]?|Neue[rs]?)\s)?"
    rf"{CAP}(?:[ -]{CAP}){{0,2}}\s\d{{1,4}}\s?[a-z]?,\s*\d{{5}}\s+{CAP}(?:\s(?:am|an der|im)\s{CAP})?"
)
"""Any name and house number count as a street where postcode and town follow."""
PATTERN = re.compile(rf"(?:{GERMAN}|{ENGLISH})(?:{TOWN})?|{BY_TOWN}")
CUED = re.compile(
    r"(?i:\b(?:ship(?:ped)?(?: it)? to|deliver(?:ed)?(?: it)? to|send(?: it)? to|new address(?: is|:)?|address(?: is|:)|"
    rf"moved to)\b)[:\s]*(?P<a>{CAP}(?:[ -]{CAP}){{0,3}}\s+\d{{1,4}}(?:\s?[a-z])?\b(?:{TOWN})?)"
)


RING = re.compile(r"(?P<w>[^\W\d_]*ring)\s+(?:nr\.?\s*)?(?P<n>\d{1,4})\s?[a-z]?(?P<more>\W.*)?", re.IGNORECASE | re.DOTALL)
PLAIN = word_set(
    """
ring bring spring string during offspring wiring hiring firing tiring boring string earring herring stirring referring occurring
preferring transferring ordering offering gathering covering entering considering delivering answering remembering wondering
hearing bearing clearing wearing sharing caring scaring tearing exploring storing restoring scoring flooring steering engineering
manufacturing monitoring catering filtering rendering tutoring measuring ensuring featuring capturing lettering catering
"""
)
"""English words that end like a street."""


def _is_street(match: re.Match[str], context: Context) -> bool:
    """ "Ordering 12" and "in Spring 2025" are none: what ends in "ring" counts inside a sentence, before a town, or alone on its
    line, unless it is an ordinary word or the number is a year."""
    ring = RING.search(match.group())
    if ring is None or ring["more"]:
        return True
    word = fold(ring["w"])
    if word == "ring":  # "Innerer Ring 5", and not "Please ring 5"
        return fold(match.group()).split()[0].endswith("er")
    if word in PLAIN or word in context.common or re.fullmatch("(?:19|20)[0-9][0-9]", ring["n"]):
        return False
    text, start, end = match.string, match.start(), match.end()
    before, after = text[:start].rstrip(" \t"), text[end:].lstrip(" \t")
    opens = not before or before[-1] in ".!?:\n"
    return not opens or not after or after[0] == "\n"


def find(text: str, context: Context) -> list[Span]:
    found = {m.span() for m in PATTERN.finditer(text) if _is_street(m, context)} | {m.span("a") for m in CUED.finditer(text)}
    return [Span(start, end, "address", fold(text[start:end]), 40) for start, end in sorted(found)]


DETECTOR = Detector("address", "address", 40, each(find), gate=re.compile(r"\d").search)
