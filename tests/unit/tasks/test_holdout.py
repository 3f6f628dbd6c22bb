"""The hold-out: whole groups, time with an embargo, near-duplicates; each slice large enough where that is possible."""

from __future__ import annotations

import random

from schemas.spec import HoldoutSpec
from tasks.holdout import Candidate, decide, near_duplicates

HOUR = 3_600_000_000
DAY = 24 * HOUR
LONG_REQUEST = "my order of the red kettle came much later than you had promised and I would like the shipping back please"


def candidates(count: int = 400, groups: int = 12) -> list[Candidate]:
    rng = random.Random(3)
    return [
        Candidate(
            f"T{n:04d}",
            rng.choice(["refund", "cancel"]),
            f"ORG_{n % groups}",
            n * 12 * HOUR,
            n * 12 * HOUR + 15 * HOUR,
            f"words {n}",
        )
        for n in range(count)
    ]


def test_a_held_out_group_is_nowhere_in_training() -> None:
    cases = candidates()
    split = decide(cases, HoldoutSpec(min_per_slice=10), 1)
    train = {c.group for c in cases if split.slices.get(c.task_id) == "train"}
    held = {c.group for c in cases if split.slices.get(c.task_id) in ("unseen_organisations", "both")}
    assert train
    assert held
    assert not train & held


def test_a_training_case_is_closed_before_the_boundary_and_starts_before_the_embargo() -> None:
    cases = candidates()
    split = decide(cases, HoldoutSpec(min_per_slice=10), 1)
    assert split.boundary_us is not None
    for case in cases:
        if split.slices.get(case.task_id) == "train":
            assert case.closed_us < split.boundary_us
            assert case.started_us < split.boundary_us - split.embargo_us[case.workflow]
        if split.slices.get(case.task_id) in ("unseen_months", "both"):
            assert case.started_us >= split.boundary_us
    assert "embargo" in split.dropped.values()


def test_each_slice_has_its_least_number_where_the_groups_allow_it() -> None:
    split = decide(candidates(600), HoldoutSpec(share_of_groups=0.05, min_per_slice=40), 1)
    for name in ("unseen_organisations", "unseen_months", "both"):
        assert sum(s == name for s in split.slices.values()) >= 40


def test_the_split_does_not_depend_on_the_order_of_the_cases() -> None:
    cases = candidates()
    shuffled = list(cases)
    random.Random(9).shuffle(shuffled)
    assert decide(cases, HoldoutSpec(), 1).slices == decide(shuffled, HoldoutSpec(), 1).slices


def test_a_held_out_near_duplicate_of_training_is_dropped_and_counted() -> None:
    cases = candidates()
    split = decide(cases, HoldoutSpec(min_per_slice=10), 1)
    held = next(t for t, s in split.slices.items() if s == "unseen_organisations")
    seen = next(t for t, s in split.slices.items() if s == "train")
    twins = [
        Candidate(
            c.task_id, c.workflow, c.group, c.started_us, c.closed_us, LONG_REQUEST + (" thanks" if c.task_id == held else "")
        )
        if c.task_id in (held, seen)
        else c
        for c in cases
    ]
    again = decide(twins, HoldoutSpec(min_per_slice=10), 1)
    assert again.dropped[held] == "near_duplicate"
    assert again.duplicates[held] == seen
    assert held not in again.slices


def test_short_openings_are_exempt_and_unlike_ones_are_no_duplicates() -> None:
    def one(name: str, text: str) -> Candidate:
        return Candidate(name, "refund", "G", 0, 0, text)

    assert not near_duplicates([one("a", "where is my order")], [one("b", "where is my order")])
    other = "a completely different request about the size of a desk that does not fit through our office door at all"
    assert not near_duplicates([one("a", LONG_REQUEST)], [one("b", other)])
    assert near_duplicates([one("a", LONG_REQUEST)], [one("b", LONG_REQUEST)]) == {"a": "b"}


def test_pseudonyms_count_as_their_type_when_requests_are_compared() -> None:
    text = "please send ORDER_{} to another place because our office at the old street is closed for the whole winter"
    left = Candidate("a", "refund", "G", 0, 0, text.format("1A2B3C4D"))
    right = Candidate("b", "refund", "G", 0, 0, text.format("9F8E7D6C"))
    assert near_duplicates([left], [right]) == {"a": "b"}


def test_nothing_is_held_out_by_time_where_the_spec_asks_for_none() -> None:
    split = decide(candidates(), HoldoutSpec(share_of_time=0.0, min_per_slice=10), 1)
    assert split.boundary_us is None
    assert set(split.slices.values()) == {"train", "unseen_organisations"}
