"""Every check of a certificate keeps its contract: its id, its words, and a planted fault that it finds and no sound task has."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from environments import episode
from environments.requester import RequesterRun
from environments.tool import Context, Tool
from environments.worlds import records
from schemas.episode import Grade, Journal, RowChange, ToolCall
from schemas.files import read_models
from schemas.plugins import plugin_names
from schemas.proof import Placed, Proof
from schemas.task import CHECK_IDS, Answer, Certificate, Fact, RequesterSpec, TaskSpec
from schemas.taskset import TaskSet, open_taskset
from tasks.certificates import checks
from tasks.certificates._bench import CertificateCheck
from tasks.certificates._yardstick import measured
from tasks.certify import Placement, certify_task
from tests.taskset_certified import regrade
from tests.taskset_factory import PROOF, build_taskset

FILES = plugin_names("tasks.certificates")


@dataclass
class Case:
    """What one certificate is derived from; a fault changes something of it."""

    taskset: TaskSet
    task: TaskSpec
    answer: Answer
    patch: pytest.MonkeyPatch
    proof: Proof = PROOF
    placed: Placed | None = Placed(slice="train", sha256="", cluster="c")  # noqa: RUF009 - frozen

    def certified(self) -> Certificate:
        here = self.taskset
        taskset = TaskSet(here.folder, here.side, here.manifest, {self.task.task_id: self.task}, here.forms)
        placement = Placement(self.placed, frozenset({"train"}))
        return certify_task(taskset, self.task, self.answer, self.proof, placement)[0]

    def change_task(self, **more: Any) -> None:
        self.task = self.task.model_copy(update=more)

    def change_outcome(self, **more: Any) -> None:
        self.answer = self.answer.model_copy(update={"outcome": self.answer.outcome.model_copy(update=more)})

    def change_grades(self, change: Callable[[Journal, Grade], dict[str, Any]]) -> None:
        """A grader that says something else of a journal."""
        regrade(self.patch, change)

    def without(self, tool: str) -> None:
        kept = tuple(step for step in self.answer.reference if step.call.tool != tool)
        self.answer = self.answer.model_copy(update={"reference": kept})


def skips_a_look_up(case: Case) -> None:
    case.without("get_order")


def has_no_rules(case: Case) -> None:
    case.change_task(rules=())


def accepts_a_guess(case: Case) -> None:
    has_no_rules(case)
    case.change_grades(lambda _, grade: {"success": grade.outcome_right, "full": grade.outcome_right})


def is_right_with_any_code(case: Case) -> None:
    case.change_grades(lambda journal, _: {"success": journal.ended_by == "finish"})


def counts_no_change(case: Case) -> None:
    case.patch.setattr("rewards.score.own_changes", lambda entry, opening: [])
    case.change_outcome(changes=())


def ignores_the_amount(case: Case) -> None:
    case.change_outcome(ignored_fields=("payments.refund.amount_minor", *case.answer.outcome.ignored_fields))
    case.change_task(rules=tuple(rule for rule in case.task.rules if rule.rule != "exact"))


def wants_what_nobody_can_do(case: Case) -> None:
    ghost = RowChange(system="payments", kind="refund", op="create", record_id=None, fields={"amount_minor": 1})
    case.change_outcome(changes=(*case.answer.outcome.changes, ghost))


def leaves_out_a_rule_in_force(case: Case) -> None:
    case.change_task(rules=tuple(rule for rule in case.task.rules if rule.id != "refund_limit"))


def never_asks(case: Case) -> None:
    case.without("reply_to_requester")


def tells_the_code_in_its_opening(case: Case) -> None:
    opening = case.task.opening
    case.change_task(opening=opening.model_copy(update={"text": f"{opening.text} ({case.answer.outcome.code})"}))


def has_a_requester_that_remembers_other_episodes(case: Case) -> None:
    met: list[RequesterRun] = []

    def counted(*arguments: Any, **named: Any) -> RequesterRun:
        met.append(RequesterRun(*arguments, **named))
        met[-1].messages = len(met)
        return met[-1]

    case.patch.setattr(episode, "RequesterRun", counted)


def has_a_tool_that_opens_the_answers(case: Case) -> None:
    real, answers = records.all_tools, case.taskset.folder / "train" / "answers.jsonl"

    def opening(tool: Tool) -> Tool:
        def run(context: Context, arguments: dict[str, Any]) -> Any:
            answers.read_bytes()
            return tool.run(context, arguments)

        return replace(tool, run=run)

    def tools(taskset: TaskSet, task: TaskSpec, shared: dict[object, object]) -> dict[str, Tool]:
        return {name: opening(tool) if name == "get_order" else tool for name, tool in real(taskset, task, shared).items()}

    case.patch.setattr(records, "all_tools", tools)


def has_a_requester_that_tells_unasked(case: Case) -> None:
    fact = Fact(id="g", slots=("x",), question="Thank you for your message", answer="My secret is 7.")
    case.change_task(requester=RequesterSpec(facts=(*case.task.requester.facts, fact)))


def rests_on_no_record(case: Case) -> None:
    finish = case.answer.reference[-1]
    account = next(s.call.arguments["account_id"] for s in case.answer.reference if s.call.tool == "get_account")
    look = case.answer.reference[0].model_copy(
        update={"call": ToolCall(tool="get_account", arguments={"account_id": account}), "required_by": ()}
    )
    end = finish.model_copy(update={"call": ToolCall(tool="resolve", arguments={**finish.call.arguments, "about": account})})
    order = next(step for step in case.answer.reference if step.call.tool == "get_order")
    case.answer = case.answer.model_copy(update={"reference": (look, order.model_copy(update={"required_by": ()}), end)})
    case.change_outcome(about=account, changes=())
    case.change_task(rules=())


def has_two_tokens_for_one_person(case: Case) -> None:
    case.change_task(opening=case.task.opening.model_copy(update={"requester_name": "PERSON_0000AAAA"}))


def has_no_place(case: Case) -> None:
    case.placed = None


def wants_one_order(case: Case) -> None:
    recorded = [step.call.tool for step in case.answer.reference]

    def judged(journal: Journal, grade: Grade) -> dict[str, Any]:
        return {"full": grade.full and [entry.call.tool for entry in journal.entries] == recorded}

    case.change_grades(judged)


FAULTS: dict[str, tuple[str, Callable[[Case], None]]] = {
    "C1": ("late_grant", skips_a_look_up),
    "C2": ("damaged_refused", accepts_a_guess),
    "C3": ("late_grant", is_right_with_any_code),
    "C4": ("damaged_refused", has_no_rules),
    "C5": ("late_grant", counts_no_change),
    "C6": ("late_grant", ignores_the_amount),
    "C7": ("late_grant", wants_what_nobody_can_do),
    "C8": ("late_grant", leaves_out_a_rule_in_force),
    "C9": ("late_grant", never_asks),
    "C10": ("late_grant", tells_the_code_in_its_opening),
    "C11": ("late_grant", has_a_requester_that_remembers_other_episodes),
    "C12": ("late_grant", has_a_tool_that_opens_the_answers),
    "C13": ("late_grant", has_a_requester_that_tells_unasked),
    "C14": ("late_refused", rests_on_no_record),
    "C15": ("recovery_grant", has_two_tokens_for_one_person),
    "C16": ("late_grant", has_no_place),
    "C17": ("damaged_refused", accepts_a_guess),
    "C18": ("goodwill_refused", wants_one_order),
}
"""Check -> (task of the small set, the fault planted in it)."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[TaskSet, dict[str, Answer]]:
    measured()  # once a process: not first under a grader that a test has changed
    cases = tuple(sorted({key for key, _ in FAULTS.values()}))
    folder = build_taskset(tmp_path_factory.mktemp("small") / "small", cases=cases)
    answers = {a.task_id: a for a in read_models(folder / "train" / "answers.jsonl", Answer)}
    return open_taskset(folder, "train"), answers


