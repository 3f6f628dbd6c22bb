"""One error tree.

    RecordgymError            the operator made it happen and can mend it: one line, exit code 2
    ├── SpecError             a task-set spec (file, dotted key, found, allowed)
    ├── SourceError           an export (file:line or file:row, field, found, allowed)
    ├── StageError            a stage's folder or prerequisite (missing input, unwritable output, stale manifest)
    ├── PrivacyError          writing would break a privacy promise; nothing is written
    ├── LeakError             a task set shows what it must hide
    ├── WorldError            a world or system is declared wrongly
    └── GraderError           the grader cannot judge; never turned into 0 or 1

A refused tool call is *not* an error: it is an observation (`schemas.episode.Refusal`).
Messages hold ids, counts and positions only, never the text of a record.
"""

from __future__ import annotations

from functools import partial
from typing import Any


class RecordgymError(Exception):
    """Root of the tree; `str(error)` is one line a person can act on."""


class SpecError(RecordgymError):
    """A spec is wrong. `faults` lists every fault at once, each starting with its dotted path."""

    def __init__(self, file: str, faults: list[str]) -> None:
        self.file = file
        self.faults = faults
        super().__init__(f"{file}: " + "; ".join(faults))

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross from worker processes; by default the copy would be made from the message alone, and fail."""
        return type(self), (self.file, self.faults)


class SourceError(RecordgymError):
    """A place in an export cannot be read: file, place (line, row or offset), field, found, allowed."""

    def __init__(self, file: str, place: str, reason: str, *, field: str = "", found: str = "", allowed: str = "") -> None:
        self.file, self.place, self.reason = file, place, reason
        self.field, self.found, self.allowed = field, found, allowed
        parts = [f"{file}:{place}: {reason}" if place else f"{file}: {reason}"]
        if field:
            parts.append(f"field {field}")
        if found:
            parts.append(f"found {found}")
        if allowed:
            parts.append(f"allowed {allowed}")
        super().__init__(", ".join(parts))

    def __reduce__(self) -> tuple[Any, ...]:
        again = partial(type(self), self.file, self.place, self.reason, field=self.field, found=self.found, allowed=self.allowed)
        return again, ()


class StageError(RecordgymError):
    """A stage cannot run where it is: a missing input, an unwritable folder, a half-deleted run."""


class PrivacyError(RecordgymError):
    """Writing would break a privacy promise (no key, residual identifier, failed detector); nothing is written."""


class LeakError(RecordgymError):
    """A task set fails a leak check or lacks its certificates, so it does not load."""


class WorldError(RecordgymError):
    """A world, system or tool is declared wrongly."""


class GraderError(RecordgymError):
    """The grader cannot judge this journal; callers must not turn this into a number."""
