"""References by search: recorded changes turned back into calls, with the fewest look-ups that make every value observable."""

from __future__ import annotations

import itertools

import pytest

from environments.agents import ReferenceAgent, run_episode
from environments.episode import Episode
from rewards.score import Grader
from schemas.files import read_models
from schemas.task import Answer, ReferenceStep
from schemas.taskset import TaskSet, open_taskset
from tasks.case import Write
from tasks.choice import singles_out
from tasks.derive import Deriver, Underivable
from tasks.reference import NoPath, invert
from tests.taskset_factory import build_taskset


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[TaskSet, dict[str, Answer]]:
    folder = build_taskset(tmp_path_factory.mktemp("small"))
    answers = {a.task_id: a for a in read_models(folder / "train" / "answers.jsonl", Answer)}
    return open_taskset(folder, "train"), answers


def writes_of(answer: Answer) -> list[Write]:
    """The recorded rows that the answer's changes are, with ids and stamps of their own."""
    stamps = {"created_at": "2025-09-10T10:00:00Z"}
    rows = []
    for number, change in enumerate(answer.outcome.changes):
        more = {}
        if change.op == "create":
            more = {"requested_at": stamps["created_at"]} if change.kind == "approval" else stamps
        name = change.record_id or f"{change.kind.upper()}_{number:08X}"
        rows.append(Write(change.system, change.kind, change.op, name, {**change.fields, **more}, number, number))
    return rows


def questions(step: ReferenceStep) -> int:
    return str(step.call.arguments["text"]).count("?") if step.call.tool == "reply_to_requester" else 0


def effort(answer: Answer) -> int:
    """Calls, each question of a message for itself."""
    return sum(questions(step) or 1 for step in answer.reference)


def derived(taskset: TaskSet, answer: Answer, *, facts: bool = True) -> Answer:
    task = taskset.tasks[answer.task_id]
    episode = Episode(taskset)
    episode.reset(task.task_id)
    state = taskset.state(task)
    targets = invert(writes_of(answer), episode.tools, state)
    deriver = Deriver(episode, task.requester.facts if facts else (), task.rules, state)
    steps = deriver.steps([t.call for t in targets], answer.reference[-1].call)
    return answer.model_copy(update={"reference": tuple(steps)})