def case_of(small: tuple[TaskSet, dict[str, Answer]], key: str, patch: pytest.MonkeyPatch) -> Case:
    taskset, answers = small
    return Case(taskset, taskset.tasks[f"small-{key}"], answers[f"small-{key}"], patch)


def test_the_checks_are_those_that_a_certificate_must_hold_in_their_order() -> None:
    assert tuple(checks()) == CHECK_IDS == tuple(f"C{number}" for number in range(1, 19))
    assert set(FAULTS) == set(CHECK_IDS)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_named_by_its_number_and_says_what_it_claims(name: str) -> None:
    module = importlib.import_module(f"tasks.certificates.{name}")
    assert isinstance(module.CHECK, CertificateCheck)
    assert name.startswith(f"c{int(module.CHECK.id[1:]):02d}_")
    assert len((module.__doc__ or "").split()) >= 6


@pytest.mark.parametrize("key", sorted({key for key, _ in FAULTS.values()}))
def test_a_sound_task_passes_every_check(
    small: tuple[TaskSet, dict[str, Answer]], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = case_of(small, key, monkeypatch).certified()
    assert {c.id: c.detail for c in found.checks if c.verdict in ("failed", "could_not_run")} == {}


@pytest.mark.parametrize("check", CHECK_IDS)
def test_a_check_finds_the_fault_that_is_planted_for_it(
    small: tuple[TaskSet, dict[str, Answer]], check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, plant = FAULTS[check]
    case = case_of(small, key, monkeypatch)
    plant(case)
    found = {c.id: c for c in case.certified().checks}
    assert found[check].verdict == "failed", found[check].detail
    assert found[check].detail
