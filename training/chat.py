"""Observations to symbols, tool calls to symbols and back.

An observation is what the agent reads (`Observation.text`, JSON or words). It is rendered compactly: identities, amounts and
codes as the episode's slots, times in days from the episode's now and from the other times of the same record, requests
as their frequent words. An action is the tool's symbol and one symbol an argument; `decode_action(encode_action(call))` is
the call, exactly, or `Inexpressible` is raised (the share of reference steps that are expressible is measured and reported).

Not covered: values that must be computed from shown ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rewards.listed import Listed, spans
from schemas.episode import Observation, ToolCall
from schemas.files import canonical_json
from training.grammar import ASK, FORMS_PER_MESSAGE, Parameter, ToolGrammar, canonical
from training.in_force import Limits, is_mark
from training.tokens import (
    AGAIN,
    CODE,
    DAY_FIRST,
    END,
    IDENTITY,
    ITEM,
    MONEY,
    MORE,
    NONE,
    SKIP,
    Vocabulary,
    coded,
    constant_symbol,
    money_of,
    number,
)

TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
PIECE = re.compile(
    rf"({IDENTITY.pattern})|({TIME.pattern})|({MONEY.pattern})|({DAY_FIRST.pattern})|({CODE.pattern})|(\d+)|([^\W\d_]+)"
)
CODED = re.compile(r"[^\W\d_]\w{0,39}")
"""A value of a coded field, which stands alone: a status, a tier, a name of a code."""
WORD = re.compile(r"[^\W\d_]+")
READ = 2000
"""Characters of a text in which values of lists are looked for: the search is slow in long ones, which TEXT_LIMIT cuts anyway."""
DIGITS = 18
"""Of a number in a text that are read: it is beyond COUNTS anyway."""
TIMES = 3
"""Times of one record that the later ones are compared with."""
TEXT_LIMIT = 96
"""Symbols of one free text."""
OBSERVATION_LIMIT = 280
"""Symbols of one observation; the rest is left out behind MORE (its values can still be pointed to)."""


class Inexpressible(Exception):  # noqa: N818 - named by what it reports
    """A tool call that the grammar cannot write in this episode; the message says which argument."""


def parse_time(text: str) -> datetime:
    """UTC instant of an ISO 8601 text; a text without an offset is UTC, a date its first instant."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


@dataclass(slots=True)
class Memory:
    """What an episode has shown so far: each distinct value of a type has the next number of that type."""

    now: datetime | None = None
    shown: dict[str, Any] = field(default_factory=dict)
    """Slot symbol -> exact value, in order of appearance."""
    symbols: dict[Any, str] = field(default_factory=dict)
    """Exact value -> slot symbol."""
    numbers: dict[str, dict[Any, int]] = field(default_factory=dict)
    """Identity type -> base value -> number; the roles of a person share the number."""
    orders: dict[str, list[int]] = field(default_factory=dict)
    """Identity type -> the numbers in the order in which they are given out; by default 1, 2, ..."""
    said: set[str] = field(default_factory=set)
    """Words of the observations before this one."""
    hearing: set[str] = field(default_factory=set)
    """Words of this one so far."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Key -> the single value that a tool gave last under it."""
    listed: tuple[Listed, ...] = ()
    """Lists of a tool's argument whose values texts may say."""
    limits: Limits = field(default_factory=Limits)
    """The rules in force, which shown values are compared with."""

    def slot(self, kind: str, base: Any, value: Any, role: str = "") -> str:
        """The slot symbol of `value`, a new one where it was not shown before."""
        if value in self.symbols:
            return self.symbols[value]
        of_kind = self.numbers.setdefault(kind, {})
        order = self.orders.get(kind, ())
        number = of_kind.setdefault(base, order[len(of_kind)] if len(of_kind) < len(order) else len(of_kind) + 1)
        symbol = f"@{kind}{'_' + role if role else ''}_{number}"
        self.shown[symbol], self.symbols[value] = value, symbol
        return symbol

    def identity(self, match: re.Match[str]) -> str:
        kind, digest, role = match.group(1), match.group(2), match.group(3)
        return self.slot(kind, digest, match.group(0), role or "")

    def amount(self, minor: int) -> str:
        return self.slot("AMOUNT", minor, minor)

    def code(self, text: str) -> str:
        return self.slot("CODE", text, text)


def slot_type(symbol: str) -> str:
    """ "ORDER" of "@ORDER_3", "PERSON_EMAIL" of "@PERSON_EMAIL_1"."""
    return symbol[1:].rsplit("_", 1)[0]


# --- observations -----------------------------------------------------------------------------------------------------


