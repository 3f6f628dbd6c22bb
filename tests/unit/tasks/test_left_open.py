"""When, and yes or no, of which nobody ever spoke is no part of a case; what somebody spoke of is never left out."""

from __future__ import annotations

import pytest

from schemas.episode import ToolCall
from schemas.task import Answer, Fact, Outcome, ReferenceStep
from tasks.case import Case, Turn
from tasks.declared import Api, DeclaredCase, Query, without
from tasks.declared_case import left_open, told_at_once
from tasks.replay import Built

API = Api(
    "visit",
    {
        "Day": {"Name": "Day", "Type": "Categorical", "Categories": ["Monday", "Tuesday"]},
        "Hour": {"Name": "Hour", "Type": "Categorical", "Categories": ["5 am", "5 pm", "6 pm"]},
        "Place": {"Name": "Place", "Type": "Categorical", "Categories": ["West Bay", "Harbour"]},
        "Loan": {"Name": "Loan", "Type": "Boolean"},
        "Car": {"Name": "Car", "Type": "ShortString"},
    },
    False,
    frozenset({"Day", "Hour", "Place", "Loan", "Car"}),
    {"Loan": ("loan car",)},
)
QUERY = Query("q1", "visit", {"Day": "Monday", "Hour": "6 pm", "Place": "Harbour", "Loan": True, "Car": "A-1"}, None, {}, 0)
CASE = DeclaredCase("visit", [QUERY], QUERY, "visit_made", in_opening=False)
TYRES = "My car A-1 needs new tyres."


def case(*turns: str) -> Case:
    """The requester and one of the staff speak in turn."""
    spoken = [Turn(n, n, "", text, True, n % 2 == 0, f"R{n}") for n, text in enumerate(turns)]
    return Case("T", "O", 1, 1, None, "code", requester="U", turns=spoken)


def fact(answer: str, *asked: str, **values: str) -> Fact:
    return Fact(id="f1", slots=(*values, *asked), values=values, answer=answer)


def lacking(name: str, reason: str = "underivable") -> Built:
    return Built(reason=reason, lacking=name)


@pytest.mark.parametrize("name", ["Day", "Hour", "Loan"])
def test_what_nobody_spoke_of_is_left_open(name: str) -> None:
    found = left_open(lacking(name), CASE, {"visit": API}, case(TYRES, "Certainly.", "Thanks!"), ())
    assert found == {name}
    assert [q.arguments for q in without(CASE.queries, found)] == [{n: v for n, v in QUERY.arguments.items() if n != name}]
    assert name in QUERY.arguments


@pytest.mark.parametrize(
    ("built", "turns", "facts"),
    [
        (lacking("Day"), ("Tuesday would be best.",), ()),
        (lacking("Day"), (TYRES, "When?", "not Tuesday, please"), ()),
        (lacking("Day"), ("I need it today.",), ()),
        (lacking("Day"), ("It needs new tyres as soon as can be.",), ()),
        (lacking("Hour"), ("It needs new tyres, asap please.",), ()),
        (lacking("Hour"), (TYRES, "Certainly.", "Any time after work."), ()),
        (lacking("Day"), (TYRES, "Certainly.", "tommorow if you can"), ()),
        (lacking("Day"), (TYRES,), (fact("On Tuesday.", Day="Tuesday"),)),
        (lacking("Day"), (TYRES,), (fact("as soon as possible", "Day"),)),
        (lacking("Hour"), (TYRES, "When?", "at 5, if you can"), ()),
        (lacking("Hour"), ("In the morning would be best.",), ()),
        (lacking("Loan"), (TYRES, "Do you need a loan car?", "I can't remember."), ()),
        (lacking("Place"), (TYRES,), ()),
        (lacking("Car"), (TYRES,), ()),
        (lacking(""), (TYRES,), ()),
        (lacking("Day", "breaks_rule"), (TYRES,), ()),
    ],
)
def test_what_somebody_spoke_of_or_what_is_chosen_is_not(built: Built, turns: tuple[str, ...], facts: tuple[Fact, ...]) -> None:
    assert left_open(built, CASE, {"visit": API}, case(*turns), facts) == set()


def test_a_tool_never_demands_a_choice_from_a_list() -> None:
    required = {given["name"] for given in API.declaration()["inputs"] if given["required"]}
    assert required == {"Car"}


@pytest.mark.parametrize(("where", "at_once"), [("opening", True), ("fact f1", False)])
def test_a_case_that_tells_all_at_once_leaves_nothing_to_find_out(where: str, at_once: bool) -> None:
    def step(tool: str, **derived: str) -> ReferenceStep:
        call = ToolCall(tool=tool, arguments=dict.fromkeys(derived, "x"))
        return ReferenceStep(call=call, planned=True, derived_from=derived)

    steps = (
        step("reply_to_requester", text="constant"),
        step("visit", Car="opening", Day=where),
        step("resolve", answer="step 1"),
    )
    outcome = Outcome(kind="answer", code="c")
    answer = Answer.model_construct(task_id="t", outcome=outcome, outcome_class="grant", reference=steps)
    assert told_at_once(answer) == at_once
    assert not told_at_once(None)
