"""Ids of records in free text, by the patterns that the spec declares for each identity."""

from __future__ import annotations

import re
from functools import lru_cache

from deid.spans import Context, Detector, Span, each


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])", re.IGNORECASE)


def find(text: str, context: Context) -> list[Span]:
    return [
        Span(m.start(), m.end(), f"id:{identity}", m.group(), 68)
        for identity, pattern in context.id_patterns.items()
        for m in _compiled(pattern).finditer(text)
        if m.end() > m.start()
    ]


DETECTOR = Detector("id", "id", 68, each(find))
