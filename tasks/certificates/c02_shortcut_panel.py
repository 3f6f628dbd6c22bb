"""No shortcut is full; refusing with the very code that is right must fail for its missing reads, and trying through the values
of a list until a system answers must fail even where the first try is right."""

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
    guessed = _guessed(bench)
    if guessed:
        found = bench.play(guessed)
        bench.returns["search"] = found.grade.return_
        if found.grade.full:
            full.append("search")
    return (
        ("failed", f"full: {', '.join(full)}") if full else ("passed", f"{len(bench.returns)} shortcuts, random x{RANDOM_RUNS}")
    )


def _guessed(bench: Bench) -> tuple[ToolCall, ...]:
    """The luckiest search: the reference without the questions that bring a value which a `shown_before` rule judges. What any
    search finds in the end it makes at once. () where no question brings one."""
    judged = {name: {*r.parameters.get("listed", ()), *r.parameters.get("numbers", ())} for r in bench.task.rules
              if r.rule == "shown_before" for name in (r.parameters["tool"],)}  # fmt: skip
    steps, entries = bench.answer.reference, bench.whole().journal.entries
    needed = {source for step in steps for name, source in step.derived_from.items() if name in judged.get(step.call.tool, ())}
    brings = [
        bench.tools[step.call.tool].speaks and bool(needed & {f"step {at}", *(f"fact {fact}" for fact in entry.told)})
        for at, (step, entry) in enumerate(zip(steps, entries, strict=True))
    ]
    return tuple(step.call for step, dropped in zip(steps, brings, strict=True) if not dropped) if any(brings) else ()


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
