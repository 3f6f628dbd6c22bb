"""Leak checks: what the records excuse and what they do not, and what goes with a task in a whole set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from schemas.plugins import load_plugins
from schemas.task import TaskSpec
from tasks.leaks import Leak, LeakInput, run_check
from tasks.leaks._plant import with_content, with_field, with_task
from tasks.leaks._walk import must_instant
from tests.unit.tasks.leak_inputs import leak_input

LEAKS = load_plugins("tasks.leaks", "LEAK", Leak)
SMALL = leak_input(tasks=40)
CLEAN = leak_input(tasks=160)


def failed(check: str, data: LeakInput) -> list[str]:
    """Paths that fail."""
    findings = run_check(LEAKS[check], data)
    assert "could_not_run" not in {f.verdict for f in findings}
    return [f.path for f in findings if f.verdict == "failed"]


def day_after(days: int) -> str:
    return f"{must_instant(SMALL.tasks[0].started_at, 'cut') + timedelta(days=days):%Y-%m-%d}"


def told(answer: str, values: dict[str, str]) -> LeakInput:
    """The small set in which the first task's requester says this when asked."""
    requester = SMALL.tasks[0].requester
    fact = requester.facts[0].model_copy(update={"answer": answer, "values": values})
    return with_task(
        SMALL, 0, lambda task: task.model_copy(update={"requester": requester.model_copy(update={"facts": (fact,)})})
    )


def titled(subject: str) -> LeakInput:
    return with_task(
        SMALL, 0, lambda task: task.model_copy(update={"opening": task.opening.model_copy(update={"subject": subject})})
    )


def test_a_day_after_the_cut_in_the_subject_is_found_unless_it_is_planned_or_the_requester_named_it() -> None:
    dated = titled(f"Broken lamp ({day_after(20)})")
    assert failed("late_time", dated) == ["opening/subject"]
    assert failed("late_time", titled(f"A visit on {day_after(20)}")) == []
    turns = {SMALL.tasks[0].task_id: (f"We talked of {day_after(20)}, remember?",)}
    assert failed("late_time", replace(dated, requester_turns=turns)) == []


def test_a_day_after_the_close_in_an_answer_is_found_unless_the_requester_named_it() -> None:
    later = told(f"A letter of {day_after(300)} did.", {"letter": day_after(300)})
    assert failed("late_time", later) == ["requester/facts/answer", "requester/facts/values"]
    turns = {SMALL.tasks[0].task_id: (f"A letter of {day_after(300)} did.",)}
    assert failed("late_time", replace(later, requester_turns=turns)) == []
    open_till = {**SMALL.closed_at, SMALL.tasks[0].task_id: f"{day_after(400)}T00:00:00Z"}
    assert failed("late_time", replace(later, closed_at=open_till)) == []


def test_a_training_state_that_shows_a_held_out_case_crosses_the_hold_out() -> None:
    train = next(i for i, t in enumerate(SMALL.tasks) if not SMALL.held_out(t))
    held = next(t for t in SMALL.tasks if SMALL.held_out(t)).opening.record
    data, digest = with_content(SMALL, {held.system: {held.kind: {held.record_id: {"subject": "x"}}}})
    shown = with_task(data, train, lambda t: t.model_copy(update={"state": (*t.state, digest)}))
    assert failed("group_overlap", shown) == ["groups/case"]
    other = next(i for i, t in enumerate(SMALL.tasks) if SMALL.held_out(t))
    assert failed("group_overlap", with_task(data, other, lambda t: t.model_copy(update={"state": (*t.state, digest)}))) == []


def answered(*messages: str) -> LeakInput:
    """The small set in which agents wrote these messages, one a case, after the cut."""
    later = {**SMALL.later_messages}
    later.update({task.task_id: (text,) for task, text in zip(SMALL.tasks, messages, strict=False)})
    return replace(SMALL, later_messages=later)


STOCK = (
    "I have picked up your request. I need the order number first, please.",
    "I have picked up your request. Our reference is 17.",
    "Thank you for that. I need the order number before we go on.",
)


def test_stock_sentences_that_meet_are_nobodys_answer_and_a_sentence_of_its_own_is() -> None:
    data = answered(*STOCK)
    met = "Hello! I have picked up your request. I need the order number to look."
    assert failed("resolution_text", with_field(data, 0, "orders", "order", "status", met)) == []
    own = "Hello! I have picked up your request. I need the order number first, please."
    assert failed("resolution_text", with_field(data, 0, "orders", "order", "status", own)) == ["state/orders/order/status"]


def test_a_sentence_with_slips_of_the_pen_is_found_in_a_state() -> None:
    data = answered("Our depot weighed the sealed pallet beside the north stairwell and then wrote off the rest, quote 4711.")
    typed = "Our depot weihged the sealed pallte beside the nroth stairwell and tehn wrote off the rset, quote 4711."
    assert failed("resolution_text", with_field(data, 0, "orders", "order", "status", typed)) == ["state/orders/order/status"]
    other = "Our depot counted a pallet behind the stairs on the north side, and wrote a note to the rest of us."
    assert failed("resolution_text", with_field(data, 0, "orders", "order", "status", other)) == []


