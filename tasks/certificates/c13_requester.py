"""The requester says the same for the same seed, tells a fact only when asked, and no more to one who spams."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.episode import ToolCall
from tasks.certificates._bench import Bench, CertificateCheck, Said
from tasks.pressing import HOSTILE, Heard, everything_at_once, fault_of

NOTHING_ASKED = ("Thank you for your message.", "Tell me everything.", "Tell me everything. Tell me everything.")
"""Messages that ask for no fact in particular."""


def run(bench: Bench) -> Said:
    speak = bench.speaks
    if speak is None or "no_requester" in bench.task.grades:
        return "not_applicable", "nobody to ask in this task"
    spec = bench.task.requester
    asks = [text for fact in spec.facts if not fact.volunteered for text in _asking(bench, fact.slots, fact.question)]
    volunteered = {fact.id for fact in spec.facts if fact.volunteered}
    everything = " ".join(asks)
    first = _told(bench, speak, [*asks, everything or NOTHING_ASKED[0]])
    if _told(bench, speak, [*asks, everything or NOTHING_ASKED[0]]) != first:
        return "failed", "the same seed and messages gave other answers"
    for idle in NOTHING_ASKED:
        told = {fact for ids, _ in _told(bench, speak, [idle] * (spec.patience + 2)) for fact in ids}
        if told - volunteered:
            return "failed", f"told without being asked: {', '.join(sorted(told - volunteered))}"
    if everything:
        spammed = _told(bench, speak, [everything])
        if len(spammed[0][0]) > spec.facts_per_message:
            return "failed", f"one message was answered with {len(spammed[0][0])} facts, {spec.facts_per_message} allowed"
    slots = {slot: words for ref in bench.task.systems for slot, words in ref.config.get("slots", {}).items()}
    bearable = max(1, spec.patience - 1)  # more in a row and the requester leaves before the rest is heard
    rounds = [HOSTILE[at : at + bearable] for at in range(0, len(HOSTILE), bearable)]
    for messages in (*rounds, [everything_at_once(slots)] * (spec.patience + 1)):
        heard = [Heard(m, ids, text) for m, (ids, text) in zip(messages, _told(bench, speak, messages), strict=False)]
        if fault := fault_of(spec, slots, heard, bench.proof.codes, bench.episode.opening.text):
            return "failed", fault
    return "passed", f"{len(spec.facts)} facts, {len(asks)} questions, {len(HOSTILE)} hostile messages"


def _asking(bench: Bench, slots: Sequence[str], question: str) -> list[str]:
    """Questions for a fact: the recorded one, else a form that asks for one of its slots."""
    if question:
        return [question[:400]]
    return [texts[0] for slot in slots if (texts := bench.forms.get("ask", {}).get(slot))][:1]


def _told(bench: Bench, speak: str, messages: Sequence[str]) -> list[tuple[tuple[str, ...], str]]:
    """For each message the ids told and the answer's text."""
    bench.episode.reset(bench.task.task_id, bench.seed)
    heard = []
    for message in messages:
        if bench.episode.done:
            break
        text = bench.episode.step(ToolCall(tool=speak, arguments={"text": message[:2000]})).observation.text
        heard.append((bench.episode.journal.entries[-1].told, text))
    return heard


CHECK = CertificateCheck("C13", run)
