"""A spec as TOML: the keys in the order of the spec's own model, guesses last, findings as comments on top."""

from __future__ import annotations

import json
import re
from datetime import date, datetime, time
from typing import Any

from schemas.spec import Spec

SECTIONS = frozenset({"sources.options", "sources.options.history", "requester.slots", "holdout.waived"})
"""Tables below the top level that get a heading of their own; any other nested table stands in one line."""
ARRAYS = frozenset({"sources.options.tables"})
BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml(spec: dict[str, Any], comments: list[str]) -> str:
    """The text of a spec; tomllib reads the same values back."""
    lines = [f"# {plain(comment)}" for comment in comments] + [""]
    order = [*Spec.model_fields, *sorted(spec.keys() - Spec.model_fields.keys())]
    given = [key for key in order if key in spec]
    for key in given:
        if not isinstance(spec[key], dict) and not _tables(spec[key]):
            lines.append(f"{_key(key)} = {value(spec[key])}")
    for key in given:
        if isinstance(spec[key], dict):
            _section(lines, (key,), spec[key])
        elif _tables(spec[key]):
            for entry in spec[key]:
                _section(lines, (key,), entry, array=True)
    return "\n".join(lines) + "\n"


def _tables(held: Any) -> bool:
    return isinstance(held, list) and bool(held) and all(isinstance(one, dict) for one in held)


def _section(lines: list[str], path: tuple[str, ...], table: dict[str, Any], *, array: bool = False) -> None:
    heading = ".".join(_key(part) for part in path)
    lines += ["", f"[[{heading}]]" if array else f"[{heading}]"]
    later = []
    for key, held in table.items():
        below = (*path, key)
        if (isinstance(held, dict) and ".".join(below) in SECTIONS) or (_tables(held) and ".".join(below) in ARRAYS):
            later.append((below, held))
        else:
            lines.append(f"{_key(key)} = {value(held)}")
    for below, held in later:
        for entry in held if isinstance(held, list) else [held]:
            _section(lines, below, entry, array=isinstance(held, list))


def value(held: Any) -> str:
    """A value in one line. Raises ValueError for what TOML has no form for."""
    if isinstance(held, bool):
        return "true" if held else "false"
    if isinstance(held, str):
        return _text(held)
    if isinstance(held, int | float):
        return repr(held)
    if isinstance(held, datetime | date | time):
        return held.isoformat()
    if isinstance(held, list | tuple):
        return "[" + ", ".join(value(one) for one in held) + "]"
    if isinstance(held, dict):
        inner = ", ".join(f"{_key(key)} = {value(one)}" for key, one in held.items() if one is not None)
        return f"{{ {inner} }}" if inner else "{}"
    raise ValueError(f"no TOML value: {type(held).__name__}")


def _text(held: str) -> str:
    return json.dumps(held, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else _text(key)


def plain(text: str) -> str:
    """A finding in one line, without control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
