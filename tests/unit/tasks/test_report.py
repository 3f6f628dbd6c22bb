"""The report: what it counts, that it never reads "could not run" as passed, and that it is one page that calls nobody."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from schemas.files import read_json
from schemas.task import LedgerRow
from tasks.certify import ConstantRate
from tasks.figures import ReportData, faults, summary
from tasks.leaks import Finding
from tasks.report import render_again, write_report
from tests.unit.tasks.report_inputs import certificate, report_data


@pytest.fixture(scope="module")
def good() -> ReportData:
    return report_data()


def test_funnel_adds_up_and_kept_shares_are_told_by_difficulty(good: ReportData) -> None:
    found = summary(good)
    assert found["funnel"]["candidates"] == found["funnel"]["kept"] + sum(found["funnel"]["reasons"].values()) == 26
    assert found["difficulty"]["ambiguous"] == {"candidates": 25, "kept": 24, "share": 0.96, "lost_to": {"off_system": 1}}


def test_report_passes_and_gives_the_same_bytes_twice_whatever_the_order(good: ReportData, tmp_path: Path) -> None:
    assert write_report(tmp_path / "a", good)
    turned = replace(good, ledger=good.ledger[::-1], tasks=good.tasks[::-1], certificates=good.certificates[::-1])
    assert write_report(tmp_path / "b", replace(turned, findings=good.findings[::-1]))
    for name in ("report.json", "quality.json", "report.html"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    before = (tmp_path / "a" / "report.html").read_bytes()
    assert render_again(tmp_path / "a")
    assert (tmp_path / "a" / "report.html").read_bytes() == before


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_page_needs_no_script_and_no_other_host(good: ReportData, tmp_path: Path) -> None:
    write_report(tmp_path, good)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not {"src", "srcset", "action", "data", "ping"} & {name for name, _ in page.attributes}
    assert all((value or "").startswith("#") for name, value in page.attributes if name == "href")
    assert not re.search(r"https?:|//[a-z]|url\(|@import", text)
    assert "pseudonymised, not anonymous" in text
    assert "Read &lt;first&gt;." in text


@pytest.mark.parametrize("verdict", ["failed", "could_not_run"])
def test_a_check_that_failed_or_could_not_run_is_never_shown_as_passed(good: ReportData, tmp_path: Path, verdict: str) -> None:
    findings = [Finding("late_time", verdict, "opening/text", "a time", ("t1",)), *good.findings[1:]]  # type: ignore[arg-type]
    assert not write_report(tmp_path / "leak", replace(good, findings=findings))
    bad = [certificate(good.tasks[0].task_id, C5=verdict), *good.certificates[1:]]
    assert not write_report(tmp_path / "certificate", replace(good, certificates=bad))
    for name in ("leak", "certificate"):
        report = read_json(tmp_path / name / "report.json")
        assert report["verdict"] == "failed"
        assert not report["suite"]["success"]
        assert f'class="{verdict}"' in (tmp_path / name / "report.html").read_text(encoding="utf-8")


def test_tasks_that_leak_checks_took_out_are_told_although_the_rest_passes(good: ReportData, tmp_path: Path) -> None:
    lost = [
        LedgerRow(record_id=f"y{i}", kind="ticket", workflow="refund", kept=False, reason="leak", detail="late_identifier")
        for i in range(8)
    ]
    assert write_report(tmp_path, replace(good, ledger=[*good.ledger, *lost]))
    removed = read_json(tmp_path / "report.json")["removed_by_leak_checks"]
    assert removed == {"total": 8, "share": 0.25, "by_check": {"late_identifier": 8}}
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "8 tasks (25.0% of those that were otherwise good)" in text


def test_a_waived_finding_is_shown_with_who_signed_it(good: ReportData, tmp_path: Path) -> None:
    findings = [*good.findings, Finding("group_overlap", "waived", "groups/user", "3 tasks", ("t1",), "A. Signer: shared users")]
    assert write_report(tmp_path, replace(good, findings=findings))
    assert "A. Signer: shared users" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_leak_check_that_is_not_reported_at_all_fails_the_suite(good: ReportData, tmp_path: Path) -> None:
    assert not write_report(tmp_path, replace(good, findings=good.findings[1:]))
    assert any("quality suite: findings" in fault for fault in read_json(tmp_path / "report.json")["faults"])


def test_an_expectation_that_raises_could_not_run(good: ReportData, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import tasks.report as module

    tables = module.frames(summary(good), good)
    broken = {**tables, "metrics": [{"metric": "x", "value": "many", "at_most": 1.0}]}
    monkeypatch.setattr(module, "frames", lambda report, data: broken)
    assert not write_report(tmp_path, good)
    verdicts = {e["verdict"] for e in read_json(tmp_path / "report.json")["suite"]["expectations"] if e["frame"] == "metrics"}
    assert "could_not_run" in verdicts
    assert "Traceback" not in (tmp_path / "report.json").read_text(encoding="utf-8")


def test_the_page_tells_what_looking_without_reading_reaches(good: ReportData, tmp_path: Path) -> None:
    write_report(tmp_path, good)
    found = read_json(tmp_path / "report.json")["unread"]
    assert (found["full"], found["tasks"]) == (7, 24)
    assert [(row["workflow"], row["rate"]) for row in found["workflows"]] == [("cancel", 0.0), ("refund", 0.35)]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "7 of 24 tasks (29.2%)" in text
    assert "none is ever full" in text


def test_a_constant_agent_above_its_base_rate_is_a_fault(good: ReportData, tmp_path: Path) -> None:
    assert not write_report(tmp_path, replace(good, constant_rates=[ConstantRate("refund_granted", 0.3, 0.4)]))


def test_no_fault_is_named_for_a_good_set(good: ReportData) -> None:
    assert faults({**summary(good), "suite": {"expectations": []}}) == []
