"""The hold-out: whole groups, time with an embargo, near-duplicates; each slice large enough where that is possible."""

from __future__ import annotations

import random
from dataclasses import replace

from schemas.spec import HoldoutSpec
from tasks.duplicates import alike, reading_of
from tasks.holdout import Candidate, decide

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


def test_nothing_is_held_out_by_time_where_the_spec_asks_for_none() -> None:
    split = decide(candidates(), HoldoutSpec(share_of_time=0.0, min_per_slice=10), 1)
    assert split.boundary_us is None
    assert set(split.slices.values()) == {"train", "unseen_organisations"}


def told(cases: list[Candidate], texts: dict[str, str]) -> list[Candidate]:
    return [replace(c, text=texts.get(c.task_id, c.text)) for c in cases]


def test_a_cluster_never_crosses_even_where_only_its_middle_reads_like_both_ends() -> None:
    cases = candidates()
    split = decide(cases, HoldoutSpec(min_per_slice=10), 1)
    seen = [t for t, s in split.slices.items() if s == "train"]
    held = next(t for t, s in split.slices.items() if s == "unseen_months")
    first = " ".join(f"word{n}" for n in range(40))
    middle = first.replace("word0 word1 word2 ", "quite another beginning ")
    last = middle.replace("word37 word38 word39", "and its end")
    assert not alike(reading_of(first), reading_of(last))
    again = decide(told(cases, {seen[0]: first, seen[1]: middle, held: last}), HoldoutSpec(min_per_slice=10), 1)
    assert again.dropped[held] == "near_duplicate"
    assert again.duplicates[held] == seen[1]
    assert again.clusters[seen[0]] == again.clusters[seen[1]] == min(seen[:2])


def test_near_duplicates_inside_a_side_stay_under_one_cluster() -> None:
    cases = candidates()
    split = decide(cases, HoldoutSpec(min_per_slice=10), 1)
    held = (
        sorted(t for t, s in split.slices.items() if s == "both")[:2]
        + sorted(t for t, s in split.slices.items() if s == "unseen_months")[:1]
    )
    again = decide(told(cases, dict.fromkeys(held, LONG_REQUEST)), HoldoutSpec(min_per_slice=10), 1)
    assert again.slices == split.slices
    assert {again.clusters[t] for t in held} == {min(held)}
    others = [t for t in again.slices if t not in held]
    assert all(again.clusters[t] == t for t in others), "a task that nothing reads like is its own cluster"
    written = again.as_json(dict.fromkeys(again.slices, "0"), None)
    assert {written["tasks"][t]["cluster"] for t in held} == {min(held)}


def test_what_is_held_out_under_a_policy_version_that_training_never_saw_is_marked() -> None:
    cases = [replace(c, policies=("v1" if c.started_us < 320 * 12 * HOUR else "v2", "other")) for c in candidates()]
    split = decide(cases, HoldoutSpec(min_per_slice=10), 1)
    by_id = {c.task_id: c for c in cases}
    assert split.unseen_policy
    assert set(split.unseen_policy) == {t for t in split.slices if "v2" in by_id[t].policies}
    assert "train" not in {split.slices[t] for t in split.unseen_policy}
    everywhere = decide([replace(c, policies=("v1",)) for c in cases], HoldoutSpec(min_per_slice=10), 1)
    assert everywhere.unseen_policy == []
