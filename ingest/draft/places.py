"""Dotted places of guesses: in the spec, where entries of lists go by their name, or below "code_book" in the code book."""

from __future__ import annotations

from typing import Any

NAMES = ("name", "table", "id")
"""Keys by which an entry of a list is called."""
MISSING: Any = object()


def named(entry: Any) -> str | None:
    """What an entry of a list is called."""
    if isinstance(entry, dict):
        return next((str(entry[key]) for key in NAMES if key in entry), None)
    return None


def value_at(spec: dict[str, Any], book: dict[str, Any], at: str) -> Any:
    """What stands at a place, or MISSING."""
    here: Any = spec
    if at.startswith("code_book."):
        section, _, key = at.removeprefix("code_book.").partition(".")
        return book.get(section, {}).get(key, MISSING)
    for part in at.split("."):
        here = _step(here, part)
        if here is MISSING:
            return MISSING
    return here


def _step(here: Any, part: str) -> Any:
    if isinstance(here, dict):
        return here.get(part, MISSING)
    if isinstance(here, list):
        return next((entry for entry in here if named(entry) == part), MISSING)
    return MISSING


def put_at(spec: dict[str, Any], book: dict[str, Any], at: str, new: Any) -> bool:
    """Sets (or with MISSING takes away) what stands at a place; False where the place's container is not there."""
    if at.startswith("code_book."):
        section, _, key = at.removeprefix("code_book.").partition(".")
        held: Any = book.setdefault(section, {})
    else:
        parts = at.split(".")
        key, held = parts[-1], value_at(spec, book, ".".join(parts[:-1])) if len(parts) > 1 else spec
    if isinstance(held, dict):
        if new is MISSING:
            held.pop(key, None)
        else:
            held[key] = new
        return True
    if isinstance(held, list):
        index = next((i for i, entry in enumerate(held) if named(entry) == key), None)
        if new is MISSING:
            held[:] = [entry for entry in held if named(entry) != key]
        elif index is not None:
            held[index] = new
        else:
            held.append(new)
        return True
    return False
