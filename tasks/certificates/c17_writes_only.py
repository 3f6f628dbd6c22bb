"""An agent that knows the right writes and makes them without a look or a check fails wherever a rule demands one."""

from __future__ import annotations

from environments.agents import WritesOnly
from tasks.certificates._bench import Bench, CertificateCheck, Said


def run(bench: Bench) -> Said:
    played = bench.run(WritesOnly(bench.answer.reference), bench.seed)
    known = {rule.id for rule in bench.task.rules if rule.hard}
    demands = sorted({v.rule for v in played.grade.violations if v.rule in known})
    if played.grade.full:
        if any(step.required_by for step in bench.answer.reference):
            return "failed", "full without any of the checks that the reference's rules demand"
        return "not_applicable", "no rule in force demands a check"
    if not demands:
        return "not_applicable", "fails, but not by a rule: none in force demands a check"
    return "passed", f"breaks {', '.join(demands)}"


CHECK = CertificateCheck("C17", run)
