"""A choice from a list of which nobody ever spoke is no part of a case; one that somebody spoke of is never left out."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.task import Fact, Opening, RequesterSpec, TaskSpec
from tasks.declared import Api, DeclaredCase, Query, without
from tasks.declared_case import left_open
from tasks.replay import Built

API = Api(
    "visit",
    {
        "Day": {"Name": "Day", "Type": "Categorical", "Categories": ["Monday", "Tuesday"]},
        "Hour": {"Name": "Hour", "Type": "Categorical", "Categories": ["5 am", "5 pm", "6 pm"]},
        "Car": {"Name": "Car", "Type": "ShortString"},
    },
    False,
    frozenset({"Day", "Hour", "Car"}),
)
QUERY = Query("q1", "visit", {"Day": "Monday", "Hour": "6 pm", "Car": "A-1"}, None, {"Message": "done"}, 0)
CASE = DeclaredCase("visit", [QUERY], QUERY, "visit_made", in_opening=False)


def task(text: str, *facts: Fact) -> TaskSpec:
    opening = Opening.model_construct(text=text)
    return TaskSpec.model_construct(opening=opening, requester=RequesterSpec(facts=facts, dont_know=()))


def fact(answer: str, **values: str) -> Fact:
    return Fact(id="f1", slots=tuple(values), values=values, answer=answer)


def lacking(name: str, reason: str = "underivable") -> Built:
    return Built(reason=reason, lacking=name)


def test_what_nobody_spoke_of_is_left_open() -> None:
    found = left_open(lacking("Day"), CASE, {"visit": API}, task("My car A-1 needs new tyres as soon as can be."))
    assert found == {"Day"}
    assert [q.arguments for q in without(CASE.queries, found)] == [{"Hour": "6 pm", "Car": "A-1"}]
    assert "Day" in QUERY.arguments


@pytest.mark.parametrize(
    ("built", "text", "facts"),
    [
        (lacking("Day"), "Tuesday would be best.", ()),
        (lacking("Day"), "Hello.", (fact("On Tuesday.", Day="Tuesday"),)),
        (lacking("Day"), "Hello.", (fact("not Tuesday, please"),)),
        (lacking("Day"), "I need it today.", ()),
        (lacking("Hour"), "Hello.", (fact("at 5, if you can"),)),
        (lacking("Hour"), "In the morning would be best.", ()),
        (lacking("Car"), "Hello.", ()),
        (lacking(""), "Hello.", ()),
        (lacking("Day", "breaks_rule"), "Hello.", ()),
    ],
)
def test_what_somebody_spoke_of_or_what_identifies_is_not(built: Built, text: str, facts: tuple[Any, ...]) -> None:
    assert left_open(built, CASE, {"visit": API}, task(text, *facts)) == set()


def test_a_tool_never_demands_a_choice_from_a_list() -> None:
    required = {given["name"]: given["required"] for given in API.declaration()["inputs"]}
    assert required == {"Day": False, "Hour": False, "Car": True}