def test_every_reference_found_is_full_and_no_longer_than_the_hand_made_one(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    assert len(answers) >= 18
    for answer in answers.values():
        found = derived(taskset, answer)
        grader = Grader(taskset, {answer.task_id: found})
        trace = run_episode(Episode(taskset, grader), ReferenceAgent(found.reference), answer.task_id)
        assert trace.grade is not None
        assert trace.grade.full, (answer.task_id, trace.grade.reasons)
        assert effort(found) <= effort(answer), answer.task_id


def test_recorded_writes_are_not_planned_and_required_look_ups_name_their_rule(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    for answer in answers.values():
        found = derived(taskset, answer)
        written = [s.call.tool for s in found.reference if not s.planned]
        assert written == [s.call.tool for s in answer.reference if not s.planned]
        checks = [s for s in found.reference if s.planned and s.required_by]
        assert {rule for s in checks for rule in s.required_by} <= {r.id for r in taskset.tasks[answer.task_id].rules}


def test_the_order_of_look_ups_does_not_tell_what_comes_of_the_case(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    """Two look-ups that need nothing of each other stand in one order in all references, whatever they decide."""
    taskset, answers = small
    orders: dict[frozenset[str], set[tuple[str, str]]] = {}
    outcomes: dict[frozenset[str], set[str]] = {}
    for answer in answers.values():
        found = derived(taskset, answer)
        looks = [s for s in found.reference if s.planned and s.call.tool not in ("reply_to_requester", "resolve")]
        for first, second in itertools.combinations(looks, 2):
            if any(source.startswith(f"step {found.reference.index(first)}") for source in second.derived_from.values()):
                continue
            pair = frozenset((first.call.tool, second.call.tool))
            orders.setdefault(pair, set()).add((first.call.tool, second.call.tool))
            outcomes.setdefault(pair, set()).add(answer.outcome.code)
    told = {pair: found for pair, found in orders.items() if len(pair) > 1 and len(outcomes[pair]) > 1}
    assert told
    assert all(len(found) == 1 for found in told.values()), told


def test_what_only_a_grant_needs_to_know_is_asked_after_the_look_ups(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    """Joined with a question before them, it would tell the decision."""
    taskset, answers = small
    steps = {id_: [s.call.tool for s in derived(taskset, answer).reference] for id_, answer in answers.items()}
    assert steps["small-exchange_refused"] == ["reply_to_requester", "get_order", "resolve"]
    granted = ["reply_to_requester", "get_order", "reply_to_requester", "create_exchange", "resolve"]
    assert steps["small-exchange_grant"] == granted


def test_what_only_an_approval_needs_is_looked_up_last(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    seen = 0
    for answer in answers.values():
        tools = [step.call.tool for step in derived(taskset, answer).reference]
        if "request_approval" in tools and "list_payments" in tools:
            before = tools[: tools.index("request_approval")]
            assert before[-1] == "list_payments", tools
            seen += 1
    assert seen


def test_every_argument_says_where_its_value_was_first_seen(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    for answer in answers.values():
        for step in derived(taskset, answer).reference:
            assert set(step.derived_from) == set(step.call.arguments)
            assert "nowhere" not in step.derived_from.values()


def test_a_value_that_only_the_requester_knew_is_underivable_when_they_never_said_it(
    small: tuple[TaskSet, dict[str, Answer]],
) -> None:
    taskset, answers = small
    only_told = {"new_address", "new_sku", "postcode", "phone"}
    told = [
        a
        for a in answers.values()
        if any(where.startswith("fact") and name in only_told for s in a.reference for name, where in s.derived_from.items())
    ]
    assert told
    for answer in told:
        with pytest.raises(Underivable) as missing:
            derived(taskset, answer, facts=False)
        assert "_1A2B" not in str(missing.value), "a reason holds names of arguments, no values"


def test_the_same_reference_comes_out_every_time(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    for answer in list(answers.values())[:6]:
        assert derived(taskset, answer) == derived(taskset, answer)


def tools(small: tuple[TaskSet, dict[str, Answer]]) -> Episode:
    episode = Episode(small[0])
    episode.reset(next(iter(small[0].tasks)))
    return episode


def test_a_change_that_no_tool_makes_has_no_path(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    episode = tools(small)
    with pytest.raises(NoPath, match="no tool makes it"):
        invert([Write("orders", "order", "update", "ORDER_1", {"total_minor": 1}, 1, 1)], episode.tools, {})


def test_later_changes_of_a_record_fold_into_one_call(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    episode = tools(small)
    state = {"orders": {"order": {"ORDER_1": {"status": "placed", "ship_to": "ADDRESS_1"}}}}
    there_and_back = [
        Write("orders", "order", "update", "ORDER_1", {"ship_to": "ADDRESS_2"}, 1, 1),
        Write("orders", "order", "update", "ORDER_1", {"ship_to": "ADDRESS_1"}, 2, 2),
    ]
    assert invert(there_and_back, episode.tools, state) == []
    once = invert(there_and_back[:1], episode.tools, state)
    assert [(t.call.tool, t.call.arguments) for t in once] == [
        ("change_address", {"order_id": "ORDER_1", "new_address": "ADDRESS_2"})
    ]


def test_a_created_row_keeps_what_was_decided_and_ignores_stamps(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    episode = tools(small)
    fields = {"order_id": "ORDER_1", "amount_minor": 590, "reason": "late_delivery", "created_at": "2025-01-01T00:00:00Z"}
    (target,) = invert([Write("payments", "refund", "create", "REFUND_1", fields, 1, 1)], episode.tools, {})
    assert target.change.fields == {"order_id": "ORDER_1", "amount_minor": 590, "reason": "late_delivery"}
    assert target.ignored == ("payments.refund.created_at",)


def test_what_was_said_singles_one_out_or_does_not() -> None:
    orders = {"A": "footrest, oak delivered", "B": "desk fan, red delivered", "C": "footrest, red shipped"}
    assert singles_out("the order with the desk fan", orders, "B")
    assert not singles_out("the order with the footrest", orders, "A"), "two orders hold one"
    assert not singles_out("my order was delivered late", orders, "A", everyday="delivered late")
    assert singles_out("the order with the dekk fann", {"A": "keyboard", "B": "keyboards fann"}, "B")
    assert singles_out("my order", {"A": "anything"}, "A"), "the only one needs no telling"
