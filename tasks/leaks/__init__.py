"""Leak checks, one a file; `run_leaks` runs them all, applies the signed waivers and says which could not run."""

from __future__ import annotations

from schemas.spec import Spec
from tasks.leaks._types import Finding, Leak, LeakInput


def run_leaks(data: LeakInput, spec: Spec, *, only: tuple[str, ...] = (), today: str | None = None) -> list[Finding]:
    """Findings of every check (or those named in `only`), at least one line a check, in a fixed order.

    `today` (YYYY-MM-DD) is the date against which waivers expire; by default the date of the run. Raises SpecError for a
    waiver that names no check.
    """
    raise NotImplementedError


__all__ = ["Finding", "Leak", "LeakInput", "run_leaks"]
