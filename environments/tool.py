"""A tool: one function that an agent may call, its JSON schema from signature and docstring, and the check of its arguments.

A tool refuses by raising `Refused`; the episode turns that into an observation and undoes what the call had written.
Any other exception is a bug and passes through.
"""

from __future__ import annotations

import difflib
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Union

from pydantic import BaseModel

from environments.asking import default_slot_words
from rewards.seen import Choice
from schemas.episode import RefusalKind
from schemas.errors import WorldError

if TYPE_CHECKING:
    from environments.requester import RequesterRun
    from environments.state import EpisodeState
    from schemas.task import PolicySpec, TaskSpec

MAX_ID = 200
"""Characters of an ordinary text argument."""
MAX_PROSE = 2000
"""Characters of an argument that is free words (a message, a note)."""
MAX_INT = 2**53
MAX_DEPTH = 8
"""Nesting of an argument that is an object."""
PAGE = 10
"""Rows of one page of a listing."""
MAX_SHOWN = 1000
"""Characters of one text field in an observation."""


class Refused(Exception):  # noqa: N818 - an answer to the agent, not a fault
    """Raised by a tool: the system cannot do this. `kind` is counted, `message` is one sentence that the agent reads."""

    def __init__(self, kind: RefusalKind, message: str) -> None:
        self.kind, self.message = kind, message
        super().__init__(message)


def refuse(kind: RefusalKind, message: str) -> NoReturn:
    raise Refused(kind, message)


@dataclass(frozen=True, slots=True)
class Words:
    """Marks a text argument as free words: `Annotated[str, Words()]`. Such an argument carries no value of a record."""


@dataclass(frozen=True, slots=True)
class Decided:
    """Marks an argument as the agent's own decision (an outcome's code, the reason of a booking): nobody tells it, and it need
    not have been shown. Any other argument has to, also one that chooses from a list."""


@dataclass(frozen=True, slots=True)
class Between:
    """Inclusive bounds of an integer argument."""

    low: int
    high: int