def words(text: str, memory: Memory, vocabulary: Vocabulary) -> list[str]:
    """A free text as slots, times, amounts, numbers and lower-case words; unknown words are left out, the rest is limited.

    A word that stood in an earlier observation is followed by AGAIN, an unknown one is AGAIN alone: "the article that the request
    names" and "the tier that the account has" can be seen so, whatever they are called.
    A value of a tool's list that words say stands behind them.
    A vocabulary that is still being made has no words, and then all are kept.
    """
    known = vocabulary.ids if vocabulary.made else None
    out: list[str] = []
    named = said_values(text, memory, vocabulary)
    for match in PIECE.finditer(text):
        piece = match.group(0)
        while named and named[0][0] <= match.start():
            out.append(named.pop(0)[1])
        if identity := IDENTITY.fullmatch(piece):
            out.append(memory.identity(identity))
        elif TIME.fullmatch(piece):
            out += time_symbols(piece, memory, vocabulary)
        elif money := MONEY.fullmatch(piece):
            out += amount_symbols(money_of(money), memory, vocabulary)
        elif date := DAY_FIRST.fullmatch(piece):
            out += date_symbols(date, memory, vocabulary)
        elif CODE.fullmatch(piece):
            out.append(memory.code(piece))
        elif piece.isdecimal():
            out.append(number(int(piece[:DIGITS])))
        else:
            word = piece.lower()
            if known is None or f"w:{word}" in known:
                out.append(f"w:{word}")
            if known is not None and word in memory.said and word not in vocabulary.common:
                out.append(AGAIN)
            memory.hearing.add(word)
    out += [symbol for _, symbol in named]
    return out if known is None else out[:TEXT_LIMIT]


def said_values(text: str, memory: Memory, vocabulary: Vocabulary) -> list[tuple[int, str]]:
    """(where the words end, constant) of each value of a tool's list that the text says, in order: "5 in the afternoon" is
    followed by the constant that an argument takes, and an agent can point to it. See `rewards.listed`."""
    found = {(end, constant_symbol(value)) for listed in memory.listed for _, end, value in spans(text[:READ], listed)}
    return sorted(said for said in found if said[1] in vocabulary.named)


def coded_symbols(value: str, memory: Memory, vocabulary: Vocabulary, *, governed: bool = False) -> list[str]:
    """One symbol for the whole value, which word dropout never leaves out: it decides cases alone. Where training has not shown
    it often, it is words (and so it was in older vocabularies). AGAIN as behind words. Of a `governed` value a mark behind it
    says what the rules in force say of it, which another version may say otherwise: it may be left out as a word may."""
    symbol = coded(value, governed=governed)
    if vocabulary.made and symbol not in vocabulary:
        return words(value, memory, vocabulary)
    parts = [part.lower() for part in WORD.findall(value)]
    again = vocabulary.made and all(part in memory.said and part not in vocabulary.common for part in parts)
    memory.hearing.update(parts)
    said = [symbol for _, symbol in said_values(value, memory, vocabulary)]
    return [symbol, *([AGAIN] if again else []), *said]


def amount_symbols(minor: int, memory: Memory, vocabulary: Vocabulary) -> list[str]:
    """Slot, bin, and on which side of a table's amount it is."""
    return [memory.amount(minor), vocabulary.amount(minor), *known_marks(memory.limits.of_amount(minor), vocabulary)]


def known_marks(symbols: list[str], vocabulary: Vocabulary) -> list[str]:
    """All but the marks that the vocabulary does not have; one that is still being made has all."""
    return [symbol for symbol in symbols if not (vocabulary.made and is_mark(symbol) and symbol not in vocabulary)]


def time_symbols(text: str, memory: Memory, vocabulary: Vocabulary, others: Sequence[datetime] = ()) -> list[str]:
    """Days from now, then days from each of the times before it in the same record (late or early by how much)."""
    if (moment := moment_of(text)) is None:
        return ["w:time"]
    if memory.now is None:
        memory.now = moment
    out = [vocabulary.day((moment - memory.now).total_seconds() / 86400)]
    return out + [vocabulary.day((moment - other).total_seconds() / 86400, "D") for other in others]


def date_symbols(date: re.Match[str], memory: Memory, vocabulary: Vocabulary) -> list[str]:
    """A date of a text in days from now; nothing where there is no such day or no now yet."""
    day, month, year = date.groups()
    if memory.now is None:
        return []
    for candidate in [int(year)] if year else [memory.now.year, memory.now.year - 1]:
        try:
            moment = datetime(candidate, int(month), int(day), tzinfo=UTC)
        except ValueError:
            return []
        if year or moment <= memory.now:
            return [vocabulary.day((moment - memory.now).total_seconds() / 86400)]
    return []


