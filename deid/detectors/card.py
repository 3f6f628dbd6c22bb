"""Payment cards: Presidio's recogniser, pattern and Luhn checksum."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from deid.fold import digits
from deid.spans import Context, Detector, Span, each


@cache
def _recognizer() -> Any:
    from presidio_analyzer.predefined_recognizers import CreditCardRecognizer

    return CreditCardRecognizer()


def find(text: str, context: Context) -> list[Span]:
    results = _recognizer().analyze(text, ["CREDIT_CARD"], None)
    return [Span(r.start, r.end, "card", digits(text[r.start : r.end]), 80) for r in results if r.score == 1.0]


DETECTOR = Detector("card", "card", 80, each(find), gate=re.compile(r"(?:\d[ -]?){12}").search)
