"""A sound set as the report sees it, for the tests of the report."""

from __future__ import annotations

from schemas.plugins import plugin_names
from schemas.spec import WaiverSpec
from schemas.task import Certificate, Check, LedgerRow, ScoreBounds
from tasks.certify import CHECKS, ConstantRate
from tasks.figures import ReportData, RuleFit
from tasks.floor import UnreadFloor
from tasks.leaks import Finding
from tasks.overlaps import Placed, cluster_figures, overlap_table
from tests.unit.tasks.leak_inputs import leak_input

WAIVER = WaiverSpec(check="group_overlap", path="groups/user", reason="shared users", signed_by="A. Signer", expires="2027-01-01")


def certificate(task_id: str, **verdicts: str) -> Certificate:
    checks = [Check.model_validate({"id": name, "verdict": verdicts.get(name, "passed")}) for name in CHECKS]
    return Certificate(task_id=task_id, task_sha256="0" * 64, code_version="test", checks=tuple(checks))


def report_data() -> ReportData:
    """A small sound set: 24 tasks, each certified, every leak check passed."""
    made = leak_input(tasks=24)
    ledger = [
        LedgerRow(record_id=f"r{i}", kind="ticket", workflow=t.workflow, kept=True, reason="kept", difficulty=("ambiguous",))
        for i, t in enumerate(made.tasks)
    ]
    ledger += [
        LedgerRow(record_id="x1", kind="ticket", workflow="refund", kept=False, reason="off_system", difficulty=("ambiguous",)),
        LedgerRow(record_id="x2", kind="ticket", workflow=None, kept=False, reason="no_outcome"),
    ]
    placed = [Placed(t.task_id, t.slice, t.organisation, t.opening.requester_id, t.task_id, 0, 0) for t in made.tasks]
    findings = [Finding(name, "passed", detail="24 tasks") for name in plugin_names("tasks.leaks")]
    return ReportData(
        name="small",
        supplier="sample",
        spec_sha256="a" * 64,
        code_version="test",
        ledger=ledger,
        tasks=made.tasks,
        answers={k: a.model_copy(update={"bounds": ScoreBounds(g_min=-1.0, g_max=0.9)}) for k, a in made.answers.items()},
        certificates=[certificate(t.task_id, C17="not_applicable") for t in made.tasks],
        findings=findings,
        constant_rates=[ConstantRate("refund_granted", 0.3, 0.0)],
        unread=(UnreadFloor("refund", 20, "refund_refused", 7), UnreadFloor("cancel", 4, "", 0)),
        rule_fit=(RuleFit("r", "At most 1.", True, 40, 2), RuleFit("q", "Read <first>.", False, 0, 0)),
        waivers=(WAIVER,),
        screen={"refund": {"volume": 20, "systems": 3}},
        holdout={"boundary": "2025-09-01"},
        notes=("Held out by organisation.",),
        clauses=(
            {
                "document": "refunds",
                "version": 1,
                "clause": "1.1",
                "rules": ["r"],
                "kinds": ["limit"],
                "reason": "",
                "signed_by": "",
            },
            {
                "document": "refunds",
                "version": 1,
                "clause": "1.2",
                "rules": [],
                "kinds": [],
                "reason": "a wish, no duty",
                "signed_by": "A. Signer",
            },
        ),
        overlaps=overlap_table(placed, group="organisation", boundary_us=None, waived={}),
        clusters=cluster_figures(placed),
    )
