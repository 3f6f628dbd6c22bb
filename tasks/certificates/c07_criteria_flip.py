"""No criterion is empty: each, and the check for collateral, is met by the reference and missed by some mutant."""

from __future__ import annotations

from tasks.certificates._bench import Bench, CertificateCheck, Said
from tasks.mutants import is_write, without


def run(bench: Bench) -> Said:
    for step, call in enumerate(bench.calls):
        if is_write(bench.tools[call.tool]):
            bench.mutant(without(bench.calls, step))
    met = bench.whole().comparison
    if not met.criteria or not met.right:
        return "failed", "the reference does not meet every criterion"
    dead = [name for name in met.criteria if all(p.comparison.criteria.get(name, False) for _, p in bench.mutants)]
    writes = any(is_write(tool) for tool in bench.tools.values())
    if writes and not any(p.comparison.collateral for _, p in bench.mutants):
        dead.append("collateral")
    if dead:
        return "failed", f"no mutant flips: {', '.join(dead)}"
    return "passed", f"{len(met.criteria)} criteria, {len(bench.mutants)} mutants"


CHECK = CertificateCheck("C7", run)
