"""The cut of a case: its opening message, and the earlier reading of an hour that was there twice."""

from __future__ import annotations

import pytest

from tasks.case import Case, Turn
from tasks.prompt import started_us

HOUR = 3_600_000_000


@pytest.mark.parametrize(
    ("after", "started"),
    [
        (0, 0),
        (HOUR, 0),  # the local hour was there twice
        (HOUR // 2, 0),
        (17_000_000, 17_000_000),  # a chat that was opened before its first words were typed
        (HOUR + 1, HOUR + 1),
        (2 * HOUR, 2 * HOUR),
    ],
)
def test_a_case_starts_when_its_first_words_arrived_but_for_a_fold(after: int, started: int) -> None:
    opening = Turn(10 * HOUR + after, 7, "desk:user:U", "hello", True, True, "R")
    case = Case("D", "W", 10 * HOUR, 7, None, None, requester="U", turns=[opening])
    assert started_us(case) == 10 * HOUR + started
