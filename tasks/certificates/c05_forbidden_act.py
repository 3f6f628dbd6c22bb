"""The reference plus one act that it does not hold fails, whichever write tool makes it."""

from __future__ import annotations

from tasks.certificates._bench import Bench, CertificateCheck, Said
from tasks.mutants import extra_acts, is_write


def run(bench: Bench) -> Said:
    tools = bench.tools
    tried, accepted = [], []
    for ways in extra_acts(bench.calls, tools, bench.answer, bench.ids()):
        for mutant in ways:
            played = bench.mutant(mutant)
            if len(played.journal.entries) > mutant.step and played.journal.entries[mutant.step].changes:
                tried.append(mutant.label)
                if played.grade.success:
                    accepted.append(mutant.label)
                break
    if accepted:
        return "failed", f"still a success: {', '.join(accepted)}"
    if not tried:
        writes = [name for name, tool in tools.items() if is_write(tool)]
        if writes:
            return "could_not_run", f"no system accepted one more act of {', '.join(writes)}"
        return "not_applicable", "the agent has no tool that writes"
    return "passed", f"{len(tried)} acts: {', '.join(tried)}"


CHECK = CertificateCheck("C5", run)
