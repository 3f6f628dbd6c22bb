"""Whole episodes that the yardstick has judged, with what is right of each (see _yardstick)."""
# ruff: noqa: E501 - what is given and what is right of it stand on one line

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rewards.score import Judge, Stepper, criteria_of, grade
from schemas.episode import Grade, Journal, JournalEntry, Refusal, RefusalKind, RowRef, ToolCall
from schemas.errors import GraderError
from schemas.task import (
    Answer,
    Fact,
    Opening,
    Outcome,
    ReferenceStep,
    RequesterSpec,
    RewardWeights,
    RuleRef,
    ScoreBounds,
    TaskSpec,
)
from tasks.certificates._yardstick_outcomes import CLOCK, REFUSED, Measure, change_of, entry_of, finish_of, outcome_of, refusal_of


def episode_measures() -> Iterator[Measure]:
    yield from _episodes()
    yield from _compositions()
    yield from _ways_in()


_FACT = Fact(id="f1", slots=("order",), answer="r1", values={"order": "r1"})


def _task(
    rules: tuple[RuleRef, ...] = (),
    weights: RewardWeights = RewardWeights(),  # noqa: B008
    steps: int = 10,
    patience: int = 4,
) -> TaskSpec:
    opening = Opening(
        record=RowRef(system="s", kind="ticket", record_id="t1"), requester_id="u1", requester_name="n", contact="c",
        subject="words", text="more words", received_at=CLOCK,
    )  # fmt: skip
    return TaskSpec(
        task_id="yardstick", taskset="yardstick", workflow="w", started_at=CLOCK, organisation="o", opening=opening, systems=(),
        state=(), rules=rules, requester=RequesterSpec(facts=(_FACT,), patience=patience), max_steps=steps, weights=weights,
    )  # fmt: skip


_SET = change_of("update", "1", before={"a": 1}, a=2)
_WRONG = change_of("update", "1", before={"a": 1}, a=3)
_OTHER = change_of("update", "2", before={"a": 1}, a=2)


_PRICE = {"price": 5}
_PRICED = outcome_of(kind="answer", about="r1", answer=_PRICE)


def _row(name: str) -> RowRef:
    return RowRef(system="s", kind="quote", record_id=name)


_OF_A = _PRICED.model_copy(update={"read_from": (_row("A"),)})


def _answer(outcome: Outcome | None = None, calls: int = 2) -> Answer:
    step = ReferenceStep(call=ToolCall(tool="look"), planned=True)
    return Answer(
        task_id="yardstick", outcome=outcome or outcome_of(_SET, about="r1"), outcome_class="grant", reference=(step,) * calls,
        bounds=ScoreBounds(g_min=-1.0, g_max=1.0),
    )  # fmt: skip


def _refused(step: int, kind: RefusalKind) -> JournalEntry:
    return entry_of(step, "look", ok=False, result=None, refusal=Refusal(kind=kind, message="no"))


def _look(step: int, record: str = "r1") -> JournalEntry:
    read = (RowRef(system="s", kind="row", record_id=record),)
    return entry_of(step, "look", arguments={"id": record}, result={"a": 1}, reads=read)


def _asks(step: int, result: Any, *rows: str) -> JournalEntry:
    """A look-up that shows these rows."""
    return entry_of(step, "ask", result=result, reads=tuple(_row(name) for name in rows))


def _say(step: int, *told: str) -> JournalEntry:
    return entry_of(step, "reply_to_requester", arguments={"text": "?"}, told=told, result="words")


def _judgement(given: Grade) -> tuple[Any, ...]:
    broken = [(v.rule, v.step, v.hard) for v in given.violations]
    rewards = [round(r, 4) for r in given.rewards]
    ends = (given.success, given.full, given.outcome_right, round(given.quality, 4), round(given.return_, 4))
    return ends, broken, rewards, [(e.violation, round(e.efficiency, 4), round(e.delay, 4)) for e in given.events], given.score


def _graded(
    entries: Sequence[JournalEntry], ended: Any = "finish", task: TaskSpec | None = None, answer: Answer | None = None
) -> tuple[Any, ...]:
    journal = Journal(task_id="yardstick", seed=0, entries=tuple(entries), ended_by=ended)
    return _judgement(grade(task or _task(), answer or _answer(), {}, journal))[:4]


