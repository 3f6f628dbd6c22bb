"""Every audit runs on a miniature of its format that we wrote ourselves, says the same each time, and refuses what is none.

The miniature of `tasks/audits/<name>.py` lies in tests/fixtures/audits/<name>/checkout, what the audit must say of it in
expected.json beside it: {domain: {measure: [count, of, left to a judge]}}. RECORDGYM_WRITE_EXPECTED=1 writes that file from what
the audit says; read it against the miniature, task by task, before it is committed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from schemas.errors import StageError, WorldError
from schemas.files import read_json, write_json
from schemas.plugins import load_plugins
from tasks.audit import as_html, as_json, main
from tasks.audits._types import Asked, Audit, AuditResult

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "audits"
AUDITS = load_plugins("tasks.audits", "AUDIT", Audit)


@pytest.fixture(scope="module", params=sorted(AUDITS))
def audit(request: pytest.FixtureRequest) -> Audit:
    return AUDITS[request.param]


@pytest.fixture(scope="module")
def result(audit: Audit) -> AuditResult:
    return audit.run(Asked(FIXTURES / audit.name / "checkout", quiet=True))


def test_the_audit_says_of_its_miniature_what_was_counted_by_hand(audit: Audit, result: AuditResult) -> None:
    file = FIXTURES / audit.name / "expected.json"
    said = {d.name: {m.key: [m.count, m.of, m.judged] for m in d.measures if m.applies} for d in result.domains}
    if os.environ.get("RECORDGYM_WRITE_EXPECTED") == "1":
        write_json(file, said)
    assert said == read_json(file)


def test_the_miniature_has_a_good_and_a_bad_figure_of_the_panel(result: AuditResult) -> None:
    panel = [m for d in result.domains for m in d.measures if m.certificate == "C2" and m.applies]
    assert any(m.count for m in panel), "no task of the miniature falls to a shortcut"
    assert all(m.count < m.of for m in panel), "every task of the miniature falls to a shortcut"


def test_a_second_run_says_the_same_bytes(audit: Audit, result: AuditResult) -> None:
    again = audit.run(Asked(FIXTURES / audit.name / "checkout", quiet=True))
    assert json.dumps(as_json(again)) == json.dumps(as_json(result))
    assert as_html(again) == as_html(result)


def test_counts_name_their_tasks_and_what_does_not_apply_says_why(result: AuditResult) -> None:
    for domain in result.domains:
        for measure in domain.measures:
            assert measure.label
            assert 0 <= measure.count <= measure.count + measure.judged <= measure.of or not measure.applies
            assert measure.applies or measure.note
            assert len(measure.ids) <= measure.of


def test_the_source_and_the_isolation_are_named(result: AuditResult) -> None:
    assert "sha256" in result.source or "commit" in result.source
    assert result.isolation


def test_a_folder_that_is_no_such_task_set_is_refused(audit: Audit, tmp_path: Path) -> None:
    with pytest.raises(StageError, match="not a"):
        audit.run(Asked(tmp_path, quiet=True))
    with pytest.raises(StageError, match="not a folder"):
        audit.run(Asked(tmp_path / "missing", quiet=True))


def test_an_unknown_domain_is_answered_with_did_you_mean(audit: Audit, result: AuditResult) -> None:
    name = result.domains[0].name
    with pytest.raises(StageError, match=f"did you mean '{name}'"):
        audit.run(Asked(FIXTURES / audit.name / "checkout", (name + "x",), quiet=True))


def test_the_command_prints_the_table_and_writes_both_files(
    audit: Audit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"{audit.name}:{FIXTURES / audit.name / 'checkout'}"
    assert main([target, "--limit", "2", "--quiet", "--json", str(tmp_path / "a.json"), "--html", str(tmp_path / "a.html")]) == 0
    told = capsys.readouterr().out
    assert "do nothing" in told
    assert "2 tasks" in told
    assert read_json(tmp_path / "a.json")["audit"] == audit.name
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "http" not in page


def test_an_unknown_audit_is_answered_with_did_you_mean(audit: Audit) -> None:
    with pytest.raises(WorldError, match=f"did you mean '{audit.name}'"):
        main([f"{audit.name}x:somewhere"])
