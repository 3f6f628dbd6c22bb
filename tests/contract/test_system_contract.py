"""What every file of environments/systems promises. A new system adds its file and `tests/fixtures/systems/<name>.json`:

    {"config": {...}, "state": {system: {kind: {record: row}}}, "policies": [...], "calls": [{"tool", "arguments"}, ...]}

where `calls` holds one acceptable call of every tool of the system.
"""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from environments.episode import Episode
from environments.tool import MAX_PROSE, System, Tool
from schemas.episode import JournalEntry, RefusalKind, RowRef, ToolCall
from schemas.files import canonical_json, sha256_json
from schemas.plugins import load_plugin, plugin_names
from schemas.task import Fact, Opening, RequesterSpec, SystemRef, TaskSpec
from schemas.taskset import SideManifest, TaskSet

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "systems"
NAMES = plugin_names("environments.systems")
HELPDESK = SystemRef(name="helpdesk", plugin="helpdesk", config={"codes": ["granted", "refused"]})
COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)


def fixture(name: str) -> dict[str, Any]:
    path = FIXTURES / f"{name}.json"
    assert path.exists(), f"system {name} has no fixture {path.name}: give it one (see the docstring of this file)"
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded


def taskset_of(name: str) -> TaskSet:
    """A task set in memory with one task in which the system runs (beside a helpdesk, whose tools finish)."""
    given_ = fixture(name)
    contents: dict[str, Any] = {}

    def put(value: Any) -> str:
        digest = sha256_json(value)
        contents[digest] = value
        return digest

    own = SystemRef(name=name, plugin=name, config=given_["config"])
    at = "2025-01-10T08:00:00Z"
    record = RowRef(system="helpdesk", kind="ticket", record_id="TICKET_0000000A")
    task = TaskSpec(
        task_id="t1",
        taskset=name,
        workflow="any",
        started_at=at,
        organisation="ORG_0000000A",
        opening=Opening(
            record=record,
            requester_id="USER_0000000A",
            requester_name="PERSON_0000000A",
            contact="PERSON_0000000A_EMAIL",
            subject="hello",
            text="Please help.",
            received_at=at,
        ),
        systems=(own,) if name == "helpdesk" else (HELPDESK, own),
        state=(put(given_["state"]),),
        policies=tuple(put(policy) for policy in given_.get("policies", [])),
        requester=RequesterSpec(facts=(Fact(id="f1", slots=("order_id",), answer="It is ORDER_0000000A."),), patience=4),
        max_steps=500,
    )
    manifest = SideManifest(taskset=name, side="train", tasks=1, files={}, ids={})
    return TaskSet(Path("nowhere"), "train", manifest, {"t1": task}, {}, contents)


def own_tools(episode: Episode, name: str) -> dict[str, Tool]:
    return {n: t for n, t in episode.tools.items() if t.system == name}


def started(name: str) -> Episode:
    episode = Episode(taskset_of(name))
    episode.reset("t1")
    return episode


def calls(name: str) -> list[ToolCall]:
    return [ToolCall.model_validate(call) for call in fixture(name)["calls"]]


def stepped(name: str, call: ToolCall) -> tuple[Episode, JournalEntry]:
    episode = started(name)
    episode.step(call)
    return episode, episode.journal.entries[0]


EVERY_CALL = [(name, call) for name in NAMES for call in calls(name)]
CALL_IDS = [f"{name}-{call.tool}" for name, call in EVERY_CALL]


@pytest.mark.parametrize("name", NAMES)
def test_a_system_is_named_as_its_file_and_its_fixture_calls_each_of_its_tools(name: str) -> None:
    assert load_plugin("environments.systems", name, "SYSTEM", System).name == name
    assert {call.tool for call in calls(name)} == set(own_tools(started(name), name))


@pytest.mark.parametrize("name", NAMES)
def test_unknown_options_are_refused_with_their_path(name: str) -> None:
    system = load_plugin("environments.systems", name, "SYSTEM", System)
    with pytest.raises(ValueError, match="no_such_option"):
        system.options.model_validate({**fixture(name)["config"], "no_such_option": 1})


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_has_a_schema_that_explains_each_argument(name: str) -> None:
    for tool in own_tools(started(name), name).values():
        assert re.fullmatch(r"[a-z][a-z0-9_]{1,63}", tool.name)
        assert len(tool.description) > 15
        schema = tool.parameters
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])
        for argument in schema["properties"].values():
            assert argument["type"] in ("string", "integer", "boolean", "object")
            assert argument["description"].strip()
        assert json.loads(json.dumps(tool.schema()))["function"]["parameters"] == schema


