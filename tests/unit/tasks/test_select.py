"""The ledger: one reason a record, the first in order; counts that add up; what the probe of triviality may know."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.records import CodeBook
from schemas.spec import Spec, load_spec
from schemas.task import LedgerRow, PolicyClause, PolicySpec
from tasks.case import Case, Turn
from tasks.ledger import counts_of, funnel_table, read_ledger, write_ledger
from tasks.policy import Version, clause_key, in_force
from tasks.select import KEPT, REASONS, basic_reason, check_ledger, funnel, speaks_of_off_system
from tasks.trivial import Request, out_of_fold, words_of

BOOK = CodeBook.model_validate(
    {
        "supplier": "t",
        "fields": {},
        "outcomes": {
            "refund_granted": {"workflow": "refund", "outcome_class": "grant", "label": "refunded"},
            "parked": {"workflow": "parking", "outcome_class": "grant", "label": "parked"},
        },
    }
)


@pytest.fixture(scope="module")
def spec(repo_root: Path) -> Spec:
    return load_spec(repo_root / "tasks" / "specs" / "helpdesk_v1.toml")


def case(**changes: object) -> Case:
    turns = [Turn(1, 1, "helpdesk:user:U", "please help", True, True, "R1")]
    found = Case("T", "O", 1, 1, 5, "refund_granted", requester="U", turns=turns)
    for name, value in changes.items():
        setattr(found, name, value)
    return found


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"deleted": True, "code": None}, "deleted"),
        ({"code": None, "links": [("merged_into", "T2")]}, "merged"),
        ({"links": [("merged_into", "T2")]}, None),
        ({"turns": []}, "no_opening"),
        ({"closed_us": None}, "not_closed"),
        ({"code": None}, "no_outcome"),
        ({"code": "sent_to_mars"}, "unknown_code"),
        ({"code": "parked"}, "out_of_scope"),
    ],
)
def test_a_record_has_the_first_reason_that_holds(changes: dict[str, object], reason: str | None, spec: Spec) -> None:
    assert basic_reason(case(**changes), spec, BOOK) == reason
    assert reason is None or reason in REASONS


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Customer called, gave me the number.", True),
        ("Spoke with her on the phone.", True),
        ("Settled via chat.", True),
        ("Please confirm your phone number on file.", False),
        ("Your refund is booked.", False),
    ],
)
def test_notes_tell_of_steps_outside_the_recorded_systems(text: str, told: bool) -> None:
    note = Turn(2, 2, "helpdesk:user:A", text, False, False, "R2")
    assert speaks_of_off_system(case(turns=[*case().turns, note])) is told


def rows() -> list[LedgerRow]:
    reasons = [KEPT, KEPT, "merged", "underivable", "underivable"]
    return [
        LedgerRow(
            record_id=f"T{n}", kind="helpdesk.ticket", workflow="refund", kept=r == KEPT, reason=r, difficulty=("exception",)
        )
        for n, r in enumerate(reasons)
    ]


def test_the_funnel_adds_up() -> None:
    assert funnel(rows()) == [("merged", 1, 4), ("underivable", 2, 2)]
    assert counts_of(rows()) == {"candidates": 5, "kept": 2, "dropped.merged": 1, "dropped.underivable": 2}
    check_ledger(rows(), 5)
    for wrong in (rows()[:4], [*rows()[:4], rows()[0]]):
        with pytest.raises(ValueError, match="does not add up"):
            check_ledger(wrong, 5)


def test_the_ledger_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    write_ledger(tmp_path / "ledger.parquet", rows())
    assert read_ledger(tmp_path / "ledger.parquet") == rows()
    assert "a value of the outcome is shown by nothing" in funnel_table(rows(), {"train": 2})


def requests(*, telling: bool) -> list[Request]:
    found = []
    for n in range(120):
        grant = n % 2 == 0
        tell = "the parcel was certainly broken" if grant else "nothing is wrong really"
        text = f"hello about ORDER_{n:08X} number {n % 7}" + (f" {tell}" if telling else "")
        found.append(Request(f"T{n}", f"ORG_{n % 10}", "refund", "grant" if grant else "refuse", text))
    return found


def test_an_opening_that_tells_the_outcome_is_found_and_one_that_does_not_is_not() -> None:
    telling = out_of_fold(requests(telling=True))
    assert min(telling.values()) > 0.8
    silent = out_of_fold(requests(telling=False))
    assert sum(p >= 0.9 for p in silent.values()) == 0


def test_a_workflow_with_a_single_class_is_told_by_itself_and_a_small_one_by_nothing() -> None:
    one = [Request(f"T{n}", "G", "w", "grant", "words") for n in range(5)]
    assert set(out_of_fold(one).values()) == {1.0}
    two = [Request(f"T{n}", "G", "w", "grant" if n else "refuse", "words") for n in range(5)]
    assert set(out_of_fold(two).values()) == {0.0}


def test_the_probe_sees_that_a_record_is_named_but_not_which() -> None:
    assert words_of("about ORDER_1A2B3C4D and PERSON_1A2B3C4D_FIRST") == "about order and person"


def version(number: int, start: int | None, end: int | None) -> Version:
    clauses = (PolicyClause(clause="1.1", text="x"),)
    return Version(PolicySpec(document="refunds", version=number, title="Refunds", clauses=clauses), start, end, {})


def test_a_policy_published_before_and_effective_later_is_not_in_force() -> None:
    versions = [version(1, 0, 100), version(2, 100, None)]
    assert [v.policy.version for v in in_force(versions, 99)[0]] == [1]
    assert [v.policy.version for v in in_force(versions, 100)[0]] == [2]


def test_overlapping_or_missing_versions_are_unclear() -> None:
    assert in_force([version(1, 0, 100), version(2, 50, None)], 60) == ([], ["refunds: 2 versions in force"])
    assert in_force([version(1, 0, 100)], 200) == ([], ["refunds: 0 versions in force"])


def test_clauses_are_in_the_order_of_their_numbers() -> None:
    assert sorted(["2.10", "2.9", "1.1"], key=clause_key) == ["1.1", "2.9", "2.10"]
