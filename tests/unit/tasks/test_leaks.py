"""Leak checks: the formats in which a leak may hide, what is no leak, waivers, and what "could not run" means."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote_plus

import pytest

from schemas.errors import SpecError
from schemas.plugins import load_plugins, plugin_names
from schemas.task import SystemRef
from tasks.leaks import Leak, LeakInput, run_check, run_leaks
from tasks.leaks._plant import with_content, with_field, with_task, with_text
from tasks.leaks._times import times_in
from tasks.leaks._walk import must_instant
from tests.unit.tasks.leak_inputs import CANARY, leak_input, spec, token

LEAKS = load_plugins("tasks.leaks", "LEAK", Leak)
TODAY = "2026-01-01"
SMALL = leak_input(tasks=40)
CLEAN = leak_input(tasks=160)


def found(check: str, data: LeakInput) -> set[str]:
    return {finding.verdict for finding in run_check(LEAKS[check], data)}


def cut_of(data: LeakInput, index: int = 0) -> Any:
    return must_instant(data.tasks[index].started_at, "cut")


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("Oak shelf of eighty centimetres, solid, oiled (returned {day})", "failed"),
        ("Oak shelf of eighty centimetres, solid, oiled; checked in at the warehouse {day}", "failed"),
        ("Oak shelf of eighty centimetres, solid, oiled, to be delivered by {day}", "passed"),
        ("Oak shelf of eighty centimetres, solid, oiled (due {day})", "passed"),
    ],
)
def test_a_bare_day_after_the_cut_in_a_records_text_is_found_unless_it_is_planned(words: str, verdict: str) -> None:
    later = cut_of(SMALL) + timedelta(days=400)
    text = words.format(day=f"{later:%d.%m.%Y}")
    assert found("late_time", with_field(SMALL, 0, "orders", "order", "status", text)) == {verdict}


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%d %H:%M",
        "%d.%m.%Y %H:%M",
        "%d/%m/%Y at %I:%M %p",
        "%B %d, %Y %H:%M",
        "%d %b %Y, %H:%M",
        "%Y%m%dT%H%M%SZ",
        "%Y/%m/%d",
        "%G-W%V-%u",
        "%Y-%j",
        "%d.%m.%y %H:%M",
        "%d/%b/%Y:%H:%M:%S +0000",
        "%a, %d %b %Y %H:%M:%S +0000",
        "%s",
    ],
)
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_time_after_the_cut_is_found_in_any_format_at_any_depth(form: str, depth: int) -> None:
    later = cut_of(SMALL) + timedelta(days=3)
    value: Any = str(int(later.timestamp())) if form == "%s" else later.strftime(form)
    for _ in range(depth):
        value = {"log": [value]}
    assert found("late_time", with_field(SMALL, 0, "orders", "order", "status", value)) == {"failed"}


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("erledigt am 4. September 2025", "2025-09-04"),
        ("le 4 septembre 2025 à 14h30", "2025-09-04"),
        ("el 4 de septiembre de 2025", "2025-09-04"),
        ("04-SEP-25 09:00", "2025-09-04"),
        ("01990d8e-6c00-7a4c-8f00-0123456789ab", "2025-09-03"),
    ],
)
def test_times_are_read_in_several_languages_and_out_of_ids(text: str, day: str) -> None:
    assert [f"{time.readings[0]:%Y-%m-%d}" for time in times_in(text)] == [day]


def test_serial_days_and_ticks_are_times_only_where_the_code_book_says_so() -> None:
    later = cut_of(SMALL) + timedelta(days=3)
    serial = (later - datetime(1899, 12, 30, tzinfo=UTC)) / timedelta(days=1)
    ticks = (later - datetime(1, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 10
    for value in (serial, ticks):
        assert found("late_time", with_field(SMALL, 0, "orders", "order", "placed_at", value)) == {"failed"}
        assert found("late_time", with_field(SMALL, 0, "orders", "order", "total_minor", value)) == {"passed"}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: base64.b64encode(text.encode()).decode(),
        quote_plus,
        lambda text: json.dumps({"log": [json.dumps({"note": text})]}),
        lambda text: f"<p>{text.replace(':', '&#58;')}</p>",
    ],
)
def test_a_stamp_is_found_inside_what_wraps_it(wrap: Callable[[str], str]) -> None:
    later = cut_of(SMALL) + timedelta(days=3)
    wrapped = wrap(f"resolved {later:%Y-%m-%d %H:%M:%S}")
    assert found("late_time", with_text(SMALL, 0, lambda text: f"{text} {wrapped}")) == {"failed"}
    assert found("late_time", with_field(SMALL, 0, "orders", "order", "status", wrapped)) == {"failed"}


@pytest.mark.parametrize("unit", [1, 1000])
def test_a_unix_time_after_the_cut_is_found_as_a_number(unit: int) -> None:
    later = int((cut_of(SMALL) + timedelta(days=3)).timestamp()) * unit
    assert found("late_time", with_field(SMALL, 0, "orders", "order", "status", {"at": later})) == {"failed"}


def test_a_stamp_of_the_handling_in_a_text_is_found_and_a_plan_of_the_requester_is_not() -> None:
    later = cut_of(SMALL) + timedelta(days=3)
    stamped = with_text(SMALL, 0, lambda text: f"{text} -- Resolved on {later:%d/%m/%Y}")
    planned = with_text(SMALL, 0, lambda text: f"{text} I am away from {later:%d %B %Y} for a week.")
    assert found("late_time", stamped) == {"failed"}
    assert found("late_time", planned) == {"passed"}


def test_planned_fields_and_recorded_answers_of_declared_systems_may_lie_ahead() -> None:
    later = (cut_of(SMALL) + timedelta(days=9)).isoformat()
    assert found("late_time", with_field(SMALL, 0, "orders", "order", "promised_at", later)) == {"passed"}
    query = {"orders": {"flight": {"q1": {"request": {"id": "4"}, "request_type": "Check", "item": {"departs": later}}}}}
    declared, digest = with_content(SMALL, query)
    declared = with_task(declared, 0, lambda task: task.model_copy(update={"state": (*task.state, digest)}))
    system = SystemRef(name="orders", plugin="declared", config={"declarations": "content:x"})
    undeclared = declared
    declared = with_task(declared, 0, lambda task: task.model_copy(update={"systems": (system,)}))
    assert found("late_time", undeclared) == {"failed"}
    assert found("late_time", declared) == {"passed"}
    assert found("unknown_field", declared) == {"passed"}


def test_times_are_read_at_the_reading_nearest_to_the_cut() -> None:
    cut = must_instant("2025-05-01T00:00:00Z", "cut")
    april = next(iter(times_in("04/09/2025 10:00")))
    assert not april.after(cut)
    assert april.after(must_instant("2025-09-02T00:00:00Z", "cut"))
    assert not list(times_in("order 20250, call 0151-2025, 1.99 EUR, 12345678"))


def test_a_nested_key_that_only_the_handling_decides_is_an_outcome_field() -> None:
    assert found("outcome_field", with_field(SMALL, 0, "orders", "order", "status", {"x": {"resolution_code": 1}})) == {"failed"}
    assert found("outcome_field", with_field(SMALL, 0, "helpdesk", "ticket", "internal_score", 3)) == {"failed"}


def test_resolution_text_in_the_state_is_found_and_house_style_is_not() -> None:
    message = SMALL.later_messages[SMALL.tasks[0].task_id][0]
    own = " ".join(message.split()[9:21])
    assert found("resolution_text", with_field(SMALL, 0, "orders", "order", "status", own)) == {"failed"}
    greeting = "Hello, thank you for getting in touch with our team."
    assert found("resolution_text", with_field(SMALL, 0, "orders", "order", "status", greeting)) == {"passed"}
    assert found("resolution_text", with_text(SMALL, 0, lambda text: f"{text} {greeting}")) == {"passed"}


def test_a_sentence_of_the_answer_is_found_with_typing_errors_and_scattered_over_a_record() -> None:
    message = "Our dispatch will send a replacement hinge to your workshop before Friday."
    data = replace(SMALL, later_messages={**SMALL.later_messages, SMALL.tasks[0].task_id: (message,)})
    assert found("resolution_text", data) == {"passed"}
    typed = "our dispach will send a replacment hinge to your workshp before fridy"
    assert found("resolution_text", with_text(data, 0, lambda text: f"{text} {typed}")) == {"failed"}
    pieces = {"a": "hinge workshop friday", "b": ["dispatch send", "replacement before will your"]}
    assert found("resolution_text", with_field(data, 0, "orders", "order", "status", pieces)) == {"failed"}


@pytest.mark.parametrize("quote", ["Last comment in request #5:\n\n{}", "> {}", "On 3 May Anna wrote:\n{}"])
def test_what_an_agent_quotes_of_the_request_is_no_resolution_text(quote: str) -> None:
    task = SMALL.tasks[0]
    later = {**SMALL.later_messages, task.task_id: (quote.format(task.opening.text),)}
    assert found("resolution_text", replace(SMALL, later_messages=later)) == {"passed"}
    said = {**SMALL.later_messages, task.task_id: (task.opening.text,)}
    assert found("resolution_text", replace(SMALL, later_messages=said)) == {"failed"}


def test_a_role_of_a_late_identity_is_late_too_and_the_requesters_answers_may_hold_new_ids() -> None:
    name = token("PERSON", "new")
    late = replace(SMALL, first_seen={**SMALL.first_seen, name: "2026-01-01T00:00:00Z"})
    assert found("late_identifier", with_text(late, 0, lambda text: f"{text} Ask {name}_FIRST.")) == {"failed"}

    def told(task: Any) -> Any:
        fact = task.requester.facts[0].model_copy(update={"answer": f"It is {name}.", "values": {"name": name}})
        return task.model_copy(update={"requester": task.requester.model_copy(update={"facts": (fact,)})})

    while_open = (cut_of(SMALL) + timedelta(days=1)).isoformat()
    new = replace(SMALL, first_seen={**SMALL.first_seen, name: while_open})
    assert found("late_identifier", with_task(new, 0, told)) == {"passed"}
    assert found("late_identifier", with_task(late, 0, told)) == {"failed"}  # after the case was closed nobody could tell it


def test_an_outcome_code_is_found_in_text_and_state_in_any_case_and_ordinary_words_are_not() -> None:
    code = SMALL.answers[SMALL.tasks[0].task_id].outcome.code
    assert found("outcome_literal", with_text(SMALL, 0, lambda text: f"{text} ({code.upper()})")) == {"failed"}
    assert found("outcome_literal", with_field(SMALL, 0, "orders", "order", "status", {"tags": [code]})) == {"failed"}
    label = SMALL.code_book.outcomes[code].label
    assert found("outcome_literal", with_text(SMALL, 0, lambda text: f"{text} {label.lower()}")) == {"failed"}
    assert found("outcome_literal", with_text(SMALL, 0, lambda text: f"{text} refund please, granted or refused")) == {"passed"}


def test_an_identical_or_edited_request_across_the_hold_out_is_a_near_duplicate_and_short_ones_are_exempt() -> None:
    train = next(t for t in SMALL.tasks if t.slice == "train")
    held = next(i for i, t in enumerate(SMALL.tasks) if t.slice != "train")
    copied = with_text(SMALL, held, lambda _: train.opening.text)
    assert found("near_duplicate", copied) == {"failed"}
    short = [i for i, t in enumerate(SMALL.tasks) if i == held or t.task_id == train.task_id]
    same = SMALL
    for index in short:
        same = with_text(same, index, lambda _: "Where is it?")
    same = replace(same, tasks=tuple(t.model_copy(update={"opening": t.opening.model_copy(update={"subject": "order"})})
                                     if i in short else t for i, t in enumerate(same.tasks)))  # fmt: skip
    assert found("near_duplicate", same) == {"passed"}


def test_a_waived_group_that_crosses_is_shown_with_its_reason() -> None:
    users = {task.task_id: "USER_1" for task in SMALL.tasks}
    crossing = replace(SMALL, groups={"requester": users})
    assert found("group_overlap", crossing) == {"failed"}
    waived = run_check(LEAKS["group_overlap"], replace(crossing, waived_groups={"requester": "workers play many parts"}))
    assert [(f.verdict, f.waiver) for f in waived] == [("waived", "workers play many parts")]


def test_the_canary_is_missed_where_it_lacks() -> None:
    without = {name: text.replace(CANARY, "") if name == "heldout/answers.jsonl" else text for name, text in SMALL.files.items()}
    findings = run_check(LEAKS["canary"], replace(SMALL, files=without))
    assert [(f.verdict, f.path) for f in findings] == [("failed", "heldout/answers.jsonl")]
    assert found("canary", replace(SMALL, canary="")) == {"not_applicable"}


def test_a_case_still_open_at_the_boundary_or_inside_the_embargo_overlaps() -> None:
    assert found("time_overlap", replace(SMALL, embargo_s=dict.fromkeys(SMALL.embargo_s, 400 * 86400.0))) == {"failed"}
    assert found("time_overlap", replace(SMALL, boundary=None)) == {"could_not_run"}
    assert found("time_overlap", replace(SMALL, closed_at={})) == {"failed"}


def test_a_tool_that_lists_the_right_code_alone_gives_it_away() -> None:
    code = SMALL.answers[SMALL.tasks[0].task_id].outcome.code
    alone = SystemRef(name="helpdesk", plugin="helpdesk", config={"codes": [code]})
    assert found("grader_constants", with_task(SMALL, 0, lambda t: t.model_copy(update={"systems": (alone,)}))) == {"failed"}
    written = replace(SMALL, files={**SMALL.files, "train/tasks.jsonl": '{"task_id":"t","g_max":0.9}\n'})
    assert found("grader_constants", written) == {"failed"}


def test_a_requester_that_volunteers_an_answer_to_a_question_tells_early() -> None:
    def eager(task: Any) -> Any:
        fact = task.requester.facts[0].model_copy(update={"volunteered": True})
        return task.model_copy(update={"requester": task.requester.model_copy(update={"facts": (fact,)})})

    assert found("requester_knows", with_task(SMALL, 0, eager)) == {"failed"}


# --- running them all ----------------------------------------------------------------------------------------------------------


def test_every_check_says_something_and_a_clean_set_is_clean() -> None:
    findings = run_leaks(leak_input(2, tasks=200), spec(), today=TODAY)
    assert list(dict.fromkeys(f.check for f in findings)) == plugin_names("tasks.leaks")
    assert {f.verdict for f in findings if f.check != "late_git_object"} == {"passed"}
    assert [f.verdict for f in findings if f.check == "late_git_object"] == ["not_applicable"]


WAIVER = {
    "check": "late_time",
    "path": "state/orders/*",
    "reason": "known at the start",
    "signed_by": "A. Signer",
    "expires": "2026-06-30",
}


@pytest.mark.parametrize(
    ("change", "verdict"),
    [({}, "waived"), ({"expires": "2025-12-31"}, "failed"), ({"path": "opening/*"}, "failed"), ({"check": "canary"}, "failed")],
)
def test_a_signed_waiver_covers_its_check_and_path_until_it_expires(change: dict[str, str], verdict: str) -> None:
    later = (cut_of(SMALL) + timedelta(days=3)).isoformat()
    data = with_field(SMALL, 0, "orders", "order", "status", later)
    signed = spec(waivers=[{**WAIVER, **change}])
    findings = run_leaks(data, signed, only=("late_time",), today=TODAY)
    assert [f.verdict for f in findings] == [verdict]
    if verdict == "waived":
        assert "A. Signer" in findings[0].waiver


def test_a_waiver_never_covers_a_check_that_could_not_run() -> None:
    signed = spec(waivers=[{**WAIVER, "path": "*"}])
    bad = with_task(SMALL, 0, lambda task: task.model_copy(update={"started_at": "soon"}))
    assert [f.verdict for f in run_leaks(bad, signed, only=("late_time",), today=TODAY)] == ["could_not_run"]


def test_a_waiver_or_a_selection_of_an_unknown_check_is_a_spec_error() -> None:
    with pytest.raises(SpecError, match="late_times"):
        run_leaks(SMALL, spec(waivers=[{**WAIVER, "check": "late_times"}]), today=TODAY)
    with pytest.raises(SpecError, match="nope"):
        run_leaks(SMALL, spec(), only=("nope",), today=TODAY)


@pytest.mark.parametrize("only", [("outcome_literal", "late_time"), ("near_duplicate",), ("implied_outcome", "metadata_probe")])
def test_findings_do_not_depend_on_the_order_of_what_is_shown(only: tuple[str, ...]) -> None:
    data = leak_input(3, tasks=80)
    planted: Callable[[LeakInput], LeakInput] = LEAKS[only[0]].planted
    once = run_leaks(planted(data), spec(), only=only, today=TODAY)
    assert once == run_leaks(planted(data), spec(), only=only, today=TODAY)


def told(answer: str, **more: Any) -> LeakInput:
    """The small set in which the first task's requester says this when asked."""
    requester = SMALL.tasks[0].requester
    fact = requester.facts[0].model_copy(update={"answer": answer})
    return with_task(
        replace(SMALL, **more),
        0,
        lambda task: task.model_copy(update={"requester": requester.model_copy(update={"facts": (fact, *requester.facts[1:])})}),
    )


