"""The clause table: every clause of every policy version has its rules or a signed reason, and nothing else is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.errors import SpecError
from schemas.spec import ClauseSpec, NotEnforceable, Spec, load_spec
from schemas.task import PolicyClause, PolicySpec
from tasks.policy import Version, check_clauses, clause_table

SPEC = Path(__file__).resolve().parents[3] / "tasks" / "specs" / "helpdesk_v1.toml"


def version(document: str, number: int, *clauses: str) -> Version:
    held = tuple(PolicyClause(clause=c, text="words") for c in clauses)
    return Version(PolicySpec(document=document, version=number, title="T", clauses=held), None, None, {})


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(SPEC)


@pytest.fixture
def small(spec: Spec) -> Spec:
    lines = [line for line in spec.clauses if line.document == "accounts"]
    return spec.model_copy(update={"clauses": tuple(lines)})


ALL = ("1.1", "2.1", "2.2", "2.3")


def test_a_clause_that_is_not_listed_stops_the_build_with_document_version_and_clause(small: Spec) -> None:
    check_clauses(small, [version("accounts", 1, *ALL), version("accounts", 2, *ALL)])
    with pytest.raises(SpecError, match=r"accounts version 2 clause 2\.4 is in the export and not listed") as caught:
        check_clauses(small, [version("accounts", 1, *ALL), version("accounts", 2, *ALL, "2.4")])
    assert len(caught.value.faults) == 1


def test_a_listed_clause_that_the_export_does_not_hold_stops_the_build(small: Spec) -> None:
    with pytest.raises(SpecError, match=r"accounts version 2 clause 2\.3 is listed and not in the export"):
        check_clauses(small, [version("accounts", 1, *ALL), version("accounts", 2, *ALL[:3])])


def test_without_documents_there_is_no_table_and_with_documents_there_must_be_one(spec: Spec) -> None:
    bare = spec.model_copy(update={"clauses": ()})
    assert clause_table(bare, []) == []
    with pytest.raises(SpecError, match="not listed"):
        clause_table(bare, [version("accounts", 1, "1.1")])


def test_the_table_names_the_rules_in_force_with_each_version_and_who_signed_for_a_gap(small: Spec) -> None:
    signed = NotEnforceable(reason="nobody records tone", signed_by="the supplier")
    gap = ClauseSpec(document="accounts", versions=(1, 2), clause="3.1", not_enforceable=signed)
    table = clause_table(
        small.model_copy(update={"clauses": (*small.clauses, gap)}),
        [version("accounts", 1, *ALL, "3.1"), version("accounts", 2, *ALL, "3.1")],
    )
    rows = {(row["version"], row["clause"]): row for row in table}
    assert [row["clause"] for row in table[:5]] == [*ALL, "3.1"]
    assert rows[1, "2.1"]["rules"] == ["credit_amount_v1"]
    assert rows[2, "2.1"]["rules"] == ["credit_amount_v2"]
    assert rows[2, "2.1"]["kinds"] == ["exact"]
    assert (rows[1, "3.1"]["rules"], rows[1, "3.1"]["reason"], rows[1, "3.1"]["signed_by"]) == (
        [],
        "nobody records tone",
        "the supplier",
    )


def changed(tmp_path: Path, old: str, new: str) -> list[str]:
    text = SPEC.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "helpdesk_v1.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    return caught.value.faults


def test_table_and_rules_must_say_the_same_of_each_other(tmp_path: Path) -> None:
    line = 'clause = "2.2"\nrules = ["credit_frequency"]\n'
    unknown = changed(tmp_path, line, 'clause = "2.2"\nrules = ["credit_often"]\n')
    assert any("'credit_often' is not a rule" in fault for fault in unknown)
    assert any("rules: 'credit_frequency' stands for a policy clause" in fault for fault in unknown)
    other = changed(tmp_path, line, 'clause = "2.2"\nrules = ["credit_frequency", "refund_limit"]\n')
    assert any("'refund_limit' names refunds 2.2, not accounts 2.2" in fault for fault in other)
    neither = changed(tmp_path, line, 'clause = "2.2"\n')
    assert any("give `rules` or `not_enforceable`" in fault for fault in neither)
    half = changed(tmp_path, 'rules = ["credit_amount_v1", "credit_amount_v2"]', 'rules = ["credit_amount_v1"]')
    assert any("no rule named stands for version 2" in fault for fault in half)
    twice = changed(
        tmp_path,
        f'[[clauses]]\ndocument = "accounts"\nversions = [1, 2]\n{line}',
        f'[[clauses]]\ndocument = "accounts"\nversions = [1, 2]\n{line}' * 2,
    )
    assert any("accounts version 1 clause 2.2 is listed 2 times" in fault for fault in twice)
