"""The reference without one required check breaks a rule on its path."""

from __future__ import annotations

from tasks.certificates._bench import Bench, CertificateCheck, Said
from tasks.mutants import without


def run(bench: Bench) -> Said:
    accepted, required = [], 0
    for step, made in enumerate(bench.answer.reference[:-1]):
        if not (made.required_by or made.planned):
            continue
        played = bench.mutant(without(bench.calls, step))
        broken = any(v.hard and v.rule != "invalid_call" for v in played.grade.violations)
        if made.required_by:
            required += 1
            if played.grade.success or not broken:
                accepted.append(f"{made.call.tool} ({', '.join(made.required_by)})")
    if accepted:
        return "failed", f"not missed by the grader: {', '.join(accepted)}"
    return ("passed", f"{required} required checks") if required else ("not_applicable", "no rule in force demands a check")


CHECK = CertificateCheck("C4", run)