def _episodes() -> Iterator[Measure]:
    """Whole episodes: who succeeds, what is broken, and the reward of each step."""
    write, done = entry_of(1, "write", _SET), finish_of(2)
    rule = RuleRef(
        id="look_first", rule="required_before", sentence="", parameters={"tool": "write", "needs": [{"tools": ["look"]}]}
    )
    soft = rule.model_copy(update={"id": "soft", "hard": False})
    never = RuleRef(id="never", rule="forbidden", sentence="", parameters={"tool": "write"})
    not_found, conflict = RefusalKind.not_found, RefusalKind.conflict
    either = outcome_of(_SET, about="r1", alternatives=(outcome_of(_OTHER, about="r1"),))
    ten = _task()
    rows: tuple[tuple[str, Sequence[JournalEntry], Any, TaskSpec, Answer], ...] = (
        ("right", [_look(0), write, done], "finish", ten, _answer(calls=3)),
        ("slow", [_look(0), _look(1, "r2"), write, done], "finish", ten, _answer(calls=3)),
        ("blind and right", [write, done], "finish", ten, _answer()),
        ("closed unread", [finish_of(0, code="bad")], "finish", ten, _answer()),
        ("closed unread after a word", [_say(0), finish_of(1, code="bad")], "finish", ten, _answer()),
        ("wrong after an answer", [_say(0, "f1"), finish_of(1, code="bad")], "finish", ten, _answer()),
        ("wrong after a look", [_look(0), finish_of(1, code="bad")], "finish", ten, _answer()),
        ("wrong after a result that says nothing", [entry_of(0, "note"), finish_of(1, code="bad")], "finish", ten, _answer()),
        ("wrong after a result", [entry_of(0, "note", result={"n": 1}), finish_of(1, code="bad")], "finish", ten, _answer()),
        ("wrong after a result that says something", [entry_of(0, "note", result={"done": True, "n": 1}), finish_of(1, code="bad")],
         "finish", ten, _answer()),
        ("wrong after a list", [entry_of(0, "note", result=[]), finish_of(1, code="bad")], "finish", ten, _answer()),
        ("wrong after no result", [entry_of(0, "note", result=None), finish_of(1, code="bad")], "finish", ten, _answer()),
        ("wrong after a refusal", [_refused(0, not_found), finish_of(1, code="bad")], "finish", ten, _answer()),
        ("abandoned", [_look(0), _look(1, "r2")], "step_limit", ten, _answer()),
        ("left by the requester", [_look(0), write], "requester_left", ten, _answer()),
        ("going on", [_look(0), write], "", ten, _answer()),
        ("no call", [], "token_limit", ten, _answer()),
        ("nothing yet", [], "", ten, _answer()),
        ("a rule broken", [write, done], "finish", _task((rule,)), _answer()),
        ("a rule kept", [_look(0), write, done], "finish", _task((rule,)), _answer()),
        ("a soft rule broken", [write, done], "finish", _task((soft,)), _answer()),
        ("the first of two rules broken", [write, done], "finish", _task((rule, never)), _answer()),
        ("the second of two rules broken", [_look(0), write, done], "finish", _task((rule, never)), _answer()),
        ("a rule broken by the finish", [_look(0), write, done], "finish", _task(
            (never.model_copy(update={"parameters": {"tool": "resolve"}}),)), _answer()),
        ("refused calls", [_refused(0, conflict), _refused(1, not_found), write, done], "finish", ten, _answer()),
        ("messages", [_say(0), _say(1), _say(2, "f1"), _say(3, "f1"), _say(4), write, done], "finish", ten, _answer()),
        ("one look twice", [_look(0), _look(1), write, _look(3), done], "finish", ten, _answer()),
        ("another value on the way", [_look(0), entry_of(1, "write", _WRONG), entry_of(2, "write", _SET), done], "finish", ten, _answer()),
        ("one more record", [_look(0), write, entry_of(2, "write", _OTHER), entry_of(3, "write", _OTHER), done], "finish", ten, _answer()),
        ("either outcome", [_look(0), entry_of(1, "write", _OTHER), done], "finish", ten, _answer(either)),
        ("both outcomes", [_look(0), write, entry_of(2, "write", _OTHER), done], "finish", ten, _answer(either)),
        ("all that can be wasted", [*(_say(n) for n in range(8)), write, done], "finish", ten, _answer()),
        ("waste in few steps", [_refused(n, not_found) for n in range(6)], "step_limit", _task(steps=3), _answer()),
        ("abandoned with a call that is wasted", [_look(0), _look(1)], "step_limit", ten, _answer()),
        ("one message too many", [_say(0), _say(1), write, done], "finish", _task(patience=1), _answer()),
        ("messages to one without patience", [_say(0), _say(1), write, done], "finish", _task(patience=0), _answer()),
        ("a word, unread", [finish_of(0)], "finish", ten, _answer(outcome_of(about="r1"))),
        ("a word after a look", [_look(0), finish_of(1)], "finish", ten, _answer(outcome_of(about="r1"))),
        ("a guessed answer", [_look(0), finish_of(1, _PRICE)], "finish", ten, _answer(_PRICED)),
        ("an answer looked up", [_asks(0, {"quote": {"price": 5}}), finish_of(1, _PRICE)], "finish", ten, _answer(_PRICED)),
        ("an answer of the row that it is about", [_asks(0, {"price": 5}, "A"), finish_of(1, _PRICE)], "finish", ten, _answer(_OF_A)),
        ("the same words of another row", [_asks(0, {"price": 5}, "B"), finish_of(1, _PRICE)], "finish", ten, _answer(_OF_A)),
        ("the same words of no row", [_asks(0, {"price": 5}), finish_of(1, _PRICE)], "finish", ten, _answer(_OF_A)),
        ("an answer of both rows", [_asks(0, {"price": 5}, "B", "A"), finish_of(1, _PRICE)], "finish", ten, _answer(_OF_A)),
        ("an answer of another row that is as right", [_asks(0, {"price": 5}, "B"), finish_of(1, _PRICE)], "finish", ten,
         _answer(_OF_A.model_copy(update={"alternatives": (_PRICED.model_copy(update={"read_from": (_row("B"),)}),)}))),
        ("half an answer looked up", [_asks(0, {"day": "Monday"}), finish_of(1, {"price": 5, "day": "Monday"})], "finish", ten,
         _answer(_PRICED.model_copy(update={"answer": {"price": 5, "day": "Monday"}}))),
        ("an answer in a list", [_asks(0, [[5]]), finish_of(1, _PRICE)], "finish", ten, _answer(_PRICED)),
        ("an answer from the requester", [_look(0), entry_of(1, "reply_to_requester", told=("f1",), result=5), finish_of(2, _PRICE)],
         "finish", ten, _answer(_PRICED)),
        ("an answer from a refused call", [_look(0), _asks(1, 5).model_copy(update={"ok": False, "refusal": Refusal(
            kind=not_found, message="no")}), finish_of(2, _PRICE)], "finish", ten, _answer(_PRICED)),
        ("paid in gammas", [_look(0), write, done], "finish", _task(weights=RewardWeights(gamma=0.5)), _answer()),
    )  # fmt: skip
    for name, entries, ended, task, answer in rows:
        yield f"episode: {name}", _graded(entries, ended, task, answer), _RIGHT.get(name)