def test_what_only_an_agent_wrote_the_requester_cannot_tell_and_what_both_wrote_the_requester_may() -> None:
    task = SMALL.tasks[0]
    line = SMALL.later_messages[task.task_id][0].split(". ")[1]
    code = SMALL.answers[task.task_id].outcome.code
    book = SMALL.code_book.model_copy(
        update={"outcomes": {code: SMALL.code_book.outcomes[code].model_copy(update={"label": "x"})}}
    )
    for said in (f"Thanks, {line.lower()}, good.", f"So the {code.replace('_', ' ')} then."):
        assert found("requester_knows", told(said, code_book=book)) == {"failed"}
        turns = {task.task_id: (task.opening.text, said)}
        assert found("requester_knows", told(said, code_book=book, requester_turns=turns)) == {"passed"}


def test_an_answer_that_stands_whole_in_the_opening_is_early_unless_the_requester_wrote_it_twice() -> None:
    task = SMALL.tasks[0]
    answer = task.requester.facts[0].answer
    early = with_text(SMALL, 0, lambda text: f"{text} {answer.upper()}")
    assert found("requester_knows", early) == {"failed"}
    turns = (early.tasks[0].opening.text, answer)
    assert found("requester_knows", replace(early, requester_turns={task.task_id: turns})) == {"passed"}
    assert found("requester_knows", replace(early, requester_turns={task.task_id: turns[1:]})) == {"failed"}


