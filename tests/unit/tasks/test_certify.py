"""Certificates: a sound task passes, and every unsound one fails at the check that is about its fault."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from environments.agents import PANEL, run_episode
from environments.episode import Episode
from rewards.score import Grader
from schemas.episode import RowChange, ToolCall
from schemas.errors import LeakError
from schemas.files import read_models, write_models
from schemas.records import OutcomeCode
from schemas.task import Answer, Certificate, Fact, RequesterSpec, TaskSpec
from schemas.taskset import TaskSet, open_taskset, task_digest
from tasks.certify import CHECKS, certify_task, constant_outcome_rates
from tests.taskset_cases import CODES, FORMS, GRANTS
from tests.taskset_factory import build_taskset

OUTCOMES = {
    code: OutcomeCode(workflow=workflow, outcome_class="grant" if code in GRANTS else "refuse", label=code)
    for workflow, codes in CODES.items()
    for code in codes
}
SOUND = (
    *("late_grant", "late_refused", "damaged_grant", "damaged_refused", "double_grant", "double_refused", "approval_grant"),
    *("approval_refused", "cancel_grant", "cancel_grant_old", "cancel_refused", "recovery_grant", "recovery_refused"),
    *("address_grant", "exchange_grant", "exchange_refused", "goodwill_refused"),
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[TaskSet, dict[str, Answer]]:
    folder = build_taskset(tmp_path_factory.mktemp("small") / "small")
    answers = {a.task_id: a for a in read_models(folder / "train" / "answers.jsonl", Answer)}
    return open_taskset(folder, "train"), answers


def certified(
    small: tuple[TaskSet, dict[str, Answer]],
    key: str,
    change: Callable[[TaskSpec, Answer], tuple[TaskSpec, Answer]] | None = None,
) -> Certificate:
    taskset, answers = small
    task, answer = taskset.tasks[f"small-{key}"], answers[f"small-{key}"]
    if change is not None:
        task, answer = change(task, answer)
        # One more task set object, so that nothing made of the sound task is reused for the changed one.
        taskset = TaskSet(taskset.folder, taskset.side, taskset.manifest, {task.task_id: task}, taskset.forms)
    return certify_task(taskset, task, answer, codes=OUTCOMES, forms=FORMS, seed=1)[0]


def verdicts(certificate: Certificate) -> dict[str, str]:
    return {check.id: check.verdict for check in certificate.checks}


def with_outcome(answer: Answer, **more: object) -> Answer:
    return answer.model_copy(update={"outcome": answer.outcome.model_copy(update=more)})


@pytest.mark.parametrize("key", SOUND)
def test_a_sound_task_holds_and_its_writes_alone_do_not_solve_it(small: tuple[TaskSet, dict[str, Answer]], key: str) -> None:
    found = certified(small, key)
    assert found.holds, [c for c in found.checks if c.verdict != "passed"]
    assert list(verdicts(found)) == list(CHECKS)
    assert verdicts(found)["C17"] == "passed"
    assert verdicts(found)["C4"] == "passed"


def test_bounds_are_the_references_return_and_the_worst_of_the_panel(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    task = taskset.tasks["small-late_grant"]
    _, bounds = certify_task(taskset, task, answers[task.task_id], codes=OUTCOMES, forms=FORMS, seed=1)
    assert bounds.g_max == pytest.approx(0.9)
    grader, episode = Grader(taskset, answers), Episode(taskset)
    for name in ("do_nothing", "finish_at_once", "escalate_all", "echo"):
        journal = run_episode(episode, PANEL[name](1), task.task_id, 1).journal
        assert bounds.g_min <= grader.grade(journal).return_ < bounds.g_max


def test_the_same_seed_gives_the_same_certificate(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    assert certified(small, "late_grant") == certified(small, "late_grant")


def test_a_reference_that_skips_a_required_look_up_fails_c1(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def skip(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        return task, answer.model_copy(update={"reference": tuple(s for s in answer.reference if s.call.tool != "get_order")})

    found = verdicts(certified(small, "late_grant", skip))
    assert found["C1"] == "failed"


def test_a_task_that_no_rule_guards_fails_where_a_refusal_at_once_is_right(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def unguarded(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        return task.model_copy(update={"rules": ()}), answer

    found = verdicts(certified(small, "damaged_refused", unguarded))
    assert found["C2"] == "failed"
    assert found["C17"] == "failed"
    assert found["C4"] == "failed"


def test_where_no_rule_demands_a_check_writes_only_is_not_applicable_and_counted(
    small: tuple[TaskSet, dict[str, Answer]],
) -> None:
    def unguarded(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        steps = tuple(s.model_copy(update={"required_by": ()}) for s in answer.reference)
        return task.model_copy(update={"rules": ()}), answer.model_copy(update={"reference": steps})

    found = verdicts(certified(small, "late_grant", unguarded))
    assert found["C17"] == "not_applicable"
    assert found["C4"] == "not_applicable"


def test_a_required_check_that_no_rule_misses_fails_c4(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def demanded(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        first = answer.reference[0]
        assert first.call.tool == "reply_to_requester"
        marked = first.model_copy(update={"required_by": ("refund_reads_order_and_account",)})
        return task, answer.model_copy(update={"reference": (marked, *answer.reference[1:])})

    assert verdicts(certified(small, "late_grant", demanded))["C4"] == "failed"


def test_a_grader_that_accepts_one_more_act_fails_c5(
    small: tuple[TaskSet, dict[str, Answer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewards.score.own_changes", lambda entry, opening: [c for c in entry.changes if c.kind == "refund"][:0])

    def no_change(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        return task, with_outcome(answer, changes=())

    assert verdicts(certified(small, "late_grant", no_change))["C5"] == "failed"


def test_an_outcome_that_ignores_what_an_argument_decides_fails_c6(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def ignored(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        fields = ("payments.refund.amount_minor", *answer.outcome.ignored_fields)
        return task, with_outcome(answer, ignored_fields=fields)

    found = certified(small, "late_grant", ignored)
    assert verdicts(found)["C6"] == "failed"
    assert "create_refund.amount_minor" in next(c.detail for c in found.checks if c.id == "C6")


def test_an_equally_right_alternative_is_no_fault(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def either(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        refund = answer.outcome.changes[0]
        other = refund.model_copy(update={"fields": {**refund.fields, "amount_minor": 591}})
        return task, with_outcome(answer, alternatives=(answer.outcome.model_copy(update={"changes": (other,)}),))

    assert certified(small, "late_grant", either).holds


def test_a_record_that_is_not_compared_is_no_criterion_and_a_dead_criterion_fails_c7(
    small: tuple[TaskSet, dict[str, Answer]],
) -> None:
    def impossible(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        ghost = RowChange(system="payments", kind="refund", op="create", record_id=None, fields={"amount_minor": 1})
        return task, with_outcome(answer, changes=(*answer.outcome.changes, ghost))

    found = verdicts(certified(small, "late_grant", impossible))
    assert found["C1"] == found["C7"] == "failed"


def test_a_value_that_was_never_shown_fails_c9(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def forgets_to_ask(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        steps = tuple(s for s in answer.reference if s.call.tool != "reply_to_requester")
        return task, answer.model_copy(update={"reference": steps})

    found = certified(small, "late_grant", forgets_to_ask)
    assert verdicts(found)["C9"] == "failed"
    assert "get_order.order_id" in next(c.detail for c in found.checks if c.id == "C9")


def test_a_requester_that_tells_what_nobody_asked_fails_c13(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def chatty(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        fact = Fact(id="g", slots=("x",), question="Thank you for your message", answer="My secret is 7.")
        return task.model_copy(update={"requester": RequesterSpec(facts=(*task.requester.facts, fact))}), answer

    found = certified(small, "late_grant", chatty)
    assert verdicts(found)["C13"] == "failed"


def test_a_rule_that_cannot_be_run_reads_could_not_run_and_never_passed(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def broken(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        rule = task.rules[0].model_copy(update={"rule": "no_such_rule"})
        return task.model_copy(update={"rules": (rule,)}), answer

    found = certified(small, "late_grant", broken)
    assert set(verdicts(found).values()) == {"could_not_run"}
    assert not found.holds


def test_a_reference_with_a_refused_call_fails_c1(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def junk(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        bad = answer.reference[0].model_copy(
            update={"call": ToolCall(tool="get_order", arguments={"order_id": "ORDER_00000000"})}
        )
        return task, answer.model_copy(update={"reference": (bad, *answer.reference)})

    assert verdicts(certified(small, "late_grant", junk))["C1"] == "failed"


def test_a_constant_agent_is_right_at_most_at_its_base_rate(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    taskset, answers = small
    rates = constant_outcome_rates(taskset, answers, codes=OUTCOMES, seed=1)
    assert sum(rate.base_rate for rate in rates) == pytest.approx(1.0)
    assert all(rate.rate <= rate.base_rate for rate in rates)


def test_a_task_is_certified_in_a_tenth_of_a_second(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    certified(small, "late_grant")
    start = time.process_time()
    certified(small, "late_grant")
    assert time.process_time() - start < 0.3


@pytest.mark.parametrize("fault", ["missing", "stale", "failing"])
def test_a_task_set_without_good_certificates_does_not_load(tmp_path: Path, fault: str) -> None:
    folder = build_taskset(tmp_path / "set", cases=("late_grant", "cancel_refused"))
    certificates = list(read_models(folder / "certificates.jsonl", Certificate))
    first = certificates[0]
    if fault == "missing":
        changed = certificates[1:]
    elif fault == "stale":
        task = open_taskset(folder, "train").tasks[first.task_id]
        answer = next(a for a in read_models(folder / "train" / "answers.jsonl", Answer) if a.task_id == first.task_id)
        other = task_digest(task.model_copy(update={"max_steps": 5}), answer)
        changed = [first.model_copy(update={"task_sha256": other}), *certificates[1:]]
    else:
        bad = tuple(c.model_copy(update={"verdict": "could_not_run"}) for c in first.checks)
        changed = [first.model_copy(update={"checks": bad}), *certificates[1:]]
    write_models(folder / "certificates.jsonl", changed)
    words = {"missing": "no certificate", "stale": "stale", "failing": "does not hold"}
    with pytest.raises(LeakError, match=words[fault]):
        open_taskset(folder, "train")


def test_an_unfinished_task_set_opens_only_for_its_builder(tmp_path: Path) -> None:
    folder = build_taskset(tmp_path / "set", cases=("late_grant",))
    write_models(folder / "certificates.jsonl", [])
    assert list(open_taskset(folder, "train", certified=False).tasks) == ["small-late_grant"]
    with pytest.raises(LeakError):
        open_taskset(folder, "train")
