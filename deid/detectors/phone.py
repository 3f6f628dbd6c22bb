"""Phone numbers: Presidio's recogniser (libphonenumber), in the regions seen in the supplier's own numbers, and
numbers after a cue."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from deid.fold import digits
from deid.identity import normalise_phone
from deid.spans import Context, Detector, Span, each

CANDIDATE = re.compile(r"(?:\+|\b)\d[\d ()/.\-\u00a0]{5,}\d")
CUED = re.compile(
    r"\b(?:phone|tel|telephone|mobile|cell|call(?: me)?(?: (?:on|at))?|number on file)\b[^\d+\n]{0,24}(\+?\d[\d ()/.\-]{4,}\d)",
    re.IGNORECASE,
)


@cache
def _recognizer(regions: tuple[str, ...]) -> Any:
    from presidio_analyzer.predefined_recognizers import PhoneRecognizer

    return PhoneRecognizer(supported_regions=regions, leniency=1)


def find(text: str, context: Context) -> list[Span]:
    spans = {}
    if CANDIDATE.search(text):
        for result in _recognizer(context.regions).analyze(text, ["PHONE_NUMBER"], None):
            spans[result.start, result.end] = 45
    for match in CUED.finditer(text):
        if 6 <= len(digits(match.group(1))) <= 15:
            spans[match.span(1)] = 46
    return [
        Span(start, end, "phone", normalise_phone(text[start:end], context.regions), rank)
        for (start, end), rank in sorted(spans.items())
        if len(digits(text[start:end])) >= 6
    ]


DETECTOR = Detector("phone", "phone", 45, each(find), gate=re.compile(r"(?:\d\D{0,3}){6}").search)
