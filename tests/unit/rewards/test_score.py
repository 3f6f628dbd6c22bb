"""Rewards of whole episodes: what pays, what costs, and that the stream and the whole say the same."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewards.events import check_weights, discounted, reward, score
from rewards.score import Grader, Stepper, criteria_of, grade, load_grader
from schemas.episode import Grade, Journal, RefusalKind, RowChange, StepEvents
from schemas.errors import GraderError
from schemas.files import write_models
from schemas.task import Answer, RequesterSpec, RewardWeights, RuleRef, ScoreBounds, TaskSpec
from schemas.taskset import SideManifest, State, TaskSet, task_digest
from tests.unit.rewards.build import BASE, LIMIT, START, Play, answer, task


def judged(play: Play, ended_by: str | None = None, spec: TaskSpec | None = None, wanted: Answer | None = None) -> Grade:
    return grade(spec or task(), wanted or answer(), BASE, play.journal(ended_by))


def taskset(spec: TaskSpec, folder: Path = Path("nowhere")) -> TaskSet:
    manifest = SideManifest(taskset="small", side="train", tasks=1, files={}, ids={"t1": task_digest(spec, answer())})
    found = TaskSet(folder, "train", manifest, {"t1": spec}, {})
    found._states[spec.state] = BASE
    return found


def test_success_fires_once_at_the_finishing_act() -> None:
    found = judged(Play().read().refund().resolve())
    assert [e.success for e in found.events] == [0, 0, 1]
    assert list(found.rewards) == pytest.approx([0.0, 0.0, 0.9])
    assert found.return_ == pytest.approx(0.9)
    assert found.score == pytest.approx(100.0)


def test_a_broken_rule_gates_a_right_outcome() -> None:
    found = judged(Play().refund().resolve())
    assert found.outcome_right
    assert not found.success
    assert {v.rule for v in found.violations} == {"reads_order", "decision_reads_order"}
    assert [e.violation for e in found.events] == [1, 1]


def test_a_required_look_up_counts_only_about_the_same_record() -> None:
    assert not judged(Play().read("ORDER_2").refund().resolve()).success


def test_a_soft_rule_is_reported_and_gates_nothing() -> None:
    soft = task(rules=tuple(r.model_copy(update={"hard": False}) for r in task().rules))
    found = judged(Play().refund().resolve(), spec=soft)
    assert found.success
    assert not found.full
    assert found.violations
    assert all(e.violation == 0 for e in found.events)


def test_several_faults_of_one_step_are_one_violation_event() -> None:
    found = judged(Play().refund(amount=999_999))
    assert {v.rule for v in found.violations} == {"reads_order", "refund_limit"}
    assert found.events[0].violation == 1


@pytest.mark.parametrize("kind", [k for k in RefusalKind if k is not RefusalKind.not_found])
def test_a_typed_invalid_act_is_a_violation_that_still_lets_the_case_succeed(kind: RefusalKind) -> None:
    found = judged(Play().refused("create_refund", kind).read().refund().resolve())
    assert found.events[0].violation == 1
    assert found.success
    assert not found.full


def test_a_look_up_that_finds_nothing_is_a_waste_and_breaks_no_rule() -> None:
    found = judged(Play().refused("get_order", RefusalKind.not_found, order_id="ORDER_9").read().refund().resolve())
    assert found.events[0].violation == 0
    assert found.events[0].delay > 0
    assert found.full


def test_wasted_calls_cost_and_efficiency_counts_only_in_a_success() -> None:
    quick = judged(Play().read().refund().resolve())
    slow = judged(Play().read().read().read().refund().resolve())
    wrong = judged(Play().read().resolve("refund_refused"))
    assert slow.success
    assert slow.return_ < quick.return_
    assert 0 < slow.events[-1].efficiency < quick.events[-1].efficiency == 1.0
    assert wrong.events[-1].efficiency == 0.0


def test_reading_again_after_a_write_is_no_waste() -> None:
    found = judged(Play().read().refund().read().resolve())
    assert all(e.delay == 0 for e in found.events)


def test_patience_is_spent_by_messages_that_bring_nothing_new_and_the_first_is_free() -> None:
    found = judged(Play().say("f1").say().say("f1").say("f2").read().refund().resolve())
    assert [e.delay for e in found.events[:4]] == [0.0, 0.0, 0.25, 0.0]


@pytest.mark.parametrize("idle", [Play().call("add_note", result={"noted": True}), Play().say(), Play().refused("get_order")])
def test_an_idle_call_first_does_not_hide_that_a_case_was_closed_unread(idle: Play) -> None:
    found = judged(idle.resolve("refund_refused"))
    assert "closed_unread" in {v.rule for v in found.violations}


def test_a_wrong_finish_reopens_the_case() -> None:
    assert judged(Play().read().resolve("refund_refused")).events[-1].delay == 1.0


@pytest.mark.parametrize("ended_by", ["step_limit", "token_limit", "requester_left"])
def test_an_episode_without_a_finish_is_abandoned_at_its_last_call(ended_by: str) -> None:
    found = judged(Play().read().refund(), ended_by)
    assert found.events[-1] == StepEvents(violation=1, delay=1.0)
    assert found.events[0] == StepEvents()
    assert [v.rule for v in found.violations] == ["case_abandoned"]
    assert judged(Play(), ended_by).return_ == pytest.approx(-0.85)


def test_an_unfinished_journal_is_judged_so_far_without_an_end() -> None:
    found = judged(Play().read().refund())
    assert not found.success
    assert found.violations == ()


# --- stalling and closing at once are the worst ----------------------------------------------------------------------------

ACTS = ["read", "read2", "refund", "wrong", "say", "told", "missed", "update"]


def play_of(acts: list[str]) -> Play:
    play = Play()
    for number, act in enumerate(acts):
        match act:
            case "read":
                play.read()
            case "read2":
                play.read("ORDER_2")
            case "refund":
                play.refund()
            case "wrong":
                play.refund(amount=10**6)
            case "say":
                play.say()
            case "told":
                play.say(f"f{number}")
            case "missed":
                play.refused("get_order", RefusalKind.not_found, order_id="ORDER_9")
            case "invalid":
                play.refused("create_refund")
            case "update":
                play.update("ORDER_1", {"ship_to": "ADDRESS_1"}, ship_to="ADDRESS_2")
    return play


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(ACTS), min_size=1, max_size=18), st.sampled_from(["refund_granted", "refund_refused"]))
def test_looking_and_finishing_without_a_violation_beats_stalling_and_closing_at_once(acts: list[str], code: str) -> None:
    tried = judged(play_of(["read", *acts]).resolve(code))
    if any(e.violation for e in tried.events):
        return
    stalled = judged(play_of(["read"] * 20), "step_limit")
    silent = judged(play_of(["say"] * 20), "step_limit")
    closed = judged(Play().resolve("refund_refused"))
    lucky = judged(Play().resolve("refund_granted"), wanted=answer(changes=()))
    assert tried.return_ > max(stalled.return_, silent.return_, closed.return_, lucky.return_)


def test_weights_under_which_stalling_could_pay_are_refused() -> None:
    check_weights(RewardWeights(), 30)
    for bad in (
        RewardWeights(violation=0.5),
        RewardWeights(delay=0.3),
        RewardWeights(gamma=0.9),
        RewardWeights(gamma=0.0),
        RewardWeights(success=-1.0),
        RewardWeights(milestones={"create_refund": 2.0}),
    ):
        with pytest.raises(GraderError):
            check_weights(bad, 30)
    with pytest.raises(GraderError, match="stalling"):
        Grader(taskset(task(weights=RewardWeights(delay=0.3))), {})


# --- the numbers -------------------------------------------------------------------------------------------------------------


def test_rewards_are_clipped_and_discounted() -> None:
    heavy = RewardWeights(success=3.0)
    assert reward(StepEvents(success=1, quality=1.0), heavy) == 1.0
    assert reward(StepEvents(violation=1, delay=1.0), RewardWeights(violation=3.0)) == -1.0
    assert discounted([1.0, 1.0, 1.0], 0.5) == pytest.approx(1.75)


def test_score_is_100_for_the_reference_and_0_for_the_worst() -> None:
    bounds = ScoreBounds(g_min=-0.85, g_max=0.9)
    assert score(0.9, bounds) == pytest.approx(100.0)
    assert score(-0.85, bounds) == pytest.approx(0.0)
    assert score(0.9, None) is None


def test_a_milestone_is_credited_once_and_only_for_a_right_write() -> None:
    spec = task(weights=RewardWeights(milestones={"create_refund": 0.5}))
    right = judged(Play().read().refund().resolve(), spec=spec)
    assert right.events[1].quality == 0.5
    wrong = judged(Play().read().refund(amount=900_000).refund().resolve(), spec=spec)
    assert [e.quality for e in wrong.events[:2]] == [0.0, 0.0]


def test_a_milestone_is_not_paid_for_what_another_tool_has_brought() -> None:
    spec = task(weights=RewardWeights(milestones={"stamp": 0.5}))
    stamp = RowChange(system="payments", kind="refund", op="update", record_id="REFUND_9", fields={"created_at": START})
    found = judged(Play().read().refund().call("stamp", changes=(stamp,)).resolve(), spec=spec)
    assert found.success
    assert [e.quality for e in found.events] == [0.0, 0.0, 0.0, 1.0]


def test_the_kpi_composition_pays_at_the_finish_only() -> None:
    spec = task(weights=RewardWeights(composition="kpi"))
    assert judged(Play().read().refund().resolve(), spec=spec).rewards == (0.0, 0.0, 1.0)
    assert judged(Play().read().read(), "step_limit", spec=spec).return_ == 0.0


def test_a_judge_lowers_quality_and_never_touches_success() -> None:
    for said, quality in ((0.25, 0.25), (1.0, 1.0)):

        def judge(_task: TaskSpec, _journal: Journal, said: float = said) -> float:
            return said

        grader = Grader(taskset(task()), {"t1": answer()}, judge)
        found = grader.grade(Play().read().refund().resolve().journal())
        assert found.success
        assert found.events[-1].quality == quality
    wrong = Grader(taskset(task()), {"t1": answer()}, judge=lambda _task, _journal: 1.0)
    assert not wrong.grade(Play().read().resolve().journal()).success
    odd = Grader(taskset(task()), {"t1": answer()}, judge=lambda _task, _journal: 7.0)
    with pytest.raises(GraderError, match="judge"):
        odd.grade(Play().read().resolve().journal())


# --- a grader that cannot judge raises -----------------------------------------------------------------------------------------


def test_what_cannot_be_judged_raises() -> None:
    unknown = RuleRef(id="x", rule="windw", sentence="s", parameters={})
    with pytest.raises(GraderError, match="did you mean 'window'"):
        judged(Play().read(), spec=task(rules=(unknown,)))
    junk = LIMIT.model_copy(update={"parameters": {"tool": "create_refund"}})
    with pytest.raises(GraderError, match="refund_limit"):
        judged(Play().read(), spec=task(rules=(junk,)))
    much: State = {"orders": {"order": {"ORDER_1": {"total_minor": "much"}}}}
    with pytest.raises(GraderError, match="cannot judge step 1"):
        grade(task(rules=(LIMIT,)), answer(), much, Play().read().refund().journal())
    with pytest.raises(GraderError, match="journal of t1"):
        grade(task(task_id="t2"), answer().model_copy(update={"task_id": "t2"}), BASE, Play().journal())
    with pytest.raises(GraderError, match="answer of t1"):
        grade(task(task_id="t2"), answer(), BASE, Play().journal())
    over = Play().read().refund().resolve().read()
    with pytest.raises(GraderError, match="over before"):
        judged(over, "finish")


def test_a_record_that_the_agent_made_up_is_its_own_fault_and_not_the_graders() -> None:
    found = judged(Play().read().refund().resolve(about="ORDER_404"))
    assert not found.success
    assert "decision_reads_order" in {v.rule for v in found.violations}


UNKNOWN_LOOKUPS: dict[str, dict[str, object]] = {
    "limit": {
        "tool": "create_refund",
        "argument": "amount_minor",
        "limits": {"gold": 90_000},
        "by": {
            "argument": "order_id",
            "system": "orders",
            "kind": "order",
            "field": "account_id",
            "then": {"system": "accounts", "kind": "account", "field": "tier"},
        },
    },
    "approval": {
        "tool": "create_refund",
        "argument": "amount_minor",
        "about": "order_id",
        "above": {"gold": 90_000},
        "by": {"argument": "order_id", "system": "orders", "kind": "order", "field": "tier"},
    },
    "forbidden": {
        "tool": "create_refund",
        "state": {"argument": "order_id", "system": "orders", "kind": "order", "field": "status"},
        "values": ["cancelled"],
    },
}


@pytest.mark.parametrize("row", [{}, {"account_id": "ACCOUNT_404", "tier": "tin"}, {"account_id": None, "status": None}])
@pytest.mark.parametrize("rule", [*UNKNOWN_LOOKUPS, "total"])
def test_an_act_on_a_value_that_the_state_does_not_hold_breaks_the_rule_and_never_the_grader(
    rule: str, row: dict[str, object]
) -> None:
    made = RuleRef(id="x", rule=rule, sentence="s", parameters=UNKNOWN_LOOKUPS[rule]) if rule != "total" else LIMIT
    base: State = {"orders": {"order": {"ORDER_1": row}}, "accounts": {"account": {}}}
    found = grade(task(rules=(made,)), answer(), base, Play().read().refund().journal())
    assert [(v.rule, v.step) for v in found.violations] == [(made.id, 1)]
    assert found.violations[0].evidence


def test_a_wrong_value_is_a_violation_though_the_right_one_is_written_over_it() -> None:
    def moved(*addresses: str) -> Grade:
        play, before = Play().read(), "ADDRESS_1"
        for address in addresses:
            play.update("ORDER_1", {"ship_to": before}, ship_to=address)
            before = address
        return judged(play.resolve(code="address_changed"), wanted=wanted, spec=task(rules=()))

    right = RowChange(system="orders", kind="order", op="update", record_id="ORDER_1", fields={"ship_to": "ADDRESS_2"}, before={})
    wanted = answer(changes=(right,), code="address_changed")
    assert moved("ADDRESS_2").full
    once = moved("ADDRESS_9", "ADDRESS_2")
    assert [(v.rule, v.step) for v in once.violations] == [("collateral", 1)]
    assert not once.full
    assert not moved("ADDRESS_2", "ADDRESS_9", "ADDRESS_2").full


# --- step by step = at once ----------------------------------------------------------------------------------------------------

SHAPES = st.tuples(
    st.lists(st.sampled_from([*ACTS, "invalid"]), max_size=12),
    st.sampled_from(["", "resolve", "refuse", "step_limit", "requester_left"]),
)


@settings(max_examples=200, deadline=None)
@given(SHAPES)
def test_the_stream_of_a_stepper_is_the_grade_of_the_journal(shape: tuple[list[str], str]) -> None:
    acts, end = shape
    play = play_of(acts)
    if end in ("resolve", "refuse"):
        play.resolve("refund_granted" if end == "resolve" else "refund_refused")
    cut = end if end.endswith(("limit", "left")) and acts else None
    journal = play.journal(cut)
    whole = grade(task(), answer(), BASE, journal)
    stepper = Grader(taskset(task()), {"t1": answer()}).stepper("t1")
    stream = []
    for index, entry in enumerate(journal.entries):
        if index == len(journal.entries) // 2:
            stepper = stepper.fork()
        stream.append(stepper.step(entry, truncated=cut is not None and index == len(journal.entries) - 1))
        so_far = grade(
            task(), answer(), BASE, journal.model_copy(update={"entries": journal.entries[: index + 1], "ended_by": ""})
        )
        if index < len(journal.entries) - 1:
            assert so_far.events[index] == stream[-1][0], "a later call changed the judgement of an earlier one"
    assert tuple(e for e, _ in stream) == whole.events
    assert tuple(r for _, r in stream) == whole.rewards
    assert stepper.grade() == whole
    assert all(-1.0 <= r <= 1.0 for r in whole.rewards)
    assert sum(e.success for e in whole.events) == int(whole.success)


def test_a_fork_leaves_the_first_judge_as_it_was() -> None:
    stepper = Stepper(criteria_of(task(), answer()), BASE)
    entries = Play().read().refund().resolve().entries
    stepper.step(entries[0])
    other = stepper.fork()
    other.step(entries[1])
    other.step(entries[2])
    assert other.grade().success
    assert len(stepper.grade().events) == 1
    assert not stepper.grade().violations
    stepper.step(entries[1])
    stepper.step(entries[2])
    assert stepper.grade() == other.grade()


def test_a_whole_episode_is_judged_in_well_under_a_millisecond() -> None:
    criteria = criteria_of(task(), answer())
    entries = Play().say("f1").read().read("ORDER_2").refund().resolve().entries
    best = float("inf")
    for _ in range(50):
        start = time.process_time()
        for _ in range(10):
            stepper = Stepper(criteria, BASE)
            for entry in entries:
                stepper.step(entry)
        best = min(best, (time.process_time() - start) / 10)
    assert best < 1e-3


# --- opening the answers -------------------------------------------------------------------------------------------------------


def test_the_grader_opens_the_answers_that_were_certified_and_no_others(tmp_path: Path) -> None:
    spec = task()
    opened = taskset(spec, tmp_path)
    write_models(tmp_path / "train" / "answers.jsonl", [answer()])
    assert load_grader(opened).grade(Play().read().refund().resolve().journal()).full
    write_models(tmp_path / "train" / "answers.jsonl", [answer(code="refund_refused")])
    with pytest.raises(GraderError, match="not the one"):
        load_grader(opened)
    write_models(tmp_path / "train" / "answers.jsonl", [])
    with pytest.raises(GraderError, match="no answer"):
        load_grader(opened)


def test_requester_patience_of_zero_or_one_does_not_divide_by_zero() -> None:
    found = judged(Play().say().say().read().refund().resolve(), spec=task(requester=RequesterSpec(patience=0)))
    assert found.success