def _compositions() -> Iterator[Measure]:
    """The declared alternatives: a product of shares, milestones, a judge."""
    write, done, wrong = entry_of(1, "write", _SET), finish_of(2), finish_of(2, code="bad")
    shares = _task(weights=RewardWeights(composition="kpi"))
    stones = _task(weights=RewardWeights(milestones={"write": 0.5, "look": 0.1}))
    never = RuleRef(id="never", rule="forbidden", sentence="", parameters={"tool": "write"})
    barred = stones.model_copy(update={"rules": (never,)})
    two = _answer(outcome_of(_SET, _OTHER, about="r1"))
    steps = _task(weights=RewardWeights(milestones={"write": 0.5, "then": 0.25, "resolve": 0.25}))
    beside = _answer(outcome_of(_SET, about="r1", ignored=("s.row.n",)))
    note = change_of("update", "1", before={"n": 1}, n=2)
    rows: tuple[tuple[str, Sequence[JournalEntry], Any, TaskSpec, Answer], ...] = (
        ("product", [_look(0), write, done], "finish", shares, _answer()),
        ("product, slowly", [_look(0), _look(1, "r2"), _look(2, "r3"), write, done], "finish", shares, _answer()),
        ("product, impatient", [_say(0), _say(1), write, done], "finish", shares, _answer()),
        ("product, with a fault", [_refused(0, RefusalKind.conflict), write, done], "finish", shares, _answer(calls=3)),
        ("product, with a fault at the end", [wrong], "finish", shares, _answer(calls=3)),
        ("product, abandoned", [_look(0), write], "step_limit", shares, _answer()),
        ("milestone", [_look(0), write, done], "finish", stones, _answer()),
        ("milestone, once", [write, entry_of(2, "write", _OTHER), done], "finish", stones, two),
        ("milestone, not nearer", [entry_of(1, "write", _WRONG), done], "finish", stones, _answer()),
        ("milestone, first away", [entry_of(1, "write", _WRONG), write, done], "finish", stones, _answer()),
        ("milestone, by a write that nobody asked about", [entry_of(0, "write", note), write, done], "finish", steps, beside),
        ("milestone, after one that was nearer", [write, entry_of(2, "then", note), done], "finish", steps, beside),
        ("milestone, after another tool was nearer", [entry_of(1, "other", _SET), entry_of(2, "then", note), done], "finish", steps, beside),
        ("milestone, at the finish", [_look(0), done.model_copy(update={"changes": (_SET,)})], "finish", steps, _answer()),
        ("milestone, by a refused call", [write.model_copy(update={"ok": False, "refusal": Refusal(
            kind=RefusalKind.conflict, message="no")}), done], "finish", stones, _answer()),
        ("milestone, by a forbidden call", [write, done], "finish", barred, _answer()),
    )  # fmt: skip
    for name, entries, ended, task, answer in rows:
        yield f"composition: {name}", _graded(entries, ended, task, answer), _RIGHT.get(name)
    for said, right in ((0.25, (0.65, 1)), (1.0, (0.8, 1)), (0.0, (0.6, 1)), (1.5, REFUSED), (-0.5, REFUSED)):
        yield f"a judge says {said}", _with_judge(lambda *_, said=said: said), right


