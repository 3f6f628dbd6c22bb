"""A set with planted trouble says FAIL, why and where; what is sound says PASS with its figures; a day may change a verdict."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.errors import StageError
from schemas.files import read_json, write_json
from schemas.spec import HoldoutSpec, SignedSpec, WaiverSpec
from tasks.__main__ import main
from tasks.figures import ReportData
from tasks.leaks import Finding, run_leaks
from tasks.overlaps import Placed, cluster_figures, overlap_table
from tasks.report import render_again, verdict, write_report
from tests.unit.tasks.leak_inputs import leak_input, spec
from tests.unit.tasks.report_inputs import certificate, report_data

TODAY = "2026-06-01"


@pytest.fixture(scope="module")
def good() -> ReportData:
    return report_data()


def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_a_sound_set_says_pass_first(good: ReportData, tmp_path: Path) -> None:
    assert write_report(tmp_path, good, today=TODAY)
    text = page(tmp_path)
    assert "<title>small: PASS</title>" in text
    assert text.index("<strong>PASS</strong>") < text.index("<h2")
    assert not re.search(r'class="(failed|could_not_run)"', text), "nothing on a sound page is red"


def crossing(data: ReportData) -> ReportData:
    placed = [Placed(t.task_id, t.slice, "ORG_1", t.opening.requester_id, t.task_id, 0, 0) for t in data.tasks]
    return replace(data, overlaps=overlap_table(placed, group="organisation", boundary_us=None, waived={}))


TROUBLE: dict[str, tuple[Callable[[ReportData], ReportData], str]] = {
    "a leak": (
        lambda d: replace(d, findings=[*d.findings, Finding("late_time", "failed", "opening/text", "a time", ("t1",))]),
        "leak check late_time: 1 failed",
    ),
    "a check that could not run": (
        lambda d: replace(d, findings=[*d.findings[1:], Finding(d.findings[0].check, "could_not_run", detail="KeyError: 'x'")]),
        "1 could not run",
    ),
    "a failed certificate": (
        lambda d: replace(d, certificates=[certificate(d.tasks[0].task_id, C5="failed"), *d.certificates[1:]]),
        "certificate C5: 1 failed",
    ),
    "a certificate that could not run": (
        lambda d: replace(d, certificates=[certificate(d.tasks[0].task_id, C9="could_not_run"), *d.certificates[1:]]),
        "certificate C9: 1 could not run",
    ),
    "no certificates": (lambda d: replace(d, certificates=()), "tasks without a certificate: 24"),
    "one certificate missing": (lambda d: replace(d, certificates=d.certificates[1:]), "tasks without a certificate: 1"),
    "a certificate without a check": (
        lambda d: replace(
            d,
            certificates=[
                d.certificates[0].model_copy(update={"checks": d.certificates[0].checks[1:]}),
                *d.certificates[1:],
            ],
        ),
        "certificates that lack a check: 1",
    ),
    "a group on both sides": (crossing, "hold-out: organisation in training and in unseen_organisations"),
}


@pytest.mark.parametrize("name", TROUBLE)
def test_planted_trouble_fails_and_is_named_at_the_top(good: ReportData, tmp_path: Path, name: str) -> None:
    plant, reason = TROUBLE[name]
    assert not write_report(tmp_path, plant(good), today=TODAY)
    text = page(tmp_path)
    top = text[text.index('<div class="banner failed"') : text.index("<h2")]
    assert "<strong>FAIL</strong>" in top
    assert reason.replace("'", "&#39;") in top
    assert "<title>small: FAIL</title>" in text


def test_could_not_run_reads_so_and_is_red(good: ReportData, tmp_path: Path) -> None:
    findings = [
        Finding("late_time", "could_not_run", detail="KeyError: 'x'"),
        *(f for f in good.findings if f.check != "late_time"),
    ]
    write_report(tmp_path, replace(good, findings=findings), today=TODAY)
    text = page(tmp_path)
    row = next(line for line in text.splitlines() if '<th scope="row">late time</th>' in line)
    assert '<span class="could_not_run">could not run</span>' in row
    assert "passed" not in row
    style = re.search(r"\.could_not_run \{ ([^}]*) \}", text)
    assert style is not None
    assert "background: var(--bad)" in style[1]


def waived(expires: str) -> tuple[WaiverSpec, list[Finding]]:
    waiver = WaiverSpec(check="unknown_field", path="state/*", reason="declared", signed_by="A. Signer", expires=expires)
    leaky = leak_input(tasks=24)
    from tasks.leaks.unknown_field import LEAK

    found = run_leaks(LEAK.planted(leaky), spec(waivers=[waiver.model_dump()]), only=("unknown_field",), today=TODAY)
    return waiver, found


def test_a_waiver_in_force_passes_and_an_expired_one_is_red(good: ReportData, tmp_path: Path) -> None:
    others = [f for f in good.findings if f.check != "unknown_field"]
    for expires, sound in (("2026-06-01", True), ("2026-05-31", False)):
        waiver, found = waived(expires)
        data = replace(good, findings=[*others, *found], waivers=(waiver,))
        assert write_report(tmp_path / expires, data, today=TODAY) is sound
    assert "A. Signer, until 2026-06-01: declared" in page(tmp_path / "2026-06-01")
    assert "the waiver of A. Signer expired on 2026-05-31" in page(tmp_path / "2026-05-31")
    assert '<span class="failed">expired</span>' in page(tmp_path / "2026-05-31")


def test_a_waiver_that_expires_after_the_build_fails_the_report_from_that_day(good: ReportData, tmp_path: Path) -> None:
    waiver, found = waived("2026-06-01")
    others = [f for f in good.findings if f.check != "unknown_field"]
    assert write_report(tmp_path, replace(good, findings=[*others, *found], waivers=(waiver,)), today=TODAY)
    assert verdict(tmp_path, today="2026-06-01")[0]
    sound, said = verdict(tmp_path, today="2026-06-02")
    assert not sound
    assert said.startswith("FAIL: ")
    assert "leak check unknown_field: 1 failed" in said
    assert not render_again(tmp_path, today="2026-06-02")
    assert "<strong>FAIL</strong>" in page(tmp_path)


def test_a_group_that_may_cross_is_red_from_the_day_after_its_waiver(good: ReportData, tmp_path: Path) -> None:
    """Both where the leak check looks at groups and in the table of what stands on both sides."""
    signed = SignedSpec(reason="crowd workers", signed_by="A. Signer", expires="2026-06-01")
    holdout = HoldoutSpec(waived={"organisation": signed})
    crossed = Finding("group_overlap", "waived", "groups/organisation", "3 tasks", ("t1",), holdout.signed()["organisation"])
    placed = [Placed(t.task_id, t.slice, "ORG_1", f"{t.slice}/{t.task_id}", t.task_id, 0, 0) for t in good.tasks]
    table = overlap_table(placed, group="organisation", boundary_us=None, waived=holdout.signed())
    others = [f for f in good.findings if f.check != "group_overlap"]
    data = replace(good, findings=[*others, crossed], waivers=holdout.waivers(), overlaps=table)
    assert write_report(tmp_path, data, today=TODAY)
    assert "A. Signer, until 2026-06-01: crowd workers" in page(tmp_path)
    sound, said = verdict(tmp_path, today="2026-06-02")
    assert not sound
    assert "leak check group_overlap: 1 failed" in said
    assert "hold-out: organisation in training and in unseen_organisations" in said


def test_a_waiver_that_covers_nothing_is_said_to_be_of_no_use(good: ReportData, tmp_path: Path) -> None:
    write_report(tmp_path, good, today=TODAY)
    assert "nothing: it can go" in page(tmp_path)


def test_a_probe_shows_what_it_measured_whether_it_passed_or_not(good: ReportData, tmp_path: Path) -> None:
    numbers = {
        "accuracy": 0.512,
        "low": 0.44,
        "high": 0.58,
        "chance": 0.5,
        "margin": 0.1,
        "p": 0.31,
        "alpha": 0.005,
        "tasks": 160.0,
    }
    findings = [
        *(f for f in good.findings if f.check != "implied_outcome"),
        Finding("implied_outcome", "passed", "opening/refund", "160 tasks", numbers=numbers),
    ]
    assert write_report(tmp_path, replace(good, findings=findings), today=TODAY)
    text = page(tmp_path)
    for shown in ("0.512", "0.440 to 0.580", "0.600", "0.3100", "0.0050", "95% interval 0.44 to 0.58"):
        assert shown in text, shown
    assert read_json(tmp_path / "report.json")["probes"][0]["numbers"] == numbers


def test_suspects_are_listed_for_the_supplier_and_fail_nothing(good: ReportData, tmp_path: Path) -> None:
    suspect = Finding("late_time", "suspect", "orders.order.note", "constant in each record, and not declared")
    assert write_report(tmp_path, replace(good, findings=[*good.findings, suspect]), today=TODAY)
    text = page(tmp_path)
    assert "the supplier has to say what these are" in text
    assert "constant in each record, and not declared" in text


def test_clauses_and_the_share_of_tasks_with_a_demanded_check_are_told(good: ReportData, tmp_path: Path) -> None:
    assert write_report(tmp_path, good, today=TODAY)
    text = page(tmp_path)
    assert "1 of 2 clauses are enforced by a rule" in text
    assert "a wish, no duty" in text
    assert read_json(tmp_path / "report.json")["certificates"]["demanded"] == {"tasks": 0, "share": 0.0}


def test_the_suite_and_its_whole_result_are_kept_without_what_a_run_adds(good: ReportData, tmp_path: Path) -> None:
    bad = replace(good, findings=[*good.findings, Finding("late_time", "failed", "opening/text", "a time", ("t1",))])
    write_report(tmp_path, bad, today=TODAY)
    quality = read_json(tmp_path / "quality.json")
    assert {suite["name"] for suite in quality["suites"]} == {"findings", "certificates", "metrics"}
    assert all(suite["expectations"] for suite in quality["suites"])
    assert sum(len(suite["expectations"]) for suite in quality["suites"]) == len(quality["results"])
    failed = [one for one in quality["results"] if one["verdict"] == "failed"]
    assert [one["frame"] for one in failed] == ["findings"]
    assert failed[0]["unexpected"] == [{"path": "opening/text", "verdict": "failed"}]
    text = (tmp_path / "quality.json").read_text(encoding="utf-8")
    for added in ("batch_id", "run_id", "Traceback", str(tmp_path), "/home/", "validation_time"):
        assert added not in text


def test_the_exit_code_and_the_last_lines_say_the_verdict(
    good: ReportData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_report(tmp_path / "good", good)
    write_report(tmp_path / "bad", replace(good, certificates=()))
    before = (tmp_path / "good" / "report.html").read_bytes()
    (tmp_path / "good" / "report.html").unlink()
    assert main(["report", str(tmp_path / "good")]) == 0
    assert (tmp_path / "good" / "report.html").read_bytes() == before
    assert capsys.readouterr().out.startswith("PASS: ")
    assert main(["report", str(tmp_path / "bad")]) == 1
    said = capsys.readouterr().out
    assert said.startswith("FAIL: ")
    assert "tasks without a certificate: 24" in said


def test_a_report_of_another_version_or_none_is_one_clear_line(good: ReportData, tmp_path: Path) -> None:
    with pytest.raises(StageError, match=r"report\.json is missing"):
        render_again(tmp_path)
    write_report(tmp_path, good, today=TODAY)
    report = read_json(tmp_path / "report.json")
    for missing in ("overlaps", "leaks", "clauses", "probes"):
        write_json(tmp_path / "report.json", {k: v for k, v in report.items() if k != missing})
        with pytest.raises(StageError, match="not of this version"):
            render_again(tmp_path)


def test_overlaps_count_members_and_tasks_and_say_what_may_be_shared() -> None:
    def one(task_id: str, part: str, group: str, requester: str, cluster: str, started: int = 0, closed: int = 0) -> Placed:
        return Placed(task_id, part, group, requester, cluster, started, closed)

    placed = [
        one("a", "train", "W1", "u1", "a", 1, 2),
        one("b", "train", "W2", "u2", "a", 1, 99),
        one("c", "unseen_organisations", "W3", "u1", "c", 1, 2),
        one("d", "unseen_months", "W1", "u1", "a", 60, 70),
        one("e", "both", "W2", "u9", "e", 40, 70),
    ]
    rows = {r["what"]: r["slices"] for r in overlap_table(placed, group="wizard", boundary_us=50, waived={"requester": "crowd"})}
    assert rows["wizard"]["both"] == {"shared": 1, "tasks": 1, "allowed": ""}
    assert rows["wizard"]["unseen_organisations"]["tasks"] == 0
    assert rows["wizard"]["unseen_months"]["allowed"]
    assert rows["requester"]["unseen_organisations"] == {"shared": 1, "tasks": 1, "allowed": "crowd"}
    assert rows["near-duplicate cluster"]["unseen_months"] == {"shared": 1, "tasks": 1, "allowed": ""}
    assert rows["time (starts before the boundary)"]["both"] == {"shared": 1, "tasks": 1, "allowed": ""}
    assert rows["training cases closed after the boundary"]["both"]["tasks"] == 1
    assert cluster_figures(placed)["train"] == {"tasks": 2, "clusters": 1, "in_clusters": 2, "largest": 2}


@pytest.mark.parametrize(
    ("accuracy", "p", "said"),
    [
        (0.66, 0.20, "p 0.20000 is above its bound 0.00500: among 2 tests so small a p comes about by chance in about 40.0% of"),
        (0.615, 0.007, "p 0.00700 is above its bound 0.00500: among 2 tests so small a p comes about by chance in about 1.4% of"),
        (0.55, 0.001, "0.550 is less than 0.600, where it matters: not acted on"),
        (0.55, 0.20, ""),
    ],
)
def test_a_probe_that_passed_with_one_of_its_bounds_met_says_why(
    good: ReportData, tmp_path: Path, accuracy: float, p: float, said: str
) -> None:
    numbers = {
        "accuracy": accuracy,
        "low": 0.5,
        "high": 0.7,
        "chance": 0.5,
        "margin": 0.1,
        "p": p,
        "alpha": 0.005,
        "tasks": 160.0,
    }
    others = [f for f in good.findings if f.check != "implied_outcome"]
    probe = Finding("implied_outcome", "passed", "opening/refund", "160 tasks", numbers=numbers)
    write_report(tmp_path, replace(good, findings=[*others, probe]), today=TODAY)
    text = page(tmp_path)
    row = re.search(r"<tr><th scope=\"row\"><code>opening/<wbr>refund.*?</tr>", text, re.DOTALL)
    assert row is not None
    verdict_cell = row[0].split("</td>")[0]
    assert (said in verdict_cell) if said else ("hint" not in verdict_cell)
    assert "1 probes were looked at" in text, "the rule is told with its own figures"
    assert "at least 0.10 above chance" in text
    assert "at most its bound (0.00500)" in text


def test_the_certificates_come_before_the_leak_checks_and_each_by_its_name(good: ReportData, tmp_path: Path) -> None:
    write_report(tmp_path, good, today=TODAY)
    text = page(tmp_path)
    assert text.index('<h2 id="certificates">') < text.index('<h2 id="leaks">')
    for check, words in (("C1", "reference replay"), ("C12", "junk and files"), ("C18", "other orders")):
        assert f'<th scope="row">{check} <span class="hint">{words}</span></th>' in text
