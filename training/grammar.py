"""Which symbols may come next in an action: a trie over the legal tool calls of the turn.

Legal = a tool of the task, each argument an enum value, a form of a message, a constant that training references used there,
a slot of a fitting type that the episode has shown, or, for an argument that is an object, fields of what tools gave back. A tool
with a required argument that nothing shown can fill is not offered. A call written so is always well formed; whether it is wise
is what training is for.
Not covered: free text (notes, escalation reasons) is limited to the constants of training references, else one fixed sentence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from training.tokens import END, SKIP, ArgumentRule, Vocabulary, constant_symbol

ASK = "reply_to_requester"
FORMS_PER_MESSAGE = 3
"""Sentences in one message; the requester answers a bounded number of facts to one message anyway."""
CODE_NAME = re.compile(r"[a-z0-9_]+")
FREE_TEXT = "This needs a person."
"""Constant for a required text that no training reference shows."""


def sentences(text: str) -> list[str]:
    """The sentences of a message; joined by a space they are the message, or it has line breaks and is one sentence."""
    parts = re.split(r"(?<=[.?!]) (?=\S)", text)
    return [part for part in parts if part]


def canonical(form: str) -> str:
    """The first form of the same meaning: "f:order_id:0" of "f:order_id:4"."""
    return f"{form.rsplit(':', 1)[0]}:0"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool as the grammar sees it."""

    name: str
    required: bool
    kind: Literal["enum", "message", "free", "fields"]
    types: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    """Constant symbols, enum values included."""
    keys: tuple[str, ...] = ()
    """Key symbols of the fields that an object may hold; each has the value that a tool gave last under that key."""

    @property
    def several(self) -> bool:
        """True where a value is written as several symbols and END: the sentences of a message, the fields of an object."""
        return self.kind in ("message", "fields")


class ToolGrammar:
    """The legal calls over a fixed set of tools (name -> JSON schema of its parameters)."""

    def __init__(self, schemas: Mapping[str, Mapping[str, Any]], vocabulary: Vocabulary) -> None:
        self.known = vocabulary.ids
        self.forms = dict(vocabulary.forms)
        self.offered = [symbol for symbol in self.forms if symbol == canonical(symbol)]
        """One form of each meaning: an agent gains nothing from choosing among wordings."""
        self.by_text: dict[str, str] = {}
        for symbol, text in self.forms.items():
            self.by_text.setdefault(text, symbol)
        self.tools = {name: _parameters(name, schema, vocabulary) for name, schema in sorted(schemas.items())}
        self.listed = (
            tuple(sorted({values for schema in schemas.values() for values in spoken_lists(schema)})) if vocabulary.named else ()
        )
        """Lists whose values texts may say."""

    def split_message(self, text: str) -> list[str] | None:
        """The form symbols whose sentences joined by a space are `text`, or None."""
        symbols = [self.by_text.get(sentence) for sentence in sentences(text)]
        return None if not symbols or None in symbols else [s for s in symbols if s]

    def turn(self, shown: Mapping[str, Any], fields: Collection[str] = ()) -> Turn:
        """The trie of one turn, given the slot symbols shown so far and the keys of what tools gave back."""
        return Turn(self, shown, fields)


def spoken_lists(schema: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The enumerations of a tool's arguments whose values people say ("5 pm", "Hilton Hotel"); no lists of codes."""
    for spec in schema.get("properties", {}).values():
        values = spec.get("enum", ())
        if values and all(isinstance(v, str) for v in values) and not all(map(CODE_NAME.fullmatch, values)):
            yield tuple(values)


class Turn:
    """Legal continuations within one action; fixed while the action is written, because nothing new is shown meanwhile."""

    def __init__(self, grammar: ToolGrammar, shown: Mapping[str, Any], fields: Collection[str] = ()) -> None:
        self.grammar = grammar
        self.fields = fields
        by_type: dict[str, list[str]] = {}
        for symbol in shown:
            if symbol not in grammar.known:
                continue  # more values of a type than the vocabulary has slots for
            by_type.setdefault(symbol[1:].rsplit("_", 1)[0], []).append(symbol)
        taken = {constant_symbol(value) for symbol, value in shown.items() if symbol in grammar.known}
        self.options: dict[str, list[list[str]]] = {}
        for tool, parameters in grammar.tools.items():
            choices = [self._choices(p, by_type, taken) for p in parameters]
            if all(choices):
                self.options[f"T:{tool}"] = choices

    def _choices(self, parameter: Parameter, by_type: Mapping[str, list[str]], taken: set[str]) -> list[str]:
        if parameter.kind == "message":
            return list(self.grammar.offered)
        if parameter.kind == "fields":
            given = [key for key in parameter.keys if key[2:] in self.fields]
            return [*given, *([] if parameter.required else [SKIP])]
        slots = [symbol for kind in parameter.types for symbol in by_type.get(kind, ())]
        # A constant whose value is also shown has one way to be written: the slot.
        constants = [c for c in parameter.constants if not (slots and c in taken)]
        return [*slots, *constants, *([] if parameter.required else [SKIP])]

    def legal(self, prefix: Sequence[str]) -> list[str]:
        """Symbols that may follow `prefix`; empty where the action is complete."""
        if not prefix:
            return list(self.options)
        choices = self.options[prefix[0]]
        position = 1
        for parameter, options in zip(self.grammar.tools[prefix[0][2:]], choices, strict=True):
            if position >= len(prefix):
                return options
            if parameter.several and prefix[position] != SKIP:
                written = []
                while position < len(prefix) and prefix[position] != END:
                    written.append(prefix[position])
                    position += 1
                if position >= len(prefix):
                    full = parameter.kind == "message" and len(written) >= FORMS_PER_MESSAGE
                    return [END] if full else [END, *(more for more in options if more not in (*written, SKIP))]
            position += 1
        return []


def _parameters(tool: str, schema: Mapping[str, Any], vocabulary: Vocabulary) -> tuple[Parameter, ...]:
    required = set(schema.get("required", ()))
    return tuple(
        _parameter(tool, name, spec, name in required, vocabulary.arguments.get(f"{tool}.{name}"), bool(vocabulary.forms))
        for name, spec in schema.get("properties", {}).items()
    )


def _parameter(
    tool: str, name: str, spec: Mapping[str, Any], required: bool, rule: ArgumentRule | None, has_forms: bool
) -> Parameter:
    if "enum" in spec:
        return Parameter(name, required, "enum", constants=tuple(constant_symbol(v) for v in spec["enum"]))
    if spec.get("type") == "boolean":
        return Parameter(name, required, "enum", constants=(constant_symbol(False), constant_symbol(True)))
    if tool == ASK and name == "text" and has_forms:
        return Parameter(name, required, "message")
    if spec.get("type") == "object":
        return Parameter(name, required, "fields", keys=rule.keys if rule is not None else ())
    if rule is not None:
        return Parameter(name, required, "free", rule.types, tuple(f"c:{text}" for text in rule.constants))
    types = guessed_types(name)
    constants = (constant_symbol(FREE_TEXT),) if not types and name in ("reason", "text", "note") else ()
    return Parameter(name, required, "free", types, constants)


def guessed_types(name: str) -> tuple[str, ...]:
    """Slot types that an argument's name tells, for one that no training reference fills."""
    if name.endswith("_minor"):
        return ("AMOUNT",)
    if name.endswith("_id"):
        return (name[:-3].upper(),)
    if name in ("postcode", "phone", "email"):
        return (name.upper(), f"PERSON_{name.upper()}")
    return ()