def test_the_class_of_the_outcome_tells_on_the_record_decided_about_and_not_in_a_table_looked_up() -> None:
    task = SMALL.tasks[0]
    kind = SMALL.answers[task.task_id].outcome_class
    assert found("outcome_literal", with_field(SMALL, 0, "orders", "order", "status", kind)) == {"failed"}
    assert found("outcome_literal", with_field(SMALL, 0, "accounts", "account", "way", kind)) == {"passed"}


def test_a_sentence_of_the_answer_is_found_in_a_quotation_and_in_what_configures_a_tool_and_is_free_to_who_wrote_it() -> None:
    task = SMALL.tasks[0]
    message = SMALL.later_messages[task.task_id][0]
    line = message.split(". ")[1]
    quoted = "\n".join(f"> {part}" for part in message.split(". "))
    assert found("resolution_text", with_text(SMALL, 0, lambda text: f"{text}\n\n{quoted}")) == {"failed"}
    wrong = " ".join(word[1::-1] + word[2:] if n % 4 == 0 else word for n, word in enumerate(line.split()[:9]))
    brief = replace(SMALL, later_messages={**SMALL.later_messages, task.task_id: (" ".join(line.split()[:9]),)})
    slips = with_text(brief, 0, lambda text: f"{text} {wrong}")
    assert found("resolution_text", slips) == {"failed"}
    said = {task.task_id: (slips.tasks[0].opening.text,)}
    assert found("resolution_text", replace(slips, requester_turns=said)) == {"passed"}
    tool = SystemRef(name="desk", plugin="helpdesk", config={"tools": [{"description": f"For example: {line}"}]})
    described = with_task(SMALL, 0, lambda one: one.model_copy(update={"systems": (*one.systems, tool)}))
    assert found("resolution_text", described) == {"failed"}


