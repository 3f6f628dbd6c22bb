"""When two values are the same decision: numbers, dates and spacing written differently do not count."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?", re.ASCII)
"""A number written plainly; a leading zero ("01234", a postcode) makes it text."""
TOKEN = re.compile(r"[A-Z]+(?:_[A-Z]+)*_[0-9A-F]{8}(?:_[A-Z]+\d*)?", re.IGNORECASE | re.ASCII)
"""A pseudonym of the clean records, however it is written: systems know it by its exact letters alone."""
INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")

SHORT = 100
"""Letters up to which the form of a text is kept."""

Normal = tuple[Any, ...]
"""A hashable value tagged by its type, so that true is not 1."""


def normal(value: Any) -> Normal:
    """One hashable form per decision. Numbers: 5, 5.0 and "5.00" are one. Instants: one per moment, whatever the zone.

    Text: letter case, runs of spaces and a closing full stop do not count; of a pseudonym everything does. Lists keep their
    order. A JSON value that is none of these is a TypeError.
    """
    if value is None or value == "":
        return ("none",)
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int):
        return ("number", Decimal(value))
    if isinstance(value, float):
        return ("number", Decimal(str(value)).normalize())
    if isinstance(value, str):
        return _known_text(value) if len(value) <= SHORT else _normal_text(value)
    if isinstance(value, list | tuple):
        return ("list", *(normal(v) for v in value))
    if isinstance(value, dict):
        return ("object", *((str(k), normal(value[k])) for k in sorted(value, key=str)))
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def same(left: Any, right: Any) -> bool:
    """True where both are the same decision."""
    return normal(left) == normal(right)


@lru_cache(maxsize=16_384)
def _known_text(text: str) -> Normal:
    """`_normal_text` of a short text: ids and codes are compared again at every step."""
    return _normal_text(text)


def _normal_text(text: str) -> Normal:
    if TOKEN.fullmatch(text.strip()):
        return ("id", text)
    text = " ".join(text.split())
    if not text:
        return ("none",)
    if NUMBER.fullmatch(text):
        return ("number", Decimal(text))
    if INSTANT.fullmatch(text):
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            return ("text", text.casefold())
        return ("instant", (found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)).isoformat())
    return ("text", text.casefold().removesuffix(".") or text)
