"""What a rule file exports (`Rule`) and the parameter pieces that rules share: `Lookup`, `When`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rewards.values import same
from rewards.view import JournalView
from schemas.episode import JournalEntry, Violation
from schemas.taskset import State


class Parameters(BaseModel):
    """Base of every rule's parameters: immutable, unknown keys refused. `tool` is the tool whose calls the rule judges."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    tool: str = Field(min_length=1)


class Hop(BaseModel):
    """One step along an id: the row (system, kind, id) and the field to read from it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    system: str = Field(min_length=1)
    kind: str = Field(min_length=1)
    field: str = Field(min_length=1)
    then: Hop | None = None
    """Where the field holds another record's id: the row to read next."""


class Lookup(Hop):
    """Starts at the record that the call names in `argument` and follows ids through the state as it was at that step."""

    argument: str = Field(min_length=1)


When = dict[str, list[str | int | bool]]
"""Argument -> values for which the rule applies; an argument that the call does not give is none of them."""


@dataclass(frozen=True, slots=True)
class RuleTrace:
    """A tiny episode: what the rule must say of it is told by where it stands (`Rule.passing`, `Rule.violating`)."""

    parameters: dict[str, Any]
    started_at: str
    """ISO 8601 UTC."""
    base: State
    entries: tuple[JournalEntry, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """The sentence that the agent reads, its parameters and the predicate that the grader runs, side by side."""

    name: str
    parameters: type[Parameters]
    sentence: Callable[[Any], str]
    """Parameters -> one English sentence that states every number in them."""
    check: Callable[[Any, JournalView, int], list[Violation]]
    """(parameters, view, step) -> violations of the accepted call at `step`, which is a call of `parameters.tool`.

    Where the state does not hold what the judgement needs, nothing shows that the act is allowed: a violation that says so.
    Raises GraderError only where parameters and state do not fit each other (an amount that is no number, a time that is none).
    """
    passing: RuleTrace
    violating: RuleTrace


def applies(when: When, arguments: dict[str, Any]) -> bool:
    """True where every argument named in `when` has one of its values."""
    return all(name in arguments and any(same(arguments[name], value) for value in values) for name, values in when.items())


def conditions(when: When) -> str:
    """`when` in words: " with reason late_delivery or damaged_item", or "" without conditions."""
    parts = [f"{name} {listed([str(v) for v in values], 'or')}" for name, values in sorted(when.items())]
    return f" with {' and '.join(parts)}" if parts else ""


def last_field(hop: Hop) -> str:
    """The field that a lookup ends at."""
    while hop.then is not None:
        hop = hop.then
    return hop.field


def path_in_words(hop: Lookup) -> str:
    """A lookup in words: "the tier of the account of the order named in order_id"."""
    hops: list[Hop] = [hop]
    while (last := hops[-1].then) is not None:
        hops.append(last)
    words = f"the {hops[-1].field} of "
    words += " of ".join(f"the {h.kind}" for h in reversed(hops))
    return f"{words} named in {hop.argument}"


def listed(words: Sequence[str], joined: str = "and") -> str:
    """Words as a list of English: one; one and two; one, two and three. `joined` is the word between the last two."""
    return f" {joined} ".join([*([", ".join(words[:-1])] if words[:-1] else []), *words[-1:]])


def by_table(amounts: Mapping[str, int], by: Lookup) -> str:
    """Amounts that depend on a value of the state: 10.00 (1000 in minor units) for gold, ..., depending on the tier of ..."""
    table = ", ".join(
        f"{money(amount)} for {value}" for value, amount in sorted(amounts.items(), key=lambda row: (row[1], row[0]))
    )
    return f"{table}, depending on {path_in_words(by)}"


def money(minor: int) -> str:
    """Minor units in words, both ways, so that no reader has to guess the unit: "80.00 (8000 in minor units)"."""
    return f"{minor / 100:.2f} ({minor} in minor units)"
