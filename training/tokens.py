"""The small model's tokenizer: one symbol a word, key, code, slot or number bin, made from the training side of a task set.

Ids, amounts and codes never enter the vocabulary: the n-th distinct value of a type that an episode shows is `@ORDER_n`, so
what is learned on one order holds for every other. Days and amounts become bins whose edges are round numbers and every
number that a training policy names, so that "within 21 days" and "above 80.00 EUR" fall between two bins and not inside one.
"""

from __future__ import annotations

import bisect
import math
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas.errors import SourceError
from schemas.files import canonical_json, read_json, sha256_json, write_json

PAD, EOS, UNK, ACT, END, SKIP, ITEM, NONE, MORE, AGAIN = (
    "<pad>",
    "<eos>",
    "<unk>",
    "<act>",
    "<end>",
    "<skip>",
    "<item>",
    "<none>",
    "<more>",
    "<again>",
)
SPECIALS = (PAD, EOS, UNK, ACT, END, SKIP, ITEM, NONE, MORE, AGAIN)
"""PAD differs from EOS: padding is never a decision and never ends an episode."""
IDENTITY = re.compile(r"\b([A-Z]+(?:_[A-Z]+)*)_([0-9A-F]{8})(?:_(FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL))?\b")
"""The tokens that deid writes: TYPE_XXXXXXXX, for a person with the role of the form."""
ROLE = re.compile(r"_(?:FIRST|LAST|EMAIL\d*|PHONE\d*|LOGIN|INITIAL)$")
"""A person's name parts, addresses and numbers: roles of one identity."""
CODE = re.compile(r"\b[A-Z0-9]+(?:[-/][A-Z0-9]+)+\b")
"""Article numbers and the like."""
MONEY = re.compile(r"(?:(?:[A-Z]{3}|[€$£]) ?(\d+)[.,](\d\d)\b)|(?:\b(\d+)[.,](\d\d) ?(?:[A-Z]{3}\b|[€$£]))")
"""An amount with its currency before or behind it; without one, digits with a point may as well be a date."""
DAY_FIRST = re.compile(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})?(?!\d)")
"""A date with points; without a year it is the last such day before the episode's now."""
DAY_EDGES = (*range(11), 14, 21, 30, 45, 60, 90, 120, 180, 270, 365, 730)
AMOUNT_EDGES = (0, *(int(base * 10**power) for power in range(1, 6) for base in (10, 15, 20, 30, 50, 80)))
DROPPED = ("w:", "b:")
"""Beginnings of the symbols that word dropout may leave out."""
COUNTS = 20
"""Whole numbers up to this one have a symbol of their own."""


def edge_of(edges: tuple[int, ...], value: float) -> str:
    """Smallest edge >= value as text, "more" above the last. For a limit that is an edge, value <= limit shows in the bin."""
    index = bisect.bisect_left(edges, value)
    return str(edges[index]) if index < len(edges) else "more"


@dataclass(frozen=True, slots=True)
class ArgumentRule:
    """What may fill one free argument of a tool: slot types and constants that training references put there."""

    types: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    """JSON texts."""
    keys: tuple[str, ...] = ()
    """Key symbols of the fields of an object."""

    def as_json(self) -> dict[str, list[str]]:
        return {"types": list(self.types), "constants": list(self.constants)} | ({"keys": list(self.keys)} if self.keys else {})


