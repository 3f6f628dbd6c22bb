"""Leak checks: which months are planned, by the words and keys around them, and which a clause tells of the past."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from schemas.task import SystemRef, Trajectory
from tasks.leaks import LeakInput, run_check
from tasks.leaks._planned import foretells
from tasks.leaks._plant import with_content, with_field, with_task
from tasks.leaks._walk import must_instant
from tasks.leaks.late_time import LEAK
from tests.unit.tasks.leak_inputs import leak_input

SMALL = leak_input(tasks=40)
FIRST = SMALL.tasks[0]
CUT = must_instant(FIRST.started_at, "cut")
NEXT = CUT.replace(day=1) + timedelta(days=70)
NOTE = ["state/orders/order/note"]
LONG = "Oak shelf of eighty centimetres, solid, oiled; a second one in the store. "


def failed(data: LeakInput) -> list[str]:
    findings = run_check(LEAK, data)
    assert "could_not_run" not in {f.verdict for f in findings}
    return [f.path for f in findings if f.verdict == "failed"]


def noted(value: Any) -> LeakInput:
    return with_field(SMALL, 0, "orders", "order", "note", value)


def configured(config: dict[str, Any], data: LeakInput = SMALL) -> LeakInput:
    tool = SystemRef(name="desk", plugin="helpdesk", config=config)
    return with_task(data, 0, lambda task: task.model_copy(update={"systems": (*task.systems, tool)}))


def shown(text: str) -> LeakInput:
    episode = Trajectory(
        task_id=FIRST.task_id, agent="reference", observations=('{"ticket":"x"}', text), actions=('{"tool":"read"}',) * 2
    )
    return replace(SMALL, trajectories=(episode,))


@pytest.mark.parametrize(
    "words",
    [
        *(
            "open until {}",
            "Geöffnet bis {}",
            "runs to {}",
            "the contract extends to {}",
            "It is closed from May to {}",
            "läuft bis {}",
            "open until early {}",
            "closed till the end of {}",
            "geschlossen bis einschließlich {}",
            "The lease runs on to {}",
        ),
        *(
            "next service {}",
            "Next inspection due {}",
            "nächste Wartung {}",
            "prochaine visite {}",
            "geldig tot {}",
            "ważny do {}",
        ),
        *("giltig till {}", "gyldig til {}", "scadenza {}", "valid_until: {}", "validUntil={}", "expected in {}", "forecast {}"),
        *("It was extended until {}", "was booked until {}", "we were told it would be open until {}", "wurde bis {} verlängert"),
        *("war bis {} geplant", "was planned for {}", "they were promised it by {}", "I was late, please deliver by {}"),
    ],
)
def test_a_month_that_lies_ahead_by_the_words_before_it_is_fine(words: str) -> None:
    for form in ("%m/%Y", "%B %Y"):
        text = words.format(NEXT.strftime(form))
        assert failed(noted(text)) == [], text
        assert failed(noted(LONG + text)) == [], text
        assert failed(configured({"description": text})) == [], text


@pytest.mark.parametrize(
    "words",
    [
        *(
            "It was open until {}",
            "lief bis {}",
            "The shop had been shut till {}",
            "war bis {} geöffnet",
            "stayed closed until {}",
        ),
        *("was finished by {}", "Until {} it was open", "Bis {} lief der Vertrag", "ran to {}", "était ouvert jusqu'en {}"),
        *(
            "estuvo abierto hasta {}",
            "liep tot {}",
            "was valid until {}",
            "era aperto fino a {}",
            "The order was open until the end of {}",
            "It was open, as always, until {}",
        ),
    ],
)
def test_a_month_that_a_clause_tells_of_the_past_is_found_behind_until(words: str) -> None:
    for form in ("%m/%Y", "%B %Y"):
        text = words.format(NEXT.strftime(form))
        assert failed(noted(text))[:1] == NOTE, text
        assert failed(noted(LONG + text))[:1] == NOTE, text
        early = words.format((CUT.replace(day=1) - timedelta(days=20)).strftime(form))
        assert failed(noted(LONG + early)) == [], early


KEYS = (
    *(
        "due",
        "valid_until",
        "validUntil",
        "expires",
        "expiresAt",
        "expiry_month",
        "cardExpiry",
        "due-date",
        "dueMonth",
        "valid_from",
    ),
    *(
        "deadline",
        "eta",
        "next_service",
        "renewal",
        "warranty",
        "end",
        "contract_end_date",
        "planned",
        "expected",
        "target_month",
    ),
)


@pytest.mark.parametrize("key", KEYS)
def test_a_month_under_a_key_that_says_that_it_is_ahead_is_fine_wherever_the_key_stands(key: str) -> None:
    assert foretells(key)
    assert foretells(f"tools/*/{key}/*")
    for month in (f"{NEXT:%Y-%m}", f"{NEXT:%B %Y}"):
        for value in ({key: month}, {"a": [{key: [month]}]}, {key: {month: 1}}, json.dumps({key: month}), f"{key}: {month}"):
            assert failed(noted(value)) == [], value
            assert failed(configured({"x": value})) == [], value
        assert failed(with_field(SMALL, 0, "orders", "order", key, month)) == []
        assert failed(shown(json.dumps({"order": {key: month}}))) == []
    parts = {key: {"year": NEXT.year, "month": NEXT.month}}
    assert failed(noted(parts)) == []
    assert failed(configured(parts)) == []


@pytest.mark.parametrize(
    "key", ["done", "closed_at", "updated_on", "month", "report", "seen_by", "ended", "expired_in", "vendor", "amend"]
)
def test_a_month_under_any_other_key_is_found(key: str) -> None:
    assert not foretells(key)
    month = f"{NEXT:%Y-%m}"
    assert failed(noted({key: month}))
    assert failed(noted(json.dumps({key: month})))
    assert failed(configured({"x": {key: month}})) == [f"systems/desk/config/x/{key}"]
    assert failed(shown(json.dumps({"order": {key: month}}))) == ["trajectories/observations"]
    assert failed(noted({key: {"year": NEXT.year, "month": NEXT.month}}))


def test_a_day_under_a_key_of_plans_counts_as_the_code_book_says_alone() -> None:
    assert failed(noted({"due": f"{NEXT:%Y-%m-%d}"}))


@pytest.mark.parametrize(
    "write", ["{:%Y-%m-%d}", "{:%Y-%m}", "{:%d.%m.%Y}", "{:%B %Y}", "{:%Y-%m-%dT%H:%M:%SZ}", "since_{:%Y_%m}"]
)
def test_a_late_time_is_found_as_a_key_of_what_configures_a_tool(write: str) -> None:
    late, early = (write.format(at) for at in (NEXT, CUT - timedelta(days=70)))
    for name, found in ((late, True), (early, False)):
        for value in ({name: "on"}, {name: {}}, [{name: [1]}], json.dumps({name: 1}), f"Rates: {json.dumps({name: 1})}"):
            assert bool(failed(configured({"rates": value}))) == found, value
        data, digest = with_content(SMALL, {"rates": {name: "on"}})
        assert bool(failed(configured({"declarations": f"content:{digest}"}, data))) == found, name


def test_a_late_number_of_seconds_and_the_parts_of_a_day_are_found_in_what_configures_a_tool() -> None:
    for at, found in ((NEXT, True), (CUT - timedelta(days=70), False)):
        for value in (
            int(at.timestamp()),
            {"year": at.year, "month": at.month, "day": 3},
            {"since_year": at.year, "since_month": at.month},
        ):
            assert bool(failed(configured({"as_of": value}))) == found, value


def test_numbers_of_a_year_among_the_keys_and_values_of_a_configuration_are_no_months() -> None:
    months, numbers = ([f"{NEXT:%Y}/{n}" for n in (f"{NEXT:%m}", last)] for last in (f"{NEXT:%m}", "47"))
    assert failed(configured({"rates": dict.fromkeys(months, 1)}))
    assert failed(configured({"rates": dict.fromkeys(numbers, 1)})) == []
    assert failed(configured({"rates": months}))
    assert failed(configured({"rates": numbers})) == []


def rowed(*names: str, kind: str = "stat") -> LeakInput:
    data, digest = with_content(SMALL, {"desk": {kind: {name: {"count": 3} for name in names}}})
    return with_task(data, 0, lambda task: task.model_copy(update={"state": (*task.state, digest)}))


def test_a_month_is_found_as_the_id_of_a_row_unless_the_others_are_numbers() -> None:
    late, early = f"{NEXT:%Y-%m}", f"{CUT - timedelta(days=70):%Y-%m}"
    assert failed(rowed(late)) == ["state/desk/stat"]
    assert failed(rowed(early, late)) == ["state/desk/stat"]
    assert failed(rowed(early)) == []
    assert failed(rowed(late, f"{NEXT:%Y}-47")) == []
    assert failed(rowed(late.replace("-", "/"), f"{NEXT:%Y}/147")) == []
    assert failed(rowed(late, kind="invoice")) == []
    assert failed(rowed(late, "INV_77", "INV_78", kind="invoice")) == ["state/desk/invoice"]


def test_the_year_and_month_of_an_object_or_of_a_row_itself_are_read_together() -> None:
    late, early = ({"year": at.year, "month": at.month} for at in (NEXT, CUT - timedelta(days=70)))
    for value in (
        late,
        {"log": [{"done": {**late, "day": 2}}]},
        json.dumps({"x": late}),
        {"Year": str(NEXT.year), "Month": f"{NEXT:%B}"},
    ):
        assert failed(noted(value)), value
    assert failed(noted(early)) == []
    assert failed(noted({"model_year": NEXT.year, "month": NEXT.month})) == []
    data = with_field(with_field(SMALL, 0, "orders", "order", "year", NEXT.year), 0, "orders", "order", "month", NEXT.month)
    assert failed(data) == ["state/orders/order/year"]
    assert failed(shown(json.dumps({"order": {"month": NEXT.month, "n": 1, "year": NEXT.year}}))) == ["trajectories/observations"]
    assert failed(shown(json.dumps({"order": early}))) == []
