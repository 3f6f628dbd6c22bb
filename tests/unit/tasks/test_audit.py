"""The edge of `python -m tasks audit`: what is refused, how a cell reads, what is red."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.errors import StageError
from tasks.__main__ import main
from tasks.audit import figure, inapplicable, notes, off, rows
from tasks.audits._types import AuditResult, DomainAudit, Measure


@pytest.mark.parametrize(
    ("measure", "cell"),
    [
        (Measure("a", "C2", "", 23, 50), "23/50 46%"),
        (Measure("a", "C2", "", 6, 114, 5), "6+5/114 5-10%"),
        (Measure("a", "C2", "", 0, 0), "0/0"),
        (Measure("a", "C2", "", applies=False), "-"),
        (None, "-"),
    ],
)
def test_a_cell_reads_as_count_judged_whole_and_share(measure: Measure | None, cell: str) -> None:
    assert figure(measure) == cell


@pytest.mark.parametrize(
    ("measure", "red"),
    [
        (Measure("a", "C2", "", 1, 9, wanted="0"), True),
        (Measure("a", "C2", "", 0, 9, 5, wanted="0"), False),
        (Measure("a", "C1", "", 8, 9, wanted="all"), True),
        (Measure("a", "C1", "", 8, 9, 1, wanted="all"), False),
        (Measure("a", "C3", "", 5, 9), False),
        (Measure("a", "C2", "", 1, 9, wanted="0", applies=False), False),
    ],
)
def test_red_is_what_breaks_a_demand_whatever_a_judge_would_say(measure: Measure, red: bool) -> None:
    assert off(measure) is red


def test_a_note_is_said_once_where_the_domains_agree_and_by_name_where_they_do_not() -> None:
    same, one, two = (Measure(k, "C1", "", note=n) for k, n in (("s", "all"), ("t", "three"), ("t", "four")))
    result = AuditResult("tau2", "s", "i", (DomainAudit("x", 1, (same, one)), DomainAudit("y", 1, (same, two))))
    assert notes(result, "s") == ["all"]
    assert notes(result, "t") == ["x: three", "y: four"]


def test_a_line_that_applies_in_one_domain_is_in_the_table_and_one_that_applies_in_none_is_below() -> None:
    both = Measure("a", "C2", "a", 1, 2)
    here, there = Measure("b", "C5", "b", 1, 2), Measure("b", "C5", "b", applies=False, note="no such tool")
    nowhere = Measure("c", "C8", "c", applies=False, note="prose")
    domains = (DomainAudit("x", 2, (both, there, nowhere)), DomainAudit("y", 2, (both, here, nowhere)))
    result = AuditResult("tau2", "s", "i", domains)
    assert [m for m, _ in rows(result)] == [both, here], "a line is named and demanded by a domain in which it applies"
    assert [m.key for m in inapplicable(result)] == ["c"]


@pytest.mark.parametrize("target", ["tau2", "tau2:", ":somewhere", ""])
def test_a_target_without_name_or_path_is_one_line_with_an_example(target: str) -> None:
    with pytest.raises(StageError, match="allowed NAME:PATH"):
        main(["audit", target])


def test_a_file_to_write_into_a_missing_folder_is_told_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="its folder does not exist"):
        main(["audit", f"tau2:{tmp_path}", "--json", str(tmp_path / "no" / "a.json")])


def test_the_help_names_every_audit_and_says_what_the_exit_code_means(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["audit", "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "tau2       " in told
    assert "Exit code 0: the audit ran" in told
