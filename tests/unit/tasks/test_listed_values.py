"""Values that a tool lists are facts as any other: asked for, or the task is none, and trying through the list never pays.

A garage that nobody recorded: one interface that checks and books a visit, and what a customer said of it.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from environments.agents import ReferenceAgent, run_episode
from environments.episode import Episode
from environments.tool import Tool
from rewards.score import Grader
from schemas.episode import Grade, JournalEntry, Observation, RowChange, RowRef, ToolCall
from schemas.files import sha256_json
from schemas.task import Answer, Fact, Opening, Outcome, RequesterSpec, RuleRef, SystemRef, TaskSpec
from schemas.taskset import SideManifest, TaskSet
from tasks.certificates import c02_shortcut_panel, c09_derivable
from tasks.certificates._bench import Bench, Placement
from tasks.declared_rules import parameters_of
from tasks.derive import Deriver, Underivable

AT = "2025-03-03T10:00:00Z"
BAYS = ["Bay One", "Bay Two", "Pit"]
DAYS = ["Monday", "Tuesday", "Wednesday"]
VISIT = {
    "api": "visit",
    "description": "Plans a visit.",
    "booking": True,
    "inputs": [
        {"name": "Day", "type": "enum", "enum": DAYS, "required": True},
        {"name": "Hour", "type": "enum", "enum": ["9 am", "11 am", "2 pm", "4 pm"]},
        {"name": "Bay", "type": "enum", "enum": BAYS},
        {"name": "Towed", "type": "enum", "enum": ["Yes", "No"], "asked_by": ["towed"], "unknown": "No"},
        {"name": "Wheels", "type": "integer"},
    ],
}
SLOTS = {"Day": ["which day"], "Hour": ["what hour"], "Bay": ["which bay"], "Towed": ["towed"], "Wheels": ["how many wheels"]}
GIVEN = {"Day": "Tuesday", "Hour": "2 pm", "Wheels": 4}


def fact(number: int, question: str, answer: str, **values: str) -> Fact:
    return Fact(id=f"f{number}", slots=tuple(values), values=values, question=question, answer=answer)


TOLD = (
    fact(1, "Which day would you like?", "Tues would be best.", Day="Tues"),
    fact(2, "And what hour?", "At 14:00.", Hour="14:00"),
)


def task_of(facts: tuple[Fact, ...], given: dict[str, Any], text: str = "All 4 wheels have to be changed.") -> Episode:
    rows = {
        "visit": {
            "q1": {"request": given, "request_type": "Check", "item": {"free": True}},
            "q2": {"request": given, "request_type": "Book", "item": {"Message": "booked"}},
        }
    }
    contents = {sha256_json([VISIT]): [VISIT], sha256_json({"apis": rows}): {"apis": rows}}
    record = RowRef(system="desk", kind="dialogue", record_id="7")
    opening = Opening(
        record=record, requester_id="u", requester_name="u", contact="", subject="", text=text, received_at="2025-03-03T10:00:00Z"
    )
    systems = (
        SystemRef(name="helpdesk", plugin="helpdesk", config={"codes": ["booked"], "finish": "answer", "slots": SLOTS}),
        SystemRef(name="apis", plugin="declared", config={"declarations": f"content:{sha256_json([VISIT])}"}),
    )
    task = TaskSpec(
        task_id="t", taskset="garage", workflow="visit", started_at=AT, organisation="w", opening=opening, systems=systems,
        state=(sha256_json({"apis": rows}),), requester=RequesterSpec(facts=facts, dont_know=("I do not know.",)),
    )  # fmt: skip
    manifest = SideManifest(taskset="garage", side="train", tasks=1, files={}, ids={})
    taskset = TaskSet(Path("nowhere"), "train", manifest, {"t": task}, {}, contents)
    episode = Episode(taskset)
    episode.reset("t")
    rules = [rule_of(episode.tools[name]) for name in ("visit_check", "visit_book")]
    before: dict[str, Any] = {"tool": "visit_book", "needs": [{"tools": ["visit_check"], "same": {"Day": "Day", "Hour": "Hour"}}]}
    rules.append(RuleRef(id="checks_first", rule="required_before", sentence="", parameters=before))
    taskset.tasks["t"] = task.model_copy(update={"rules": tuple(rules)})
    episode = Episode(taskset)
    episode.reset("t")
    return episode


def rule_of(tool: Tool) -> RuleRef:
    parameters = parameters_of(tool)
    assert parameters is not None
    return RuleRef(id=f"{tool.name}_uses_what_was_shown", rule="shown_before", sentence="", parameters=parameters)


def answer_of(episode: Episode, given: dict[str, Any]) -> Answer:
    """The answer with the reference that is derived for a booking of `given`."""
    known = {"visit_check": [given], "visit_book": [given]}
    deriver = Deriver(episode, episode.task.requester.facts, episode.task.rules, episode.taskset.state(episode.task), known=known)
    book, finish = ToolCall(tool="visit_book", arguments=given), ToolCall(tool="resolve", arguments={"code": "booked"})
    steps = deriver.steps([book], finish)
    made = RowChange(system="apis", kind="visit_booking", op="create", record_id=None, fields=given)
    outcome = Outcome(kind="difference", code="booked", changes=(made,))
    return Answer(task_id="t", outcome=outcome, outcome_class="grant", reference=tuple(steps))


def played(episode: Episode, answer: Answer) -> list[JournalEntry]:
    return list(run_episode(Episode(episode.taskset), ReferenceAgent(answer.reference), "t").journal.entries)


def graded(episode: Episode, answer: Answer, agent: Any) -> Grade:
    trace = run_episode(Episode(episode.taskset, Grader(episode.taskset, {"t": answer})), agent, "t")
    assert trace.grade is not None
    return trace.grade


def test_listed_values_are_asked_for_and_each_argument_says_where_it_was_shown() -> None:
    episode = task_of(TOLD, GIVEN)
    answer = answer_of(episode, GIVEN)
    assert [step.call.tool for step in answer.reference] == ["reply_to_requester", "visit_check", "visit_book", "resolve"]
    booked = answer.reference[2]
    assert booked.derived_from == {"Day": "fact f1", "Hour": "fact f2", "Wheels": "opening"}
    assert answer.reference[3].derived_from == {"code": "decision"}
    assert graded(episode, answer, ReferenceAgent(answer.reference)).full


@pytest.mark.parametrize("missing", [0, 1])
def test_a_listed_value_that_nothing_shows_makes_no_task_and_is_named(missing: int) -> None:
    facts = tuple(each for at, each in enumerate(TOLD) if at != missing)
    with pytest.raises(Underivable, match=rf"^visit_check\.{('Day', 'Hour')[missing]} \(text\): is shown by nothing$"):
        answer_of(task_of(facts, GIVEN), GIVEN)


def test_words_that_fit_two_values_of_the_list_show_neither() -> None:
    given = {**GIVEN, "Bay": "Bay One"}
    vague = (*TOLD, fact(3, "Which bay?", "The bay, please.", Bay="The bay"))
    with pytest.raises(Underivable, match=r"visit_check\.Bay"):
        answer_of(task_of(vague, given), given)
    clear = (*TOLD, fact(3, "Which bay?", "Bay one, please.", Bay="Bay one"))
    assert answer_of(task_of(clear, given), given).reference[-2].derived_from["Bay"] == "fact f3"


def test_what_the_requester_said_later_is_asked_for_after_what_they_said_first() -> None:
    given = {**GIVEN, "Day": "Wednesday"}
    facts = (*TOLD, fact(3, "Which day would you like?", "Wednesday, then.", Day="Wednesday"))
    episode = task_of(facts, given)
    answer = answer_of(episode, given)
    assert answer.reference[-2].derived_from["Day"] == "fact f3"
    told = [entry.told for entry in played(episode, answer)]
    assert [fact for ids in told for fact in ids if fact in ("f1", "f3")] == ["f1", "f3"]
    assert graded(episode, answer, ReferenceAgent(answer.reference)).full


def test_a_yes_or_no_is_asked_for_and_i_do_not_know_is_what_the_tool_takes_it_for() -> None:
    no, yes = {**GIVEN, "Towed": "No"}, {**GIVEN, "Towed": "Yes"}
    assert answer_of(task_of(TOLD, no), no).reference[-2].derived_from["Towed"].startswith("step")
    with pytest.raises(Underivable, match=r"visit_check\.Towed"):
        answer_of(task_of(TOLD, yes), yes)
    told = (*TOLD, fact(3, "Has it to be towed?", "Yes, it broke down.", Towed="Yes"))
    assert answer_of(task_of(told, yes), yes).reference[-2].derived_from["Towed"] == "fact f3"


class Searching:
    """Knows the acts and everything but the values of the lists, which it tries through until the system answers."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.tries = iter(product(DAYS, ["9 am", "11 am", "2 pm", "4 pm"]))
        self.found = False

    def start(self, task: TaskSpec, tools: dict[str, Tool], opening: Observation) -> None:
        self.booked = False

    def act(self, observation: Observation) -> ToolCall:
        if "free" in observation.text:
            self.found = True
            return ToolCall(tool="visit_book", arguments=self.given)
        if self.found:
            return ToolCall(tool="resolve", arguments={"code": "booked"})
        day, hour = next(self.tries)
        self.given = {**self.given, "Day": day, "Hour": hour}
        return ToolCall(tool="visit_check", arguments=self.given)


