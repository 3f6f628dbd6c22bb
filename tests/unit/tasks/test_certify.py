"""Certificates: a sound task passes, and every unsound one fails at the check that is about its fault."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from environments.agents import PANEL, run_episode
from environments.episode import Episode
from environments.tool import Context, Tool
from environments.worlds import records
from rewards.score import Grader
from schemas.episode import Grade, Journal, RowChange, ToolCall
from schemas.errors import LeakError
from schemas.files import put_content, read_models, write_models
from schemas.proof import Placed, Proof
from schemas.task import Answer, Certificate, Fact, RequesterSpec, TaskSpec
from schemas.taskset import TaskSet, open_taskset, task_digest
from tasks.certificates._yardstick import measured
from tasks.certify import CHECKS, Placement, certify_task, constant_outcome_rates
from tests.taskset_certified import SOUND, placed, regrade
from tests.taskset_factory import PROOF, build_taskset


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[TaskSet, dict[str, Answer]]:
    measured()  # once a process: not first under a grader that a test has changed
    folder = build_taskset(tmp_path_factory.mktemp("small") / "small")
    answers = {a.task_id: a for a in read_models(folder / "train" / "answers.jsonl", Answer)}
    return open_taskset(folder, "train"), answers


def certified(
    small: tuple[TaskSet, dict[str, Answer]],
    key: str,
    change: Callable[[TaskSpec, Answer], tuple[TaskSpec, Answer]] | None = None,
    *,
    proof: Proof = PROOF,
    placement: Placement | None = None,
) -> Certificate:
    taskset, answers = small
    task, answer = taskset.tasks[f"small-{key}"], answers[f"small-{key}"]
    if change is not None:
        task, answer = change(task, answer)
        # One more task set object, so that nothing made of the sound task is reused for the changed one.
        taskset = TaskSet(taskset.folder, taskset.side, taskset.manifest, {task.task_id: task}, taskset.forms)
    return certify_task(taskset, task, answer, proof, placement or placed(task))[0]


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
    _, bounds = certify_task(taskset, task, answers[task.task_id], PROOF, placed(task))
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


def test_a_refusal_at_once_is_no_shortcut_even_where_no_rule_guards_it(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def unguarded(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        return task.model_copy(update={"rules": ()}), answer

    found = verdicts(certified(small, "damaged_refused", unguarded))
    assert found["C2"] == "passed"
    assert found["C17"] == "not_applicable"
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
        free = tuple(rule for rule in task.rules if rule.rule != "exact")  # else the rule about the amount finds it
        return task.model_copy(update={"rules": free}), with_outcome(answer, ignored_fields=fields)

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
    rates = constant_outcome_rates(taskset, answers, codes=PROOF.codes, seed=1)
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


def detail(certificate: Certificate, check: str) -> str:
    return next(c.detail for c in certificate.checks if c.id == check)


def test_a_policy_version_that_was_not_in_force_fails_c8(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    late = tuple(
        p.model_copy(update={"end" if p.version == 1 else "start": "2025-10-01T00:00:00Z"}) if p.document == "orders" else p
        for p in PROOF.policies
    )
    found = certified(small, "cancel_refused", proof=PROOF.model_copy(update={"policies": late}))
    assert verdicts(found)["C8"] == "failed"
    assert "orders" in detail(found, "C8")


def test_two_versions_in_force_at_once_fail_c8(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    open_ended = tuple(p.model_copy(update={"end": None}) for p in PROOF.policies)
    assert verdicts(certified(small, "late_grant", proof=PROOF.model_copy(update={"policies": open_ended})))["C8"] == "failed"


def test_a_version_ends_at_the_very_instant_at_which_the_next_begins(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    start = small[0].tasks["small-late_grant"].started_at
    at_start = tuple(p.model_copy(update={"end" if p.version == 1 else "start": start}) for p in PROOF.policies)
    assert verdicts(certified(small, "late_grant", proof=PROOF.model_copy(update={"policies": at_start})))["C8"] == "passed"


def test_a_task_that_leaves_out_a_rule_in_force_fails_c8(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def lenient(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        return task.model_copy(update={"rules": tuple(r for r in task.rules if r.id != "refund_limit")}), answer

    found = certified(small, "late_grant", lenient)
    assert verdicts(found)["C8"] == "failed"
    assert "refund_limit" in detail(found, "C8")


def test_a_reference_that_a_rule_in_force_forbids_fails_c8_though_the_task_has_softer_parameters(
    small: tuple[TaskSet, dict[str, Answer]],
) -> None:
    strict = tuple(
        r.model_copy(update={"parameters": {**r.parameters, "days": 1}}) if r.id == "refund_window_v2" else r for r in PROOF.rules
    )

    def same(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        rules = tuple(
            r.model_copy(update={"parameters": {**r.parameters, "days": 1}}) if r.id == "refund_window_v2" else r
            for r in task.rules
        )
        return task.model_copy(update={"rules": rules}), answer

    found = certified(small, "late_grant", same, proof=PROOF.model_copy(update={"rules": strict}))
    assert verdicts(found)["C8"] == "failed"
    assert "refund_window_v2" in detail(found, "C8")


@pytest.mark.parametrize("where", ["opening", "fact", "label", "state"])
def test_an_answer_that_can_be_read_fails_c10(small: tuple[TaskSet, dict[str, Answer]], where: str) -> None:
    code = "refund_granted"
    proof = PROOF
    if where == "label":
        told = PROOF.codes[code].model_copy(update={"label": "I have something back"})
        proof = PROOF.model_copy(update={"codes": {**PROOF.codes, code: told}})

    def tell(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        if where == "opening":
            opening = task.opening.model_copy(update={"text": f"{task.opening.text} ({code.upper()})"})
            return task.model_copy(update={"opening": opening}), answer
        if where == "fact":
            fact = Fact(id="z", slots=("z",), question="What did they decide?", answer=f"They said {code}.")
            return task.model_copy(update={"requester": RequesterSpec(facts=(*task.requester.facts, fact))}), answer
        if where == "state":
            part = {"helpdesk": {"ticket": {"TICKET_0000000A": {"requester_id": "USER_1", "note": f"see {code}"}}}}
            digest = put_content(small[0].folder / "content", part)
            return task.model_copy(update={"state": (*task.state, digest)}), answer
        return task, answer

    found = certified(small, "late_grant", tell, proof=proof)
    assert verdicts(found)["C10"] == "failed"
    assert "something back" not in detail(found, "C10")


def test_a_typed_answer_that_the_opening_tells_fails_c10(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def typed(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        opening = task.opening.model_copy(update={"text": f"{task.opening.text} It is 4711 days late."})
        outcome = answer.outcome.model_copy(update={"kind": "answer", "answer": {"days": 4711}, "changes": ()})
        return task.model_copy(update={"opening": opening}), answer.model_copy(update={"outcome": outcome})

    assert verdicts(certified(small, "late_grant", typed))["C10"] == "failed"


@pytest.mark.parametrize("fault", ["raises", "reads the answers", "changes the shared rows", "says where it lies"])
def test_a_tool_that_junk_breaks_or_that_reaches_the_graders_files_fails_c12(
    small: tuple[TaskSet, dict[str, Answer]], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small[0].folder

    def bad(tool: Tool) -> Tool:
        def run(context: Context, arguments: dict[str, Any]) -> Any:
            if fault == "raises" and "/" in str(arguments.get("order_id")):
                raise KeyError("order_id")
            if fault == "reads the answers":
                (folder / "train" / "answers.jsonl").read_bytes()
            if fault == "says where it lies":
                return {**tool.run(context, arguments), "path": str(folder)}
            result = tool.run(context, arguments)
            if fault == "changes the shared rows":
                context.state.base.layers[-1].rows["orders"]["order"]["ORDER_0000000F"] = {}
            return result

        return replace(tool, run=run)

    real = records.all_tools

    def tools(taskset: TaskSet, task: TaskSpec, shared: dict[object, object]) -> dict[str, Tool]:
        return {n: bad(t) if n == "get_order" else t for n, t in real(taskset, task, shared).items()}

    monkeypatch.setattr(records, "all_tools", tools)
    taskset = TaskSet(folder, "train", small[0].manifest, small[0].tasks, small[0].forms)
    found = certified((taskset, small[1]), "late_grant", lambda task, answer: (task.model_copy(), answer))
    assert verdicts(found)["C12"] == "failed", detail(found, "C12")
    assert "get_order" in detail(found, "C12") or fault == "changes the shared rows"


def test_an_outcome_that_does_not_need_its_record_fails_c14(small: tuple[TaskSet, dict[str, Answer]]) -> None:
    def unneeded(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        finish = answer.reference[-1]
        account = next(s.call.arguments["account_id"] for s in answer.reference if s.call.tool == "get_account")
        looked = answer.reference[0].model_copy(
            update={"call": ToolCall(tool="get_account", arguments={"account_id": account}), "required_by": ()}
        )
        return task.model_copy(update={"rules": ()}), answer.model_copy(
            update={
                "outcome": answer.outcome.model_copy(update={"about": account, "changes": ()}),
                "reference": (
                    looked,
                    next(s for s in answer.reference if s.call.tool == "get_order").model_copy(update={"required_by": ()}),
                    finish.model_copy(
                        update={"call": ToolCall(tool="resolve", arguments={**finish.call.arguments, "about": account})}
                    ),
                ),
            }
        )

    found = certified(small, "late_refused", unneeded)
    assert verdicts(found)["C14"] == "failed"


def test_two_tokens_for_one_person_fail_c15_and_a_scope_per_source_is_not_applicable(
    small: tuple[TaskSet, dict[str, Answer]],
) -> None:
    def split(task: TaskSpec, answer: Answer) -> tuple[TaskSpec, Answer]:
        return task.model_copy(update={"opening": task.opening.model_copy(update={"requester_name": "PERSON_0000AAAA"})}), answer

    assert verdicts(certified(small, "recovery_grant"))["C15"] == "passed"
    assert verdicts(certified(small, "recovery_grant", split))["C15"] == "failed"
    own = PROOF.model_copy(update={"token_scope": "per_source"})
    found = certified(small, "recovery_grant", proof=own)
    assert verdicts(found)["C15"] == "not_applicable"
    assert "per_source" in detail(found, "C15")


@pytest.mark.parametrize(
    "placement",
    [
        Placement(None),
        Placement(Placed(slice="both", sha256="", cluster="c"), frozenset({"heldout"})),
        Placement(Placed(slice="train", sha256="", cluster=""), frozenset({"train"})),
        Placement(Placed(slice="train", sha256="", cluster="c"), frozenset({"train", "heldout"})),
    ],
    ids=["nowhere", "another slice", "no cluster", "a cluster on both sides"],
)
def test_a_task_whose_place_is_not_recorded_or_crossed_fails_c16(
    small: tuple[TaskSet, dict[str, Answer]], placement: Placement
) -> None:
    assert verdicts(certified(small, "late_grant", placement=placement))["C16"] == "failed"


def test_a_grader_that_wants_one_order_or_one_wording_fails_c18(
    small: tuple[TaskSet, dict[str, Answer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    task, answer = small[0].tasks["small-goodwill_refused"], small[1]["small-goodwill_refused"]
    recorded = [s.call.tool for s in answer.reference]

    def in_this_order(journal: Journal, grade: Grade) -> dict[str, Any]:
        return {"full": grade.full and [e.call.tool for e in journal.entries] == recorded}

    assert verdicts(certified(small, task.task_id.removeprefix("small-")))["C18"] == "passed"
    regrade(monkeypatch, in_this_order)
    assert verdicts(certified(small, task.task_id.removeprefix("small-")))["C18"] == "failed"


def test_another_grader_gives_other_digests_of_its_grades(
    small: tuple[TaskSet, dict[str, Answer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = certified(small, "late_grant")
    monkeypatch.setattr("rewards.score.efficiency", lambda calls, reference, most: 1.0)
    after = certified(small, "late_grant")
    assert after.checks == before.checks
    assert after.grades_sha256 != before.grades_sha256
