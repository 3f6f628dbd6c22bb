"""Policies: a rule that cannot be read is never left out silently."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.policies import gaps, read_policies
from schemas.errors import SourceError
from schemas.spec import PoliciesSpec

SPEC = PoliciesSpec(path="policies/*.md", zone="Europe/Berlin")


def put(
    export: Path, name: str, *, version: str = "1", start: str = "2025-01-01", end: str = "", body: str = "1.1 A rule."
) -> Path:
    path = export / "policies" / name
    path.parent.mkdir(exist_ok=True)
    front = f"document: refunds\nversion: {version}\ntitle: Refunds\npublished: 2024-12-01\n"
    front += f"in_force_from: {start}\nin_force_to: {end}\n"
    path.write_text(f"---\n{front}---\n{body}\n", encoding="utf-8")
    return path


def test_clauses_are_numbered_rows_in_force_from_midnight_of_the_zone(tmp_path: Path) -> None:
    put(
        tmp_path,
        "a.md",
        end="2025-07-01",
        body="# Refunds\n\n## 1 When\n\n1.2 Second.\n1.1 First\ngoes on.\n\n## 10 More\n10.1 Tenth.",
    )
    rows = read_policies(SPEC, tmp_path)
    assert [(row["clause"], row["text"], row["source_pos"]) for row in rows] == [
        ("1.1", "First goes on.", "line:14"),
        ("1.2", "Second.", "line:13"),
        ("10.1", "Tenth.", "line:18"),
    ]
    assert rows[0]["in_force_from"] == datetime(2024, 12, 31, 23, tzinfo=UTC)
    assert rows[0]["in_force_to"] == datetime(2025, 6, 30, 22, tzinfo=UTC)


def test_a_gap_between_versions_is_a_finding(tmp_path: Path) -> None:
    put(tmp_path, "a.md", end="2025-06-01")
    put(tmp_path, "b.md", version="2", start="2025-07-01")
    assert gaps(read_policies(SPEC, tmp_path)) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"version": "one"}, r"a\.md:3: not a whole number, field version"),
        ({"start": "01.01.2025"}, r"a\.md:6: not a day, field in_force_from, found 99\.99\.9999"),
        ({"start": "2025-02-30"}, r"a\.md:6: not a day"),
        ({"end": "2024-01-01"}, "ends before it begins"),
        ({"start": ""}, "lacks a value, field in_force_from"),
        ({"body": "no number"}, "no numbered clause"),
        ({"body": "1.1 a\n1.1 b"}, r"a\.md:10: clause number is used twice, found 1\.1"),
    ],
)
def test_a_bad_document_is_one_line_with_its_place(tmp_path: Path, fields: dict[str, str], message: str) -> None:
    put(tmp_path, "a.md", **fields)
    with pytest.raises(SourceError, match=message):
        read_policies(SPEC, tmp_path)


def test_two_versions_in_force_at_once_stop_the_run(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    put(tmp_path, "b.md", version="2", start="2025-07-01")
    with pytest.raises(SourceError, match=r"b\.md: in force while version 1 of refunds still is"):
        read_policies(SPEC, tmp_path)


def test_no_documents_and_no_front_matter_are_said(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no policy documents"):
        read_policies(SPEC, tmp_path)
    put(tmp_path, "a.md").write_text("1.1 A rule.\n", encoding="utf-8")
    with pytest.raises(SourceError, match="no front matter"):
        read_policies(SPEC, tmp_path)
