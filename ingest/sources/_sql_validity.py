"""Tables whose every row is one version of a record, valid in [start, end): slowly changing dimensions of type 2.

What such rows say at one instant must be one thing. Rows of a record that are valid at the same time leave it undecided, so none
of that record's rows is taken; a time in which no row is valid is a finding, and the record is absent then. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from ingest.source import RowFault
from ingest.times import Stamp

OVERLAP = "valid at the same time as another row of its record"
BESIDE = "its record has other rows that are valid at one time: none of them is taken"


class Validity(BaseModel):
    """Columns of a table of versions; each row is valid from `start` on and no longer at `end`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: str
    end: str
    """Null: still valid."""
    recorded: str | None = None
    """When the row was written, where the table tells it; without it a row is taken as known from its start."""
    forever: tuple[str, ...] = ()
    """What the table writes instead of null, e.g. "9999-12-31 00:00:00"."""

    def named(self) -> list[tuple[str, str | None]]:
        """(option, the column that it names)."""
        return [("validity.start", self.start), ("validity.end", self.end), ("validity.recorded", self.recorded)]


@dataclass(frozen=True, slots=True)
class Version:
    """One row that could be read."""

    key: str
    start: Stamp
    end: Stamp | None
    recorded: Stamp | None
    told: dict[str, Any]
    fields: dict[str, Any]

    @property
    def begins(self) -> datetime:
        assert self.start.at is not None  # a stamp of a text or datetime always has an instant
        return self.start.at

    @property
    def ends(self) -> datetime | None:
        return self.end.at if self.end else None


@dataclass(frozen=True, slots=True)
class Link:
    """A version in the chain of its record's."""

    version: Version
    number: int
    """Place in the chain, from 0."""
    goes_on: bool
    """Another row begins exactly where this one ends."""
    gap_s: int
    """Seconds before it in which no row is valid; 0 for the first."""

    @property
    def begins_record(self) -> bool:
        return self.number == 0 or self.gap_s > 0


def chain(versions: Iterable[Version]) -> list[Link | RowFault]:
    """The versions of one record in the order of their starts; each with what stands before and after it, or what is wrong."""
    ordered = order_of(versions)
    shared = _overlap_seconds(ordered)
    if any(shared):
        allowed = "a start where the row before it ends"
        return [RowFault(OVERLAP, found=_found(s), allowed=allowed) if s else RowFault(BESIDE) for s in shared]
    links: list[Link | RowFault] = []
    for number, version in enumerate(ordered):
        before = ordered[number - 1].ends if number else None
        after = ordered[number + 1].begins if number + 1 < len(ordered) else None
        gap = int((version.begins - before).total_seconds()) if before else 0
        links.append(Link(version, number, after is not None and after == version.ends, gap))
    return links


def order_of(versions: Iterable[Version]) -> list[Version]:
    """The order in which `chain` answers."""
    return sorted(versions, key=lambda v: (v.begins, v.ends is None, v.ends or v.begins))


def _found(seconds: float) -> str:
    return "no end" if seconds == float("inf") else f"{int(seconds)} s in common"


def _overlap_seconds(ordered: Sequence[Version]) -> list[float]:
    """For each version how long it shares with the one with which it shares most; infinite where both have no end."""
    shared = [0.0] * len(ordered)
    for left, one in enumerate(ordered):
        for right in range(left + 1, len(ordered)):
            other = ordered[right]
            if one.ends is not None and other.begins >= one.ends:
                break
            ends = min((e for e in (one.ends, other.ends) if e is not None), default=None)
            seconds = float("inf") if ends is None else (ends - other.begins).total_seconds()
            shared[left], shared[right] = max(shared[left], seconds), max(shared[right], seconds)
    return shared