@pytest.mark.parametrize("name", [n for n in NAMES if n != "declared"])
def test_every_tool_that_looks_a_record_up_says_which_refusals_to_expect(name: str) -> None:
    for tool in own_tools(started(name), name).values():
        episode = started(name)
        arguments = {
            a: "nothing" if s["type"] == "string" and "enum" not in s else s.get("enum", [s.get("minimum", 1)])[0]
            for a, s in tool.parameters["properties"].items()
            if a in tool.parameters["required"]
        }
        refusal = episode.step(ToolCall(tool=tool.name, arguments=arguments)).observation.refusal
        if refusal is not None:
            assert refusal.kind is RefusalKind.not_found
            assert "Refuses:" in tool.description
            assert refusal.kind.value in tool.description
            assert tool.name in refusal.message


@pytest.mark.parametrize(("name", "call"), EVERY_CALL, ids=CALL_IDS)
def test_every_single_value_of_an_answer_has_a_name_that_a_rule_can_be_checked_against(name: str, call: ToolCall) -> None:
    episode, entry = stepped(name, call)
    state = fixture(name)["state"]
    fields = {field for rows in state.get(name, {}).values() for row in rows.values() for field in row}
    known = episode.tools[call.tool].answers(fields)
    if known is None:
        assert name == "declared"
        return
    assert isinstance(entry.result, dict)
    assert {key for key, value in entry.result.items() if not isinstance(value, dict | list)} <= known


@pytest.mark.parametrize(("name", "call"), EVERY_CALL, ids=CALL_IDS)
def test_the_fixtures_calls_are_accepted_and_what_they_give_is_bounded_json(name: str, call: ToolCall) -> None:
    _, entry = stepped(name, call)
    assert entry.ok, entry.refusal
    assert len(canonical_json(entry.result)) < 20_000
    assert JournalEntry.model_validate_json(entry.model_dump_json()) == entry


@pytest.mark.parametrize(("name", "call"), EVERY_CALL, ids=CALL_IDS)
def test_a_tool_that_reads_names_the_rows_that_it_showed_and_writes_nothing(name: str, call: ToolCall) -> None:
    episode, entry = stepped(name, call)
    tool = episode.tools[call.tool]
    if not tool.reads:
        return
    assert entry.reads
    assert not entry.changes
    state = episode.taskset.state(episode.task)
    shown = canonical_json(entry.result)
    for ref in entry.reads:
        if ref.system not in {"policies", "declared"}:
            assert ref.record_id in state[ref.system][ref.kind]
            assert ref.record_id in shown


@pytest.mark.parametrize(("name", "call"), EVERY_CALL, ids=CALL_IDS)
def test_a_write_is_exactly_its_declared_effect(name: str, call: ToolCall) -> None:
    episode, entry = stepped(name, call)
    tool = episode.tools[call.tool]
    effect = tool.effect
    if effect is None:
        assert not entry.changes
        return
    (change,) = entry.changes
    assert (change.system, change.kind, change.op) == (effect.system, effect.kind, effect.op)
    if effect.record is not None:
        assert change.record_id == call.arguments[effect.record]
    from_arguments = {field: call.arguments[a] for field, a in effect.fields.items() if a in call.arguments}
    left = {k: v for k, v in change.fields.items() if k not in from_arguments and k not in effect.fixed}
    assert {k: change.fields[k] for k in from_arguments} == from_arguments
    assert {k: change.fields[k] for k in effect.fixed} == dict(effect.fixed)
    assert set(left) == {*effect.decided, *effect.ignored}
    assert set(effect.fields.values()) <= set(tool.parameters["properties"])


