"""Times: declared zone and format, never guessed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import times

FORMAT = "%Y-%m-%d %H:%M:%S"
ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC", "America/Sao_Paulo", "Pacific/Apia"]


@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1)), st.sampled_from(ZONES))
def test_a_local_time_is_an_instant_that_reads_so_there_or_a_fault(local: datetime, zone: str) -> None:
    local = local.replace(microsecond=0)
    text = local.strftime(FORMAT)
    try:
        stamp = times.from_local(text, zone, FORMAT)
    except times.TimeFault:
        # Only where no instant at all reads so on the clocks of the zone.
        around = [local.replace(tzinfo=UTC) + timedelta(minutes=15 * step) for step in range(-4 * 26, 4 * 26)]
        assert all(at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) != local for at in around)
        return
    assert stamp.at is not None
    assert stamp.at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == local
    assert stamp.at.utcoffset() == timedelta(0)


@given(st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1)), st.sampled_from(ZONES))
def test_an_event_is_never_earlier_than_a_cut_at_the_same_local_time(local: datetime, zone: str) -> None:
    try:
        event, cut = times.instant(local, zone, "event"), times.instant(local, zone, "cut")
    except times.TimeFault:
        return
    assert event >= cut


@given(
    st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1)),
    st.integers(min_value=-14 * 60, max_value=14 * 60),
)
def test_an_iso_time_keeps_its_instant(local: datetime, minutes: int) -> None:
    sign, rest = ("-" if minutes < 0 else "+"), abs(minutes)
    text = f"{local.isoformat(timespec='microseconds')}{sign}{rest // 60:02d}:{rest % 60:02d}"
    assert times.from_iso(text).at == local.replace(tzinfo=UTC) - timedelta(minutes=minutes)


def test_the_repeated_hour_is_the_later_instant_for_an_event_and_the_earlier_for_a_cut() -> None:
    event = times.from_local("2025-10-26 02:30:00", "Europe/Berlin", FORMAT)
    cut = times.from_local("2025-10-26 02:30:00", "Europe/Berlin", FORMAT, "cut")
    assert (event.at, cut.at) == (datetime(2025, 10, 26, 1, 30, tzinfo=UTC), datetime(2025, 10, 26, 0, 30, tzinfo=UTC))


def test_the_hour_that_the_clocks_left_out_is_a_fault_that_names_the_zone() -> None:
    with pytest.raises(times.TimeFault, match="put forward") as caught:
        times.from_local("2025-03-30 02:30:00", "Europe/Berlin", FORMAT)
    assert caught.value.allowed == "Europe/Berlin"


@pytest.mark.parametrize(
    "text",
    ["2025-03-01T10:00:00", "2025-03-01", "2025-02-30T10:00:00Z", "03/01/2025 10:00", "2025-03-01T25:00:00Z", "", "1740823200"],
)
def test_an_iso_time_without_offset_or_sense_is_a_fault_that_repeats_no_digit(text: str) -> None:
    with pytest.raises(times.TimeFault) as caught:
        times.from_iso(text)
    assert not set(caught.value.found) & set("012345678")


@pytest.mark.parametrize(
    ("text", "grain"), [("2025-03-01T10:00Z", 60), ("2025-03-01T10:00:00Z", 0), ("2025-03-01 10:00:00.5+05:30", 0)]
)
def test_grain_of_an_iso_time_is_told_by_its_text(text: str, grain: int) -> None:
    assert times.from_iso(text).grain_s == grain


@pytest.mark.parametrize(("form", "grain"), [("%Y-%m-%d", 86400), ("%d.%m.%Y %H", 3600), ("%d.%m.%Y %H:%M", 60), (FORMAT, 0)])
def test_grain_of_a_format_is_what_it_can_tell(form: str, grain: int) -> None:
    assert times.grain_of(form) == grain


@pytest.mark.parametrize("form", ["%d.%m.%y", "%I:%M %d.%m.%Y", "%H:%M", "%m-%d %H:%M"])
def test_a_format_that_leaves_something_to_guess_is_refused(form: str) -> None:
    assert times.format_faults(form)


def test_seconds_out_of_range_are_a_fault_and_not_a_far_year() -> None:
    with pytest.raises(times.TimeFault):
        times.from_unix(1740823200000)


def test_a_day_begins_at_midnight_of_the_zone() -> None:
    assert times.day_start(datetime(2025, 7, 1).date(), "Europe/Berlin") == datetime(2025, 6, 30, 22, tzinfo=UTC)