def test_the_same_request_on_the_same_state_with_another_outcome_conflicts_however_it_is_punctuated() -> None:
    first = SMALL.tasks[0]
    other = next(
        i for i, t in enumerate(SMALL.tasks) if t.workflow == first.workflow and code_of(t.task_id) != code_of(first.task_id)
    )
    text, subject = first.opening.text.upper().replace(". ", " !  "), first.opening.subject
    twin = with_task(
        SMALL,
        other,
        lambda task: task.model_copy(
            update={
                "state": first.state,
                "policies": first.policies,
                "opening": task.opening.model_copy(update={"text": text, "subject": subject}),
            }
        ),
    )
    assert found("conflicting_outcome", twin) == {"failed"}
    assert found("conflicting_outcome", with_task(twin, other, lambda t: t.model_copy(update={"policies": ()}))) == {"passed"}


def code_of(task_id: str) -> str:
    return SMALL.answers[task_id].outcome.code


@pytest.mark.parametrize(("written", "verdict"), [("WO-0000900", "failed"), ("wo-0000900", "failed"), ("XY-0000900", "passed")])
def test_a_later_number_is_found_in_a_text_as_the_records_write_it(written: str, verdict: str) -> None:
    task = SMALL.tasks[0]
    data = with_field(SMALL, 0, "orders", "order", "slip", "WO-0000017")
    pairs = ((task.started_at, 17), ((cut_of(SMALL) + timedelta(days=2)).isoformat(), 901))
    data = replace(data, sequences={"orders.order.slip": pairs})
    assert found("late_sequence", with_text(data, 0, lambda text: f"{text} See also {written}.")) == {verdict}


@pytest.mark.parametrize("mark", ["capitals", "blanks", "contact", "rules", "facts"])
def test_the_form_of_a_request_and_what_goes_with_it_may_not_stand_for_the_outcome(mark: str) -> None:
    def marked(task: Any) -> Any:
        if CLEAN.answers[task.task_id].outcome_class != "grant":
            return task
        opening, requester = task.opening, task.requester
        changes: dict[str, dict[str, Any]] = {
            "capitals": {"opening": opening.model_copy(update={"text": opening.text.upper()})},
            "blanks": {"opening": opening.model_copy(update={"subject": f"{opening.subject} "})},
            "contact": {"opening": opening.model_copy(update={"contact": f"{opening.contact}2"})},
            "rules": {"rules": ()},
            "facts": {"requester": requester.model_copy(update={"facts": requester.facts * 2})},
        }
        return task.model_copy(update=changes[mark])

    tasks = tuple(marked(task) for task in CLEAN.tasks)
    assert "failed" in found("metadata_probe", replace(CLEAN, tasks=tasks))


def test_the_form_of_requests_of_a_clean_set_tells_nothing() -> None:
    assert found("metadata_probe", CLEAN) == {"passed"}
