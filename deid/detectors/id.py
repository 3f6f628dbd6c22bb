"""Ids of records in free text, by the patterns that the spec declares for each identity; glued to letters, known ones only."""

from __future__ import annotations

import re
from functools import lru_cache

from deid.fold import alnum, even
from deid.spans import Context, Detector, Span, each


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])", re.IGNORECASE)


@lru_cache(maxsize=256)
def _glued(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\d)(?:(?<=[A-Za-z]){pattern}|{pattern}(?=[A-Za-z]))(?!\d)", re.IGNORECASE)


def find(text: str, context: Context) -> list[Span]:
    text, spans = even(text), []
    for identity, pattern in context.id_patterns.items():
        kind = f"id:{identity}"
        spans += [Span(*m.span(), kind, m.group(), 68) for m in _compiled(pattern).finditer(text) if m.end() > m.start()]
        if context.known_ids:  # "orderA-104327ok"
            spans += [
                Span(*m.span(), kind, m.group(), 68)
                for m in _glued(pattern).finditer(text)
                if alnum(m.group()) in context.known_ids
            ]
    return spans


DETECTOR = Detector("id", "id", 68, each(find))
