"""Tables of versions: what one row says of its record depends on the rows before and after it."""

from __future__ import annotations

from datetime import UTC, datetime

from ingest.source import RowFault
from ingest.sources._sql_validity import BESIDE, OVERLAP, Link, Version, chain
from ingest.times import Stamp


def stamp(day: int) -> Stamp:
    return Stamp(datetime(2025, 6, day, tzinfo=UTC), "", "UTC", 0)


def version(start: int, end: int | None) -> Version:
    return Version("k", stamp(start), stamp(end) if end else None, None, {}, {})


def test_versions_follow_one_another_in_any_order_of_rows() -> None:
    rows = [version(5, None), version(1, 3), version(3, 5)]
    for told in (rows, rows[::-1]):
        links = [link for link in chain(told) if isinstance(link, Link)]
        assert [(link.version.begins.day, link.begins_record, link.goes_on, link.gap_s) for link in links] == [
            (1, True, True, 0),
            (3, False, True, 0),
            (5, False, False, 0),
        ]


def test_a_gap_ends_the_record_and_begins_it_anew() -> None:
    first, second = chain([version(1, 3), version(5, None)])
    assert isinstance(first, Link)
    assert isinstance(second, Link)
    assert (first.goes_on, second.begins_record, second.gap_s) == (False, True, 2 * 86400)


def test_no_row_of_a_record_is_taken_where_two_are_valid_at_one_time() -> None:
    found = chain([version(1, 3), version(3, 8), version(5, 9), version(9, None)])
    assert [str(f) if isinstance(f, RowFault) else "taken" for f in found] == [BESIDE, OVERLAP, OVERLAP, BESIDE]
    assert [f.found for f in found if isinstance(f, RowFault)] == ["", "259200 s in common", "259200 s in common", ""]