def _with_judge(judge: Judge) -> Any:
    """(return, episodes that the judge was shown whole) under a judge, or REFUSED."""
    shown: list[Journal] = []

    def listening(task: TaskSpec, journal: Journal) -> float:
        shown.append(journal)
        return judge(task, journal)

    stepper = Stepper(criteria_of(_task(), _answer()), {}, listening, 7)
    try:
        for entry in (_look(0), *(_look(n, f"x{n}") for n in range(1, 9)), entry_of(9, "write", _SET), finish_of(10)):
            stepper.step(entry)
    except GraderError:
        return REFUSED
    whole = sum(len(j.entries) == 11 and j.ended_by == "finish" and j.seed == 7 for j in shown)
    return round(stepper.grade().return_, 4), whole


def _ways_in() -> Iterator[Measure]:
    """Step by step, forked and whole, an episode is judged alike; what cannot be judged is refused."""
    entries = (_look(0), _say(1), _say(2), entry_of(3, "write", _WRONG), entry_of(4, "write", _SET), finish_of(5))
    whole = _graded(entries)
    answered = _answer(_PRICED)
    for name, shown, answer, right in (
        ("collateral", [entry_of(0, "write", _WRONG, _OTHER)], _answer(), ["1", "2"]), ("closed_unread", [finish_of(0, code="bad")], _answer(), ["t1"]),
        ("answer_unread", [_look(0), finish_of(1, _PRICE)], answered, ["t1"]),
    ):  # fmt: skip
        found = grade(_task(), answer, {}, _journal(shown)).violations
        yield f"what {name} shows", [[(v.rule, r.record_id) for r in v.evidence] for v in found], [[(name, one) for one in right]]
    stepper = Stepper(criteria_of(_task(), _answer()), {})
    early = stepper.grade()
    yield "nothing is right before the finish", (early.success, early.outcome_right, early.quality), (False, False, 0.0)
    rewards, forks = [], []
    for entry in entries:
        forks.append(stepper.fork())
        rewards.append(round(stepper.step(entry)[1], 4))
    yield "each step's reward is the whole's", rewards, whole[2]
    yield "step by step as whole", _judgement(stepper.grade())[:4], whole
    for at, fork in enumerate(forks):
        for entry in entries[at:]:
            fork.step(entry)
        yield f"forked at {at} as whole", _judgement(fork.grade())[:4], whole
    left = forks[0].fork()
    yield "a step after the end is refused", refusal_of(lambda: left.step(_look(6))), REFUSED
    either = Stepper(
        criteria_of(_task(), _answer(outcome_of(_SET, about="r1", alternatives=(outcome_of(_OTHER, about="r1"),)))), {}
    )
    for entry in (_look(0), entry_of(1, "write", _OTHER), finish_of(2)):
        either.step(entry)
    yield (
        "right by an alternative, and so not by the outcome itself",
        (either.grade().full, either.comparison().right),
        (True, False),
    )
    abandoned = Stepper(criteria_of(_task(), _answer()), {})
    abandoned.step(_look(0), truncated=True)
    yield "a step after giving up is refused", refusal_of(lambda: abandoned.step(_look(1))), REFUSED
    unplayed = Stepper(criteria_of(_task(), _answer()), {})
    unplayed.end_unplayed()
    yield "a step after no step is refused", refusal_of(lambda: unplayed.step(_look(0))), REFUSED
    bare = entry_of(0, "look", ok=False, result=None)
    yield "a refused call without a refusal is refused", refusal_of(lambda: _graded([bare])), REFUSED
    other = Journal(task_id="another", seed=0)
    yield "a journal of another task is refused", refusal_of(lambda: grade(_task(), _answer(), {}, other)), REFUSED
    stranger = _answer().model_copy(update={"task_id": "another"})
    yield "an answer of another task is refused", refusal_of(lambda: criteria_of(_task(), stranger)), REFUSED
    empty = _answer(outcome_of(code=""))
    yield "an answer without a code is refused", refusal_of(lambda: criteria_of(_task(), empty)), REFUSED
    ignoring = _answer(outcome_of(ignored=("a.b.c",), alternatives=(outcome_of(ignored=("d.e.f",)),)))
    yield "ignored fields of every alternative", sorted(criteria_of(_task(), ignoring).ignored), ["a.b.c", "d.e.f"]
    yield "a score needs bounds", grade(_task(), _answer().model_copy(update={"bounds": None}), {}, _journal(entries)).score, None
    yield "a score", round(grade(_task(), _answer(), {}, _journal(entries)).score or 0.0, 2), 25.0


