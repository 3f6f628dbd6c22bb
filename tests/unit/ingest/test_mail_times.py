"""Times of e-mails: the receiving server's word, with its offset, or a fault."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ingest.mail_times import date_header, received_at
from ingest.times import TimeFault

BY = "from a.example.net by mx.example.org with ESMTPS; "


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Tue, 10 Jun 2025 14:00:00 +0200", datetime(2025, 6, 10, 12, tzinfo=UTC)),
        ("10 Jun 2025 06:59:59 -0500 (a (nested) comment; with a semicolon)", datetime(2025, 6, 10, 11, 59, 59, tzinfo=UTC)),
    ],
)
def test_the_time_is_read_with_its_offset(text: str, at: datetime) -> None:
    assert received_at([("received", BY + text)]).at == at


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Tue, 10 Jun 2025 14:00:00", "has no offset"),
        ("Tue, 10 Jun 25 14:00:00 +0200", "tells no time"),
        ("Tue, 31 Jun 2025 14:00:00 +0200", "no such day or time"),
        ("Tue, 10 Jun 1904 14:00:00 +0000", "outside of 1970 to 2200"),
        ("yesterday", "tells no time"),
    ],
)
def test_a_time_that_would_have_to_be_guessed_is_a_fault(text: str, reason: str) -> None:
    with pytest.raises(TimeFault, match=reason):
        received_at([("Received", BY + text)])


def test_a_header_of_another_server_does_not_count_and_date_never_does() -> None:
    headers = [("Date", "Tue, 10 Jun 2025 14:00:00 +0200"), ("Received", BY + "Tue, 10 Jun 2025 14:00:00 +0200")]
    with pytest.raises(TimeFault, match="no Received header"):
        received_at(headers, ["mail.example.com"])
    with pytest.raises(TimeFault, match="no Received header"):
        received_at(headers[:1])


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Tue, 10 Jun 2025 14:00:00 +0200", datetime(2025, 6, 10, 12, tzinfo=UTC)),
        ("10 Jun 2025 14:00 +02:00", datetime(2025, 6, 10, 12, tzinfo=UTC)),
        ("Tuesday, 10-Jun-2025 14:00:00 EDT (summer (time))", datetime(2025, 6, 10, 18, tzinfo=UTC)),
        ("Tue Jun 10 14:00:00 2025 GMT", datetime(2025, 6, 10, 14, tzinfo=UTC)),
        ("Mon, 10 Jun 02 14:00:00 Z", datetime(2002, 6, 10, 14, tzinfo=UTC)),
        ("Mon, 10 Jun 102 14:00:00 -0000", datetime(2002, 6, 10, 14, tzinfo=UTC)),
        ("Tue, 10 Jun 2025 14:00:00", datetime(2025, 6, 10, 12, tzinfo=UTC)),
        ("Sun, 26 Oct 2025 02:30:00", datetime(2025, 10, 26, 1, 30, tzinfo=UTC)),
    ],
)
def test_a_date_header_is_read_in_its_old_forms_too_and_without_an_offset_in_the_declared_zone(text: str, at: datetime) -> None:
    assert date_header(text, "Europe/Berlin").at == at


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Tue, 10 Jun 2025 14:00:00 CEST", "a zone without an offset"),
        ("Tue, 10 Jun 2025 14:00:00 GMT+2", "a zone without an offset"),
        ("Tue, 10 Jun 2025 25:00:00 +0200", "no such day or time"),
        ("Sun, 30 Mar 2025 02:30:00", "no such local time"),
        ("Tue, 10 Foo 2025 14:00:00 +0200", "tells no time"),
        ("10.06.2025 14:00", "tells no time"),
        ("", "tells no time"),
    ],
)
def test_a_date_header_that_would_have_to_be_guessed_is_a_fault(text: str, reason: str) -> None:
    with pytest.raises(TimeFault, match=reason):
        date_header(text, "Europe/Berlin")
