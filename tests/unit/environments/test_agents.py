"""The reference may use only what it was shown; the panel plays without knowing anything."""

from __future__ import annotations

from typing import Any

import pytest

from environments.agents import PANEL, ConstantOutcome, ReferenceAgent, RefuseAll, UnseenValue, WritesOnly, run_episode
from environments.episode import Episode
from schemas.episode import ToolCall
from schemas.errors import WorldError
from schemas.task import Answer, ReferenceStep
from schemas.taskset import TaskSet

TASK = "small-late_grant"


def steps(*calls: tuple[str, dict[str, Any]]) -> list[ReferenceStep]:
    return [ReferenceStep(call=ToolCall(tool=tool, arguments=arguments), planned=True) for tool, arguments in calls]


def test_the_reference_may_not_use_a_value_that_it_was_never_shown(episode: Episode) -> None:
    with pytest.raises(UnseenValue, match=r"get_order\.order_id") as unseen:
        run_episode(episode, ReferenceAgent(steps(("get_order", {"order_id": "ORDER_98AE155D"}))), TASK)
    assert unseen.value.argument == "order_id"
    assert "ORDER_98AE155D" not in str(unseen.value)


def test_an_amount_of_another_row_is_not_a_shown_one(episode: Episode, answers: dict[str, Answer]) -> None:
    reference = list(answers[TASK].reference)
    wrong = [
        s.model_copy(update={"call": s.call.model_copy(update={"arguments": {**s.call.arguments, "amount_minor": 591}})})
        if s.call.tool == "create_refund"
        else s
        for s in reference
    ]
    with pytest.raises(UnseenValue, match="amount_minor"):
        run_episode(episode, ReferenceAgent(wrong), TASK)


def test_a_reference_that_does_not_finish_or_calls_an_unknown_tool_is_said(episode: Episode) -> None:
    with pytest.raises(WorldError, match="ends without a finishing act"):
        run_episode(episode, ReferenceAgent(steps(("add_note", {"text": "x"}))), TASK)
    with pytest.raises(WorldError, match="calls fly"):
        run_episode(episode, ReferenceAgent(steps(("fly", {}))), TASK)


def test_no_panel_agent_solves_any_task(small: TaskSet, graded: Episode) -> None:
    for name, factory in PANEL.items():
        for task_id in small.tasks:
            for seed in range(3):
                grade = run_episode(graded, factory(seed), task_id, seed, name=name).grade
                assert grade is not None
                assert not grade.success, (name, task_id, seed)


def test_refusing_with_the_very_code_fails_for_the_missing_reads(graded: Episode, answers: dict[str, Answer]) -> None:
    for task_id, answer in answers.items():
        if answer.outcome_class == "refuse":
            for agent in (RefuseAll(answer.outcome.code), ConstantOutcome(answer.outcome.code)):
                grade = run_episode(graded, agent, task_id).grade
                assert grade is not None
                assert not grade.full, (task_id, type(agent).__name__)


def test_knowing_the_writes_is_not_enough(graded: Episode, answers: dict[str, Answer]) -> None:
    for task_id, answer in answers.items():
        grade = run_episode(graded, WritesOnly(answer.reference), task_id).grade
        assert grade is not None
        assert not grade.full, task_id
        assert graded.journal.ended_by == "finish"


def test_a_panel_agent_repeats_itself_under_the_same_seed(episode: Episode) -> None:
    for factory in PANEL.values():
        assert run_episode(episode, factory(4), TASK, 4) == run_episode(episode, factory(4), TASK, 4)


def test_the_random_agent_uses_what_it_was_shown(episode: Episode) -> None:
    accepted = 0
    for seed in range(20):
        trace = run_episode(episode, PANEL["random"](seed), TASK, seed)
        accepted += sum(entry.ok for entry in trace.journal.entries)
    assert accepted > 20
