"""Always answering another code of the workflow is never right here, so over the set it is right at most at its base rate."""

from __future__ import annotations

from environments.agents import ConstantOutcome
from tasks.certificates._bench import Bench, CertificateCheck, Said


def run(bench: Bench) -> Said:
    others = sorted(
        c for c, about in bench.codes.items() if about.workflow == bench.task.workflow and c != bench.answer.outcome.code
    )
    allowed = {other.code for other in bench.answer.outcome.alternatives}
    right = [c for c in others if c not in allowed and bench.run(ConstantOutcome(c), bench.seed).grade.success]
    return ("failed", f"right without the code: {', '.join(right)}") if right else ("passed", f"{len(others)} other codes")


CHECK = CertificateCheck("C3", run)
