"""The reference is full, three times, with the same bytes; none of its calls is refused."""

from __future__ import annotations

from schemas.files import canonical_json
from tasks.certificates._bench import Bench, CertificateCheck, Said

REPLAYS = 3


def run(bench: Bench) -> Said:
    first = bench.whole()
    if refused := [f"{e.call.tool} ({e.refusal.kind.value})" for e in first.journal.entries if e.refusal is not None]:
        return "failed", f"refused: {', '.join(refused)}"
    if len(first.journal.entries) != len(bench.calls):
        return "failed", f"the episode ended after {len(first.journal.entries)} of {len(bench.calls)} calls"
    if not first.grade.full:
        rules = sorted({v.rule for v in first.grade.violations})
        wrong = [name for name, met in first.comparison.criteria.items() if not met]
        return "failed", f"not full: breaks {rules}, wrong {wrong}, collateral {len(first.comparison.collateral)}"
    text = canonical_json([first.journal.model_dump(mode="json"), first.grade.model_dump(mode="json")])
    for _ in range(REPLAYS - 1):
        again = bench.play(bench.calls)
        if canonical_json([again.journal.model_dump(mode="json"), again.grade.model_dump(mode="json")]) != text:
            return "failed", "a replay gave other bytes"
    return "passed", f"{REPLAYS} replays of {len(bench.calls)} calls"


CHECK = CertificateCheck("C1", run)