@pytest.mark.parametrize("name", NAMES)
def test_episodes_do_not_see_one_another_nor_change_the_shared_base(name: str) -> None:
    taskset = taskset_of(name)
    before = canonical_json(copy.deepcopy(taskset.state(taskset.tasks["t1"])))
    one, other = Episode(taskset), Episode(taskset)
    one.reset("t1")
    other.reset("t1")
    fresh = other.state_digest()
    for call in calls(name):
        one.step(call)
    assert other.state_digest() == fresh
    assert canonical_json(taskset.state(taskset.tasks["t1"])) == before
    one.reset("t1")
    assert one.state_digest() == fresh


@pytest.mark.parametrize("name", NAMES)
def test_a_fork_and_its_origin_go_their_own_ways(name: str) -> None:
    for call in calls(name):
        origin = started(name)
        fork = origin.fork()
        at_start = fork.state_digest()
        origin.step(call)
        assert fork.state_digest() == at_start
        fork.step(call)
        assert fork.state_digest() == origin.state_digest()
        assert fork.journal == origin.journal


@pytest.mark.parametrize("name", NAMES)
def test_the_same_calls_give_the_same_journal_and_digest(name: str) -> None:
    traces = []
    for _ in range(2):
        episode = started(name)
        for call in calls(name):
            episode.step(call)
        traces.append((episode.trace("fixture").model_dump_json(), episode.state_digest()))
    assert traces[0] == traces[1]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def junk_calls(draw: st.DrawFn, name: str) -> Any:
    """Half-right calls: a real tool with arguments that are right, wrong, missing, or of other names; or no call at all."""
    given_calls = calls(name)
    kind = draw(st.sampled_from(["text", "value", "call", "call", "call"]))
    if kind == "text":
        return draw(st.text(max_size=60))
    if kind == "value":
        return draw(JUNK)
    call = draw(st.sampled_from(given_calls))
    arguments = dict(call.arguments)
    for key in draw(st.lists(st.sampled_from([*arguments, "page", "extra"]), max_size=3)):
        arguments[key] = draw(JUNK | st.text(alphabet="AEO_10", min_size=0, max_size=20) | st.just("x" * (MAX_PROSE + 1)))
    for key in draw(st.lists(st.sampled_from(list(arguments)), max_size=1)):
        del arguments[key]
    return {"tool": call.tool, "arguments": arguments}


@pytest.mark.parametrize("name", NAMES)
def test_junk_is_refused_with_a_reason_changes_nothing_and_never_raises(name: str) -> None:
    episode = started(name)
    state = episode.taskset.state(episode.task)
    before = canonical_json(state)

    @COMMON
    @given(st.lists(junk_calls(name), min_size=1, max_size=6))
    def play(actions: list[Any]) -> None:
        episode.reset("t1")
        for action in actions:
            if episode.done:
                break
            rows = dict(episode._context.state.overlay) if episode._context else {}
            step = episode.step(action)
            entry = episode.journal.entries[-1]
            step.observation.text.encode()
            entry.model_dump_json()
            if not entry.ok:
                assert step.observation.refusal is not None
                assert len(step.observation.refusal.message) > 10
                assert not entry.changes
                assert episode._context is not None
                assert episode._context.state.overlay == rows
        assert JournalEntry.model_validate_json(episode.journal.entries[-1].model_dump_json()) == episode.journal.entries[-1]

    play()
    assert canonical_json(state) == before


@pytest.mark.parametrize("name", NAMES)
def test_wrong_arguments_teach(name: str) -> None:
    for tool in own_tools(started(name), name).values():
        good = next(c for c in calls(name) if c.tool == tool.name).arguments
        episode = started(name)

        def told(arguments: dict[str, Any], episode: Episode = episode, tool: Tool = tool) -> str:
            refusal = episode.step({"tool": tool.name, "arguments": arguments}).observation.refusal
            assert refusal is not None
            assert refusal.kind is RefusalKind.bad_arguments
            return refusal.message

        for argument, schema in tool.parameters["properties"].items():
            if argument in tool.parameters["required"]:
                assert f"{argument} is missing" in told({k: v for k, v in good.items() if k != argument})
            wrong = told({**good, argument: 7 if schema["type"] != "integer" else "seven"})
            assert argument in wrong
            assert schema["type"] in wrong.replace("true or false", "boolean")
            assert "did you mean" in told({**{k: v for k, v in good.items() if k != argument}, argument + "s": 1})
            if "enum" in schema:
                assert schema["enum"][0] in told({**good, argument: "no_such_value"})
