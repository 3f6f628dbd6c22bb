"""A new draft over an old one: what a person has confirmed or added stays, what nobody has confirmed is drafted anew."""

from __future__ import annotations

import copy
from typing import Any

from ingest.draft.compose import Draft
from ingest.draft.places import MISSING, named, put_at, value_at
from schemas.guesses import GuessSpec


def merged(new: Draft, spec: dict[str, Any], book: dict[str, Any]) -> Draft:
    """`new` with the answers that `spec` (with its guesses) and `book` hold."""
    before = {str(one["at"]): GuessSpec.model_validate(one) for one in spec.get("guesses", [])}
    confirmed = {at for at, guess in before.items() if guess.confirmed}
    kept_spec = {key: copy.deepcopy(value) for key, value in spec.items() if key != "guesses"}
    kept_book = copy.deepcopy(book)
    _fill(kept_spec, new.spec, "", confirmed)
    for section in ("fields", "outcomes", "codes"):
        held = kept_book.setdefault(section, {})
        for key, value in new.book.get(section, {}).items():
            if key not in held and f"code_book.{section}.{key}" not in confirmed:
                held[key] = value
    kept_book.setdefault("supplier", new.book["supplier"])
    guesses = []
    for guess in new.guesses:
        if guess.at in confirmed:
            guesses.append(before[guess.at])
            continue
        value = value_at(new.spec, new.book, guess.at)
        if value is not MISSING and not any(at.startswith(f"{guess.at}.") for at in confirmed):
            put_at(kept_spec, kept_book, guess.at, copy.deepcopy(value))
        guesses.append(guess)
    there = {guess.at for guess in guesses}
    guesses += [guess for at, guess in before.items() if at in confirmed and at not in there]
    return Draft(kept_spec, kept_book, guesses, new.findings)


def _fill(held: Any, new: Any, path: str, confirmed: set[str]) -> None:
    """Adds to `held` what only `new` has, unless a person has confirmed something at or below it (and so took it away)."""
    if isinstance(held, dict) and isinstance(new, dict):
        for key, value in new.items():
            at = f"{path}{key}"
            if key in held:
                _fill(held[key], value, f"{at}.", confirmed)
            elif not _touched(at, confirmed):
                held[key] = copy.deepcopy(value)
    elif isinstance(held, list) and isinstance(new, list):
        mine = {named(entry): entry for entry in held if named(entry) is not None}
        for entry in new:
            name = named(entry)
            if name is None:
                continue
            if name in mine:
                _fill(mine[name], entry, f"{path}{name}.", confirmed)
            elif not _touched(f"{path}{name}", confirmed):
                held.append(copy.deepcopy(entry))


def _touched(at: str, confirmed: set[str]) -> bool:
    return any(one == at or one.startswith(f"{at}.") for one in confirmed)