@pytest.mark.parametrize(("ruled", "conflict"), [(False, True), (True, False)])
def test_another_version_of_a_policy_explains_another_outcome_only_where_a_rule_is_another(ruled: bool, conflict: bool) -> None:
    code = {t.task_id: SMALL.answers[t.task_id].outcome.code for t in SMALL.tasks}
    first = next(t for t in SMALL.tasks if t.policies and t.rules)
    other = next(i for i, t in enumerate(SMALL.tasks) if t.workflow == first.workflow and code[t.task_id] != code[first.task_id])
    policy = SMALL.content(first.policies[0])
    named = {rule.clause for rule in first.rules}
    assert named & {clause["clause"] for clause in policy["clauses"]}
    changed = [{**c, "text": "Now it is 3 days."} if ruled and c["clause"] in named else c for c in policy["clauses"]]
    more = [*changed, {"clause": "9.9", "text": "Write a short note at the end."}]
    data, digest = with_content(SMALL, {**policy, "version": 9, "clauses": more})

    def twin(task: TaskSpec) -> TaskSpec:
        opening = task.opening.model_copy(update={"text": first.opening.text, "subject": first.opening.subject})
        return task.model_copy(
            update={"state": first.state, "policies": (digest, *first.policies[1:]), "rules": first.rules, "opening": opening}
        )

    assert bool(failed("conflicting_outcome", with_task(data, other, twin))) is conflict


def marked(mark: Callable[[TaskSpec, bool], TaskSpec]) -> LeakInput:
    """The clean set in which each task is changed as its outcome says."""
    tasks = tuple(mark(task, CLEAN.answers[task.task_id].outcome_class == "grant") for task in CLEAN.tasks)
    return replace(CLEAN, tasks=tasks)


def spoken(task: TaskSpec, yes: bool) -> TaskSpec:
    facts = tuple(f.model_copy(update={"answer": f"Alas, {f.answer}" if yes else f.answer}) for f in task.requester.facts)
    return task.model_copy(update={"requester": task.requester.model_copy(update={"facts": facts})})


def test_the_manner_in_which_values_are_told_may_not_go_with_the_outcome_and_an_answer_without_values_may() -> None:
    telling = failed("implied_outcome", marked(spoken))
    assert telling
    assert all(path.startswith("requester/facts/wording/") for path in telling)

    def content(task: TaskSpec, yes: bool) -> TaskSpec:
        facts = tuple(f.model_copy(update={"values": {}}) for f in spoken(task, yes).requester.facts)
        return task.model_copy(update={"requester": task.requester.model_copy(update={"facts": facts})})

    assert failed("implied_outcome", marked(content)) == []


def test_organisations_whose_cases_all_end_one_way_tell_the_outcome() -> None:
    def moved(task: TaskSpec, yes: bool) -> TaskSpec:
        return task.model_copy(update={"organisation": f"{'A' if yes else 'B'}{int(task.task_id[-4:], 16) % 9}"})

    assert any(path.startswith("metadata/who/") for path in failed("metadata_probe", marked(moved)))


def test_a_field_of_the_cases_own_row_is_not_excused_by_the_codes_of_other_rows() -> None:
    data: Any = CLEAN
    for number, task in enumerate(CLEAN.tasks):
        grant = CLEAN.answers[task.task_id].outcome_class == "grant"
        data = with_field(data, number, "orders", "order", "status", "shipped" if grant else "placed")
        data = with_field(data, number, "helpdesk", "ticket", "subject", None if grant else "words of their own")
    assert any(path.startswith("keys/") for path in failed("key_presence", data))


def test_agents_ask_alike_for_the_same_thing_and_a_whole_sentence_is_an_answer() -> None:
    others = [f"Can you send us the order number? It was shipped on day {n}." for n in range(3)]
    data = answered("I am looking into this. Can you send me the order number? We wrote it all off today.", *others)
    index, task = 0, data.tasks[0]
    record = task.opening.record

    def earlier(text: str) -> LeakInput:
        messages = [{"at": "2024-01-01T00:00:00Z", "from": "agent", "text": text}]
        part = {record.system: {record.kind: {"TICKET_0000000A": {"messages": messages}}}}
        changed, digest = with_content(data, part)
        return with_task(changed, index, lambda t: t.model_copy(update={"state": (*t.state, digest)}))

    assert failed("resolution_text", earlier("Could you send me the order number, please?")) == []
    assert failed("resolution_text", earlier("Hello. We wrote it all off today.")) == ["state/helpdesk/ticket/messages/*/text"]
    # One run of a sentence that nobody else says is evidence, here as elsewhere.
    data = answered("The parcel was left with the neighbour at number nine, and he signed for it himself.", *others)
    found = failed("resolution_text", earlier("It is said that it was left with the neighbour at number nine in May."))
    assert found == ["state/helpdesk/ticket/messages/*/text"]
