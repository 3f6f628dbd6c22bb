"""Leak checks: the zone of a time in a text, by its name or its offset."""

from __future__ import annotations

import pytest

from tasks.leaks._times import times_in


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Tue, 14 Feb 2023 23:22:15 EST", "15 04:22"),
        ("Tue, 14 Feb 2023 23:22:15 EDT", "15 03:22"),
        ("Tue Feb 14 23:22:15 PST 2023", "15 07:22"),
        ("14 Feb 2023, 11:22 PM CDT", "15 04:22"),
        ("2023-02-14 10:22 CST", "14 16:22"),
        ("2023-02-14 10:22 MDT", "14 16:22"),
        ("2023-02-14 10:22 (MST)", "14 17:22"),
        ("2023-02-14 10:22:15 PDT", "14 17:22"),
        ("14.02.2023 10:22 CET", "14 09:22"),
        ("14.02.2023 10:22 CEST", "14 08:22"),
        ("14/02/2023 10:22 BST", "14 09:22"),
        ("2023-02-14 10:22 UTC-5", "14 15:22"),
        ("2023-02-14 10:22 UTC+02:00", "14 08:22"),
        ("2023-02-14T10:22:15 GMT-05:00", "14 15:22"),
        ("2023-02-14T10:22:15\u221205:00", "14 15:22"),
        ("20230214T102215\u22120500", "14 15:22"),
        ("2023-02-14 10:22 UTC", "14 10:22"),
        ("2023-02-14 10:22 UTC-2023", "14 10:22"),
        ("le 14 février 2023 à 10h22 est", "14 10:22"),
    ],
)
def test_a_zone_is_read_by_its_name_or_its_offset(text: str, at: str) -> None:
    assert [f"{time.readings[0]:%d %H:%M}" for time in times_in(text)] == [at]
