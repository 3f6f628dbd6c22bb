"""Postal addresses that no table knows: a street and a house number, with the postcode and town that follow."""

from __future__ import annotations

import re

from deid.fold import fold
from deid.spans import Context, Detector, Span, each

CAP = r"[A-ZÄÖÜ][\wäöüßéèáàóíñç'’-]*"
STREET = r"(?:str(?:aße|asse|\.)|gasse|weg|platz|allee|ufer|damm|ring|chaussee|stieg|steig|promenade)"
GERMAN = (
    rf"(?:{CAP}[ -]){{0,3}}(?:[A-ZÄÖÜ]?[\wäöüß-]*{STREET}"
    r"|(?:[Ss]traße|[Ss]trasse|[Ww]eg|[Pp]latz|[Aa]llee|[Rr]ing))\s+\d{1,4}\s?[a-z]?\b"
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
    rf"moved to)\b)[:\s]*(?P<a>{CAP}(?:[ -]{CAP}){{0,3}}\s+\d{{1,4}}\s?[a-z]?\b(?:{TOWN})?)"
)


def find(text: str, context: Context) -> list[Span]:
    found = {m.span() for m in PATTERN.finditer(text)} | {m.span("a") for m in CUED.finditer(text)}
    return [Span(start, end, "address", fold(text[start:end]), 40) for start, end in sorted(found)]


DETECTOR = Detector("address", "address", 40, each(find), gate=re.compile(r"\d").search)
