"""An agent that may only use what it has been shown can make every call of the reference, and each argument was shown where
the reference says: in the opening, a fact, a clause or a step; what nothing shows is a decision or free words."""

from __future__ import annotations

from environments.agents import ReferenceAgent, UnseenValue
from tasks.certificates._bench import Bench, CertificateCheck, Said
from tasks.labels import shown_in


def run(bench: Bench) -> Said:
    try:
        played = bench.run(ReferenceAgent(bench.answer.reference), bench.seed)
    except UnseenValue as unseen:
        return "failed", f"{unseen.tool}.{unseen.argument} was never shown"
    if not played.grade.full:
        return "failed", "the bounded agent is not full"
    bench.episode.reset(bench.task.task_id, bench.seed)
    for step, found in zip(bench.answer.reference, shown_in(bench.episode, bench.calls), strict=True):
        for name, labels in found.items():
            where = step.derived_from.get(name)
            if where is not None and where not in labels:
                return "failed", f"{step.call.tool}.{name} is not shown by {where}, but by {', '.join(labels) or 'nothing'}"
    return "passed", f"{len(bench.calls)} calls"


CHECK = CertificateCheck("C9", run)