def leaves(value: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """(path, last key, value in a tuple) of each leaf of a JSON value, in its order.

    "{" opens a record (its kind in place of a key), "key" announces a record or list, ITEM a member of a list; NONE is an empty
    list.
    """
    if isinstance(value, dict):
        yield path, kind_of(value, path), "{"
        for key, inner in value.items():
            if isinstance(inner, dict | list):
                yield f"{path}/{key}", key, "key"
                yield from leaves(inner, f"{path}/{key}")
            else:
                yield f"{path}/{key}", key, (inner,)
    elif isinstance(value, list):
        if not value:
            yield path, "", NONE
        for inner in value:
            yield path, "", ITEM
            yield from leaves(inner, path)
    else:
        yield path, "", (value,)


def kind_of(record: Mapping[str, Any], path: str) -> str:
    """Kind of a record: its first id is its own ("order_id"); without one, the key or list that it stands in; "" where neither
    says it."""
    own = next((key[: -len("_id")] for key in record if key.endswith("_id")), "")
    return own or (path.rsplit("/", 1)[1] if "/" in path else "")


def leaf_symbols(
    key: str, value: Any, memory: Memory, vocabulary: Vocabulary, times: Mapping[str, datetime], kind: str = ""
) -> list[str]:
    """Symbols of one scalar: its key where the value does not tell what it is, then the value. `times`: those that the record
    has shown before, by key; `kind`: of the record."""
    named = [f"k:{key}"] if key else []
    kind = kind if vocabulary.by_kind else ""
    barred = [] if value is None else known_marks(memory.limits.of_code(key, kind, value), vocabulary)
    governed = bool(barred) and vocabulary.by_kind
    if value is None or isinstance(value, bool):
        return [*named, *coded_symbols(json.dumps(value), memory, vocabulary, governed=governed), *barred]
    if isinstance(value, int | float):
        if key.endswith("_minor") and isinstance(value, int):
            return [*named, *amount_symbols(value, memory, vocabulary)]
        return [*named, number(value), *barred]
    if identity := IDENTITY.fullmatch(value):
        symbol = memory.identity(identity)
        return [symbol] if key.endswith("_id") or key == identity.group(1).lower() else [*named, symbol]
    if TIME.fullmatch(value):
        shown = time_symbols(value, memory, vocabulary, list(times.values())[:TIMES])
        return [*named, *shown, *known_marks(time_marks(key, kind, value, memory, times), vocabulary)]
    if not value:
        return [*named, NONE]
    found = memory.limits.of_value(key, kind, value, memory.shown, vocabulary)
    said = found if not found or not vocabulary.made or found[0] in vocabulary else []
    if key and CODED.fullmatch(value):
        return [*named, *coded_symbols(value, memory, vocabulary, governed=governed), *said, *barred]
    return [*named, *words(value, memory, vocabulary), *said, *barred]


def time_marks(key: str, kind: str, text: str, memory: Memory, times: Mapping[str, datetime]) -> list[str]:
    moment = moment_of(text)
    return [] if moment is None else memory.limits.of_time(key, kind, moment, memory.now, times)


def moment_of(text: str) -> datetime | None:
    """The instant of a text that looks like a time; None where there is no such day."""
    try:
        return parse_time(text)
    except ValueError:
        return None


def render(text: str, memory: Memory, vocabulary: Vocabulary, source: str) -> list[tuple[str, list[str]]]:
    """(path, symbols) of each part of an observation; `source` is the tool that was called, "opening" at the start."""
    try:
        value = json.loads(text)
    except ValueError:
        return [(f"{source}/text", words(text, memory, vocabulary))]
    if source == "opening" and isinstance(value, dict) and isinstance(value.get("now"), str):
        memory.now = parse_time(value["now"])
    if source not in ("opening", ASK) and isinstance(value, dict):
        memory.fields.update({k: v for k, v in value.items() if not isinstance(v, dict | list)})
    out: list[tuple[str, list[str]]] = []
    times: dict[str, datetime] = {}
    kinds: dict[str, str] = {}
    for path, key, leaf in leaves(value, source):
        if leaf == "{":
            times = {}
            kinds[path] = key
        elif leaf == "key":
            out.append((path, [f"k:{key}"]))
        elif leaf in (ITEM, NONE):
            out.append((path, [leaf]))
        else:
            scalar = leaf[0]
            kind = kinds.get(path[: -len(key) - 1], "")
            out.append((path, leaf_symbols(key, scalar, memory, vocabulary, times, kind)))
            if isinstance(scalar, str) and TIME.fullmatch(scalar) and (moment := moment_of(scalar)) is not None:
                times[key] = moment
    return out


def observation_symbols(observation: Observation, memory: Memory, vocabulary: Vocabulary, source: str) -> list[str]:
    """All symbols of an observation, at most OBSERVATION_LIMIT; a refusal is its kind alone."""
    if observation.kind == "refusal" and observation.refusal is not None:
        return ["o:refusal", f"r:{observation.refusal.kind.value}"]
    return text_symbols(observation.text, memory, vocabulary, source)


def text_symbols(text: str, memory: Memory, vocabulary: Vocabulary, source: str) -> list[str]:
    """`observation_symbols` of an accepted call's text, as trajectories hold it."""
    parts = render(text, memory, vocabulary, source)
    memory.said |= memory.hearing
    memory.hearing.clear()
    flat = [symbol for path, symbols in parts if path not in vocabulary.constant_paths for symbol in symbols]
    known = [symbol for symbol in flat if symbol in vocabulary or not symbol.startswith("w:")]
    return ["o:text", *known] if len(known) <= OBSERVATION_LIMIT else ["o:text", *known[:OBSERVATION_LIMIT], MORE]


# --- actions ----------------------------------------------------------------------------------------------------------


def encode_action(call: ToolCall, memory: Memory, grammar: ToolGrammar) -> list[str]:
    """The call as symbols. Raises Inexpressible where the tool, an argument or a value is outside the grammar."""
    parameters = grammar.tools.get(call.tool)
    if parameters is None:
        raise Inexpressible(f"tool {call.tool}")
    if unknown := set(call.arguments) - {p.name for p in parameters}:
        raise Inexpressible(f"{call.tool}.{min(unknown)}")
    out = [f"T:{call.tool}"]
    for parameter in parameters:
        if parameter.name not in call.arguments:
            if parameter.required:
                raise Inexpressible(f"{call.tool}.{parameter.name}: missing")
            out.append(SKIP)
        else:
            out += encode_value(call.arguments[parameter.name], parameter, memory, grammar)
    return out


def plain_words(symbols: Sequence[str]) -> list[str]:
    """The same act with the first form of each meaning: which wording a person chose is not worth imitating."""
    out: list[str] = []
    for symbol in symbols:
        form = symbol.startswith("f:")
        plain = canonical(symbol) if form else symbol
        if not (form and plain in out):
            out.append(plain)
    return out


def encode_value(value: Any, parameter: Parameter, memory: Memory, grammar: ToolGrammar) -> list[str]:
    if parameter.kind == "message":
        forms = grammar.split_message(value) if isinstance(value, str) else None
        if forms is None:
            raise Inexpressible(f"{parameter.name}: not among the forms")
        if len(set(map(canonical, forms))) > FORMS_PER_MESSAGE:
            raise Inexpressible(f"{parameter.name}: more than {FORMS_PER_MESSAGE} sentences")
        return [*forms, END]
    if parameter.kind == "fields":
        return [*field_keys(value, parameter, memory), END]
    if parameter.kind == "free" and isinstance(value, str | int) and not isinstance(value, bool):
        symbol = memory.symbols.get(value)
        if symbol is not None and slot_type(symbol) in parameter.types:
            return [symbol]
    constant = constant_symbol(value)
    if constant not in parameter.constants:
        raise Inexpressible(f"{parameter.name}: neither shown nor a constant")
    return [constant]


def field_keys(value: Any, parameter: Parameter, memory: Memory) -> list[str]:
    """Key symbols of an object each of whose fields a tool gave; Inexpressible for any other value, and for an empty one."""
    if not isinstance(value, dict) or not value:
        raise Inexpressible(f"{parameter.name}: not an object with fields")
    for key, inner in value.items():
        if f"k:{key}" not in parameter.keys:
            raise Inexpressible(f"{parameter.name}: no field {key} in training")
        if key not in memory.fields or canonical_json(memory.fields[key]) != canonical_json(inner):
            raise Inexpressible(f"{parameter.name}.{key}: not what a tool gave last")
    return sorted(f"k:{key}" for key in value)


def decode_action(symbols: Sequence[str], memory: Memory, grammar: ToolGrammar) -> ToolCall:
    """The call that the symbols write; the inverse of `encode_action`. Raises ValueError for symbols outside the grammar."""
    tool, rest = symbols[0][2:], list(symbols[1:])
    arguments: dict[str, Any] = {}
    for parameter in grammar.tools[tool]:
        symbol = rest.pop(0)
        if symbol == SKIP:
            continue
        if parameter.several:
            parts = [symbol]
            while (symbol := rest.pop(0)) != END:
                parts.append(symbol)
            if parameter.kind == "message":
                arguments[parameter.name] = " ".join(grammar.forms[form] for form in parts)
            else:
                arguments[parameter.name] = {key[2:]: memory.fields[key[2:]] for key in parts}
        else:
            arguments[parameter.name] = memory.shown[symbol] if symbol.startswith("@") else json.loads(symbol[2:])
    if rest:
        raise ValueError(f"{len(rest)} symbols after the last argument of {tool}")
    return ToolCall(tool=tool, arguments=arguments)
