"""The report of a task set: report.json and one self-contained report.html, the same bytes for the same data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas.spec import WaiverSpec
from schemas.task import Answer, Certificate, LedgerRow, TaskSpec
from tasks.certify import ConstantRate
from tasks.leaks._types import Finding


@dataclass(frozen=True, slots=True)
class RuleFit:
    """How a rule fits what people recorded: a test of whether it was written down rightly."""

    rule_id: str
    sentence: str
    observable: bool
    """False: it is about an act that exports do not record; neither kept nor broken by people."""
    applied: int
    """Recorded cases that it applied to."""
    broken: int
    """Of these, how many broke it."""


@dataclass(frozen=True, slots=True)
class ReportData:
    """All that the report shows; it is written from this alone."""

    name: str
    supplier: str
    spec_sha256: str
    code_version: str
    ledger: Sequence[LedgerRow]
    """Every candidate; funnel and kept shares are counted from it."""
    tasks: Sequence[TaskSpec]
    answers: Mapping[str, Answer]
    """With score bounds."""
    certificates: Sequence[Certificate]
    findings: Sequence[Finding]
    """As `run_leaks` returns them."""
    constant_rates: Sequence[ConstantRate]
    rule_fit: Sequence[RuleFit] = ()
    waivers: Sequence[WaiverSpec] = ()
    screen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Workflow -> its five traits, as short JSON values."""
    holdout: Mapping[str, Any] = field(default_factory=dict)
    """What else the hold-out says: boundary, embargo days, groups held out, near-duplicates dropped, waived groups (short JSON values)."""
    notes: Sequence[str] = ()
    """Sentences that the report must carry, e.g. what this hold-out cannot promise."""


def write_report(folder: Path, data: ReportData) -> bool:
    """Writes `folder/report.json` and `folder/report.html`; True where every check holds (nothing failed, nothing could not run)."""
    raise NotImplementedError
