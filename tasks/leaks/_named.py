"""The days and months that a requester, by the records, named: what others say of those is no news of what came later."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from tasks.leaks._times import Time, times_in
from tasks.leaks._whole_months import months_named


class Named(NamedTuple):
    days: frozenset[date]
    months: frozenset[tuple[int, int]]
    """Year and 1 to 12."""
    of_any_year: frozenset[int]
    """1 to 12 of the months named without a year, as people mostly do."""

    def holds(self, time: Time) -> bool:
        if not time.month:
            return not self.days.isdisjoint(at.date() for at in time.readings)
        at = time.readings[0]
        return (at.year, at.month) in self.months or at.month in self.of_any_year


def named_in(turns: Iterable[str]) -> Named:
    """What stands in the texts that the requester wrote."""
    texts = list(turns)
    said = [(time, at) for text in texts for time in times_in(text) for at in time.readings]
    return Named(
        frozenset(at.date() for time, at in said if not time.month),
        frozenset((at.year, at.month) for _, at in said),
        frozenset(month for text in texts for month in months_named(text)),
    )
