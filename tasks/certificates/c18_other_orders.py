"""Independent steps in another order, and messages in other words, are still full: work is asked for, not one script.

Two steps depend on one another where one names a value that the other was the first to show (`derived_from`), where a rule
demands one before the other, where both write, or where one asks for what the other has brought: what the requester answers
depends on what they have said. Other words are the training forms that ask for the same slots by name, and for nothing else that
this requester could tell, with the sentences that ask for what the requester does not know; a message that brings what was said
later before what was said first has no other form.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence

from environments.asking import clauses, phrases_of
from schemas.episode import ToolCall
from schemas.task import Fact
from tasks.certificates._bench import Bench, CertificateCheck, Said

ORDERS = 4
"""Other orders that are replayed, at most."""
WORDINGS = 2
"""Other wordings that are replayed, at most."""


def run(bench: Bench) -> Said:
    orders = other_orders(bench)
    for order in orders:
        if not bench.vary([bench.calls[at] for at in order]).grade.full:
            return "failed", f"not full in the order {' '.join(map(str, order))}"
    wordings = list(_wordings(bench))
    for number, calls in enumerate(wordings):
        if not bench.vary(calls).grade.full:
            return "failed", f"not full in other words ({number})"
    if not orders and not wordings:
        return "not_applicable", "no two steps are independent, and no message has another form"
    return "passed", f"{len(orders)} orders, {len(wordings)} wordings"


def other_orders(bench: Bench) -> list[tuple[int, ...]]:
    """Up to ORDERS orders of the reference's steps that keep every dependency, the recorded one left out."""
    before = _before(bench)
    count = len(before)
    recorded = tuple(range(count))
    found: dict[tuple[int, ...], None] = {}
    draw = random.Random(bench.task.task_id)
    for turn in range(3 * ORDERS):
        left, order = set(recorded), []
        while left:
            ready = sorted(at for at in left if not before[at] & left)
            chosen = ready[-1] if turn == 0 else draw.choice(ready)
            order.append(chosen)
            left.discard(chosen)
        if tuple(order) != recorded:
            found[tuple(order)] = None
        if len(found) == ORDERS:
            break
    return list(found)


def _before(bench: Bench) -> list[set[int]]:
    """For each step those that must come before it."""
    steps, entries = bench.answer.reference, bench.whole().journal.entries
    told_at: dict[str, int] = {}
    for at, entry in enumerate(entries):
        for fact in entry.told:
            told_at.setdefault(fact, at)
    facts = {fact.id: fact for fact in bench.task.requester.facts}
    told = [set(entry.told) for entry in entries]
    slots = [{slot for fact in ids if fact in facts for slot in facts[fact].values} for ids in told]
    alone = [_alone(bench, step.call) if ids else set[str]() for step, ids in zip(steps, told, strict=True)]
    before: list[set[int]] = []
    for at, step in enumerate(steps):
        needed = {i for i in range(at) if slots[i] & slots[at] or alone[i] & told[at] or alone[at] & told[i]}
        for source in step.derived_from.values():
            kind, _, name = source.partition(" ")
            if kind == "step" and name.isdigit():
                needed.add(int(name))
            elif kind == "fact" and name in told_at:
                needed.add(told_at[name])
            elif kind == "policy":
                needed |= {i for i in range(at) if bench.tools[steps[i].call.tool].system == "policies"}
        if not step.planned or bench.tools[step.call.tool].effect is not None:
            needed |= set(range(at))  # what people did stays in its order, after what the rules demand to be looked at first
        before.append({i for i in needed if i < at})
    return before


def _alone(bench: Bench, call: ToolCall) -> set[str]:
    """Facts that the message asks for where nothing was asked before; what is volunteered comes with any first answer."""
    bench.episode.reset(bench.task.task_id, bench.seed)
    bench.episode.step(call)
    return set(bench.episode.journal.entries[-1].told) - {f.id for f in bench.task.requester.facts if f.volunteered}


def _wordings(bench: Bench) -> Iterator[list[ToolCall]]:
    """The reference with each message replaced by training forms that ask for the slots which it asked for."""
    speak = bench.speaks
    entries = bench.whole().journal.entries
    facts = {fact.id: fact for fact in bench.task.requester.facts}
    for turn in range(WORDINGS):
        calls, changed = list(bench.calls), False
        for at, entry in enumerate(entries):
            asked = [facts[i] for i in entry.told if i in facts and not facts[i].volunteered]
            heard = {i for earlier in entries[: at + 1] for i in earlier.told}
            early = any(
                i not in heard and _changed(facts[i], fact) for fact in asked for i in list(facts)[: list(facts).index(fact.id)]
            )
            if entry.call.tool != speak or not asked or early:
                continue
            texts = [_form(bench, fact, turn, str(entry.call.arguments.get("text", ""))) for fact in asked]
            if all(texts):
                new = list(dict.fromkeys(t for t in texts if t))
                new += _kept(bench, str(entry.call.arguments.get("text", "")), " ".join(new))
                calls[at] = ToolCall(tool=entry.call.tool, arguments={"text": " ".join(new)})
                changed = True
        if changed:
            yield calls


def _changed(first: Fact, later: Fact) -> bool:
    """True if both give a value of one slot."""
    return bool(first.values.keys() & later.values.keys())


def _form(bench: Bench, fact: Fact, turn: int, said: str) -> str | None:
    """A training form for the first slot that has one other than what was said; of those that it named, if any."""
    asks = bench.forms.get("ask", {})
    words = {slot: words for ref in bench.task.systems for slot, words in ref.config.get("slots", {}).items()}
    known = {slot for other in bench.task.requester.facts for slot in other.slots}
    for slot in [slot for slot in fact.slots if slot in _named(said, known, words)] or fact.slots:
        fresh = [(text, _named(text, known, words)) for text in asks.get(slot, ()) if text not in said]
        others: Sequence[str] = [text for text, named in fresh if slot in named and named <= {*fact.slots}]
        if others:
            return others[turn % len(others)]
    return None


def _kept(bench: Bench, said: str, new: str) -> list[str]:
    """Sentences of a message that ask for something which its other words do not: who does not know was asked for it, too."""
    words = {slot: words for ref in bench.task.systems for slot, words in ref.config.get("slots", {}).items()}
    asked = _named(new, set(words), words)
    return [s for s in re.findall(r"[^.?!]+[.?!]*", said) if _named(s, set(words), words) - asked]


def _named(text: str, slots: set[str], words: Mapping[str, Sequence[str]]) -> set[str]:
    """Those of the slots that a message asks for by name."""
    asking = [clause.padded for clause in clauses(text) if clause.asks]
    return {slot for slot in slots if any(phrase in padded for padded in asking for phrase in phrases_of(slot, words))}


CHECK = CertificateCheck("C18", run)
