"""The reference without one required check breaks a rule on its path; so it does where the check was refused, was about another
record, or came after the act that it was to precede."""

from __future__ import annotations

from tasks.certificates._bench import Bench, CertificateCheck, Said
from tasks.mutants import unmet, without


def run(bench: Bench) -> Said:
    accepted, required, variants = [], 0, 0
    state, ids = bench.state, bench.ids()
    for step, made in enumerate(bench.answer.reference[:-1]):
        if made.planned and not made.required_by:
            bench.mutant(without(bench.calls, step))  # C7 asks what it flips
        if not made.required_by:
            continue
        required += 1
        rules = [rule for rule in bench.task.rules if rule.id in made.required_by]
        for mutant in unmet(bench.calls, step, bench.tools, rules, ids, state):
            variants += 1
            played = bench.mutant(mutant)
            broken = any(v.hard and v.rule != "invalid_call" for v in played.grade.violations)
            if played.grade.success or not broken:
                accepted.append(f"{mutant.label} ({', '.join(made.required_by)})")
    if accepted:
        return "failed", f"not missed by the grader: {', '.join(accepted)}"
    if not required:
        return "not_applicable", "no rule in force demands a check"
    return "passed", f"{required} required checks in {variants} variants"


CHECK = CertificateCheck("C4", run)
