"""Leak checks, one a file; `run_leaks` runs them all, applies the signed waivers and says which could not run."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase

from schemas.errors import SpecError
from schemas.plugins import load_plugins
from schemas.spec import Spec, WaiverSpec
from tasks.leaks._types import ColumnHistory, Finding, Leak, LeakInput


def run_leaks(data: LeakInput, spec: Spec, *, only: tuple[str, ...] = (), today: str | None = None) -> list[Finding]:
    """Findings of every check (or those named in `only`), at least one line a check, in a fixed order.

    `today` (YYYY-MM-DD) is the date against which waivers expire; by default the date of the run. Raises SpecError for a
    waiver or an `only` that names no check.
    """
    checks = load_plugins("tasks.leaks", "LEAK", Leak)
    day = date.fromisoformat(today) if today else datetime.now(UTC).date()
    faults = [f"waivers.{i}.check: no leak check {w.check!r}" for i, w in enumerate(spec.waivers) if w.check not in checks]
    faults += [f"only: no leak check {name!r} ({', '.join(checks)})" for name in only if name not in checks]
    if faults:
        raise SpecError(spec.name, faults)
    found: list[Finding] = []
    for name, check in checks.items():
        if not only or name in only:
            found += [_waived(finding, spec.waivers, day) for finding in run_check(check, data)]
    return found


def run_check(check: Leak, data: LeakInput) -> list[Finding]:
    """Findings of one check: "passed" where it found nothing, "could_not_run" where it broke off."""
    collecting = gc.isenabled()
    gc.disable()  # what a check makes holds no cycle, and there is much of it: looking for some takes a fifth of the time
    try:
        with _one_thread() if check.statistical else nullcontext():
            found = check.run(data)
    except Exception as error:
        # Whatever stops a check, the set is not shown to be clean: it reads "could not run", and the build goes on to its report.
        return [Finding(check.name, "could_not_run", detail=f"{type(error).__name__}: {error}")]
    finally:
        if collecting:
            # What the check leaves is kept for the next ones: counted as old, it sets off no walk over the whole set.
            gc.freeze()
            gc.unfreeze()
            gc.enable()
    return found or [Finding(check.name, "passed", detail=f"{len(data.tasks)} tasks")]


def _one_thread() -> AbstractContextManager[object]:
    """Tables of a few hundred tasks are too small to share out: several threads take three times the CPU for the same answer."""
    import numpy as np  # noqa: F401 - what is limited has to be loaded
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits


def _waived(finding: Finding, waivers: Sequence[WaiverSpec], today: date) -> Finding:
    """The finding, or the same as waived where a signed waiver that has not expired covers its path."""
    if finding.verdict != "failed":
        return finding
    for waiver in waivers:
        if (
            waiver.check == finding.check
            and fnmatchcase(finding.path, waiver.path)
            and date.fromisoformat(waiver.expires) >= today
        ):
            return replace(finding, verdict="waived", waiver=waiver.words)
    return finding


__all__ = ["ColumnHistory", "Finding", "Leak", "LeakInput", "run_check", "run_leaks"]
