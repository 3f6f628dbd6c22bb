"""Time in the simulation: whole seconds since 1970 in UTC, and the two ways in which the supplier's systems write it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

BERLIN = ZoneInfo("Europe/Berlin")
MINUTE, HOUR, DAY = 60, 3600, 86400


def utc(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    """Epoch seconds of a UTC wall clock time."""
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp())


def berlin(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    """Epoch seconds of a Berlin wall clock time (of a fold: the earlier instant)."""
    return int(datetime(year, month, day, hour, minute, tzinfo=BERLIN).timestamp())


YEAR_START, YEAR_END = utc(2025, 1, 2), utc(2025, 12, 30)
POLICY_CHANGE = berlin(2025, 7, 1)
EXPORTED_AT = utc(2026, 1, 15, 4)
"""The exports were taken then; everything that the simulation does has happened before."""
FOLD_START, FOLD_END = utc(2025, 10, 26, 0), utc(2025, 10, 26, 2)
"""Between these instants Berlin's clocks show 02:00 to 03:00 twice."""


@lru_cache(maxsize=4096)
def _date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY, UTC).strftime("%Y-%m-%d")


@lru_cache(maxsize=65536)
def _berlin_offset(hour: int) -> int:
    offset = datetime.fromtimestamp(hour * HOUR, BERLIN).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def _written(at: int, between: str) -> str:
    day, rest = divmod(at, DAY)
    return f"{_date(day)}{between}{rest // HOUR:02d}:{rest // MINUTE % 60:02d}:{rest % 60:02d}"


def iso(at: int) -> str:
    """As the helpdesk writes it: ISO 8601, UTC."""
    return _written(at, "T") + "Z"


def local_text(at: int) -> str:
    """As the order system writes it: Berlin's wall clock without a zone."""
    return _written(at + _berlin_offset(at // HOUR), " ")


def german_date(at: int) -> str:
    """As people write it in mails: 03.07.2025."""
    return datetime.fromtimestamp(at, BERLIN).strftime("%d.%m.%Y")


def policy_version(at: int) -> int:
    """Version of every policy document in force at `at`: 1 until the middle of the year, then 2."""
    return 1 if at < POLICY_CHANGE else 2


def order_clock_error(at: int) -> int:
    """Seconds that the order system's clock is ahead (+) or behind (-), in [-5, 5]; it is set right from time to time."""
    return (at // (9 * DAY)) * 7 % 11 - 5
