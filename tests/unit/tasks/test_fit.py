"""Recorded acts replayed through the rules: what the records can show is judged, what they cannot is said to be hidden."""

from __future__ import annotations

from typing import Any

import pytest

from environments.episode import Episode
from schemas.episode import ToolCall
from schemas.files import read_models
from schemas.task import Answer, RuleRef, TaskSpec
from schemas.taskset import TaskSet, open_taskset
from tasks.fit import Act, Fit, fit_of, recorded_as, with_broken
from tests.taskset_factory import build_taskset


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[TaskSet, dict[str, Answer]]:
    folder = build_taskset(tmp_path_factory.mktemp("fit"))
    return open_taskset(folder, "train"), {a.task_id: a for a in read_models(folder / "train" / "answers.jsonl", Answer)}


def recorded(answer: Answer) -> list[Act]:
    """The writes of the reference and its finish, as an export shows them: no look-ups."""
    changes = list(answer.outcome.changes)
    acts = []
    for step in answer.reference:
        if not step.planned:
            change = changes.pop(0) if changes and step.call.tool != "resolve" else None
            acts.append(Act(step.call, change, None if change is None else change.fields))
    return acts


def fit(taskset: TaskSet, task: TaskSpec, acts: list[Act], *, queries: bool = False) -> Fit:
    episode = Episode(taskset)
    episode.reset(task.task_id)
    return fit_of(task, taskset.state(task), acts, episode.tools, queries=queries)


def with_rules(task: TaskSpec, *rules: tuple[str, dict[str, Any]]) -> TaskSpec:
    refs = tuple(RuleRef(id=f"r{n}", rule=rule, sentence="s", parameters=p) for n, (rule, p) in enumerate(rules))
    return task.model_copy(update={"rules": refs})


def test_what_people_rightly_did_breaks_nothing(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    applied: set[str] = set()
    for task_id, answer in answers.items():
        found = fit(taskset, taskset.tasks[task_id], recorded(answer))
        assert found.broken == ()
        assert found.unjudged == ()
        applied.update(found.applied)
    assert len(applied) >= 5


def test_a_wrong_recorded_act_breaks_its_rule_although_no_look_up_is_recorded(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    task, answer = taskset.tasks["small-late_grant"], answers["small-late_grant"]
    acts = recorded(answer)
    wrong = acts[0].call.arguments | {"amount_minor": 10_000_000}
    found = fit(taskset, task, [Act(ToolCall(tool=acts[0].call.tool, arguments=wrong)), *acts[1:]])
    assert "refund_limit" in found.broken
    assert set(found.broken) <= set(found.applied)


READ = {"tools": ["get_order"], "same": {"order_id": "order_id"}}
ASKED = {"tools": ["request_approval"], "same": {"about": "order_id"}}


def test_a_look_up_is_hidden_and_a_demanded_write_is_judged(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    task, acts = taskset.tasks["small-late_grant"], recorded(answers["small-late_grant"])
    rules = (
        ("required_before", {"tool": "create_refund", "needs": [READ]}),
        ("required_before", {"tool": "create_refund", "needs": [ASKED]}),
        ("required_before", {"tool": "create_refund", "needs": [READ, ASKED]}),
        ("required_before", {"tool": "cancel_order", "needs": [READ]}),
    )
    found = fit(taskset, with_rules(task, *rules), acts)
    assert (found.hidden, found.applied, found.broken, found.partly) == (("r0",), ("r1", "r2"), ("r1", "r2"), ("r2",))
    order = acts[0].call.arguments["order_id"]
    approval = Act(ToolCall(tool="request_approval", arguments={"about": order, "amount_minor": 1}))
    assert fit(taskset, with_rules(task, *rules), [approval, *acts]).broken == ()
    everything = fit(taskset, with_rules(task, *rules), acts, queries=True)
    assert everything.hidden == ()
    assert everything.broken == ("r0", "r1", "r2")


def test_a_check_of_what_nobody_said_is_untold_and_neither_kept_nor_broken(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    task, acts = taskset.tasks["small-late_grant"], recorded(answers["small-late_grant"])
    need = {"tools": ["verify_identity"], "told": {"postcode": "no_such_slot"}}
    found = fit(taskset, with_rules(task, ("required_before", {"tool": "create_refund", "needs": [need]})), acts)
    assert (found.applied, found.broken, found.untold) == (("r0",), (), ("r0",))
    assert with_broken(found, "r0").broken == ("r0",)
    assert with_broken(found, "r0").untold == ()


def test_a_rule_that_cannot_be_judged_is_said_to_be_so(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    task, acts = taskset.tasks["small-late_grant"], recorded(answers["small-late_grant"])
    rule = ("limit", {"tool": "create_refund", "argument": "reason", "max": 5})
    assert fit(taskset, with_rules(task, rule), acts).unjudged == ("r0",)


def test_how_much_of_a_need_the_records_show_follows_from_its_tools(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    from rewards.rules.required_before import Need

    taskset, _ = small
    episode = Episode(taskset)
    episode.reset("small-late_grant")
    asked = {"request_approval": "whole", "reply_to_requester": "whole", "get_order": "no"}
    for name, shown in asked.items():
        assert recorded_as(Need(tools=[name]), episode.tools, queries=False) == shown
    assert recorded_as(Need(tools=["verify_identity"], told={"phone": "phone"}), episode.tools, queries=False) == "messages"
    assert recorded_as(Need(tools=["get_order"]), episode.tools, queries=True) == "whole"
