"""The loop: reset, step, fork, end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.agents import PANEL, ReferenceAgent, run_episode
from environments.episode import Episode, compiled, tools_for
from environments.tool import Tool
from rewards.score import load_grader
from schemas.episode import JournalEntry, ToolCall
from schemas.errors import WorldError
from schemas.task import Answer, SystemRef
from schemas.taskset import TaskSet

ROOT = Path(__file__).resolve().parents[3]
TASK = "small-late_grant"


def order_of(episode: Episode) -> str:
    answer = episode.step({"tool": "reply_to_requester", "arguments": {"text": "What is the order number?"}})
    return answer.observation.text.split("number is ")[1][:14]


def test_the_opening_shows_the_request_and_nothing_of_the_answer(episode: Episode) -> None:
    opening = json.loads(episode.reset(TASK).text)
    assert list(opening) == ["ticket", "from", "requester", "name", "subject", "text", "now", "policies"]
    assert opening["policies"] == ["refunds", "orders", "accounts"]
    assert opening["now"] == "2025-09-10T09:00:00Z"


def test_the_tools_are_those_of_the_tasks_systems_in_order(small: TaskSet) -> None:
    tools = tools_for(small, small.tasks[TASK])
    assert list(tools)[:6] == ["search_tickets", "read_ticket", "reply_to_requester", "add_note", "resolve", "escalate"]
    assert {t.name for t in tools.values() if t.finishing} == {"resolve", "escalate"}
    assert tools is tools_for(small, small.tasks["small-cancel_grant"]), "tasks with the same systems share them"
    codes = tools["resolve"].parameters["properties"]["code"]["enum"]
    assert len(codes) == 17, "every code of the code book, so that the list gives nothing away"


def test_every_reference_is_full_and_says_the_same_three_times(
    small: TaskSet, graded: Episode, answers: dict[str, Answer]
) -> None:
    for task_id, answer in answers.items():
        traces = [run_episode(graded, ReferenceAgent(answer.reference), task_id, 3).model_dump_json() for _ in range(3)]
        assert len(set(traces)) == 1
        grade = graded.grade()
        assert grade is not None
        assert grade.full, (task_id, grade.reasons)
        assert all(entry.ok for entry in graded.journal.entries)


def test_step_rewards_and_the_grade_of_the_journal_agree(small: TaskSet, graded: Episode) -> None:
    grader = load_grader(small)
    for name, factory in PANEL.items():
        trace = run_episode(graded, factory(1), TASK, 1, name=name)
        assert trace.grade == grader.grade(trace.journal)
        assert not trace.grade.full


@pytest.mark.parametrize(
    ("action", "kind", "lesson"),
    [
        ("not json", "bad_arguments", "not JSON"),
        ("[1]", "bad_arguments", "not an object"),
        ('{"tool": 1}', "bad_arguments", "tool must be text"),
        ('{"tool": "x", "arguments": []}', "bad_arguments", "arguments must be an object"),
        ('{"tool": "x", "thought": "hm"}', "bad_arguments", "has a key 'thought'"),
        ('{"tool": "get_odrer"}', "unknown_tool", "did you mean 'get_order'?"),
        ('{"tool": "get_order", "arguments": {"order_id": NaN}}', "bad_arguments", "not finite"),
        ('{"tool": "get_order", "arguments": {"order_id": "\\ud800"}}', "bad_arguments", "half of a character"),
        ("[" * 10_000, "bad_arguments", "not JSON"),
        ("[" * 100_000, "bad_arguments", "more than 20000 characters"),
        ('{"tool": ' + "9" * 5000 + "}", "bad_arguments", "not JSON"),
        ("\ud800", "bad_arguments", "not JSON"),
        ({"tool": "get_order", "arguments": {"order_id": {1, 2}}}, "bad_arguments", "a set"),
        (None, "bad_arguments", "not an object"),
        ({"tool": "x" * 5000}, "bad_arguments", "at most 200"),
    ],
    ids=range(15),
)
def test_a_malformed_action_is_a_typed_refusal_with_the_raw_text_kept(
    episode: Episode, action: Any, kind: str, lesson: str
) -> None:
    episode.reset(TASK)
    step = episode.step(action)
    entry = episode.journal.entries[0]
    assert step.observation.refusal is not None
    assert step.observation.refusal.kind.value == kind
    assert lesson in step.observation.refusal.message
    assert (entry.raw is not None) == (kind == "bad_arguments")
    assert len(entry.model_dump_json()) < 60_000


@pytest.mark.parametrize(
    "action",
    [
        ToolCall(tool="get_order", arguments={"order_id": "x" * 100_000}),
        {"tool": "no_such_tool", "arguments": {"a": ["x"] * 100_000}},
        {"tool": "get_order", "arguments": {"x" * 100_000: 1}},
        json.dumps({"tool": "get_order", "arguments": {"order_id": "x" * 100_000}}),
        ToolCall.model_construct(),
        ToolCall.model_construct(tool=5, arguments=7),
        ToolCall.model_construct(tool="get_order", arguments=None),
    ],
)
def test_whatever_an_agent_sends_is_refused_and_the_journal_stays_small(graded: Episode, action: Any) -> None:
    graded.reset(TASK)
    step = graded.step(action)
    assert step.observation.refusal is not None
    assert step.observation.refusal.kind == "bad_arguments"
    assert len(graded.trace("x").model_dump_json()) < 10_000


def test_what_an_agent_does_to_its_own_call_later_does_not_change_the_journal(episode: Episode) -> None:
    call = ToolCall(tool="get_order", arguments={"order_id": "ORDER_00000000"})
    form: dict[str, Any] = {"tool": "get_order", "arguments": {"order_id": "ORDER_00000000"}}
    for action in (call, form):
        episode.reset(TASK)
        episode.step(action)
        before = episode.journal.model_dump_json()
        (call.arguments if action is call else form["arguments"])["order_id"] = "ORDER_FORGED"
        assert episode.journal.model_dump_json() == before
        call.arguments["order_id"] = form["arguments"]["order_id"] = "ORDER_00000000"


def test_a_refused_write_leaves_no_trace_in_the_state(episode: Episode) -> None:
    episode.reset(TASK)
    order = order_of(episode)
    before = episode.fork()
    step = episode.step(
        {"tool": "create_refund", "arguments": {"order_id": order, "amount_minor": 10**8, "reason": "late_delivery"}}
    )
    assert step.observation.refusal is not None
    assert step.observation.refusal.kind.value == "over_limit"
    before.step("x")
    assert episode._context is not None
    assert before._context is not None
    assert episode._context.state.digest() == before._context.state.digest()


def test_a_bug_in_a_tool_is_raised_and_its_half_write_undone(small: TaskSet, episode: Episode) -> None:
    episode.reset(TASK)
    broken = dict(episode.tools)
    good = broken["add_note"]

    def run(context: Any, arguments: dict[str, Any]) -> Any:
        context.state.create("helpdesk", "note", {"text": "x"})
        raise ZeroDivisionError

    broken["add_note"] = Tool(good.name, good.system, good.description, good.parameters, run)
    ready = compiled(small, small.tasks[TASK])
    episode._compiled = type(ready)(ready.task, broken, ready.base, ready.policies, ready.requester, ready.opening, ready.clocks)
    digest = episode.state_digest()
    with pytest.raises(ZeroDivisionError):
        episode.step({"tool": "add_note", "arguments": {"text": "x"}})
    assert episode.state_digest() == digest


def test_the_clock_moves_one_second_a_call(episode: Episode) -> None:
    episode.reset(TASK)
    for _ in range(3):
        episode.step({"tool": "add_note", "arguments": {"text": "x"}})
    assert [e.clock for e in episode.journal.entries] == [f"2025-09-10T09:00:0{s}Z" for s in range(3)]


def test_the_step_limit_truncates(graded: Episode) -> None:
    graded.reset(TASK)
    steps = [graded.step({"tool": "add_note", "arguments": {"text": "x"}}) for _ in range(graded.task.max_steps)]
    assert not any(s.truncated for s in steps[:-1])
    assert steps[-1].truncated
    assert not steps[-1].terminated
    assert graded.journal.ended_by == "step_limit"
    assert steps[-1].reward is not None
    assert steps[-1].reward < -0.5


def test_an_impatient_requester_ends_the_episode(graded: Episode) -> None:
    graded.reset(TASK)
    while not graded.done:
        step = graded.step({"tool": "reply_to_requester", "arguments": {"text": "What is your shoe size?"}})
    assert step.terminated
    assert graded.journal.ended_by == "requester_left"
    assert graded.trace("x").grade is not None


def test_after_the_end_nothing_happens(episode: Episode) -> None:
    episode.reset(TASK)
    episode.step({"tool": "escalate", "arguments": {"reason": "x"}})
    journal = episode.journal
    step = episode.step({"tool": "add_note", "arguments": {"text": "x"}})
    assert step.observation.kind == "end"
    assert step.terminated
    assert episode.journal == journal


def test_a_token_limit_is_judged_as_abandoned(graded: Episode) -> None:
    graded.reset(TASK)
    order_of(graded)
    graded.end()
    grade = graded.grade()
    assert graded.done
    assert graded.journal.ended_by == "token_limit"
    assert grade is not None
    assert not grade.success
    assert grade.return_ < -0.5


def test_misuse_is_said_plainly(small: TaskSet, episode: Episode) -> None:
    with pytest.raises(WorldError, match="was not reset"):
        episode.step("{}")
    with pytest.raises(WorldError, match="did you mean 'small-late_grant'"):
        episode.reset("small-late_grnt")
    bad = small.tasks[TASK].model_copy(update={"systems": (SystemRef(name="helpdesk", plugin="helpdesk", config={}),)})
    with pytest.raises(WorldError, match=r"systems.helpdesk.config.codes"):
        tools_for(small, bad)
    twice = small.tasks[TASK].model_copy(update={"systems": (small.tasks[TASK].systems[1],) * 2})
    with pytest.raises(WorldError, match="both have a tool find_account"):
        tools_for(small, twice)
    endless = small.tasks[TASK].model_copy(update={"systems": (small.tasks[TASK].systems[1],)})
    with pytest.raises(WorldError, match="no system of task small-late_grant has a finishing tool"):
        tools_for(small, endless)
    unknown = small.tasks[TASK].model_copy(update={"systems": (SystemRef(name="order", plugin="order"),)})
    with pytest.raises(WorldError, match="did you mean 'orders'"):
        tools_for(small, unknown)


def test_a_fork_gets_the_same_rewards_as_its_origin(graded: Episode, answers: dict[str, Answer]) -> None:
    calls = [s.call for s in answers[TASK].reference]
    graded.reset(TASK)
    for call in calls[:-2]:
        graded.step(call)
    fork = graded.fork()
    wrong = graded.fork()
    wrong.step({"tool": "escalate", "arguments": {"reason": "x"}})
    assert [fork.step(c).reward for c in calls[-2:]] == [graded.step(c).reward for c in calls[-2:]]
    assert fork.trace("x") == graded.trace("x")
    assert wrong.journal.entries[-1].call.tool == "escalate"


ACTIONS = [
    '{"tool": "get_order", "arguments": {"order_id": "ORDER_98AE155D"}}',
    '{"tool": "cancel_order", "arguments": {"order_id": "ORDER_98AE155D"}}',
    '{"tool": "create_refund", "arguments": {"order_id": "ORDER_98AE155D", "amount_minor": 590, "reason": "late_delivery"}}',
    '{"tool": "reply_to_requester", "arguments": {"text": "order number and phone?"}}',
    '{"tool": "find_account", "arguments": {"email": "PERSON_EEB59856_EMAIL"}}',
    "junk",
]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(ACTIONS), max_size=12), st.integers(0, 11), st.integers(0, 3))
def test_forks_and_replays_end_in_the_same_digest(small: TaskSet, actions: list[str], at: int, seed: int) -> None:
    straight = Episode(small)
    straight.reset(TASK, seed)
    forked: Episode | None = None
    for number, action in enumerate(actions):
        if number == at:
            forked = straight.fork()
        straight.step(action)
    replay = Episode(small)
    replay.reset(TASK, seed)
    for action in actions:
        replay.step(action)
    assert replay.state_digest() == straight.state_digest()
    assert replay.journal == straight.journal
    if forked is not None:
        for action in actions[at:]:
            forked.step(action)
        assert forked.state_digest() == straight.state_digest()


def test_the_same_seed_gives_the_same_trace_in_another_process(small_folder: Path, graded: Episode) -> None:
    script = (
        "import hashlib; from pathlib import Path; from schemas.taskset import open_taskset;"
        "from environments.episode import Episode;"
        "from environments.agents import PANEL, run_episode; from rewards.score import load_grader;"
        f"t = open_taskset(Path({str(small_folder)!r}), 'train'); e = Episode(t, load_grader(t));"
        "traces = ''.join(run_episode(e, PANEL['random'](5), i, 5).model_dump_json() for i in t.tasks);"
        "print(hashlib.sha256(traces.encode()).hexdigest())"
    )
    seen = set()
    for hash_seed, zone in (("1", "UTC"), ("77", "Asia/Kolkata")):
        env = {"PYTHONHASHSEED": hash_seed, "TZ": zone, "PATH": "/usr/bin:/bin"}
        done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
        seen.add(done.stdout)
    assert len(seen) == 1


def test_a_journal_entry_is_what_its_json_says(graded: Episode, answers: dict[str, Answer]) -> None:
    run_episode(graded, ReferenceAgent(answers[TASK].reference), TASK)
    for entry in graded.journal.entries:
        assert JournalEntry.model_validate_json(entry.model_dump_json()) == entry


def test_an_action_may_be_a_call_its_text_or_its_dictionary(small: TaskSet) -> None:
    call = ToolCall(tool="add_note", arguments={"text": "x"})
    journals = []
    for action in (call, call.model_dump_json(), call.model_dump()):
        episode = Episode(small)
        episode.reset(TASK)
        episode.step(action)
        journals.append(episode.journal)
    assert journals[0] == journals[1] == journals[2]
