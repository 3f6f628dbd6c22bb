from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.dates import shift_text, shift_value

FORMATS = ("%d.%m.%Y",)


def shifted(text: str, days: int, near: date = date(2025, 3, 20)) -> str:
    return shift_text(text, days, near, FORMATS)


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("on 2025-03-12 at 10:15", "on 2025-02-26 at 10:15"),
        ("12 March 2025", "26 February 2025"),
        ("March 12, 2025", "February 26, 2025"),
        ("March 12", "February 26"),
        ("the 3rd of May", "the 19th of April"),
        ("12.03.2025", "26.02.2025"),
        ("5.3.2025", "19.2.2025"),
        ("12 Mar. 2025", "26 Feb. 2025"),
        ("01 JAN 2025", "18 DEC 2024"),
        ("2025-03-12T10:15:00Z", "2025-02-26T10:15:00Z"),
        ("2025/03/12 or 2025.3.5", "2025/02/26 or 2025.2.19"),
        ("SALE-2025-03-12-A", "SALE-2025-02-26-A"),
        ("in March 2025", "in March 2025"),
        ("early in Jan 2025", "early in Jan 2025"),
        ("lines 3 and 5 may be late", "lines 3 and 5 may be late"),
        ("clause 3.1", "clause 3.1"),
    ],
)
def test_a_date_keeps_its_form(text: str, moved: str) -> None:
    assert shifted(text, -14) == moved


def test_a_month_without_a_day_moves_by_its_middle() -> None:
    assert shifted("in March 2025, Sept. 2024", -28) == "in February 2025, Aug. 2024"


def test_a_date_without_a_year_means_the_one_nearest_to_the_message() -> None:
    assert shifted("January 3", -14, date(2025, 12, 30)) == "December 20"
    assert shifted("29 February", -7, date(2024, 3, 1)) == "22 February"


@given(st.dates(date(1999, 1, 1), date(2060, 1, 1)), st.integers(-104, -1))
def test_weekdays_and_distances_stay(day: date, weeks: int) -> None:
    for form in ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d.%m.%Y"):
        new = datetime.strptime(shifted(day.strftime(form), 7 * weeks), form).date()
        assert new == day + timedelta(days=7 * weeks)
        assert new.weekday() == day.weekday()


@pytest.mark.parametrize(
    ("value", "new"),
    [
        ("2025-03-12", "2025-03-05"),
        ("2025-03-12T10:15:00.5+01:00", "2025-03-05T10:15:00.5+01:00"),
        ("12.03.2025", "05.03.2025"),
        ("2 pm", None),
        ("2025-03-12 or later", None),
    ],
)
def test_a_time_field_moves_whole_or_not_at_all(value: str, new: str | None) -> None:
    assert shift_value(value, -7, FORMATS) == new
