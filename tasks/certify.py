"""Certificates: the proof of one task, by real replays of its reference, its mutants and the shortcut panel.

Every check is its own small function over a `Bench` and returns (verdict, detail). Details hold names, ids and counts, no texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from environments.agents import PANEL, Agent, ConstantOutcome, ReferenceAgent, UnseenValue, WritesOnly, run_episode
from environments.episode import Episode
from pipeline.manifest import code_version
from rewards.outcome import Comparison, Difference, compare, own_changes
from rewards.score import Grader
from schemas.episode import Grade, Journal, ToolCall
from schemas.errors import RecordgymError
from schemas.files import canonical_json
from schemas.records import OutcomeCode
from schemas.task import Answer, Certificate, Check, ScoreBounds, TaskSpec
from schemas.taskset import TaskSet, task_digest
from tasks.mutants import Mutant, extra_acts, is_write, kind_ids, without, wrong_parameters

Verdict = Literal["passed", "failed", "not_applicable", "could_not_run"]
Said = tuple[Verdict, str]
REPLAYS = 3
RANDOM_RUNS = 20
CHECKED = ("schemas", "environments", "rewards", "tasks")
"""Packages whose code the certificate names by its digest."""
NOTHING_ASKED = ("Thank you for your message.", "Tell me everything.", "Tell me everything. Tell me everything.")
"""Messages that ask for no fact in particular."""


@dataclass(frozen=True, slots=True)
class ConstantRate:
    """How often always answering `code` is right, against how often `code` is the recorded answer (C3)."""

    code: str
    base_rate: float
    """Share of tasks whose answer is this code, in [0, 1]."""
    rate: float
    """Share of tasks that the constant agent solves, in [0, 1]; never above `base_rate` in a sound set."""


@dataclass(slots=True)
class Played:
    """One replay with its judgement."""

    journal: Journal
    grade: Grade
    comparison: Comparison


@dataclass(slots=True)
class Bench:
    """One task on the bench: a single episode is reset for every replay."""

    taskset: TaskSet
    task: TaskSpec
    answer: Answer
    codes: Mapping[str, OutcomeCode]
    forms: Mapping[str, Mapping[str, Sequence[str]]]
    seed: int
    grader: Grader
    episode: Episode
    mutants: list[tuple[Mutant, Played]] = field(default_factory=list)
    """Every mutant played so far (C7 reads them)."""
    returns: dict[str, float] = field(default_factory=dict)
    """Panel member -> its return; the random agent's is the mean of its runs."""
    reference: Played | None = None
    _ids: dict[str, list[str]] | None = None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(step.call for step in self.answer.reference)

    def judged(self, journal: Journal) -> Played:
        grade = self.grader.grade(journal)
        difference = Difference(self.grader.criteria(self.task.task_id).ignored)
        finish = None
        for entry in journal.entries:
            for change in own_changes(entry, self.task.opening.record):
                difference.add(change)
            finish = entry if entry.finished else finish
        return Played(journal, grade, compare(self.answer.outcome, difference, finish))

    def play(self, calls: Sequence[ToolCall]) -> Played:
        """Makes the calls as they stand, until the episode ends."""
        self.episode.reset(self.task.task_id, self.seed)
        for call in calls:
            if self.episode.done:
                break
            self.episode.step(call)
        return self.judged(self.episode.journal)

    def run(self, agent: Agent, seed: int) -> Played:
        return self.judged(run_episode(self.episode, agent, self.task.task_id, seed).journal)

    def mutant(self, mutant: Mutant) -> Played:
        played = self.play(mutant.calls)
        self.mutants.append((mutant, played))
        return played

    def whole(self) -> Played:
        """The reference's own replay."""
        if self.reference is None:
            self.reference = self.play(self.calls)
        return self.reference

    def ids(self) -> dict[str, list[str]]:
        """Records of the case and a few others, by kind."""
        if self._ids is None:
            self._ids = kind_ids(self.taskset.state(self.task), self.whole().journal)
        return self._ids


