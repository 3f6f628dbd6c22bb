"""What a drafted spec does not know: guesses with their evidence, each of which a person confirms before anything is built."""

from __future__ import annotations

from schemas.episode import Frozen


class GuessSpec(Frozen):
    """One guess of `python -m ingest draft`; a spec written by hand has none."""

    at: str
    """Dotted path of what was guessed: in the spec ("sources.helpdesk.zone"), or below "code_book" in the code book."""
    says: str = ""
    """What was guessed, in short. What counts is what stands at `at`."""
    evidence: str
    """Counts, shares and row numbers that speak for it, or that nothing does."""
    confirmed: bool = False
    """True: a person has looked. The value may have been changed before; a new draft leaves it as it is."""


def unconfirmed(guesses: tuple[GuessSpec, ...]) -> list[str]:
    """One fault that lists every guess that nobody has confirmed; none where there is none."""
    open_ones = [guess.at for guess in guesses if not guess.confirmed]
    if not open_ones:
        return []
    ask = "look at the evidence of each and set `confirmed = true`, or run `python -m ingest draft` again with --ask"
    return [f"guesses: {len(open_ones)} of {len(guesses)} are not confirmed ({', '.join(open_ones)}); {ask}"]
