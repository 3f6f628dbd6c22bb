"""The hold-out once decided: an id never moves; under another key it is decided anew."""

from __future__ import annotations

from dataclasses import replace

from schemas.spec import HoldoutSpec
from tasks.holdout import Candidate, decide

DAY = 86_400_000_000
SPEC = HoldoutSpec(min_per_slice=5)


def candidates(key: str, *, shift_days: int = 0, count: int = 300) -> list[Candidate]:
    return [
        Candidate(
            f"TICKET_{key}{n:04d}",
            "refund",
            f"ORG_{key}{n % 12}",
            (n + shift_days) * DAY,
            (n + shift_days) * DAY + DAY // 24,
            "late",
        )
        for n in range(count)
    ]


def test_a_new_delivery_never_moves_an_id() -> None:
    first = decide(candidates("A"), SPEC, 1)
    frozen = first.as_json(dict.fromkeys(first.slices, "0"), None)
    again = decide(candidates("A", count=400), SPEC, 1, frozen)
    assert {task: again.slices[task] for task in first.slices} == first.slices
    assert again.boundary_us == first.boundary_us


def test_under_another_key_with_its_other_dates_the_slices_are_as_large_as_before() -> None:
    first = decide(candidates("A"), SPEC, 1)
    frozen = first.as_json(dict.fromkeys(first.slices, "0"), None)
    other = candidates("B", shift_days=-700)
    decided = decide(other, SPEC, 1, frozen)
    assert decided.slices == decide(other, SPEC, 1).slices
    assert decided.as_json({}, frozen)["tasks"] == {}, "ids of the other key are not kept"
    assert "unseen_months" in decide(other, SPEC, 1, frozen).slices.values()


def test_times_of_another_key_do_not_change_who_is_held_out_by_time() -> None:
    here = candidates("A")
    moved = [replace(c, started_us=c.started_us - 70 * DAY, closed_us=c.closed_us - 70 * DAY) for c in here]
    assert decide(here, SPEC, 1).slices == decide(moved, SPEC, 1).slices