def c1_reference_replay(bench: Bench) -> Said:
    """The reference is full, three times, with the same bytes; none of its calls is refused."""
    first = bench.whole()
    if refused := [f"{e.call.tool} ({e.refusal.kind.value})" for e in first.journal.entries if e.refusal is not None]:
        return "failed", f"refused: {', '.join(refused)}"
    if len(first.journal.entries) != len(bench.calls):
        return "failed", f"the episode ended after {len(first.journal.entries)} of {len(bench.calls)} calls"
    if not first.grade.full:
        rules = sorted({v.rule for v in first.grade.violations})
        wrong = [name for name, met in first.comparison.criteria.items() if not met]
        return "failed", f"not full: breaks {rules}, wrong {wrong}, collateral {len(first.comparison.collateral)}"
    text = canonical_json([first.journal.model_dump(mode="json"), first.grade.model_dump(mode="json")])
    for _ in range(REPLAYS - 1):
        again = bench.play(bench.calls)
        if canonical_json([again.journal.model_dump(mode="json"), again.grade.model_dump(mode="json")]) != text:
            return "failed", "a replay gave other bytes"
    return "passed", f"{REPLAYS} replays of {len(bench.calls)} calls"


def c2_shortcut_panel(bench: Bench) -> Said:
    """No shortcut is full; refusing with the very code that is right must fail for its missing reads."""
    full = []
    for name, factory in PANEL.items():
        runs = RANDOM_RUNS if name == "random" else 1
        played = [bench.run(factory(bench.seed + n), bench.seed + n) for n in range(runs)]
        bench.returns[name] = sum(p.grade.return_ for p in played) / runs
        if any(p.grade.full for p in played):
            full.append(name)
    for code in _refusals(bench):
        played_code = bench.play(_resolved_at_once(bench, code))
        bench.returns["refuse_all"] = min(bench.returns.get("refuse_all", 0.0), played_code.grade.return_)
        if played_code.grade.full:
            full.append(f"refuse all ({code})")
    return (
        ("failed", f"full: {', '.join(full)}") if full else ("passed", f"{len(bench.returns)} shortcuts, random x{RANDOM_RUNS}")
    )


def _refusals(bench: Bench) -> list[str]:
    own = {c: about for c, about in bench.codes.items() if about.workflow == bench.task.workflow}
    return sorted(c for c, about in own.items() if about.outcome_class == "refuse")


def _resolved_at_once(bench: Bench, code: str) -> tuple[ToolCall, ...]:
    """The strongest refuser: it knows the record that the decision is about."""
    last = bench.calls[-1]
    arguments = {**last.arguments, "code": code}
    if "answer" in arguments:
        arguments["answer"] = {}
    return (ToolCall(tool=last.tool, arguments=arguments),)


def c3_constant_outcome(bench: Bench) -> Said:
    """Always answering another code of the workflow is never right here, so over the set it is right at most at its base rate."""
    others = sorted(
        c for c, about in bench.codes.items() if about.workflow == bench.task.workflow and c != bench.answer.outcome.code
    )
    allowed = {other.code for other in bench.answer.outcome.alternatives}
    right = [c for c in others if c not in allowed and bench.run(ConstantOutcome(c), bench.seed).grade.success]
    return ("failed", f"right without the code: {', '.join(right)}") if right else ("passed", f"{len(others)} other codes")


def c4_required_checks(bench: Bench) -> Said:
    """The reference without one required check breaks a rule on its path."""
    accepted, required = [], 0
    for step, made in enumerate(bench.answer.reference[:-1]):
        if not (made.required_by or made.planned):
            continue
        played = bench.mutant(without(bench.calls, step))
        broken = any(v.hard and v.rule != "invalid_call" for v in played.grade.violations)
        if made.required_by:
            required += 1
            if played.grade.success or not broken:
                accepted.append(f"{made.call.tool} ({', '.join(made.required_by)})")
    if accepted:
        return "failed", f"not missed by the grader: {', '.join(accepted)}"
    return ("passed", f"{required} required checks") if required else ("not_applicable", "no rule in force demands a check")


def c5_forbidden_act(bench: Bench) -> Said:
    """The reference plus one act that it does not hold fails, whichever write tool makes it."""
    tools = bench.episode.tools
    tried, accepted = [], []
    for ways in extra_acts(bench.calls, tools, bench.answer, bench.ids()):
        for mutant in ways:
            played = bench.mutant(mutant)
            if len(played.journal.entries) > mutant.step and played.journal.entries[mutant.step].changes:
                tried.append(mutant.label)
                if played.grade.success:
                    accepted.append(mutant.label)
                break
    if accepted:
        return "failed", f"still a success: {', '.join(accepted)}"
    if not tried:
        writes = [name for name, tool in tools.items() if is_write(tool)]
        if writes:
            return "could_not_run", f"no system accepted one more act of {', '.join(writes)}"
        return "not_applicable", "the agent has no tool that writes"
    return "passed", f"{len(tried)} acts: {', '.join(tried)}"


