"""A system that a supplier declares: one tool per query interface, two where it can book, answered from the recorded queries.

State of a case: {system}.{api}.{record} = {"request": {argument: value}, "request_type": "Check" | "Book" | null, "item": {...}}.
A call that asks what a recorded query asked gets its recorded item, any other gets {"result": "no_record"}: nothing is invented.
A booking always writes a row {system}.{api}_booking, so that a wrong one counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from environments.tool import MAX_ID, Context, Effect, System, Tool, clip
from schemas.episode import Frozen
from schemas.errors import WorldError
from schemas.spec_faults import faults_of

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,50}")
"""Form of a query interface's and an argument's name: what every tool-calling protocol accepts."""


class Input(Frozen):
    name: str
    type: Literal["string", "integer", "boolean", "enum"] = "string"
    enum: tuple[str, ...] = ()
    """Allowed values of an enum."""
    required: bool = False
    description: str = ""
    asked_by: tuple[str, ...] = ()
    """Phrases that ask the requester for it: what says whose "yes" a yes is. Empty: by its name."""
    unknown: str = ""
    """The value of the list that stands for "the requester does not know"; "" = there is none."""


class Declaration(Frozen):
    """One query interface as the supplier's description declares it."""

    api: str
    description: str
    inputs: tuple[Input, ...]
    booking: bool = False
    """True: it can check and it can book."""


class Options(Frozen):
    declarations: str | tuple[Declaration, ...]
    """The list of declarations, or "content:<digest>" where it is stored."""
    system: str = "apis"
    """Name of the system in the state and in the task set."""


DECLARATIONS = TypeAdapter(tuple[Declaration, ...])


def plain(value: Any) -> str:
    """A value as it is compared: letters and digits only, in one case ("Is Equal To" and "is_equal_to" are one)."""
    return "".join(c for c in str(value).casefold() if c.isalnum())


def _order(record_id: str) -> tuple[Any, ...]:
    """q2 before q10."""
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", record_id))


def recorded_item(context: Context, system: str, api: str, kind: str | None, arguments: Mapping[str, Any]) -> Any:
    """The item of the recorded query with exactly these arguments and request type, or None.

    Where the same query was recorded several times the last answer stands: it is what the case was decided on.
    """
    wanted = {name: plain(value) for name, value in arguments.items()}
    for record_id, row in sorted(context.state.all(system, api), key=lambda pair: _order(pair[0]), reverse=True):
        request = row.get("request") or {}
        right_type = kind is None or row.get("request_type") in (kind, None)
        if right_type and {n: plain(v) for n, v in request.items() if v is not None} == wanted:
            context.state.note(system, api, record_id)
            return row.get("item")
    return None


def _parameters(declaration: Declaration) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for given in declaration.inputs:
        if not NAME.fullmatch(given.name):
            raise WorldError(f"declared system: argument {given.name[:60]!r} of {declaration.api} is not a plain name")
        schema: dict[str, Any] = {"type": "string" if given.type == "enum" else given.type}
        if given.type == "enum":
            if not given.enum:
                raise WorldError(f"declared system: {declaration.api}.{given.name} is an enum without values")
            schema["enum"] = list(given.enum)
        elif given.type == "string":
            schema["maxLength"] = MAX_ID
        words = given.description or given.name
        if given.unknown:
            if given.unknown not in given.enum:
                raise WorldError(f"declared system: {declaration.api}.{given.name} lists no {given.unknown[:60]!r}")
            words = f"{words} ({given.unknown} where the requester does not know)"
        properties[given.name] = {**schema, "description": words}
    required = [given.name for given in declaration.inputs if given.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _said(declaration: Declaration) -> dict[str, Any]:
    """How its arguments are said: fields of a Tool."""
    return {
        "asked_by": {given.name: given.asked_by for given in declaration.inputs if given.asked_by},
        "unknown": {given.name: given.unknown for given in declaration.inputs if given.unknown},
    }


def _answer(item: Any) -> Any:
    if item is None:
        return {"result": "no_record"}
    return clip(item) if isinstance(item, dict) else {"result": item}


def _query(system: str, declaration: Declaration, name: str, kind: Literal["Check"] | None) -> Tool:
    def run(context: Context, arguments: dict[str, Any]) -> Any:
        return _answer(recorded_item(context, system, declaration.api, kind, arguments))

    said = "checks only and books nothing" if kind else "asks and changes nothing"
    return Tool(
        name,
        system,
        f"{declaration.description} ({said})",
        _parameters(declaration),
        run,
        reads=True,
        returns=None,
        **_said(declaration),
    )


def _book(system: str, declaration: Declaration, name: str) -> Tool:
    booking = f"{declaration.api}_booking"

    def run(context: Context, arguments: dict[str, Any]) -> Any:
        item = recorded_item(context, system, declaration.api, "Book", arguments)
        return {**_answer(item), "booking_id": context.state.create(system, booking, dict(arguments))}

    effect = Effect(system, booking, "create", None, {given.name: given.name for given in declaration.inputs})
    return Tool(
        name,
        system,
        f"{declaration.description} (books it)",
        _parameters(declaration),
        run,
        effect,
        returns=None,
        **_said(declaration),
    )


def _tools(options: Options, resolve: Callable[[str], Any]) -> list[Tool]:
    declarations = options.declarations
    if isinstance(declarations, str):
        try:
            declarations = DECLARATIONS.validate_python(resolve(declarations))
        except ValidationError as error:
            raise WorldError(f"declared system {options.system}: {'; '.join(faults_of(error, 'declarations'))}") from error
    tools = []
    for declaration in declarations:
        if not NAME.fullmatch(declaration.api):
            raise WorldError(f"declared system: {declaration.api[:60]!r} is not a plain name")
        if declaration.booking:
            tools.append(_query(options.system, declaration, f"{declaration.api}_check", "Check"))
            tools.append(_book(options.system, declaration, f"{declaration.api}_book"))
        else:
            tools.append(_query(options.system, declaration, declaration.api, None))
    return tools


SYSTEM = System(name="declared", options=Options, tools=_tools)
