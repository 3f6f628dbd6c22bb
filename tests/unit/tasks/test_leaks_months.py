"""Leak checks: whole months after the cut, and days as people glue, shorten and order them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from schemas.plugins import load_plugins
from schemas.records import FieldRule
from tasks.leaks import Leak, LeakInput, run_check
from tasks.leaks._plant import with_field, with_task, with_text
from tasks.leaks._times import times_in
from tasks.leaks._walk import must_instant
from tests.unit.tasks.leak_inputs import leak_input

LEAKS = load_plugins("tasks.leaks", "LEAK", Leak)
SMALL = leak_input(tasks=40)
FIRST = SMALL.tasks[0]
CUT = must_instant(FIRST.started_at, "cut")
NEXT = CUT.replace(day=1) + timedelta(days=70)
"""In a month that begins after the case was closed."""
FORMS = ("%Y-%m", "%Y/%m", "%m/%Y", "%m-%Y", "%B %Y", "%b %Y", "%b. %Y", "%b-%Y", "%b%Y", "%b '%y", "%Y %B", "%Y-%b", "%B of %Y")
PROSE = "Oak shelf of eighty centimetres, solid, oiled; checked in at the warehouse in {}"


def failed(data: LeakInput) -> list[str]:
    """Paths that fail."""
    findings = run_check(LEAKS["late_time"], data)
    assert "could_not_run" not in {f.verdict for f in findings}
    return [f.path for f in findings if f.verdict == "failed"]


def noted(value: Any) -> LeakInput:
    return with_field(SMALL, 0, "orders", "order", "note", value)


def written(text: str) -> LeakInput:
    return with_text(SMALL, 0, lambda before: f"{before} {text}")


def told(answer: str) -> LeakInput:
    fact = FIRST.requester.facts[0].model_copy(update={"answer": answer})
    requester = FIRST.requester.model_copy(update={"facts": (fact,)})
    return with_task(SMALL, 0, lambda task: task.model_copy(update={"requester": requester}))


def typed(kind: str, value: Any) -> LeakInput:
    fields = {**SMALL.code_book.fields, "orders.order.note": FieldRule(type=kind)}
    return replace(noted(value), code_book=SMALL.code_book.model_copy(update={"fields": fields}))


@pytest.mark.parametrize("form", FORMS)
def test_a_month_that_lies_wholly_after_the_cut_is_found_wherever_it_stands(form: str) -> None:
    month = NEXT.strftime(form)
    for value in (month, {"log": [f"done {month}"]}, {month: 1}, PROSE.format(month)):
        assert failed(noted(value)), value
    assert failed(written(f"The letter that I got is of {month}.")) == ["opening/text"]
    assert failed(told(f"A letter of {month} did.")) == ["requester/facts/answer"]


@pytest.mark.parametrize("form", FORMS)
def test_the_month_that_holds_the_cut_and_those_before_it_are_no_proof(form: str) -> None:
    for at in (CUT, CUT.replace(day=1) - timedelta(days=20)):
        month = at.strftime(form)
        for data in (noted(month), noted({month: 1}), noted(PROSE.format(month)), written(f"It is of {month}."), told(month)):
            assert failed(data) == [], month


def test_a_month_that_has_begun_in_some_zone_is_no_proof() -> None:
    eve = datetime.fromisoformat("2025-04-30T18:00:00+00:00")
    may = next(iter(times_in("May 2025")))
    assert not may.after(eve)
    assert may.after(eve - timedelta(days=1))


@pytest.mark.parametrize(
    "words",
    [
        *("valid until {}", "exp. {}", "Expires {}", "warranty through {}", "starts in {}", "planned for {}", "due in {}"),
        *("Deadline: {}", "no later than {}", "ETA {}", "fällig im {}", "geplant für {}", "prévu en {}", "target {}"),
    ],
)
def test_a_month_that_is_an_end_or_a_plan_is_fine(words: str) -> None:
    month = f"{NEXT:%m/%Y}"
    assert failed(noted(words.format(month))) == []
    assert failed(noted(f"{PROSE.format('the morning')}; {words.format(month)}")) == []


@pytest.mark.parametrize("words", ["resolved in {}", "Refunded {}", "erledigt im {}"])
def test_a_month_of_the_handling_is_found_in_what_people_wrote_too(words: str) -> None:
    said = with_field(
        SMALL, 0, "helpdesk", "ticket", "subject", f"The shelf with the two broken feet, {words.format(f'{NEXT:%m/%Y}')}"
    )
    assert failed(said) == ["state/helpdesk/ticket/subject"]


def test_a_month_that_the_requester_named_with_its_year_or_without_any_is_no_news() -> None:
    data = written(f"The fair of {NEXT:%B %Y}, you know.")
    for turn, paths in (
        (f"We meet in {NEXT:%B}.", []),
        (f"It is on {NEXT:%d %b %Y}.", []),
        (f"It is the fair of {NEXT:%B} {NEXT.year - 3}.", ["opening/text"]),
        ("We meet in spring.", ["opening/text"]),
    ):
        assert failed(replace(data, requester_turns={FIRST.task_id: (turn,)})) == paths, turn


@pytest.mark.parametrize(
    "text",
    [
        "invoice {:%Y/%m}",
        "Nr. {:%m/%Y}",
        "order no {:%Y-%m}",
        "RMA-{:%Y-%m}",
        "0151-{:%Y-%m}",
        "v{:%Y.%m}",
        "11.{:%Y}",
        "#{:%Y-%m}",
    ],
)
def test_what_is_numbered_within_a_year_is_no_month(text: str) -> None:
    written_ = text.format(NEXT)
    assert failed(noted(written_)) == []
    assert failed(written(f"It is about {written_}, please.")) == []


def test_numbers_of_a_year_are_told_by_their_column_and_its_type() -> None:
    number = f"{NEXT:%Y/%m}"
    assert failed(noted(number)) == ["state/orders/order/note"]
    assert failed(with_field(noted(number), 1, "orders", "order", "note", f"{NEXT:%Y}/47")) == []
    assert failed(typed("id", number)) == []
    assert failed(typed("date", int(f"{NEXT:%Y%m}"))) == ["state/orders/order/note"]
    assert failed(noted(int(f"{NEXT:%Y%m}"))) == []


@pytest.mark.parametrize(
    "text",
    [
        *("14Nov2023", "14NOV23", "14nov23", "14-Nov-2023", "14-Nov-23", "14_Nov_2023", "14.Nov.23", "14Nov2023:10:22:33"),
        *(
            "Nov 14, '23",
            "Nov 14, \u201923",
            "Nov 14th '23",
            "14 Nov \u201923",
            "Nov-14-23",
            "Nov14 2023",
            "Nov. 14th 2023",
            "Nov14,2023",
        ),
        *(
            "14th, Nov. 2023",
            "the 14th day of November 2023",
            "November the 14th, 2023",
            "November 14 of 2023",
            "Nov 14-16, 2023",
        ),
        *("2023Nov14", "2023 November 14th", "2023, November 14", "Tue Nov 14 10:22 2023", "Nov 14 10:22 AM 2023"),
        *("14 / 11 / 2023", "2023 / 11 / 14", "2023. 11. 14.", "14/11/'23", "14.11.\u201923"),
    ],
)
def test_a_day_is_read_however_it_is_glued_shortened_or_ordered(text: str) -> None:
    for written_ in (text, f"It came {text}, I think."):
        assert [f"{time.readings[0]:%Y-%m-%d}" for time in times_in(written_)] == ["2023-11-14"], written_


@pytest.mark.parametrize(
    "text",
    [
        *(
            "28 Sep 23:15",
            "Sep 28 23:15:02",
            "Sep 28, 23 people",
            "Sep 21-23",
            "May 13-May17",
            "Nov-25",
            "a1dec2031",
            "1dec20ff",
            "00a1feb25",
        ),
        *(
            "you may 2026x",
            "2026 marketing",
            "decade 2026",
            "2025/26",
            "52.2031",
            "11.2026",
            "1/2 2026",
            "size 10/2026mm",
            "12/25",
        ),
    ],
)
def test_what_only_looks_like_such_a_day_or_a_month_is_none(text: str) -> None:
    assert list(times_in(text)) == []


@pytest.mark.parametrize("form", ["%d%b%Y", "%d%b%y", "%b %d, '%y", "%d-%b-%y", "%b. %dth %Y"])
def test_a_day_in_an_odd_form_is_found_after_the_cut_and_fine_before_it(form: str) -> None:
    later, earlier = (CUT + timedelta(days=days) for days in (9, -9))
    assert failed(noted({"log": [f"done {later.strftime(form)}"]}))
    assert failed(noted(earlier.strftime(form))) == []