def test_an_agent_that_tries_through_the_lists_finds_the_right_booking_and_is_never_full() -> None:
    episode = task_of(TOLD, GIVEN)
    answer = answer_of(episode, GIVEN)
    grade = graded(episode, answer, Searching(dict(GIVEN)))
    assert grade.outcome_right
    assert not grade.full
    assert not grade.success
    assert {v.rule for v in grade.violations if v.hard} == {"visit_check_uses_what_was_shown", "visit_book_uses_what_was_shown"}
    asking = graded(episode, answer, ReferenceAgent(answer.reference))
    assert asking.full
    assert asking.return_ > grade.return_


def bench_of(episode: Episode, answer: Answer) -> Bench:
    from schemas.proof import Proof

    grader = Grader(episode.taskset, {"t": answer})
    proof = Proof(seed=1, token_scope="per_source", codes={}, rules=(), policies=())
    return Bench(episode.taskset, episode.task, answer, proof, Placement(None), grader, Episode(episode.taskset, grader))


def test_the_panel_holds_the_luckiest_search_and_it_is_full_only_where_no_rule_judges_guesses() -> None:
    episode = task_of(TOLD, GIVEN)
    bench = bench_of(episode, answer_of(episode, GIVEN))
    calls = c02_shortcut_panel._guessed(bench)
    assert [call.tool for call in calls] == ["visit_check", "visit_book", "resolve"]
    assert not bench.play(calls).grade.full
    unjudged = episode.task.model_copy(update={"rules": episode.task.rules[2:]})
    episode.taskset.tasks["t"] = unjudged
    free = Episode(episode.taskset)
    free.reset("t")
    assert bench_of(free, bench.answer).play(calls).grade.full


def test_a_reference_that_names_a_wrong_source_or_asks_nothing_is_not_derivable() -> None:
    episode = task_of(TOLD, GIVEN)
    answer = answer_of(episode, GIVEN)
    assert c09_derivable.run(bench_of(episode, answer))[0] == "passed"
    check = answer.reference[1]
    wrong = check.model_copy(update={"derived_from": {**check.derived_from, "Day": "opening"}})
    steps = (answer.reference[0], wrong, *answer.reference[2:])
    assert c09_derivable.run(bench_of(episode, answer.model_copy(update={"reference": steps}))) == (
        "failed", "visit_check.Day is not shown by opening, but by fact f1, step 0",
    )  # fmt: skip
    unasked = answer.model_copy(update={"reference": answer.reference[1:]})
    assert c09_derivable.run(bench_of(episode, unasked)) == ("failed", "visit_check.Day was never shown")