def c6_wrong_parameter(bench: Bench) -> Said:
    """The reference with one wrong amount, record, value or code fails."""
    state = bench.taskset.state(bench.task)
    tools, ids = bench.episode.tools, bench.ids()
    tried, accepted = 0, []
    for mutant in wrong_parameters(bench.calls, tools, bench.task, bench.answer, ids, state, bench.codes):
        tried += 1
        played = bench.mutant(mutant)
        if played.grade.success and not (bench.answer.outcome.alternatives and not played.comparison.right):
            accepted.append(mutant.label)
    if accepted:
        return "failed", f"still a success: {', '.join(accepted)}"
    return ("passed", f"{tried} wrong parameters") if tried else ("failed", "the reference has no parameter to get wrong")


def c7_criteria_flip(bench: Bench) -> Said:
    """No criterion is empty: each, and the check for collateral, is met by the reference and missed by some mutant."""
    for step, call in enumerate(bench.calls):
        if is_write(bench.episode.tools[call.tool]):
            bench.mutant(without(bench.calls, step))
    met = bench.whole().comparison
    if not met.criteria or not met.right:
        return "failed", "the reference does not meet every criterion"
    dead = [name for name in met.criteria if all(p.comparison.criteria.get(name, False) for _, p in bench.mutants)]
    writes = any(is_write(tool) for tool in bench.episode.tools.values())
    if writes and not any(p.comparison.collateral for _, p in bench.mutants):
        dead.append("collateral")
    if dead:
        return "failed", f"no mutant flips: {', '.join(dead)}"
    return "passed", f"{len(met.criteria)} criteria, {len(bench.mutants)} mutants"


def c9_derivable(bench: Bench) -> Said:
    """An agent that may only use what it has been shown can make every call of the reference."""
    try:
        played = bench.run(ReferenceAgent(bench.answer.reference), bench.seed)
    except UnseenValue as unseen:
        return "failed", f"{unseen.tool}.{unseen.argument} was never shown"
    if not played.grade.full:
        return "failed", "the bounded agent is not full"
    return "passed", f"{len(bench.calls)} calls"


def c11_clean_reset(bench: Bench) -> Said:
    """Two resets give the same state, whatever was played before or beside."""
    task_id, seed = bench.task.task_id, bench.seed
    beside = Episode(bench.taskset)
    bench.episode.reset(task_id, seed)
    fresh = bench.episode.state_digest()
    beside.reset(task_id, seed)
    for call in bench.calls:
        if not bench.episode.done:
            bench.episode.step(call)
    if beside.state_digest() != fresh:
        return "failed", "an episode changed another one"
    if bench.episode.state_digest() == fresh:
        return "failed", "the reference leaves no trace in the state"
    bench.episode.reset(task_id, seed)
    return ("passed", "") if bench.episode.state_digest() == fresh else ("failed", "a reset state differs from a fresh one")


def c13_requester(bench: Bench) -> Said:
    """The requester says the same for the same seed, tells a fact only when asked, and no more to one who spams."""
    speak = next((name for name, tool in bench.episode.tools.items() if tool.speaks), None)
    if speak is None or "no_requester" in bench.task.grades:
        return "not_applicable", "nobody to ask in this task"
    spec = bench.task.requester
    asks = [text for fact in spec.facts if not fact.volunteered for text in _asking(bench, fact.slots, fact.question)]
    volunteered = {fact.id for fact in spec.facts if fact.volunteered}
    everything = " ".join(asks)
    first = _told(bench, speak, [*asks, everything or NOTHING_ASKED[0]])
    if _told(bench, speak, [*asks, everything or NOTHING_ASKED[0]]) != first:
        return "failed", "the same seed and messages gave other answers"
    for idle in NOTHING_ASKED:
        told = {fact for ids, _ in _told(bench, speak, [idle] * (spec.patience + 2)) for fact in ids}
        if told - volunteered:
            return "failed", f"told without being asked: {', '.join(sorted(told - volunteered))}"
    if everything:
        spammed = _told(bench, speak, [everything])
        if len(spammed[0][0]) > spec.facts_per_message:
            return "failed", f"one message was answered with {len(spammed[0][0])} facts, {spec.facts_per_message} allowed"
    return "passed", f"{len(spec.facts)} facts, {len(asks)} questions"


def _asking(bench: Bench, slots: Sequence[str], question: str) -> list[str]:
    """Questions for a fact: the recorded one, else a form that asks for one of its slots."""
    if question:
        return [question[:400]]
    return [texts[0] for slot in slots if (texts := bench.forms.get("ask", {}).get(slot))][:1]


