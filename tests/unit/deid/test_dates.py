from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.dates import shift_text, shift_value, unmovable

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


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("05MAR2025", "19FEB2025"),
        ("5Mar2025", "19Feb2025"),
        ("5/Mar/2025", "19/Feb/2025"),
        ("5.Mar.2025", "19.Feb.2025"),
        ("2025-Mar-05", "2025-Feb-19"),
        ("5th.March.2025", "19th.February.2025"),
        ("2025, March 5", "2025, February 19"),
        ("2025-3-5", "2025-2-19"),
        ("20250305", "20250219"),
        ("img20250305.jpg", "img20250219.jpg"),
        ("03/2025", "03/2025"),
        ("5 march", "19 february"),
        ("on 7 may it came", "on 23 april it came"),
        ("5 Mar 25", "19 Feb 25"),
        ("5-Mar-25", "19-Feb-25"),
        ("Mar 5, '25", "Feb 19, '25"),
        ("5, 6 and 7 March", "19, 20 and 21 February"),
        ("March 5-7, 2025", "February 19-21, 2025"),
        ("5/6 March", "19/20 February"),
        ("March 14-16", "February 28-March 2"),
        ("14, 15 and 16 March 2025", "28 February, 1 and 2 March 2025"),
        ("between March 5 and 7", "between February 19 and 21"),
        ("Wed Mar 5 10:00:00 2025", "Wed Feb 19 10:00:00 2025"),
        ("the fifth of March", "the nineteenth of February"),
        ("on the 5th.", "on the 19th."),
        ("５ March 2025", "19 February 2025"),
        ("Sept 5th, Sep 5", "Aug 22nd, Aug 22"),
        ("room 5, March 5", "room 5, February 19"),
        ("in March 2025, Oct. 2024", "in March 2025, Oct. 2024"),
    ],
)
def test_a_date_moves_whole_in_its_own_form(text: str, moved: str) -> None:
    assert shifted(text, -14) == moved
    assert not list(unmovable(text, -14, date(2025, 3, 20), FORMATS))


def test_counts_of_seconds_move() -> None:
    assert shifted("at 1741167072 or 1741167072000", -7) == "at 1740562272 or 1740562272000"


@pytest.mark.parametrize(
    "text",
    [
        "you may 7", "5 may be late", "On 5 March 25 boxes", "March 5, 12 of them", "on the 5th floor", "order 12345678905",
        "90ab-5dec-8123", "2019-12 inch",
    ],
)  # fmt: skip
def test_what_is_beside_a_date_or_like_one_stays(text: str) -> None:
    kept = shifted(text, -14)
    assert [w for w in kept.split()[-2:] if w not in text.split()] in ([], ["February"])
    assert not list(unmovable(text, -14, date(2025, 3, 20), FORMATS))


@pytest.mark.parametrize(
    "text",
    [
        "5.3.25", "5-3-25", "05-03-2025", "5|3|2025", "05 03 2025", "05 / 03 / 2025", "2025-03-05/06", "30 February 2025",
        "March 32, 2025", "5 Marchh 2025", "5. März", "Mar-05", "28-30 January 2025 or 1/2/25",
    ],
)  # fmt: skip
def test_a_date_that_cannot_be_moved_whole_is_held_back(text: str) -> None:
    assert list(unmovable(f"On {text} it came", -14, date(2025, 3, 20), FORMATS, (2023, 2027)))


@pytest.mark.parametrize(
    "text",
    ["size 10.12.13 mm", "10/10/10 screws", "version 1.2.25", "10.5.19", "3-4-2 boxes", "ratio 4/4/4", "12-12-12 pieces", "24/7"],
)
def test_sizes_and_counts_are_not_held_back(text: str) -> None:
    assert not list(unmovable(f"It is {text}", -14, date(2025, 3, 20), FORMATS, (2023, 2027)))
    assert shifted(f"It is {text}", -14) == f"It is {text}"


@given(st.dates(date(1999, 1, 1), date(2060, 1, 1)), st.integers(0, 6), st.integers(-104, -1))
def test_a_span_of_days_moves_whole_or_not_at_all(first: date, more: int, weeks: int) -> None:
    last = first + timedelta(days=more)
    if last.month != first.month or not more:
        return
    text = f"{first.day}-{last.day} {first:%B %Y}"
    new = [day + timedelta(days=7 * weeks) for day in (first, last)]
    if list(unmovable(text, 7 * weeks, first, ())):
        assert new[0].year != new[1].year
        return
    month = "" if new[0].month == new[1].month else f" {new[0]:%B}"
    assert shift_text(text, 7 * weeks, first, ()) == f"{new[0].day}{month}-{new[1].day} {new[1]:%B %Y}"


def test_dates_that_do_not_move_stay_as_they_are() -> None:
    text = "MAy 10th, 12th, 5 Mar 25, 5-7 March"
    assert shifted(text, 0) == text
    assert not list(unmovable(text, 0, date(2025, 3, 20), FORMATS))
