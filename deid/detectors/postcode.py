"""Postcodes after a cue ("postcode 10115"), and British ones by their shape (Presidio's recogniser)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from deid.fold import alnum
from deid.spans import Context, Detector, Span, each

CUED = re.compile(
    r"(?i)\b(?:post ?code|postal ?code|post code|zip(?: ?code)?|plz|postleitzahl)\b(?P<gap>[^\d\n]{0,30}?)"
    r"(?P<p>\b(?:[A-Z]{1,2}-?)?\d{4,5}(?:-\d{4})?\b|\b[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}\b)"
)
AFTER = re.compile(
    r"(?i)(?P<p>\b\d{4,5}\b)(?=\s*(?:/|and|&|,)\s*(?:the\s+)?(?:phone|tel|telephone)?[\s:.]*\+?\d[\d /-]{5,}"
    r"|,?\s*(?:is|as|being|for)\s+(?:the|my|our|a)?\s*(?:billing\s+)?(?:post ?code?s?|zip|plz)\b)"
)
"""A number before "as postcode", or before a phone number ("10115 / 030 1234567"), as answers to an identity check
are written."""


@cache
def _recognizer() -> Any:
    from presidio_analyzer.predefined_recognizers import UkPostcodeRecognizer

    return UkPostcodeRecognizer()


def find(text: str, context: Context) -> list[Span]:
    found = {m.span("p") for pattern in (CUED, AFTER) for m in pattern.finditer(text)}
    if "GB" in context.regions:
        found |= {(r.start, r.end) for r in _recognizer().analyze(text, ["UK_POSTCODE"], None) if text[r.start : r.end].isupper()}
    return [Span(start, end, "postcode", alnum(text[start:end]), 38) for start, end in sorted(found)]


DETECTOR = Detector("postcode", "postcode", 38, each(find), gate=re.compile(r"\d").search)
