"""Times of e-mails: the receiving server's word, with its offset, or a fault."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ingest.mail_times import received_at
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
