"""Cases of a declared system: the recorded queries are the world, and the deciding one is the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from environments.asking import default_slot_words
from rewards.hinted import hinted
from rewards.listed import is_when
from rewards.yes_no import is_yes_no
from schemas.episode import RowRef, ToolCall
from schemas.task import Answer, Fact, RequesterSpec, SystemRef, TaskSpec
from tasks import declared
from tasks.case import Case, iso
from tasks.derive import FINISH
from tasks.explore import ASK
from tasks.labels import CONSTANT, DECISION
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
    screened = declared.screen_case(case, spec, apis)
    task_name = case.last.get(spec.select.options.get("task_field", "task"))
    workflow = task_name if isinstance(task_name, str) else None
    difficulty = difficulty_of(case)
    if isinstance(screened, str):
        return shard.drop(case, workflow, screened, difficulty=difficulty)
    found: declared.DeclaredCase = screened
    outcome = shard.clean.codebook.outcomes.get(found.code)
    if outcome is None or case.opening is None or case.requester is None:
        return shard.drop(case, found.workflow, "unknown_code" if outcome is None else "no_opening", difficulty=difficulty)
    inputs = {name for query in found.queries for name in apis[query.api].inputs}
    words = Vocabulary({slot: texts for slot, texts in shard.words.slots.items() if slot in inputs}, shard.words.known)
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
    refs = []
    for ref in systems_of(shard):
        if ref.plugin == DECLARED:
            digest = shard.put([apis[w.name].declaration() for w in spec.workflows if w.name in apis])
            refs.append(ref.model_copy(update={"config": {"declarations": f"content:{digest}", "system": ref.name}}))
        else:
            refs.append(ref)
    opened: set[str] = set()
    before = len(shard.fits)
    while True:
        del shard.fits[before:]  # of an attempt that something was wanting in
        task, built = _attempt(shard, case, found, requester, tuple(refs), texts, outcome.outcome_class)
        wanting = left_open(built, found, apis, case, requester.facts) - opened
        if not wanting:
            break
        opened |= wanting
        queries = declared.without(found.queries, opened)
        in_opening = declared.all_in(queries[-1].arguments, case.opening.text)
        found = replace(found, queries=queries, last=queries[-1], in_opening=in_opening)
    stands = found.in_opening or told_at_once(built.answer)
    trivial = is_trivial(spec.select.trivial, generated=False, told=False, stands=stands)
    decide_case(shard, case, task, built, trivial=trivial, difficulty=difficulty)


def _attempt(
    shard: Shard,
    case: Case,
    found: declared.DeclaredCase,
    requester: RequesterSpec,
    refs: tuple[SystemRef, ...],
    texts: Sequence[str],
    outcome_class: str,
) -> tuple[TaskSpec, Built]:
    """The task that these queries make, and its reference."""
    spec, apis, system = shard.spec, shard.work.apis, declared_system(shard.spec)
    assert system is not None
    assert case.opening is not None
    cut = started_us(case)
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
        systems=refs,
        state=(shard.put(state),),
        provenance=(shard.put(sources),),
        rules=rules_of(shard, found.workflow, ()),
        requester=requester,
        max_steps=spec.max_steps,
        weights=spec.reward,
        grades=("no_policy",),
    )
    built = _reference_of(shard, task, found, outcome_class, texts)
    return task, built


def left_open(
    built: Built, found: declared.DeclaredCase, apis: Mapping[str, declared.Api], case: Case, facts: Sequence[Fact]
) -> set[str]:
    """The argument for want of which there is no reference, where it says when, or yes or no, and nobody ever spoke of it: nobody
    decided it, so neither does the outcome (as fields that no one decided are not compared).

    Spoken of is what a fact tells, what was asked and answered in whatever words, what a turn of the requester may mean in words
    that fit several values, and of a yes or no what anybody has named. What is chosen (a doctor, a hotel) is never left open.
    """
    name, api = built.lacking, apis[found.last.api]
    listed = api.listed(name) if name in api.inputs else ()
    if built.reason != "underivable" or len(found.last.arguments) < 2 or not listed:
        return set()
    if not (is_yes_no(listed) or is_when(listed)) or any(name in fact.slots for fact in facts):
        return set()
    phrases = api.slots.get(name) or default_slot_words(name)
    turns = [turn.text for turn in case.turns if turn.by_requester or is_yes_no(listed)]
    return set() if any(hinted(text, listed, phrases) for text in turns) else {name}


def told_at_once(answer: Answer | None) -> bool:
    """True if every argument of the reference's queries and acts already stands in the opening."""
    calls = [step for step in answer.reference if step.call.tool not in (ASK, FINISH)] if answer is not None else []
    return bool(calls) and all(where in ("opening", DECISION, CONSTANT) for step in calls for where in step.derived_from.values())


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
    apis, system = shard.work.apis, declared_system(shard.spec)
    assert system is not None
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
        read_from=[RowRef(system=system, kind=found.last.api, record_id=found.last.record_id)],
    )


def _query_call(query: declared.Query, api: declared.Api, texts: Sequence[str], *, whole: bool = False) -> ToolCall:
    name = f"{api.name}_{'book' if query.request_type == 'Book' else 'check'}" if api.booking else api.name
    given = api.asked(query.arguments) if whole else api.compared(query.arguments)
    return ToolCall(tool=name, arguments=api.given(given, texts))
