"""A task set whose own quality report failed is not trained on, unless the operator says so; the run's card then says it too.

What the report found is read as it was written when the set was built (`report.json`); a waiver that has expired since is the
matter of `python -m tasks report`. A machine that holds the training side alone has no report: the card says that it is unknown.
"""

from __future__ import annotations

from pathlib import Path

from schemas.errors import SourceError, StageError
from schemas.files import read_json

SHOWN = 3
"""Faults that an error names."""


def report_faults(folder: Path) -> list[str] | None:
    """What the report of the task set at `folder` says against it; None where no report lies there.

    Raises SourceError for a file that is no report: what cannot be read has not passed.
    """
    path = folder / "report.json"
    if not path.exists():
        return None
    report = read_json(path)
    verdict, faults = (report.get("verdict"), report.get("faults")) if isinstance(report, dict) else (None, None)
    if verdict not in ("passed", "failed") or not isinstance(faults, list) or not all(isinstance(f, str) for f in faults):
        raise SourceError(str(path), "verdict, faults", "not a report of this version; build the task set again")
    return list(faults) if verdict == "passed" else list(faults) or ["failed, and no reason is given"]


def require_passed(folder: Path, *, accepted: bool) -> str:
    """One line for the run's card, "" where the report passed. Raises StageError where it failed and that is not `accepted`."""
    faults = report_faults(folder)
    if faults is None:
        return "No quality report lies beside the task set: whether it passed is not known."
    if not faults:
        return ""
    shown = "; ".join(faults[:SHOWN]) + (f"; and {len(faults) - SHOWN} more" if len(faults) > SHOWN else "")
    if not accepted:
        raise StageError(
            f"the quality report of {folder} says FAIL ({shown}). Mend the task set, or sign a waiver in its spec and build it "
            "again; --accept-failed-report trains on it as it is, and the run's card says so"
        )
    return f"The quality report of the task set said FAIL, which was accepted: {shown}."
