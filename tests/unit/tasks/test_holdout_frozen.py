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


def test_without_a_hold_out_by_time_an_id_does_not_move_either() -> None:
    spec = HoldoutSpec(min_per_slice=5, share_of_time=0.0)
    first = decide(candidates("A"), spec, 1)
    frozen = first.as_json(dict.fromkeys(first.slices, "0"), None)
    more = [*candidates("A", count=900), *(replace(c, task_id=f"N{c.task_id}", group="ORG_new") for c in candidates("A"))]
    again = decide(more, spec, 1, frozen)
    assert {task: again.slices[task] for task in first.slices} == first.slices
    assert set(first.groups) <= set(again.groups)


def test_an_export_of_the_newest_months_alone_keeps_what_earlier_ones_decided() -> None:
    first = decide(candidates("A"), SPEC, 1)
    frozen = first.as_json(dict.fromkeys(first.slices, "0"), None)
    newest = [c for c in candidates("A", count=500) if int(c.task_id[-4:]) >= 300]
    again = decide(newest, SPEC, 1, frozen)
    assert not again.anew
    assert again.boundary_us == first.boundary_us
    written = again.as_json(dict.fromkeys(again.slices, "0"), frozen, {"TICKET_A0000": "off_system"})
    assert {t: e["slice"] for t, e in written["tasks"].items() if t in first.slices} == first.slices
    assert written["gone"]["TICKET_A0000"] == "off_system"
    assert set(written["gone"]) == set(first.slices)
    third = decide(candidates("A", count=500), SPEC, 1, written)
    assert {t: third.slices[t] for t in first.slices} == first.slices, "what comes again stands where it stood"


def test_a_newcomer_to_training_goes_where_it_reads_like_what_is_held_out_already() -> None:
    first = decide(candidates("A"), SPEC, 1)
    frozen = first.as_json(dict.fromkeys(first.slices, "0"), None)
    held = next(t for t, s in first.slices.items() if s == "unseen_organisations")
    seen = next(c for c in candidates("A") if first.slices.get(c.task_id) == "train")
    request = "my order of the red kettle came much later than you had promised and I want the shipping back"
    cases = [replace(c, text=request) if c.task_id == held else c for c in candidates("A")]
    late = replace(seen, task_id="TICKET_late", text=f"{request} thanks")
    again = decide([*cases, late], SPEC, 1, frozen)
    assert again.slices[held] == "unseen_organisations"
    assert again.dropped["TICKET_late"] == "near_duplicate"
    assert again.duplicates["TICKET_late"] == held
    written = again.as_json(dict.fromkeys(again.slices, "0"), frozen)
    without = decide([c for c in [*cases, late] if c.task_id != held], SPEC, 1, written)
    assert without.dropped["TICKET_late"] == "near_duplicate", "what was dropped does not come back when its twin is gone"


def test_a_changed_record_keeps_its_slice_and_is_named_and_a_changed_text_never_lets_a_cluster_cross() -> None:
    first = decide(candidates("A"), SPEC, 1)
    frozen = first.as_json(dict.fromkeys(first.slices, "0"), None)
    held = next(t for t, s in first.slices.items() if s == "unseen_months")
    written = first.as_json({t: "1" if t == held else "0" for t in first.slices}, frozen)
    assert written["changed"] == [held]
    assert written["tasks"][held]["slice"] == "unseen_months"
    seen = next(t for t, s in first.slices.items() if s == "train")
    request = "my order of the red kettle came much later than you had promised and I want the shipping back"
    cases = [replace(c, text=request) if c.task_id in (held, seen) else c for c in candidates("A")]
    again = decide(cases, SPEC, 1, frozen)
    assert again.slices[seen] == "train"
    assert again.dropped[held] == "near_duplicate"


def test_an_organisation_that_is_new_is_placed_by_its_name_and_stays_there() -> None:
    first = decide(candidates("A"), SPEC, 1)
    frozen = first.as_json(dict.fromkeys(first.slices, "0"), None)
    new = [replace(c, task_id=f"N{c.task_id}", group=f"ORG_N{c.group}") for c in candidates("A", count=400)]
    again = decide([*candidates("A"), *new], SPEC, 1, frozen)
    placed = {c.group: c.group in again.groups for c in new}
    assert len(set(placed.values())) == 2, "of twelve new ones some are held out and some are not"
    third = decide([*candidates("A"), *new], SPEC, 1, again.as_json(dict.fromkeys(again.slices, "0"), frozen))
    assert third.slices == again.slices
