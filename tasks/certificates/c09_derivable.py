"""An agent that may only use what it has been shown can make every call of the reference."""

from __future__ import annotations

from environments.agents import ReferenceAgent, UnseenValue
from tasks.certificates._bench import Bench, CertificateCheck, Said


def run(bench: Bench) -> Said:
    try:
        played = bench.run(ReferenceAgent(bench.answer.reference), bench.seed)
    except UnseenValue as unseen:
        return "failed", f"{unseen.tool}.{unseen.argument} was never shown"
    if not played.grade.full:
        return "failed", "the bounded agent is not full"
    return "passed", f"{len(bench.calls)} calls"


CHECK = CertificateCheck("C9", run)
