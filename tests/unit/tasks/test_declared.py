"""Cases of a declared system: the funnel's reasons in order, what is compared, and values as the requester said them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas.errors import SpecError
from schemas.spec import Spec, load_spec
from tasks import declared_rules
from tasks.case import Case, Turn, Write
from tasks.declared import Api, DeclaredCase, outcome_code, queries_of, screen_case, spoken, state_of, values_by_slot

INPUTS = {
    "Name": {"Name": "Name", "Type": "Categorical", "Categories": ["Hyatt Hotel", "Old Town Inn"]},
    "StartDate": {"Name": "StartDate", "Type": "Categorical", "Categories": ["15th", "27th"]},
    "CustomerName": {"Name": "CustomerName", "Type": "ShortString"},
    "CustomerRequest": {"Name": "CustomerRequest", "Type": "LongString"},
    "RequestType": {"Name": "RequestType", "Type": "RequestType", "Categories": ["Check", "Book"]},
}
API = Api("hotel_book", INPUTS, True, frozenset({"Name"}))
APIS = {"hotel_book": API}


@pytest.fixture(scope="module")
def spec(repo_root: Path) -> Spec:
    return load_spec(repo_root / "tasks" / "specs" / "star_v1.toml")


def query(number: int, kind: str, message: str, **arguments: Any) -> list[Write]:
    fields = {"Name": "Old Town Inn", "StartDate": "15th", "CustomerName": "John", **arguments, "RequestType": kind}
    given = {name: value for name, value in fields.items() if value is not None}
    name = f"D-q{number}"
    return [
        Write("apis", "hotel_book", "create", name, given, number, number * 10),
        Write(
            "apis", "hotel_book", "update", name, {"item": {"APIName": "hotel_book", "Message": message}}, number, number * 10 + 5
        ),
    ]


def case(*turns: str, writes: list[Write] | None = None, **last: Any) -> Case:
    said = [Turn(n, n, "desk:user:U", text, True, True, "R") for n, text in enumerate(turns)]
    found = Case("D", "W", 1, 1, None, None, requester="U", turns=said)
    found.last = {"task": "hotel_book", "completion": "Complete", **last}
    found.writes = [*query(1, "Check", "Available"), *query(2, "Book", "Reservation Confirmed")] if writes is None else writes
    return found


SAID = ("hello", "My name is John", "The Old Town Inn on the 15th please")


@pytest.mark.parametrize(
    ("built", "reason"),
    [
        (case(*SAID, completion="DisconnectDuringDialogue"), "not_complete"),
        (case(*SAID, task=["hotel_book", "ride_book"]), "several_tasks"),
        (case(*SAID, task="trivia"), "out_of_scope"),
        (case(*SAID, writes=[]), "no_query"),
        (case(*SAID[:2]), "few_turns"),
        (case(*SAID, writes=query(1, "Check", "Available")), "no_definite_answer"),
    ],
)
def test_a_dialogue_has_the_first_reason_of_the_funnel(built: Case, reason: str, spec: Spec) -> None:
    assert screen_case(built, spec, APIS) == reason


def test_a_dialogue_that_gets_through_is_decided_by_its_last_query(spec: Spec) -> None:
    found = screen_case(case(*SAID), spec, APIS)
    assert isinstance(found, DeclaredCase)
    assert (found.code, found.last.request_type, found.last.record_id) == ("hotel_booked", "Book", "D-q2")
    assert [q.item for q in found.queries] == [
        {"APIName": "hotel_book", "Message": "Available"},
        {"APIName": "hotel_book", "Message": "Reservation Confirmed"},
    ]


@pytest.mark.parametrize(("turns", "stands"), [(("I am John: Old Town Inn, 15th", "yes", "thanks"), True), (SAID, False)])
def test_who_says_everything_at_once_leaves_nothing_to_find_out(turns: tuple[str, ...], stands: bool, spec: Spec) -> None:
    found = screen_case(case(*turns), spec, APIS)
    assert isinstance(found, DeclaredCase)
    assert found.in_opening is stands


def test_an_open_condition_on_what_identifies_is_asked_as_it_was_and_one_among_categories_is_left_out() -> None:
    given = {
        "Name": 'api.is_one_of(["a","b"])',
        "CustomerName": "api.is_less_than(15)",
        "StartDate": "15th",
        "CustomerRequest": "x",
    }
    assert API.asked(given) == {"CustomerName": "api.is_less_than(15)", "StartDate": "15th"}
    assert API.compared(given) == {"StartDate": "15th"}


def test_of_a_query_that_was_repeated_the_last_answer_stands_whatever_its_record_is_called() -> None:
    writes = [*query(9, "Book", "Reservation Failed"), *query(10, "Book", "Reservation Confirmed")]
    writes = [Write(w.system, w.kind, w.op, {"D-q9": "Z", "D-q10": "A"}[w.record_id], w.fields, w.at_us, w.seq) for w in writes]
    held = state_of("apis", queries_of(case(*SAID, writes=writes)), APIS, SAID)["apis"]["hotel_book"]
    assert [row["item"]["Message"] for row in held.values()] == ["Reservation Confirmed"]


def test_the_outcome_is_the_first_pattern_of_its_workflow_that_fits(spec: Spec) -> None:
    assert outcome_code(spec.outcomes, "hotel_book", {"Message": "Unavailable"}) == "hotel_unavailable"
    assert outcome_code(spec.outcomes, "plane_book", {"ReservationStatus": "Reservation Failed"}) == "flight_booking_failed"
    assert outcome_code(spec.outcomes, "hotel_book", {"Message": "Available"}) is None


def test_free_text_and_open_conditions_are_not_offered_to_the_agent() -> None:
    given = {"Name": "Old Town Inn", "CustomerRequest": "a quiet room", "CustomerName": 'api.is_one_of(["a","b"])'}
    assert API.compared(given) == {"Name": "Old Town Inn"}
    declared = API.declaration()
    assert [i["name"] for i in declared["inputs"]] == ["Name", "StartDate", "CustomerName"]
    assert [i["required"] for i in declared["inputs"]] == [False, False, False], "a choice from a list may be left open"
    assert declared["booking"] is True


def test_a_value_is_used_as_the_requester_said_it() -> None:
    assert spoken("sarahbrown", ["it is Sarah Brown."]) == "Sarah Brown"
    assert spoken("John", ["I am john"]) == "John", "case alone is no other value"
    assert spoken(450, ["room 450"]) == 450
    assert spoken("Ben", ["I am Mark"]) == "Ben"


def test_the_state_holds_the_recorded_queries_and_nothing_else() -> None:
    queries = queries_of(case(*SAID, writes=query(1, "Check", "Available", CustomerRequest="quiet")))
    assert state_of("apis", queries, APIS, SAID) == {
        "apis": {
            "hotel_book": {
                "D-q1": {
                    "request": {"Name": "Old Town Inn", "StartDate": "15th", "CustomerName": "John"},
                    "request_type": "Check",
                    "item": {"APIName": "hotel_book", "Message": "Available"},
                }
            }
        }
    }
    assert values_by_slot(queries, APIS)["CustomerRequest"] == frozenset({"quiet"})


def test_a_listed_value_is_used_as_it_is_listed_however_it_was_said() -> None:
    given = {"Name": "Old Town Inn", "CustomerName": "sarahbrown"}
    assert API.given(given, ["the oldtown inn, for Sarah Brown"]) == {"Name": "Old Town Inn", "CustomerName": "Sarah Brown"}


def test_every_tool_of_a_declared_system_brings_the_rule_that_guesses_break(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared_rules, "apis_of", lambda clean, spec: APIS)
    none: Any = None
    plain = spec.model_copy(update={"systems": tuple(s.model_copy(update={"config": {}}) for s in spec.systems)})
    found = declared_rules.with_declared_rules(plain, none)
    added = [rule for rule in found.rules if rule.rule == "shown_before"]
    assert [(rule.id, rule.workflows) for rule in added] == [
        ("hotel_book_check_uses_what_was_shown", ("hotel_book",)),
        ("hotel_book_book_uses_what_was_shown", ("hotel_book",)),
    ]
    assert added[0].parameters["listed"] == {"Name": ["Hyatt Hotel", "Old Town Inn"], "StartDate": ["15th", "27th"]}
    assert declared_rules.with_declared_rules(found, none) == found, "a spec that has the rule keeps its own"


def test_an_unknown_that_no_interface_lists_is_a_fault_of_the_spec(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared_rules, "apis_of", lambda clean, spec: APIS)
    none: Any = None
    with pytest.raises(SpecError, match="ApplicationFeePaid"):
        declared_rules.with_declared_rules(spec, none)
