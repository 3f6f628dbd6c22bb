"""A function's signature and docstring are the tool."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest

from environments.seen import Seen, unseen
from environments.tool import Amount, Context, Decision, Prose, Refused, json_fault, paged, tool
from schemas.errors import WorldError


def book(
    context: Context, room: str, nights: Amount, view: Literal["sea", "yard"] = "yard", note: Prose = "", quiet: bool = False
) -> Any:
    """Books a room.

    Refuses: conflict if it is taken.

    Args:
        room: The room's id,
            e.g. R-1.
        nights: How many nights.
        view: What it looks at.
        note: Words for the desk.
        quiet: Whether it must be quiet.
    """
    return {"booked": room}


BOOK = tool("hotel", book, choices={"room": ("R-1", "R-2")})


def test_the_schema_is_made_of_hints_defaults_and_words() -> None:
    properties = BOOK.parameters["properties"]
    assert BOOK.parameters["required"] == ["room", "nights"]
    assert BOOK.parameters["additionalProperties"] is False
    assert properties["room"] == {"type": "string", "enum": ["R-1", "R-2"], "description": "The room's id, e.g. R-1."}
    assert properties["nights"]["minimum"] == 1
    assert properties["view"]["enum"] == ["sea", "yard"]
    assert properties["quiet"]["type"] == "boolean"
    assert BOOK.prose == ("note",)
    assert BOOK.description == "Books a room. Refuses: conflict if it is taken."


@pytest.mark.parametrize(
    ("arguments", "lesson"),
    [
        ({}, "room is missing"),
        ({"room": "R-1"}, "nights is missing"),
        ({"room": "R-9", "nights": 1}, "must be one of R-1, R-2; found 'R-9'"),
        ({"room": "R-1", "nights": True}, "must be an integer, found boolean"),
        ({"room": "R-1", "nights": 0}, "must be from 1 to"),
        ({"room": "R-1", "nights": 1.0}, "found number"),
        ({"room": "R-1", "night": 1}, "did you mean 'nights'?"),
        ({"room": None, "nights": 1}, "must be a string, found null"),
        ({"room": "R-1", "nights": 1, "note": "x" * 2001}, "at most 2000 characters"),
        ({"room": "R-1", "nights": 1, "note": "  "}, "must not be empty"),
        ({"room": "R-1", "nights": 1, "quiet": "yes"}, "true or false"),
    ],
)
def test_wrong_arguments_are_refused_with_what_is_allowed(arguments: dict[str, Any], lesson: str) -> None:
    with pytest.raises(Refused) as refused:
        BOOK.check(arguments)
    assert lesson in refused.value.message
    assert refused.value.message.startswith("book: ")


def test_null_for_an_optional_argument_is_not_giving_it() -> None:
    assert BOOK.check({"room": "R-1", "nights": 2, "view": None}) == {"room": "R-1", "nights": 2}


def test_an_argument_without_words_or_type_does_not_become_a_tool() -> None:
    def bare(context: Context, room: str) -> Any:
        """Books."""

    with pytest.raises(WorldError, match="room needs a type and a line under 'Args:'"):
        tool("hotel", bare)

    def mute(context: Context) -> Any: ...

    with pytest.raises(WorldError, match="no docstring"):
        tool("hotel", mute)

    def odd(context: Context, room: set[str]) -> Any:
        """Books.

        Args:
            room: Rooms.
        """

    with pytest.raises(WorldError, match="no JSON schema"):
        tool("hotel", odd)


def test_a_page_that_is_not_there_is_refused() -> None:
    assert paged("x", list(range(25)), 3) == ([20, 21, 22, 23, 24], {"page": 3, "pages": 3, "total": 25})
    assert paged("x", [], 1)[1]["pages"] == 1
    with pytest.raises(Refused, match="the last is 3"):
        paged("x", list(range(25)), 4)


@pytest.mark.parametrize("value", [{"a": [1, 2.5, None, True, "ü"]}, "text", 2**53])
def test_json_is_storable(value: Any) -> None:
    assert json_fault(value) is None


@pytest.mark.parametrize("value", [math.nan, math.inf, "\ud800", {1: 2}, {"a": {1}}, 2**60, [[[[[[[[[1]]]]]]]]], {"\udfff": 1}])
def test_what_is_no_storable_json_is_named(value: Any) -> None:
    assert json_fault(value)


def settle(context: Context, room: str, reason: Decision) -> Any:
    """Settles what a room owes.

    Args:
        room: The room.
        reason: The reason.
    """


def test_an_argument_is_the_agents_own_decision_only_where_its_tool_says_so() -> None:
    made = tool("rooms", settle, choices={"room": ["R-1", "R-2"], "reason": ["late", "lost"]})
    assert made.decisions == ("reason",)
    assert list(made.chosen) == ["room"]
    assert unseen(made, {"room": "R-1", "reason": "late"}, Seen("the words of nobody")) == ("room", "R-1")
    assert unseen(made, {"room": "R-1", "reason": "late"}, Seen("R-1, please")) is None
