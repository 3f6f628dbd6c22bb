"""Leak checks: names under which a grader's answers could be found, however spelled and wrapped, in what configures a tool."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from schemas.records import FieldRule
from schemas.task import SystemRef, Trajectory
from tasks.leaks import LeakInput, run_check
from tasks.leaks._grader_keys import HINTS, KEYS, may_name
from tasks.leaks._plant import with_content, with_field, with_task, with_text
from tasks.leaks.grader_constants import LEAK
from tests.unit.tasks.leak_inputs import leak_input

SMALL = leak_input(tasks=40)
NAMES = (
    *("expectedOutcome", "expected_outcome", "ExpectedAnswer", "goldAnswer", "gold-label", "correctAction", "groundTruth"),
    *("answerKey", "trueOutcome", "referenceTrajectory", "outcomeCode", "gMax", "requiredBy"),
)


def failed(data: LeakInput) -> list[str]:
    findings = run_check(LEAK, data)
    assert "could_not_run" not in {f.verdict for f in findings}
    return [f.path for f in findings if f.verdict == "failed"]


def configured(config: dict[str, Any], data: LeakInput = SMALL) -> LeakInput:
    tool = SystemRef(name="desk", plugin="helpdesk", config=config)
    return with_task(data, 0, lambda task: task.model_copy(update={"systems": (*task.systems, tool)}))


@pytest.mark.parametrize("name", NAMES)
def test_a_key_of_the_graders_is_found_in_a_tools_configuration_however_spelled_and_wrapped(name: str) -> None:
    text = json.dumps({"about": {name: "x"}})
    place = [f"systems/desk/config/{name}"]
    configs: tuple[dict[str, Any], ...] = (
        {name: "x"},
        {"tools": [{"meta": {name: {}}}]},
        {"description": text},
        {"description": f"Closes a case. {text} Ask first."},
        {"description": json.dumps(json.dumps({"inner": text}))},
        {"description": text[:-4]},
        {"description": str({"about": {name: "x"}})},
        {"tools": [{"default": json.dumps([{name: None}])}]},
    )
    for config in configs:
        assert failed(configured(config)) == place, config


@pytest.mark.parametrize("name", ["expected_\u043eutcome", "ground_tr\u03c5th", "\uff47\uff4f\uff4c\uff44Answer"])
def test_letters_that_look_like_ours_do_not_hide_a_key_of_the_graders(name: str) -> None:
    text = json.dumps({name: 3}, ensure_ascii=False)
    for config in (
        {name: 3},
        {"tools": [{name: {}}]},
        {"description": text},
        {"description": f"Closes a case. {text} Ask first."},
    ):
        assert failed(configured(config)), config
    assert failed(configured({"\u043eutlet": 3, "description": '{"\u043eutlet": 3}'})) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_key_of_the_graders_is_found_in_what_a_configuration_names_in_a_state_and_in_a_list(name: str) -> None:
    text = json.dumps({name: "x"})
    data, digest = with_content(SMALL, {"tools": [{"description": text}]})
    assert failed(configured({"declarations": f"content:{digest}"}, data)) == [f"content/{name}"]
    assert failed(with_field(SMALL, 0, "orders", "order", "note", text)) == [f"content/{name}"]


@pytest.mark.parametrize(
    "config",
    [
        {
            "expected_delivery": "x",
            "correct_address": "x",
            "gold": True,
            "golden_hour": 1,
            "reference": "x",
            "reference_code": "x",
        },
        {"description": json.dumps({"expected_result": "x", "expected_resolution": "x", "target_date": "x", "true": 1})},
        {"description": "The expected outcome is a refund: say so. Gold answer, correct code; {not json}, 'ideal'"},
        {"description": "{'label': 'Expected outcome', 'type': 'text'}", "x": json.dumps({"type": "expectedOutcome"})},
    ],
)
def test_words_that_a_desk_uses_itself_are_no_keys_of_the_graders(config: dict[str, Any]) -> None:
    assert failed(configured(config)) == []


def test_a_field_that_the_code_book_shows_is_no_key_of_the_graders() -> None:
    fields = {**SMALL.code_book.fields, "orders.order.expected_action": FieldRule(type="text")}
    book = SMALL.code_book.model_copy(update={"fields": fields})
    config = {"description": json.dumps({"expectedAction": "x"})}
    assert failed(configured(config)) == ["systems/desk/config/expectedAction"]
    assert failed(configured(config, replace(SMALL, code_book=book))) == []


def test_the_right_code_alone_in_json_inside_a_text_gives_it_away() -> None:
    code = SMALL.answers[SMALL.tasks[0].task_id].outcome.code
    workflow = SMALL.tasks[0].workflow
    every = [c for c, about in SMALL.code_book.outcomes.items() if about.workflow == workflow]
    assert failed(configured({"schema": json.dumps({"enum": [code]})})) == ["systems/desk/config"]
    assert failed(configured({"schema": json.dumps({"enum": every})})) == []


def test_each_key_holds_one_of_the_words_by_which_rows_are_looked_at() -> None:
    for key in KEYS:
        assert any(hint in key.replace("_", "").encode() for hint in HINTS), key
        assert all(may_name(f'{{"{name}":3}}'.encode()) for name in (key, key.upper(), key.replace("_", "-"), f"{key}1")), key


BARE = (
    *(
        "expected_outcome: 3",
        "goldAnswer=3",
        "gold_label -> x",
        "trueLabel: refund",
        "TRUE_CLASS = 3",
        "goldAnswer1: b",
        "gold-label: x",
    ),
    *(
        "`expected_outcome`: 3",
        "**correct_action**: refund",
        "ground_truth := x",
        "groundTruthLabel => 3",
        "y_true=1",
        "answer_key\t4",
    ),
    *(
        "<expected_outcome>3</expected_outcome>",
        "expected_outcome_2 = x",
        "| gold_label | x |",
        "expected_outcome is 3",
        "gtLabel: x",
    ),
    *("(oracleAnswer: 3)", "{expected_outcome: 3}", "x=1;gold_label=3", "expected_outcome:refund", "{'trueOutcome': 3}"),
)


def asked(text: str) -> LeakInput:
    return with_text(SMALL, 0, lambda before: f"{before} {text}")


def told(text: str) -> LeakInput:
    fact = SMALL.tasks[0].requester.facts[0].model_copy(update={"answer": text})
    return with_task(SMALL, 0, lambda t: t.model_copy(update={"requester": t.requester.model_copy(update={"facts": (fact,)})}))


def ruled(text: str) -> LeakInput:
    rule = SMALL.tasks[0].rules[0].model_copy(update={"sentence": text})
    return with_task(SMALL, 0, lambda t: t.model_copy(update={"rules": (rule,)}))


def watched(text: str) -> LeakInput:
    seen = Trajectory(
        task_id=SMALL.tasks[0].task_id, agent="reference", observations=("{}", text), actions=('{"tool":"read"}',) * 2
    )
    return replace(SMALL, trajectories=(seen,))


def posted(text: str) -> LeakInput:
    data, digest = with_content(SMALL, {"document": "d", "version": 1, "clauses": [{"clause": "1", "text": text}]})
    return with_task(data, 0, lambda t: t.model_copy(update={"policies": (*t.policies, digest)}))


def noted(text: str) -> LeakInput:
    return with_field(SMALL, 0, "orders", "order", "note", text)


def described(text: str) -> LeakInput:
    return configured({"tools": [{"description": text}]})


SHOWN = (described, noted, asked, told, ruled, watched, posted)


@pytest.mark.parametrize("text", BARE)
def test_a_key_of_the_graders_is_found_without_quotes_before_its_value_in_whatever_is_shown(text: str) -> None:
    for show in SHOWN:
        for said in (text, f"Closes a case. {text}", f"Größe 3\n{text}\nAsk first."):
            assert len({path.replace("/(inside)", "") for path in failed(show(said))}) == 1, (show, said)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "The expected outcome is a refund.",
            "Expected outcome: a refund",
            "the answer: 3",
            "Correct answer: B",
            "Gold label: 3",
        ),
        *("expected result: a page", "expected_result: a page", "true_cost = 3", "true: 3", "gold = 3", "answer=3", "code: 3"),
        *(
            "answer-key: see page 4",
            "gold-standard: treatment",
            "Required-by: 12 May",
            "derived-from: x",
            "label -> x",
            "solution: restart",
        ),
        *("outcome: refused", "solution_1: restart", "bounds: 3", "The expected_outcome field is not for you", "correctly: done"),
        *("https://x.example/expected_outcome", "expected_outcome", "correct_address: x", "goldmember=3"),
    ],
)
def test_sentences_and_words_of_a_desk_before_a_colon_are_no_keys_of_the_graders(text: str) -> None:
    for show in SHOWN:
        for said in (text, f"Closes a case. {text}", f"Größe 3\n{text}\nAsk first."):
            assert failed(show(said)) == [], (show, said)


@pytest.mark.parametrize(
    "name", ["trueLabel", "true_class", "goldAnswer1", "gold_answer_2", "expectedOutcome03", "ground_truth_label"]
)
def test_true_and_numbered_answers_are_keys_of_the_graders_and_numbers_of_other_words_are_not(name: str) -> None:
    assert failed(configured({name: 3})) == [f"systems/desk/config/{name}"]
    assert failed(with_field(SMALL, 0, "orders", "order", name, 3)) == [f"content/{name}"]
    for other in ("true_north", "solution1", "gold1", "answer1", "label_2", "expected_result1"):
        assert failed(configured({other: 3})) == [], other
