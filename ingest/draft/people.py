"""Which columns hold personal data, by their names and by the shape of their values: a first guess for the code book.

The stage deid finds personal data in texts; nothing here replaces it. A column counts as personal by its name even where
the values have no telling shape, because the safe mistake is to hide too much.
"""

from __future__ import annotations

import re

SHARE = 0.6
"""Share of values of a telling shape from which a column counts as such."""

NAMED: tuple[tuple[str, str], ...] = (
    ("email", r"e_?mail|mail_?address|email_?addr|sender|recipient"),
    ("phone", r"phone|mobile|telephone|(^|_)(tel|fax|cell)(_|$)"),
    ("postcode", r"post_?code|zip(_?code)?$|(^|_)plz($|_)|postal"),
    ("address", r"address(?!_?id)|street|strasse|ship_to|bill_to|(^|_)addr(_|$)"),
    ("login", r"(^|_)(login|user_?name|userid|user_login|uid)($|_)"),
    (
        "name",
        r"(first|last|full|sur|given|family|holder|contact|customer|person|agent|employee|user|account|display)_?name$"
        r"|^name$|(^|_)(requester|assignee|caller|assigned_to|opened_by|created_by|updated_by|resolved_by|closed_by|approved_by|author|actor|owner|agent|changed_by)$",
    ),
)
SHAPES: dict[str, str] = {
    "email": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "phone": r"(\+\d|00\d|0\d|\(\d)[\d ()/.-]{6,18}\d",
    "name": r"\p{Lu}\p{Ll}+([ -]\p{Lu}\p{Ll}+){1,3}",
    "address": (
        r".*(?i:stra(ß|ss)e|str\.|street|avenue|road|allee|weg|platz|lane) ?\d+.*"
        r"|\d+ .*(?i:street|avenue|road|lane|drive).*"
    ),
    "iban": r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}",
    "ip": r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}",
    "card": r"\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}",
}
TYPE_OF = {"iban": "login", "ip": "login", "card": "login"}
"""Shapes without a field type of their own -> the one that hides them."""


def counts_sql(value: str, weight: str) -> dict[str, str]:
    """Name -> SQL aggregate: rows whose value has each shape."""
    return {f"person_{name}": f"sum({weight}) FILTER (regexp_full_match({value}, '{shape}'))" for name, shape in SHAPES.items()}


def snake(name: str) -> str:
    """A column's name in lower case with underlines: "AssignedTo" -> assigned_to."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")


def person_of(name: str, counts: dict[str, int], filled: int, *, numeric: bool) -> tuple[str, str]:
    """(field type of personal data or "", counts that speak for it)."""
    plain = snake(name)
    by_name = next((kind for kind, pattern in NAMED if re.search(pattern, plain)), "")
    best = max(SHAPES, key=lambda kind: counts[f"person_{kind}"])
    rows = counts[f"person_{best}"]
    by_shape = TYPE_OF.get(best, best) if filled and rows >= SHARE * filled and not numeric else ""
    if by_shape == "name" and not by_name:
        by_shape = ""  # two capitalised words are as often a product or a state
    kind = by_name if by_name and not (numeric and by_name in ("name", "address")) else by_shape
    if not kind:
        return "", ""
    words = [f"the name says {by_name}"] if by_name else []
    if by_shape:
        words.append(f"{rows:,} of {filled:,} values have the shape of {best}")
    elif filled:
        words.append("the values have no telling shape")
    return kind, "; ".join(words)


PERSON_COLUMN = re.compile(
    r"assign|agent|owner|author|actor|user|person|employee|requester|caller|customer|contact|resolver|(^|_)by$|"
    r"(^|_)name$|login|email|editor|escalat|handle|approve|review|staff|_to$|(^|_)who$"
)
"""Columns whose values may name people, whatever their shape: none of their values is ever shown."""
