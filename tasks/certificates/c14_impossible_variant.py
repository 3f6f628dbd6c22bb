"""The impossible variant is not full: without a record that the outcome rests on, the reference path no longer solves the task.

What the outcome rests on: the record that the finish names, those that it changes or names in what it creates, and, for a typed
answer, the rows from which its values were read. Where an outcome names no record of the state (a booking made of what the
requester said), there is nothing to take away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from environments.seen import Seen
from schemas.episode import RowRef
from schemas.files import canonical_json
from tasks.certificates._bench import Bench, CertificateCheck, Said


def run(bench: Bench) -> Said:
    required = _required(bench)
    if not required:
        return "not_applicable", "the outcome names no record of the state"
    still = []
    for rows in required:
        if bench.play_without(bench.calls, rows).grade.full and not _blind(bench, rows):
            still.append("/".join(ref.record_id for ref in rows))
    if still:
        return "failed", f"full without {', '.join(still)}"
    return "passed", f"without each of {len(required)} records"


def _required(bench: Bench) -> list[list[RowRef]]:
    """What is taken away in each variant: one record, or all rows that tell the typed answer (a query may stand twice)."""
    outcome, state = bench.answer.outcome, bench.state
    named = {outcome.about} | {change.record_id for change in outcome.changes}
    named |= {value for change in outcome.changes for value in change.fields.values() if isinstance(value, str)}
    looked = {(r.system, r.kind, r.record_id): r for entry in bench.whole().journal.entries for r in entry.reads}
    found = {key: ref for key, ref in looked.items() if ref.record_id in named}
    for change in outcome.changes:
        if change.record_id is not None:
            ref = RowRef(system=change.system, kind=change.kind, record_id=change.record_id)
            found[change.system, change.kind, change.record_id] = ref
    variants = [[ref] for key, ref in sorted(found.items()) if key[2] in state.get(key[0], {}).get(key[1], {})]
    telling = [
        RowRef(system=system, kind=kind, record_id=record_id)
        for system, kind in sorted({(system, kind) for system, kind, _ in looked})
        for record_id, row in sorted(state.get(system, {}).get(kind, {}).items())
        if outcome.answer and _tells(bench, row)
    ]
    return [*variants, telling] if telling else variants


def _tells(bench: Bench, row: Mapping[str, Any]) -> bool:
    """True if a value of the typed answer stands in the row."""
    seen = Seen(canonical_json(row))
    return any(seen.holds(value) for value in bench.answer.outcome.answer.values())


def _blind(bench: Bench, missing: Sequence[RowRef]) -> bool:
    """True if only a blind replay is full: an agent that may use nothing but what it is shown cannot say the answer."""
    if not bench.answer.outcome.answer:
        return False
    seen = Seen(bench.episode.opening.text)
    bench.episode.reset(bench.task.task_id, bench.seed, missing=missing)
    for call in bench.calls[:-1]:
        if not bench.episode.done:
            seen.add(bench.episode.step(call).observation.text)
    return not seen.holds(bench.answer.outcome.answer)


CHECK = CertificateCheck("C14", run)