@dataclass(frozen=True)
class Vocabulary:
    """Symbols and their ids (0..n-1), bins, slot sizes and argument rules; saved beside each checkpoint's run."""

    symbols: tuple[str, ...]
    day_edges: tuple[int, ...]
    amount_edges: tuple[int, ...]
    slots: dict[str, int]
    """Slot type -> how many distinct values of it an episode can point to."""
    arguments: dict[str, ArgumentRule]
    """Key "tool.argument"."""
    forms: dict[str, str]
    """Form symbol -> the sentence that human agents used."""
    constant_paths: frozenset[str] = frozenset()
    """"tool/key" whose rendering never varies in training: registered, not shown again."""
    common: frozenset[str] = frozenset()
    """Words of so many requests that standing again says nothing."""
    ordered: bool = False
    """Bins and numbers are embedded as ordered families (`ordinal.py`); older runs are read as they were."""
    named: frozenset[str] = frozenset()
    """Constants of lists that stand behind the words of a text that say them, where they can be pointed to."""
    by_kind: bool = False
    """Marks stand behind fields of the kind of record that a rule speaks of; older runs mark every field of that name."""
    ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", {symbol: index for index, symbol in enumerate(self.symbols)})

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def made(self) -> bool:
        """False for one that is still being made: it knows no word and keeps them all."""
        return len(self.symbols) > len(SPECIALS)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self.ids

    def known(self, symbol: str) -> str:
        """The symbol; a coded value that this (older) vocabulary has as a word alone, as that word."""
        word = f"w:{symbol[2:]}"
        return word if symbol.startswith("v:") and symbol not in self.ids and word in self.ids else symbol

    def encode(self, symbols: Iterable[str]) -> list[int]:
        """Ids of the symbols; an unknown word is left out, any other unknown symbol becomes UNK."""
        unknown = self.ids[UNK]
        return [self.ids.get(s, unknown) for s in symbols if s in self.ids or not s.startswith("w:")]

    def numbering(self, chance: random.Random) -> dict[str, list[int]]:
        """Base kind of slot -> its numbers in a random order: which number a value has then says nothing about it."""
        orders: dict[str, list[int]] = {}
        for kind in sorted(self.slots):
            order = list(range(1, self.slots[kind] + 1))
            chance.shuffle(order)
            orders.setdefault(base_kind(kind), order)
        return orders

    @property
    def words(self) -> frozenset[int]:
        """Ids of what word dropout may leave out: the words of texts, and values behind which a mark says what the rules say. Any
        other value of a coded field is none (in older vocabularies it was)."""
        return frozenset(index for symbol, index in self.ids.items() if symbol.startswith(DROPPED))

    def renaming(self, chance: random.Random) -> list[int]:
        """A permutation of the ids that shuffles the numbers of each kind of slot; the roles of a person keep together."""
        names = list(range(len(self.symbols)))
        orders = self.numbering(chance)
        for kind in sorted(self.slots):
            for number, other in enumerate(orders[base_kind(kind)], 1):
                here, there = self.ids.get(f"@{kind}_{number}"), self.ids.get(f"@{kind}_{other}")
                if here is not None and there is not None:
                    names[here] = there
        return names

    def day(self, days: float, sign: str = "d") -> str:
        """Symbol of a time `days` after the episode's now (d) or another time of its record (D); whole days, rounded up."""
        direction = "-" if days < 0 else "+"
        return f"{sign}{direction}{edge_of(self.day_edges, math.ceil(abs(days) - 1e-9))}"

    def amount(self, minor: int) -> str:
        """Symbol of the bin of an amount in minor units."""
        return f"m:-{edge_of(self.amount_edges, -minor)}" if minor < 0 else f"m:{edge_of(self.amount_edges, minor)}"

    def digest(self) -> str:
        """sha256 of everything that token ids depend on."""
        return sha256_json(self._as_json())

    def _as_json(self) -> dict[str, Any]:
        more = ({"ordered": True} if self.ordered else {}) | ({"named": sorted(self.named)} if self.named else {})
        more |= {"by_kind": True} if self.by_kind else {}
        return more | {
            "symbols": list(self.symbols),
            "day_edges": list(self.day_edges),
            "amount_edges": list(self.amount_edges),
            "slots": self.slots,
            "arguments": {k: rule.as_json() for k, rule in self.arguments.items()},
            "forms": self.forms,
            "constant_paths": sorted(self.constant_paths),
            "common": sorted(self.common),
        }

    def save(self, path: Path) -> None:
        write_json(path, self._as_json())

    @staticmethod
    def load(path: Path) -> Vocabulary:
        """Raises StageError for a missing file and SourceError for one that is not a vocabulary."""
        value = read_json(path)
        try:
            return Vocabulary(
                symbols=tuple(value["symbols"]),
                day_edges=tuple(value["day_edges"]),
                amount_edges=tuple(value["amount_edges"]),
                slots=dict(value["slots"]),
                arguments={
                    k: ArgumentRule(tuple(a["types"]), tuple(a["constants"]), tuple(a.get("keys", ())))
                    for k, a in value["arguments"].items()
                },
                forms=dict(value["forms"]),
                constant_paths=frozenset(value["constant_paths"]),
                common=frozenset(value["common"]),
                ordered=bool(value.get("ordered", False)),
                named=frozenset(value.get("named", ())),
                by_kind=bool(value.get("by_kind", False)),
            )
        except (KeyError, TypeError) as error:
            raise SourceError(str(path), "", f"not a vocabulary of this version ({error})") from error


def coded(value: str, *, governed: bool = False) -> str:
    """Symbol of a value of a coded field: "v:in_transit"; "b:in_transit" where a rule in force bars or frees an act by it."""
    return f"{'b' if governed else 'v'}:{value.lower()}"


def number(value: float) -> str:
    """Symbol of a whole number up to COUNTS, and of those beyond it or below 0."""
    if not math.isfinite(value):
        return "n:more"
    if value < 0:
        return "n:-"
    return f"n:{int(value)}" if value == int(value) and value <= COUNTS else "n:more"


def base_kind(kind: str) -> str:
    """ "PERSON" of "PERSON_EMAIL2": the kind without its role."""
    return ROLE.sub("", kind)


def bin_symbols(day_edges: tuple[int, ...], amount_edges: tuple[int, ...]) -> list[str]:
    """Every symbol that `Vocabulary.day`, `.amount` and whole numbers can produce."""
    days = [f"{sign}{way}{edge}" for sign in "dD" for way in "+-" for edge in (*day_edges, "more")]
    amounts = [f"m:{edge}" for edge in (*amount_edges, "more")] + [f"m:-{edge}" for edge in (*amount_edges, "more")]
    return [*days, *amounts, *(f"n:{n}" for n in range(COUNTS + 1)), "n:more", "n:-"]


def policy_edges(texts: Iterable[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(day edges, amount edges in minor units): the round ones and every number that the policy texts name."""
    days, amounts = set(DAY_EDGES), set(AMOUNT_EDGES)
    for text in texts:
        amounts |= {money_of(match) for match in MONEY.finditer(text)}
        days |= {int(n) for n in re.findall(r"(?<![\d.,])(\d{1,3})(?![\d]|[.,]\d)", text) if int(n) <= DAY_EDGES[-1]}
    return tuple(sorted(days)), tuple(sorted(amounts))


def money_of(match: re.Match[str]) -> int:
    """Minor units of a MONEY match."""
    whole, part = [g for g in match.group(1, 2, 3, 4) if g is not None]
    return int(whole) * 100 + int(part)


def constant_symbol(value: Any) -> str:
    """The action symbol of an enum value or constant."""
    return f"c:{canonical_json(value)}"