def _journal(entries: Sequence[JournalEntry]) -> Journal:
    return Journal(task_id="yardstick", seed=0, entries=tuple(entries), ended_by="finish")


_RIGHT: dict[str, tuple[Any, ...]] = {
    "right": ((True, True, True, 1.0, 0.9), [], [0.0, 0.0, 0.9], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 1.0, 0.0)]),
    "slow": ((True, True, True, 1.0, 0.8857), [], [0.0, 0.0, 0.0, 0.8857], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.8571, 0.0)]),
    "blind and right": ((True, True, True, 1.0, 0.9), [], [0.0, 0.9], [(0, 0.0, 0.0), (0, 1.0, 0.0)]),
    "closed unread": ((False, False, False, 0.3333, -0.7833), [("closed_unread", 0, True)], [-0.7833], [(1, 0.0, 1.0)]),
    "closed unread after a word": ((False, False, False, 0.3333, -0.7833), [("closed_unread", 1, True)], [0.0, -0.7833], [(0, 0.0, 0.0), (1, 0.0, 1.0)]),
    "wrong after an answer": ((False, False, False, 0.3333, -0.1333), [], [0.0, -0.1333], [(0, 0.0, 0.0), (0, 0.0, 1.0)]),
    "wrong after a look": ((False, False, False, 0.3333, -0.1333), [], [0.0, -0.1333], [(0, 0.0, 0.0), (0, 0.0, 1.0)]),
    "wrong after a result that says nothing": ((False, False, False, 0.3333, -0.7833), [("closed_unread", 1, True)], [0.0, -0.7833], [(0, 0.0, 0.0), (1, 0.0, 1.0)]),
    "wrong after a result": ((False, False, False, 0.3333, -0.1333), [], [0.0, -0.1333], [(0, 0.0, 0.0), (0, 0.0, 1.0)]),
    "wrong after a result that says something": ((False, False, False, 0.3333, -0.1333), [], [0.0, -0.1333], [(0, 0.0, 0.0), (0, 0.0, 1.0)]),
    "wrong after a list": ((False, False, False, 0.3333, -0.1333), [], [0.0, -0.1333], [(0, 0.0, 0.0), (0, 0.0, 1.0)]),
    "wrong after no result": ((False, False, False, 0.3333, -0.7833), [("closed_unread", 1, True)], [0.0, -0.7833], [(0, 0.0, 0.0), (1, 0.0, 1.0)]),
    "wrong after a refusal": ((False, False, False, 0.3333, -0.8033), [("closed_unread", 1, True)], [-0.02, -0.7833], [(0, 0.0, 0.1), (1, 0.0, 1.0)]),
    "abandoned with a call that is wasted": ((False, False, False, 0.0, -0.85), [("case_abandoned", 1, True)], [0.0, -0.85], [(0, 0.0, 0.0), (1, 0.0, 1.0)]),
    "one message too many": ((True, True, True, 1.0, 0.675), [], [0.0, -0.2, 0.0, 0.875], [(0, 0.0, 0.0), (0, 0.0, 1.0), (0, 0.0, 0.0), (0, 0.75, 0.0)]),
    "messages to one without patience": ((True, True, True, 1.0, 0.675), [], [0.0, -0.2, 0.0, 0.875], [(0, 0.0, 0.0), (0, 0.0, 1.0), (0, 0.0, 0.0), (0, 0.75, 0.0)]),
    "a word, unread": ((False, False, True, 1.0, -0.45), [("closed_unread", 0, True)], [-0.45], [(1, 0.0, 0.0)]),
    "a word after a look": ((True, True, True, 1.0, 0.9), [], [0.0, 0.9], [(0, 0.0, 0.0), (0, 1.0, 0.0)]),
    "a guessed answer": ((False, False, True, 1.0, -0.45), [("answer_unread", 1, True)], [0.0, -0.45], [(0, 0.0, 0.0), (1, 0.0, 0.0)]),
    "an answer looked up": ((True, True, True, 1.0, 0.9), [], [0.0, 0.9], [(0, 0.0, 0.0), (0, 1.0, 0.0)]),
    "an answer of the row that it is about": ((True, True, True, 1.0, 0.9), [], [0.0, 0.9], [(0, 0.0, 0.0), (0, 1.0, 0.0)]),
    "the same words of another row": ((False, False, True, 1.0, -0.45), [("answer_unread", 1, True)], [0.0, -0.45], [(0, 0.0, 0.0), (1, 0.0, 0.0)]),
    "the same words of no row": ((False, False, True, 1.0, -0.45), [("answer_unread", 1, True)], [0.0, -0.45], [(0, 0.0, 0.0), (1, 0.0, 0.0)]),
    "an answer of both rows": ((True, True, True, 1.0, 0.9), [], [0.0, 0.9], [(0, 0.0, 0.0), (0, 1.0, 0.0)]),
    "an answer of another row that is as right": ((True, True, True, 1.0, 0.9), [], [0.0, 0.9], [(0, 0.0, 0.0), (0, 1.0, 0.0)]),
    "half an answer looked up": ((False, False, True, 1.0, -0.45), [("answer_unread", 1, True)], [0.0, -0.45], [(0, 0.0, 0.0), (1, 0.0, 0.0)]),
    "an answer in a list": ((True, True, True, 1.0, 0.9), [], [0.0, 0.9], [(0, 0.0, 0.0), (0, 1.0, 0.0)]),
    "an answer from the requester": ((False, False, True, 1.0, -0.45), [("answer_unread", 2, True)], [0.0, 0.0, -0.45], [(0, 0.0, 0.0), (0, 0.0, 0.0), (1, 0.0, 0.0)]),
    "an answer from a refused call": ((False, False, True, 1.0, -0.47), [("answer_unread", 2, True)], [0.0, -0.02, -0.45], [(0, 0.0, 0.0), (0, 0.0, 0.1), (1, 0.0, 0.0)]),
    "abandoned": ((False, False, False, 0.0, -0.85), [("case_abandoned", 1, True)], [0.0, -0.85], [(0, 0.0, 0.0), (1, 0.0, 1.0)]),
    "left by the requester": ((False, False, False, 0.0, -0.85), [("case_abandoned", 1, True)], [0.0, -0.85], [(0, 0.0, 0.0), (1, 0.0, 1.0)]),
    "going on": ((False, False, False, 0.0, 0.0), [], [0.0, 0.0], [(0, 0.0, 0.0), (0, 0.0, 0.0)]),
    "no call": ((False, False, False, 0.0, -0.85), [("case_abandoned", 0, True)], [-0.85], [(1, 0.0, 1.0)]),
    "nothing yet": ((False, False, False, 0.0, 0.0), [], [], []),
    "a rule broken": ((False, False, True, 1.0, -0.45), [("look_first", 0, True)], [-0.65, 0.2], [(1, 0.0, 0.0), (0, 0.0, 0.0)]),
    "a rule kept": ((True, True, True, 1.0, 0.8875), [], [0.0, 0.0, 0.8875], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.875, 0.0)]),
    "a soft rule broken": ((True, False, True, 1.0, 0.9), [("soft", 0, False)], [0.0, 0.9], [(0, 0.0, 0.0), (0, 1.0, 0.0)]),
    "the first of two rules broken": ((False, False, True, 1.0, -0.45), [("look_first", 0, True), ("never", 0, True)], [-0.65, 0.2], [(1, 0.0, 0.0), (0, 0.0, 0.0)]),
    "the second of two rules broken": ((False, False, True, 1.0, -0.45), [("never", 1, True)], [0.0, -0.65, 0.2], [(0, 0.0, 0.0), (1, 0.0, 0.0), (0, 0.0, 0.0)]),
    "a rule broken by the finish": ((False, False, True, 1.0, -0.45), [("never", 2, True)], [0.0, 0.0, -0.45], [(0, 0.0, 0.0), (0, 0.0, 0.0), (1, 0.0, 0.0)]),
    "refused calls": ((True, False, True, 1.0, 0.205), [("invalid_call", 0, False)], [-0.65, -0.02, 0.0, 0.875], [(1, 0.0, 0.0), (0, 0.0, 0.1), (0, 0.0, 0.0), (0, 0.75, 0.0)]),
    "messages": ((True, True, True, 1.0, 0.6875), [], [0.0, -0.05, 0.0, -0.05, -0.05, 0.0, 0.8375], [(0, 0.0, 0.0), (0, 0.0, 0.25), (0, 0.0, 0.0), (0, 0.0, 0.25), (0, 0.0, 0.25), (0, 0.0, 0.0), (0, 0.375, 0.0)]),
    "one look twice": ((True, True, True, 1.0, 0.8425), [], [0.0, -0.02, 0.0, 0.0, 0.8625], [(0, 0.0, 0.0), (0, 0.0, 0.1), (0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.625, 0.0)]),
    "another value on the way": ((False, False, True, 1.0, -0.45), [("collateral", 1, True)], [0.0, -0.65, 0.0, 0.2], [(0, 0.0, 0.0), (1, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.0, 0.0)]),
    "one more record": ((False, False, False, 0.75, -0.7), [("collateral", 2, True)], [0.0, 0.0, -0.65, 0.0, -0.05], [(0, 0.0, 0.0), (0, 0.0, 0.0), (1, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.0, 1.0)]),
    "either outcome": ((True, True, True, 1.0, 0.8875), [], [0.0, 0.0, 0.8875], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.875, 0.0)]),
    "both outcomes": ((False, False, False, 0.75, -0.7), [("collateral", 2, True)], [0.0, 0.0, -0.65, -0.05], [(0, 0.0, 0.0), (0, 0.0, 0.0), (1, 0.0, 0.0), (0, 0.0, 1.0)]),
    "all that can be wasted": ((True, True, True, 1.0, 0.6), [], [0.0, -0.05, -0.05, -0.05, -0.05, 0.0, 0.0, 0.0, 0.0, 0.8], [(0, 0.0, 0.0), (0, 0.0, 0.25), (0, 0.0, 0.25), (0, 0.0, 0.25), (0, 0.0, 0.25), (0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.0, 0.0)]),
    "waste in few steps": ((False, False, False, 0.0, -1.05), [("case_abandoned", 5, True)], [-0.0667, -0.0667, -0.0667, 0.0, 0.0, -0.85], [(0, 0.0, 0.3333), (0, 0.0, 0.3333), (0, 0.0, 0.3333), (0, 0.0, 0.0), (0, 0.0, 0.0), (1, 0.0, 1.0)]),
    "paid in gammas": ((True, True, True, 1.0, 0.2219), [], [0.0, 0.0, 0.8875], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.875, 0.0)]),
    "product": ((True, True, True, 1.0, 0.875), [], [0.0, 0.0, 0.875], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.875, 0.0)]),
    "product, slowly": ((True, True, True, 1.0, 0.625), [], [0.0, 0.0, 0.0, 0.0, 0.625], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.625, 0.0)]),
    "product, impatient": ((True, True, True, 1.0, 0.5625), [], [0.0, 0.0, 0.0, 0.5625], [(0, 0.0, 0.0), (0, 0.0, 0.25), (0, 0.0, 0.0), (0, 0.75, 0.0)]),
    "product, with a fault": ((True, False, True, 1.0, 0.6667), [("invalid_call", 0, False)], [0.0, 0.0, 0.6667], [(1, 0.0, 0.0), (0, 0.0, 0.0), (0, 1.0, 0.0)]),
    "product, with a fault at the end": ((False, False, False, 0.3333, 0.0), [("closed_unread", 0, True)], [0.0], [(1, 0.0, 1.0)]),
    "product, abandoned": ((False, False, False, 0.0, 0.0), [("case_abandoned", 1, True)], [0.0, 0.0], [(0, 0.0, 0.0), (1, 0.0, 1.0)]),
    "milestone": ((True, True, True, 1.0, 0.9875), [], [0.0, 0.1, 0.8875], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.875, 0.0)]),
    "milestone, once": ((True, True, True, 1.0, 0.9875), [], [0.1, 0.0, 0.8875], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.875, 0.0)]),
    "milestone, not nearer": ((False, False, False, 0.6667, -1.3667), [("collateral", 0, True), ("closed_unread", 1, True)], [-0.65, -0.7167], [(1, 0.0, 0.0), (1, 0.0, 1.0)]),
    "milestone, first away": ((False, False, True, 1.0, -0.35), [("collateral", 0, True)], [-0.65, 0.1, 0.2], [(1, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.0, 0.0)]),
    "milestone, by a write that nobody asked about": ((True, True, True, 1.0, 0.9875), [], [0.0, 0.1, 0.8875], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.875, 0.0)]),
    "milestone, after one that was nearer": ((True, True, True, 1.0, 0.9875), [], [0.1, 0.0, 0.8875], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.875, 0.0)]),
    "milestone, after another tool was nearer": ((True, True, True, 1.0, 0.8875), [], [0.0, 0.0, 0.8875], [(0, 0.0, 0.0), (0, 0.0, 0.0), (0, 0.875, 0.0)]),
    "milestone, at the finish": ((True, True, True, 1.0, 0.9), [], [0.0, 0.9], [(0, 0.0, 0.0), (0, 1.0, 0.0)]),
    "milestone, by a refused call": ((False, False, False, 0.6667, -1.3667), [("invalid_call", 0, False), ("closed_unread", 1, True)], [-0.65, -0.7167], [(1, 0.0, 0.0), (1, 0.0, 1.0)]),
    "milestone, by a forbidden call": ((False, False, True, 1.0, -0.45), [("never", 0, True)], [-0.65, 0.2], [(1, 0.0, 0.0), (0, 0.0, 0.0)]),
}  # fmt: skip
"""Name -> ((success, full, outcome right, quality, return), violations, rewards, (violation, efficiency, delay) of each step)."""
