"""What a reader learns in the first minute: what is held out or why nothing is, the floor, what was not checked or is suspect."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.files import read_json
from schemas.spec import Spec, load_spec
from tasks.certify import ConstantRate
from tasks.figures import ReportData
from tasks.first_minute import first_minute, held_out, why_passed
from tasks.leaks import Finding
from tasks.report import verdict, write_report
from tasks.screen import screen
from tests.unit.tasks.report_inputs import report_data

TODAY = "2026-06-01"


@pytest.fixture(scope="module")
def good() -> ReportData:
    return report_data()


def told(folder: Path, data: ReportData) -> tuple[dict[str, str], str, str]:
    """(the lines of the first minute, the banner of the page, the console's lines)."""
    write_report(folder, data, today=TODAY)
    page = (folder / "report.html").read_text(encoding="utf-8")
    banner = page[page.index('<div class="banner') : page.index('<ul class="cards">')]
    lines = {what: words for what, words, _ in first_minute(read_json(folder / "report.json"))}
    return lines, banner, verdict(folder, today=TODAY)[1]


def all_training(data: ReportData, **more: Any) -> ReportData:
    return replace(data, tasks=[t.model_copy(update={"slice": "train"}) for t in data.tasks], overlaps=(), **more)


def test_tasks_and_floor_stand_beside_the_verdict(good: ReportData, tmp_path: Path) -> None:
    rates = [ConstantRate("refund_granted", 0.3, 0.0), ConstantRate("refund_refused", 0.4, 0.125)]
    lines, banner, console = told(tmp_path, replace(good, constant_rates=rates))
    held = sum(t.slice != "train" for t in good.tasks)
    assert lines["Tasks"].startswith(f"{24 - held} for training, {held} held out: ")
    assert "full in up to 7 of 24 tasks (29.2%)" in lines["Floor"]
    assert "the best constant answer, refund_refused, solves 12.5% (it is the recorded answer of 40.0%)" in lines["Floor"]
    for words in lines.values():
        assert words in banner
        assert words in console
    assert "<script" not in banner


def test_nothing_held_out_is_told_first_and_by_its_own_name(good: ReportData, tmp_path: Path) -> None:
    lost = {"certificate": 2, "near_duplicate": 103}
    lines, banner, console = told(tmp_path, all_training(good, lost_held_out=lost))
    line = "0 tasks are held out (lost on the way: near_duplicate 103, certificate 2)"
    assert console.splitlines()[0].startswith("FAIL: ")
    assert console.splitlines()[1].strip() == line
    assert banner.index(line) < banner.index("Floor")
    assert "canary" not in console
    assert lines["Tasks"] == "24 for training, 0 held out: lost on the way: near_duplicate 103, certificate 2"


def test_a_spec_that_holds_nothing_out_fails_nothing_and_says_so(good: ReportData, tmp_path: Path) -> None:
    lines, _, console = told(tmp_path, all_training(good, to_hold_out=False))
    assert console.startswith("PASS: ")
    assert lines["Tasks"] == "24 for training, 0 held out: the spec holds nothing out"


@pytest.mark.parametrize(
    ("slices", "lost", "why"),
    [
        ({"train": 5}, {}, "no task was placed there"),
        ({"train": 5}, {"leak": 1}, "lost on the way: leak 1"),
        ({}, {}, "no record became a task: underivable 240"),
    ],
)
def test_why_nothing_is_held_out(slices: dict[str, int], lost: dict[str, int], why: str) -> None:
    found = held_out(slices, lost, {"underivable": 240}, wanted=True)
    assert found["tasks"] == 0
    assert why in found["why"]
    assert held_out({"train": 1, "both": 2}, lost, {}, wanted=True) == {"tasks": 2, "why": "", "wanted": True}


def test_what_was_not_checked_and_what_is_suspect_is_no_part_of_everything_is_well(good: ReportData, tmp_path: Path) -> None:
    others = [f for f in good.findings if f.check not in ("late_file", "late_time")]
    suspects = [Finding("late_time", "suspect", f"orders.order.note{n}", "constant, and not declared") for n in range(8)]
    idle = Finding("late_file", "not_applicable", detail="no task is given files")
    lines, banner, _ = told(tmp_path, replace(good, findings=[*others, *suspects, idle]))
    assert "late file (no task is given files)" in lines["Not checked"]
    assert "certificate C17 (applies to no task)" in lines["Not checked"]
    assert lines["Suspect"].startswith(
        "8 findings that nothing proves and nothing rules out need the supplier's word (late time 8)"
    )
    assert "orders.order.note4 and 3 more" in lines["Suspect"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    count = len({f.check for f in good.findings})
    assert f"<b>{count - 1} of {count}</b>leak checks had something to look at and failed nothing" in page
    assert "every leak check ran" not in banner
    assert "found nothing" not in banner


def test_a_set_without_either_says_nothing_of_it(good: ReportData, tmp_path: Path) -> None:
    lines, _, _ = told(tmp_path, good)
    assert not {"Suspect", "Worth a look", "In no state"} & lines.keys()


def test_a_kind_of_record_in_no_state_is_named_with_the_field_to_set(good: ReportData, tmp_path: Path) -> None:
    absent = {
        "kind": "orders.order",
        "records": 449,
        "why": "none says whose it is",
        "set": "sources.shop.options.x",
    }
    lines, banner, console = told(tmp_path, replace(good, absent=(absent,)))
    line = "orders.order: none of its 449 records is in any task's state: none says whose it is; set sources.shop.options.x"
    assert lines["In no state"] == line
    assert line in console
    assert line.replace("'", "&#39;") in banner


def probe(accuracy: float, p: float, alpha: float) -> dict[str, Any]:
    numbers = {
        "accuracy": accuracy,
        "low": 0.549,
        "high": 0.681,
        "chance": 0.5,
        "margin": 0.1,
        "p": p,
        "alpha": alpha,
        "tasks": 208,
    }
    return {"check": "implied_outcome", "path": "opening/refund", "verdict": "passed", "numbers": numbers}


def test_a_probe_above_its_mark_is_not_said_to_be_what_chance_alone_gives(good: ReportData, tmp_path: Path) -> None:
    one = probe(0.615, 0.0007, 0.01 / 66)
    said = why_passed(one)
    assert "its accuracy reaches 0.600" in said
    assert "p 0.00070 is above its bound 0.00015" in said
    assert "among 66 tests so small a p comes about by chance in about 4.6% of clean sets, and 1.0% is allowed" in said
    finding = Finding("implied_outcome", "passed", "opening/refund", "208 tasks", numbers=one["numbers"])
    others = [f for f in good.findings if f.check != "implied_outcome"]
    lines, _, _ = told(tmp_path, replace(good, findings=[*others, finding]))
    assert lines["Worth a look"] == "opening/refund guessed 0.615 where chance is 0.500, p 0.00070, bound 0.00015"


def test_the_rules_of_a_workflow_without_tasks_are_counted_as_declared(repo_root: Path) -> None:
    spec: Spec = load_spec(repo_root / "tasks" / "specs" / "helpdesk_v1.toml")
    traits = screen(spec, (), (), {})
    assert all(traits[w.name]["rules_written"] for w in spec.workflows)
    counts = Counter(w for rule in spec.rules for w in (rule.workflows or [one.name for one in spec.workflows]))
    assert {name: row["rules"] for name, row in traits.items()} == dict(counts)