Prose = Annotated[str, Words()]
Decision = Annotated[str, Decided()]
Amount = Annotated[int, Between(1, 10**9)]
"""Money in minor units (590 = 5.90)."""
Page = Annotated[int, Between(1, 10**6)]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a write does, so that recorded row changes can be turned back into calls."""

    system: str
    kind: str
    op: Literal["create", "update", "delete"]
    record: str | None
    """Argument naming the updated or deleted record; None for a create, and for a finishing act (it writes the opening's)."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Row field -> argument name. An optional argument that is not given sets no field."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Row field -> constant."""
    decided: tuple[str, ...] = ()
    """Row fields that the system fills and that outcomes compare (an approver's decision)."""
    ignored: tuple[str, ...] = ()
    """Row fields that no one decided (stamps)."""


@dataclass(slots=True)
class Context:
    """What a tool may use while it runs: one per episode. Tools keep nothing else between calls."""

    task: TaskSpec
    state: EpisodeState
    requester: RequesterRun
    policies: tuple[PolicySpec, ...]
    now: str
    """Instant of this call, ISO 8601 UTC."""
    told: tuple[str, ...] = ()
    """Ids of the facts that the requester told in this call."""


@dataclass(frozen=True, slots=True)
class Tool:
    """`parameters` is a JSON schema of an object without additional properties; `run` gets checked arguments only."""

    name: str
    system: str
    description: str
    parameters: dict[str, Any]
    run: Callable[[Context, dict[str, Any]], Any]
    effect: Effect | None = None
    finishing: bool = False
    reads: bool = False
    """True if it shows rows: its journal entry names each."""
    speaks: bool = False
    """True if the requester answers."""
    prose: tuple[str, ...] = ()
    """Arguments that are free words."""
    returns: tuple[str, ...] | None = ()
    """Single values in its answer that are neither arguments nor fields of the rows that it shows or writes, which a rule may
    name; null = nobody knows beforehand (it answers with what was recorded)."""
    decisions: tuple[str, ...] = ()
    """Arguments that are the agent's own decision."""
    asked_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Argument -> phrases that ask the requester for it; by its name where none are given."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Argument -> the listed value that stands for "the requester does not know"; its description says so."""
    chosen: Mapping[str, Choice] = field(init=False, repr=False, compare=False)
    """Arguments that choose from a list, or are true or false, and how their values are said."""
    _specs: dict[str, tuple[str, tuple[Any, ...] | None, int, int]] = field(init=False, repr=False, compare=False)
    _required: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.description.strip():
            raise WorldError(f"tool {self.name} has no description; write a docstring")
        specs = {}
        chosen = {}
        for name, schema in self.parameters["properties"].items():
            kind = schema["type"]
            if name not in self.decisions and (kind == "boolean" or (kind == "string" and "enum" in schema)):
                listed = tuple(schema["enum"]) if "enum" in schema else ("yes", "no")
                phrases = tuple(self.asked_by.get(name, ())) or default_slot_words(name)
                chosen[name] = Choice(listed, phrases, self.unknown.get(name, ""))
            enum = tuple(schema["enum"]) if "enum" in schema else None
            low, high = (schema.get("minimum", -MAX_INT), schema.get("maximum", MAX_INT))
            if kind == "string":
                low, high = schema.get("minLength", 0), schema.get("maxLength", MAX_ID)
            specs[name] = (kind, enum, low, high)
        object.__setattr__(self, "chosen", chosen)
        object.__setattr__(self, "_specs", specs)
        object.__setattr__(self, "_required", tuple(self.parameters.get("required", ())))

    def answers(self, fields: Iterable[str]) -> frozenset[str] | None:
        """Names of the single values that its answer may hold, or None where nobody knows beforehand. `fields` are those of its
        system's rows."""
        if self.returns is None:
            return None
        named = {*self.returns, *self.parameters["properties"]}
        if "page" in self.parameters["properties"]:
            named |= {"pages", "total"}
        if self.reads:
            named |= set(fields)
        if (wrote := self.effect) is not None:
            named |= {f"{wrote.kind}_id", *wrote.fields, *wrote.fixed, *wrote.decided, *wrote.ignored}
        return frozenset(named)

    def schema(self) -> dict[str, Any]:
        """The OpenAI chat form."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments to run with (null ones are left out). Raises Refused(bad_arguments): what is wrong, what is allowed."""
        specs = self._specs
        clean = {}
        for name, value in arguments.items():
            spec = specs.get(name)
            if spec is None:
                self._wrong(f"there is no argument {shown(name)}{did_you_mean(name, specs)}; it takes {self.usage()}")
            if value is None and name not in self._required:
                continue
            if fault := _fault(value, spec):
                self._wrong(f"{name} {fault}")
            clean[name] = value
        for name in self._required:
            if name not in clean:
                self._wrong(f"{name} is missing; it takes {self.usage()}")
        return clean

    def usage(self) -> str:
        """The arguments in words: "order_id (string), page (integer, optional)"."""
        parts = [
            f"{name} ({spec[0]}{'' if name in self._required else ', optional'})" for name, spec in self._specs.items()
        ]  # fmt: skip
        return ", ".join(parts) or "no arguments"

    def _wrong(self, what: str) -> NoReturn:
        raise Refused(RefusalKind.bad_arguments, f"{self.name}: {what}")


def _fault(value: Any, spec: tuple[str, tuple[Any, ...] | None, int, int]) -> str | None:
    """What is wrong with `value`, or None."""
    kind, enum, low, high = spec
    if kind == "string":
        if type(value) is not str:
            return f"must be a string, found {json_type(value)}"
        if enum is not None:
            return None if value in enum else f"must be one of {', '.join(enum)}; found {shown(value)}"
        if len(value) > high:
            return f"must have at most {high} characters, found {len(value)}"
        if len(value) < low or not value.strip():
            return "must not be empty"
        return None
    if kind == "integer":
        if type(value) is not int:
            return f"must be an integer, found {json_type(value)}"
        if enum is not None:
            return None if value in enum else f"must be one of {', '.join(map(str, enum))}; found {value}"
        if not low <= value <= high:
            return f"must be from {low} to {high}"
        return None
    if kind == "boolean":
        return None if type(value) is bool else f"must be true or false, found {json_type(value)}"
    return None if type(value) is dict else f"must be an object, found {json_type(value)}"


def shown(value: Any) -> str:
    """A value of the agent's as it stands in an error: quoted and short."""
    text = str(value)
    return repr(text if len(text) <= 60 else text[:57] + "...")


def json_type(value: Any) -> str:
    names = {str: "string", int: "integer", float: "number", bool: "boolean", list: "list", dict: "object", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    return _closest(name[:80], tuple(known))


@lru_cache(maxsize=1024)
def _closest(name: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def json_fault(value: Any, depth: int = 0) -> str | None:
    """Why `value` is not JSON that can be stored (non-text keys, NaN, half characters, too deep), or None."""
    kind = type(value)
    if kind is str:
        return None if value.isascii() or _encodes(value) else "text with half of a character"
    if kind is bool or value is None:
        return None
    if kind is int:
        return None if -MAX_INT <= value <= MAX_INT else "an integer beyond 2^53"
    if kind is float:
        return None if math.isfinite(value) else "a number that is not finite"
    if depth >= MAX_DEPTH:
        return f"values nested more than {MAX_DEPTH} deep"
    if kind is dict:
        for key, inner in value.items():
            if type(key) is not str:
                return "a key that is not text"
            if fault := json_fault(key) or json_fault(inner, depth + 1):
                return fault
        return None
    if kind is list:
        for inner in value:
            if not (type(inner) is str and inner.isascii()) and (fault := json_fault(inner, depth + 1)):
                return fault
        return None
    return f"a {kind.__name__}"


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clip(row: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a row for showing; each text has at most MAX_SHOWN characters."""
    return {
        name: value[: MAX_SHOWN - 1] + "…" if type(value) is str and len(value) > MAX_SHOWN else value
        for name, value in row.items()
    }  # fmt: skip


def paged(name: str, rows: list[Any], page: int) -> tuple[list[Any], dict[str, int]]:
    """The rows of `page` (from 1) and {"page", "pages", "total"}. Raises Refused(not_found) for a page that is not there."""
    pages = max(1, -(-len(rows) // PAGE))
    if page > pages:
        refuse(RefusalKind.not_found, f"{name}: there is no page {page}; the last is {pages}")
    return rows[(page - 1) * PAGE : page * PAGE], {"page": page, "pages": pages, "total": len(rows)}


def _argument_schema(name: str, hint: Any, tool: str) -> tuple[dict[str, Any], type | None]:
    """JSON schema of a type hint, and Words or Decided where it is marked as such."""
    if typing.get_origin(hint) is Annotated:
        inner, *marks = typing.get_args(hint)
        schema, kind = _argument_schema(name, inner, tool)
        for mark in marks:
            if isinstance(mark, Words):
                schema["maxLength"], kind = MAX_PROSE, Words
            elif isinstance(mark, Decided):
                kind = Decided
            elif isinstance(mark, Between):
                schema["minimum"], schema["maximum"] = mark.low, mark.high
        return schema, kind
    if typing.get_origin(hint) in (Union, types.UnionType):
        inner = [a for a in typing.get_args(hint) if a is not type(None)]
        if len(inner) == 1:
            return _argument_schema(name, inner[0], tool)
    if typing.get_origin(hint) is Literal:
        return {"type": "string", "enum": list(typing.get_args(hint))}, None
    if hint is str:
        return {"type": "string", "maxLength": MAX_ID}, None
    if hint is int:
        return {"type": "integer"}, None
    if hint is bool:
        return {"type": "boolean"}, None
    if hint is dict or typing.get_origin(hint) is dict:
        return {"type": "object"}, None
    raise WorldError(f"tool {tool}: argument {name} has a type that has no JSON schema: {hint!r}")


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """(description, argument -> words) of a docstring in Google form."""
    text = inspect.getdoc(function)
    if not text:
        raise WorldError(f"tool {function.__name__} has no docstring")
    description, _, rest = text.partition("\nArgs:")
    words: dict[str, str] = {}
    last = ""
    for line in rest.splitlines():
        stripped = line.strip()
        if line.startswith("    ") and not line.startswith("     ") and ":" in stripped:
            last, _, said = stripped.partition(":")
            words[last] = said.strip()
        elif last and stripped:
            words[last] += " " + stripped
    return " ".join(description.split()), words


def tool(
    system: str,
    function: Callable[..., Any],
    *,
    name: str = "",
    effect: Effect | None = None,
    finishing: bool = False,
    reads: bool = False,
    speaks: bool = False,
    choices: Mapping[str, Iterable[str]] | None = None,
    returns: tuple[str, ...] = (),
) -> Tool:
    """Builds a Tool from `function(context, argument: type, ...)`: its name (or `name`), hints and docstring are the schema.

    `returns`: see Tool. `choices` gives an argument the allowed values that only the options know. Raises WorldError for an
    argument without a type, a description or a JSON schema.
    """
    name = name or function.__name__
    description, words = _docstring(function)
    hints = typing.get_type_hints(function, include_extras=True)
    properties: dict[str, Any] = {}
    required, prose, decisions = [], [], []
    for argument, parameter in list(inspect.signature(function).parameters.items())[1:]:
        if argument not in hints or argument not in words:
            raise WorldError(f"tool {name}: argument {argument} needs a type and a line under 'Args:'")
        schema, kind = _argument_schema(argument, hints[argument], name)
        if choices and argument in choices:
            schema = {"type": "string", "enum": list(choices[argument])}
        properties[argument] = {**schema, "description": words[argument]}
        if kind is Words:
            prose.append(argument)
        if kind is Decided:
            decisions.append(argument)
        if parameter.default is inspect.Parameter.empty:
            required.append(argument)
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def run(context: Context, arguments: dict[str, Any]) -> Any:
        return function(context, **arguments)

    return Tool(
        name, system, description, parameters, run, effect, finishing, reads, speaks, tuple(prose), returns, tuple(decisions)
    )


@dataclass(frozen=True, slots=True)
class System:
    """What a file of environments/systems exports as SYSTEM."""

    name: str
    options: type[BaseModel]
    """Model of the spec's `config` for this system."""
    tools: Callable[[Any, Callable[[str], Any]], list[Tool]]
    """(options, resolve) -> tools; `resolve("content:<digest>")` reads a stored content. Called once per task set and config."""