def _told(bench: Bench, speak: str, messages: Sequence[str]) -> list[tuple[tuple[str, ...], str]]:
    """For each message the ids told and the answer's text."""
    bench.episode.reset(bench.task.task_id, bench.seed)
    heard = []
    for message in messages:
        if bench.episode.done:
            break
        text = bench.episode.step(ToolCall(tool=speak, arguments={"text": message[:2000]})).observation.text
        heard.append((bench.episode.journal.entries[-1].told, text))
    return heard


def c17_writes_only(bench: Bench) -> Said:
    """An agent that knows the right writes and makes them without a look or a check fails wherever a rule demands one."""
    played = bench.run(WritesOnly(bench.answer.reference), bench.seed)
    known = {rule.id for rule in bench.task.rules if rule.hard}
    demands = sorted({v.rule for v in played.grade.violations if v.rule in known})
    if played.grade.full:
        if any(step.required_by for step in bench.answer.reference):
            return "failed", "full without any of the checks that the reference's rules demand"
        return "not_applicable", "no rule in force demands a check"
    if not demands:
        return "not_applicable", "fails, but not by a rule: none in force demands a check"
    return "passed", f"breaks {', '.join(demands)}"


CHECKS: dict[str, Callable[[Bench], Said]] = {
    "C1": c1_reference_replay,
    "C2": c2_shortcut_panel,
    "C3": c3_constant_outcome,
    "C4": c4_required_checks,
    "C5": c5_forbidden_act,
    "C6": c6_wrong_parameter,
    "C7": c7_criteria_flip,
    "C9": c9_derivable,
    "C11": c11_clean_reset,
    "C13": c13_requester,
    "C17": c17_writes_only,
}
"""In the order in which they run: C7 reads the mutants that C4 to C6 played."""


def certify_task(
    taskset: TaskSet,
    task: TaskSpec,
    answer: Answer,
    *,
    codes: Mapping[str, OutcomeCode],
    forms: Mapping[str, Mapping[str, Sequence[str]]],
    seed: int,
) -> tuple[Certificate, ScoreBounds]:
    """Certificate and score bounds of one task of `taskset`. `codes` = CodeBook.outcomes, `forms` as in TaskSetManifest.forms.

    A failed check stands in the certificate; a check that an error of the world or the grader stopped reads "could_not_run".
    Bounds: g_max is the reference's return, g_min that of the worst of the panel.
    """
    checks = []
    g_min, g_max = 0.0, 0.0
    try:
        grader = Grader(taskset, {task.task_id: answer})
        bench = Bench(taskset, task, answer, codes, forms, seed, grader, Episode(taskset))
        bench.whole()
    except RecordgymError as error:
        checks = [Check(id=name, verdict="could_not_run", detail=f"the reference does not play: {error}") for name in CHECKS]
    else:
        for name, check in CHECKS.items():
            try:
                verdict, detail = check(bench)
            except RecordgymError as error:
                verdict, detail = "could_not_run", f"{type(error).__name__}: {error}"
            checks.append(Check(id=name, verdict=verdict, detail=detail))
        g_min, g_max = min(bench.returns.values(), default=0.0), bench.whole().grade.return_
    certificate = Certificate(
        task_id=task.task_id,
        task_sha256=task_digest(task, answer),
        code_version=code_version(*CHECKED),
        checks=tuple(checks),
    )
    return certificate, ScoreBounds(g_min=g_min, g_max=g_max)


def constant_outcome_rates(
    taskset: TaskSet, answers: Mapping[str, Answer], *, codes: Mapping[str, OutcomeCode], seed: int
) -> list[ConstantRate]:
    """C3 over the tasks of `taskset` that have an answer: one row a code that is some task's answer, sorted by code.

    The constant agent plays every task of the code's workflow; elsewhere its code is not one that could be right.
    """
    grader, episode = Grader(taskset, answers), Episode(taskset)
    tasks = [task for task in taskset.tasks.values() if task.task_id in answers]
    used = sorted({answers[task.task_id].outcome.code for task in tasks})
    rates = []
    for code in used:
        solved = 0
        for task in tasks:
            if code in codes and codes[code].workflow != task.workflow:
                continue
            journal = run_episode(episode, ConstantOutcome(code), task.task_id, seed).journal
            solved += grader.grade(journal).success
        right = sum(answers[task.task_id].outcome.code == code for task in tasks)
        rates.append(ConstantRate(code, right / len(tasks), solved / len(tasks)))
    return rates
