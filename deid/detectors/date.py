"""Dates: ISO, English month names, and the formats that the spec declares. Moved by whole weeks, not tokenised."""

from __future__ import annotations

import re

from deid.dateforms import BARE, find_dates
from deid.spans import Context, Detector, Span, each


def find(text: str, context: Context) -> list[Span]:
    found = find_dates(text, context.date_formats, context.years)
    return [Span(start, end, "date", "", 44 if match.re in BARE else 50) for start, end, match in found]


DETECTOR = Detector("date", "date", 50, each(find), gate=re.compile(r"\d|(?:st|nd|rd|th)\b", re.IGNORECASE).search)
