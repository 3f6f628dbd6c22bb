"""No criterion is empty: each, and the check for collateral, is met by the reference and missed by some mutant; each rule in
force still tells the passing trace of its file from the violating one; and the grader measures true on a fixed set of journals.
"""

from __future__ import annotations

from rewards.rule import Rule, RuleTrace
from rewards.view import JournalView
from schemas.plugins import load_plugin
from tasks.certificates import _yardstick
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
    kinds = sorted({rule.rule for rule in bench.task.rules})
    rules = [load_plugin("rewards.rules", kind, "RULE", Rule) for kind in kinds]
    if blunt := [rule.name for rule in rules if _broken(bench, rule, rule.passing) or not _broken(bench, rule, rule.violating)]:
        return "failed", f"does not tell its own traces apart: {', '.join(blunt)}"
    wrong, digest = _yardstick.measured()
    bench.grades.update(digest.encode())
    if wrong:
        return (
            "failed",
            f"the grader measures false: {'; '.join(wrong[:3])}{f' and {len(wrong) - 3} more' if len(wrong) > 3 else ''}",
        )
    return "passed", f"{len(met.criteria)} criteria, {len(bench.mutants)} mutants, {len(rules)} kinds of rule"


def _broken(bench: Bench, rule: Rule, trace: RuleTrace) -> int:
    """Violations of the trace; they count as grades given."""
    parameters = rule.parameters.model_validate(trace.parameters)
    view = JournalView(trace.base, trace.started_at)
    found = []
    for entry in trace.entries:
        step = view.append(entry)
        if entry.ok and entry.call.tool == parameters.tool:
            found += rule.check(parameters, view, step)
    bench.grades.update(repr([(v.rule, v.step, [r.record_id for r in v.evidence]) for v in found]).encode())
    return len(found)


CHECK = CertificateCheck("C7", run)
