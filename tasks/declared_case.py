"""Cases of a declared system: the recorded queries are the world, and the deciding one is the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas.episode import ToolCall
from schemas.task import TaskSpec
from tasks import declared
from tasks.case import Case, iso
from tasks.derive import FINISH
from tasks.prompt import opening_of, started_us
from tasks.replay import Built, build_reference, decide_case
from tasks.requester import Vocabulary, requester_of
from tasks.shard import (
    DECLARED,
    Shard,
    declared_system,
    difficulty_of,
    rules_of,
    systems_of,
)
from tasks.sources import opening_sources, requester_sources
from tasks.trivial import is_trivial


def declared_case(shard: Shard, case: Case) -> None:
    spec, apis = shard.spec, shard.work.apis
    found = declared.screen_case(case, spec, apis)
    task_name = case.last.get(spec.select.options.get("task_field", "task"))
    workflow = task_name if isinstance(task_name, str) else None
    difficulty = difficulty_of(case)
    if isinstance(found, str):
        return shard.drop(case, workflow, found, difficulty=difficulty)
    outcome = shard.clean.codebook.outcomes.get(found.code)
    if outcome is None or case.opening is None or case.requester is None:
        return shard.drop(case, found.workflow, "unknown_code" if outcome is None else "no_opening", difficulty=difficulty)
    cut = started_us(case)
    inputs = {name for query in found.queries for name in apis[query.api].inputs}
    words = Vocabulary({slot: said for slot, said in shard.words.slots.items() if slot in inputs}, shard.words.known)
    made = _made_us(case)
    requester = requester_of(
        case,
        words,
        spec.requester,
        values=declared.values_by_slot(found.queries, apis),
        listed=declared.lists_by_slot(found.queries, apis),
        decided_us=made.get(found.last.record_id),
        tried=lambda slot, value, before: declared.tried(found.queries, made, slot, value, before),
    )
    texts = [case.opening.text, *(f.answer for f in requester.facts)]
    system = declared_system(spec)
    assert system is not None
    refs = []
    for ref in systems_of(shard):
        if ref.plugin == DECLARED:
            digest = shard.put([apis[w.name].declaration() for w in spec.workflows if w.name in apis])
            refs.append(ref.model_copy(update={"config": {"declarations": f"content:{digest}", "system": ref.name}}))
        else:
            refs.append(ref)
    record_system, record_kind = shard.clean.record
    state = declared.state_of(system, found.queries, apis, texts)
    state.setdefault(record_system, {})[record_kind] = {case.record_id: {}}
    told = {**opening_sources(case, {}, {}), **requester_sources(case, requester)}
    sources: dict[str, Any] = {record_system: {record_kind: {case.record_id: told}}}
    for api, rows in state[system].items():
        sources.setdefault(system, {})[api] = {record_id: _sources_of(case, record_id) for record_id in rows}
    task = TaskSpec(
        task_id=case.record_id,
        taskset=spec.name,
        workflow=found.workflow,
        started_at=iso(cut),
        organisation=case.organisation or "",
        opening=opening_of(case, shard.clean.record, {}, {}, cut),
        systems=tuple(refs),
        state=(shard.put(state),),
        provenance=(shard.put(sources),),
        rules=rules_of(shard, found.workflow, ()),
        requester=requester,
        max_steps=spec.max_steps,
        weights=spec.reward,
        grades=("no_policy",),
    )
    built = _reference_of(shard, task, found, outcome.outcome_class, texts)
    trivial = is_trivial(spec.select.trivial, generated=False, told=False, stands=found.in_opening)
    decide_case(shard, case, task, built, trivial=trivial, difficulty=difficulty)


def _sources_of(case: Case, record_id: str) -> dict[str, str]:
    """The row of the query says what was asked, the row of its answer what the system gave back."""
    writes = [w for w in case.writes if w.record_id == record_id]
    asked = next((w.source for w in writes if declared.ITEM not in w.fields), writes[0].source)
    answered = next((w.source for w in writes if declared.ITEM in w.fields), asked)
    return {"record/id": asked, "request": asked, "request_type": asked, "item": answered}


def _made_us(case: Case) -> dict[str, int]:
    """Query -> the first instant at which it was recorded; those without a time are left out."""
    found: dict[str, int] = {}
    for write in case.writes:
        if write.at_us is not None:
            found[write.record_id] = min(write.at_us, found.get(write.record_id, write.at_us))
    return found


def _reference_of(shard: Shard, task: TaskSpec, found: declared.DeclaredCase, outcome_class: str, texts: Sequence[str]) -> Built:
    """The reference of a declared case: the deciding query (for a booking, the check before it too), then the answer that it
    gave."""
    apis = shard.work.apis
    calls = [(q, _query_call(q, apis[q.api], texts)) for q in found.queries]
    # What decides the case is asked as it was: an open condition in it ("less than 15") is a value that nothing shows.
    last = _query_call(found.last, apis[found.last.api], texts, whole=True)
    booking = found.last.request_type == "Book"
    workflow = next(w for w in shard.spec.workflows if w.name == found.workflow)
    item = found.last.item or {}
    answer = {} if booking else {n: item[n] for n in workflow.options.get("answer", ()) if item.get(n) is not None}
    finish = ToolCall(tool=FINISH, arguments={"code": found.code, **({"answer": answer} if answer else {})})
    return build_reference(
        shard,
        task,
        outcome_class,
        finish,
        queries=[call for _, call in calls],
        calls=[last] if booking else [],
        reads=[] if booking else [last],
        answer=answer,
    )


def _query_call(query: declared.Query, api: declared.Api, texts: Sequence[str], *, whole: bool = False) -> ToolCall:
    name = f"{api.name}_{'book' if query.request_type == 'Book' else 'check'}" if api.booking else api.name
    given = api.asked(query.arguments) if whole else api.compared(query.arguments)
    return ToolCall(tool=name, arguments=api.given(given, texts))
