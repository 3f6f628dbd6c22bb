"""The open guesses one by one on the terminal: yes, another value, or later."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TextIO

from ingest.draft.compose import Draft
from ingest.draft.places import MISSING, put_at, value_at
from schemas.guesses import GuessSpec

HELP = "y = right; e = another value; s (or Enter) = later; q = stop asking"


def ask(draft: Draft, answers: TextIO, say: Callable[[str], None]) -> int:
    """Asks for each unconfirmed guess and writes the answers into `draft`; how many were confirmed. The end of input stops it."""
    open_ones = [index for index, guess in enumerate(draft.guesses) if not guess.confirmed]
    say(f"{len(open_ones)} guesses are open. {HELP}")
    done = 0
    for count, index in enumerate(open_ones, 1):
        guess = draft.guesses[index]
        found = value_at(draft.spec, draft.book, guess.at)
        shown = guess.says or (json.dumps(found, ensure_ascii=False) if found is not MISSING else "")
        say(f"\n[{count}/{len(open_ones)}] {guess.at}: {shown}\n  {guess.evidence}")
        while True:
            say("y / e / s / q ?")
            line = answers.readline()
            answer = line.strip().lower()
            if not line or answer in ("q", "quit"):
                return done
            if answer in ("", "s", "skip"):
                break
            if answer in ("y", "yes"):
                draft.guesses[index] = guess.model_copy(update={"confirmed": True})
                done += 1
                break
            if answer in ("e", "edit"):
                if edited := _edited(draft, guess, answers, say):
                    draft.guesses[index] = edited
                    done += 1
                    break
                continue
            say(f"not understood. {HELP}")
    return done


def _edited(draft: Draft, guess: GuessSpec, answers: TextIO, say: Callable[[str], None]) -> GuessSpec | None:
    """The guess with another value, confirmed; None where no value was given or it is of another kind than the old one."""
    old = value_at(draft.spec, draft.book, guess.at)
    whole = isinstance(old, dict | list)
    say("the value, as JSON:" if whole else "the value:")
    text = answers.readline().strip()
    if not text:
        return None
    new: object = text
    if old is not MISSING and not isinstance(old, str):
        try:
            new = json.loads(text)
        except ValueError:
            say("that is not JSON")
            return None
        if type(new) is not type(old):
            say(f"a {type(old).__name__} is needed")
            return None
    if old is not MISSING:
        put_at(draft.spec, draft.book, guess.at, new)
    return guess.model_copy(update={"says": text, "confirmed": True})
