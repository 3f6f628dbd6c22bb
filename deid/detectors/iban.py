"""Bank accounts (IBAN): Presidio's recogniser, pattern of the country and checksum."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from deid.fold import alnum
from deid.spans import Context, Detector, Span, each


@cache
def _recognizer() -> Any:
    from presidio_analyzer.predefined_recognizers import IbanRecognizer

    return IbanRecognizer()


def find(text: str, context: Context) -> list[Span]:
    upper = text.upper()
    if len(upper) != len(text):
        upper = text
    results = _recognizer().analyze(upper, ["IBAN_CODE"], None)
    return [Span(r.start, r.end, "iban", alnum(text[r.start : r.end]), 85) for r in results if r.score > 0]


DETECTOR = Detector("iban", "iban", 85, each(find), gate=re.compile(r"(?i)\b[a-z]{2}\d{2}[ -]?[a-z0-9]{4}").search)
