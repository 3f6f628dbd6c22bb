"""The reference with one wrong amount, record, value or code fails."""

from __future__ import annotations

from tasks.certificates._bench import Bench, CertificateCheck, Said
from tasks.mutants import wrong_parameters


def run(bench: Bench) -> Said:
    state = bench.state
    tools, ids = bench.tools, bench.ids()
    tried, accepted = 0, []
    for mutant in wrong_parameters(bench.calls, tools, bench.task, bench.answer, ids, state, bench.codes):
        tried += 1
        played = bench.mutant(mutant)
        if played.grade.success and not (bench.answer.outcome.alternatives and not played.comparison.right):
            accepted.append(mutant.label)
    if accepted:
        return "failed", f"still a success: {', '.join(accepted)}"
    return ("passed", f"{tried} wrong parameters") if tried else ("failed", "the reference has no parameter to get wrong")


CHECK = CertificateCheck("C6", run)
