"""A field's value against the code book, strictly: nothing is cast that could lose or invent something."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from datetime import date
from typing import Any

from ingest.source import RowFault
from schemas.records import CodeBook, FieldRule

TEXTS = frozenset({"text", "name", "email", "phone", "address", "postcode", "login"})


def type_of(value: Any) -> str:
    """Name of a JSON type, which may be shown where the value may not."""
    names = {bool: "true or false", int: "whole number", float: "number", str: "text", list: "list", dict: "object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def shown_code(value: Any, allowed: Iterable[str]) -> str:
    """A wrong code, where it is plainly a misspelt one of `allowed` ('Resolvd'); else its type: it could be anybody's name."""
    if isinstance(value, str) and difflib.get_close_matches(value.lower(), [code.lower() for code in allowed], n=1, cutoff=0.7):
        return repr(value)
    return type_of(value)


def shown_name(name: Any) -> str:
    """A column or field that the spec does not name, for counts: its name where it looks like one, else its type."""
    return name if isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}", name) else f"({type_of(name)})"


def shown_key(key: Any) -> str:
    """A key is the export's vocabulary and may be shown, where it looks like one."""
    return repr(key) if isinstance(key, str) and re.fullmatch(r"[A-Za-z][A-Za-z_-]{0,39}", key) else type_of(key)


def field_rule(book: CodeBook, record: tuple[str, str], field: str) -> FieldRule:
    """The rule of a field; RowFault for one that the code book does not know."""
    if rule := book.rule(*record, field):
        return rule
    raise RowFault("field is not in the code book", field=".".join((*record, field)), found="an undeclared field")


def checked(book: CodeBook, record: tuple[str, str], field: str, value: Any) -> Any:
    """`value` as it stands in value_json, or RowFault. Null passes everywhere. Times must have been made UTC texts before."""
    rule = field_rule(book, record, field)
    if value is None:
        return None
    name = ".".join((*record, field))
    fitting, allowed = _fit(rule.type, value)
    if fitting is None:
        raise RowFault(f"not a value of type {rule.type}", field=name, found=type_of(value), allowed=allowed)
    codes = book.codes.get(name)
    if rule.type == "code" and codes is not None and fitting not in codes:
        raise RowFault("unknown code", field=name, found=shown_code(fitting, codes), allowed=", ".join(codes))
    return fitting


def _fit(kind: str, value: Any) -> tuple[Any, str]:
    """The value, or None where it does not fit; and what would."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind in TEXTS:
        return (value if isinstance(value, str) else None), "text"
    if kind == "code":
        return (value if isinstance(value, str | bool) or whole else None), "a code"
    if kind == "id":
        return (str(value) if whole or (isinstance(value, str) and value) else None), "text or a whole number"
    if kind == "money":
        return (value if whole else None), "a whole number of minor units"
    if kind == "int":
        return (value if whole else None), "a whole number"
    if kind == "number":
        return (value if whole or (isinstance(value, float) and math.isfinite(value)) else None), "a finite number"
    if kind == "bool":
        return (value if isinstance(value, bool) else None), "true or false"
    if kind == "time":
        return (value if isinstance(value, str) else None), "a time"
    if kind == "date":
        return (value if isinstance(value, str) and _is_date(value) else None), "YYYY-MM-DD"
    if kind == "tags":
        return (value if isinstance(value, list) and all(isinstance(v, str) for v in value) else None), "a list of texts"
    return value, "JSON"


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
