"""Dates: ISO, English month names, and the formats that the spec declares. Moved by whole weeks, not tokenised."""

from __future__ import annotations

import re

from deid.dates import find_dates
from deid.spans import Context, Detector, Span, each


def find(text: str, context: Context) -> list[Span]:
    return [Span(start, end, "date", "", 50) for start, end, _ in find_dates(text, context.date_formats)]


DETECTOR = Detector("date", "date", 50, each(find), gate=re.compile(r"\d").search)
