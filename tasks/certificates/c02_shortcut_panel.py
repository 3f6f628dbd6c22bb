"""No shortcut is full; refusing with the very code that is right must fail for its missing reads."""

from __future__ import annotations

from environments.agents import PANEL
from schemas.episode import ToolCall
from tasks.certificates._bench import Bench, CertificateCheck, Said

RANDOM_RUNS = 20


def run(bench: Bench) -> Said:
    full = []
    for name, factory in PANEL.items():
        runs = RANDOM_RUNS if name == "random" else 1
        played = [bench.run(factory(bench.seed + n), bench.seed + n) for n in range(runs)]
        bench.returns[name] = sum(p.grade.return_ for p in played) / runs
        if any(p.grade.full for p in played):
            full.append(name)
    for code in _refusals(bench):
        played_code = bench.vary(_resolved_at_once(bench, code))
        bench.returns["refuse_all"] = min(bench.returns.get("refuse_all", 0.0), played_code.grade.return_)
        if played_code.grade.full:
            full.append(f"refuse all ({code})")
    return (
        ("failed", f"full: {', '.join(full)}") if full else ("passed", f"{len(bench.returns)} shortcuts, random x{RANDOM_RUNS}")
    )


def _refusals(bench: Bench) -> list[str]:
    own = {c: about for c, about in bench.codes.items() if about.workflow == bench.task.workflow}
    return sorted(c for c, about in own.items() if about.outcome_class == "refuse")


def _resolved_at_once(bench: Bench, code: str) -> tuple[ToolCall, ...]:
    """The strongest refuser: it knows the record that the decision is about."""
    last = bench.calls[-1]
    arguments = {**last.arguments, "code": code}
    if "answer" in arguments:
        arguments["answer"] = {}
    return (ToolCall(tool=last.tool, arguments=arguments),)


CHECK = CertificateCheck("C2", run)
