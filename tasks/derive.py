"""The fewest reads, questions and checks that make every value of the reference observable and that the rules in force demand.

A generic search, unaware of any workflow: what the opening, a tool's answer, the requester or a policy shows is *known*
(`tasks.explore` runs the read tools with known ids until nothing new turns up); values that the recorded writes need are chained
back to the cheapest calls that show them. Nothing may come from nowhere: the first value that does is
`Underivable`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from environments.seen import Seen, Want, asked_in, unseen, valued, ways
from rewards.path import compile_rule
from rewards.rule import Lookup, applies
from rewards.values import same
from rewards.view import JournalView, NotThere
from schemas.episode import Refusal, ToolCall
from schemas.errors import GraderError
from schemas.files import canonical_json
from schemas.task import Fact, ReferenceStep, RuleRef, TaskSpec
from schemas.taskset import State
from tasks.choice import singles_out
from tasks.explore import ASK, Exploration, Found, scalars
from tasks.labels import labelled
from tasks.refused import held, why_refused
from tasks.requester import TOKEN, TOKEN_PARTS

if TYPE_CHECKING:
    from environments.episode import Episode
    from environments.tool import Tool

FINISH = "resolve"


class Underivable(Exception):  # noqa: N818 - the reason of a dropped record, answered by the builder
    """The first value of the recorded path that the agent's own tools never show: tool, argument and kind of value, never the
    value itself. The message begins "tool.argument (kind)": `tasks.ledger.underivable_values` counts by it."""

    def __init__(self, tool: str, argument: str, kind: str, why: str = "is shown by nothing") -> None:
        self.tool, self.argument, self.kind = tool, argument, kind
        super().__init__(f"{tool}.{argument} ({kind}): {why}")


class Broken(Exception):  # noqa: N818 - the reason of a dropped record, answered by the builder
    """The records show an act that a rule demands never to be made without another, and that other act was recorded nowhere, or
    could only fail with what the requester said. The message is the rule's id."""


def kind_of(value: Any) -> str:
    """What kind of value it is, in words that repeat nothing of it."""
    if isinstance(value, bool):
        return "yes or no"
    if isinstance(value, int | float):
        return "number"
    if not isinstance(value, str):
        return "answer"
    if token := TOKEN_PARTS.fullmatch(value):
        return f"{token[2] or token[1]} pseudonym".lower().replace("_", " ")
    return "digits" if re.fullmatch(r"[\d .,/-]+", value) else "text"


def told_values(task: TaskSpec, slot: str) -> list[str]:
    """What the requester can tell as `slot`, then what stands in the opening as one."""
    told = [f.values[slot] for f in task.requester.facts if slot in f.values]
    role = slot.upper()
    here = TOKEN.findall(task.opening.text)
    stands = [a for a in here if a.startswith(f"{role}_") or re.search(rf"_{role}\d*$", a)]
    return list(dict.fromkeys([*told, *stands]))


def demanded(rules: Sequence[RuleRef]) -> Counter[str]:
    """Tool -> in how many needs of the rules in force it stands, of whatever act or decision."""
    found: Counter[str] = Counter()
    for ref in rules:
        if ref.rule == "required_before":
            _, parameters = compile_rule(ref.rule, ref.parameters)
            found.update(name for need in parameters.needs for name in need.tools)  # type: ignore[attr-defined]
    return found


Planned = tuple[ToolCall, bool, set[str]]
"""(call, True where it is not a recorded write, ids of the rules that demand it)."""


def _texts(value: Any) -> str:
    """The text values in a JSON value; names of fields are no evidence."""
    return " ".join(v for v in scalars(value) if isinstance(v, str))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """The innermost objects first, each with its scalars only."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _objects(inner)
        yield {k: v for k, v in value.items() if not isinstance(v, dict | list)}
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


class Deriver:
    """One case: searches once, then answers what each value can be derived from."""

    def __init__(
        self,
        episode: Episode,
        facts: Sequence[Fact],
        rules: Sequence[RuleRef],
        state: State,
        *,
        known: Mapping[str, Sequence[dict[str, Any]]] | None = None,
    ) -> None:
        """`known` gives a tool the arguments with which it was really called, the latest first: a declared system answers only
        those."""
        self.episode = episode
        self.tools: dict[str, Tool] = episode.tools
        self.facts = facts
        self.rules = rules
        self.state = state
        self.known = known or {}
        self.view = JournalView(state, episode.task.started_at)
        self.opening = Seen(episode.opening.text)
        self.kinds: dict[str, set[str]] = {}
        for kinds in state.values():
            for kind, rows in kinds.items():
                for record_id in rows:
                    self.kinds.setdefault(record_id, set()).add(kind)
        self.found = Exploration(episode, facts, self.kinds, self.known).found
        self.planned: dict[str, tuple[ToolCall, set[str]]] = {}
        self._costs: dict[int, float] = {}
        self.keep: set[str] = set()
        self.demanded = demanded(rules)

    # --- what must be seen -----------------------------------------------------------------------------------------

    def require(self, call: ToolCall, required_by: Sequence[str] = (), before: int | None = None) -> None:
        """Plans what `call` needs: what its rules demand before it, and what shows its argument values. Raises Underivable."""
        for rule_id, need in self._demands(call):
            self._plan(need, [rule_id])
        for name in call.arguments:
            self._value(call, name, before)

    def unshown(self, calls: Sequence[ToolCall]) -> Underivable | None:
        """The first value of `calls` that nothing shows, whatever their rules demand; None where all are shown."""
        for call in calls:
            for name in call.arguments:
                try:
                    self._value(call, name, None)
                except Underivable as missing:
                    return missing
                except Broken:  # what shows the value was itself made against a rule: it was made, so it shows
                    continue
        return None

    def _plan(self, call: ToolCall, required_by: Sequence[str], before: int | None = None) -> None:
        key = canonical_json(call.model_dump())
        if key in self.planned:
            self.planned[key][1].update(required_by)
            return
        source = self._source(call)
        for earlier in source.after if source is not None else ():
            self._plan(self.found[earlier].call, (), earlier)
        # A call never shows itself the values that it needs.
        self.require(call, before=source.order if before is None and source is not None else before)
        self.planned[key] = (call, set(required_by))
        self._costs.clear()

    def _value(self, call: ToolCall, name: str, before: int | None) -> None:
        """Plans what shows the value of the argument. Raises Underivable where nothing does."""
        found = [[want for want in way if not self._has(want, before)] for way in self._ways(call, name)]
        if any(not way for way in found):
            return
        limit = before if before is not None else len(self.found)
        best = [[self._cheapest(want, limit) for want in way] for way in found]
        whole = [[one for one in way if one is not None] for way in best if None not in way]
        if not whole:
            raise Underivable(call.tool, name, kind_of(call.arguments[name]))
        for source in min(whole, key=lambda way: sum(self._cost(one) for one in way)):
            self._plan(source.call, (), source.order)

    def _ways(self, call: ToolCall, name: str) -> list[tuple[Want, ...]]:
        """The ways to be shown an argument's value; which page to read, words and decisions need not be."""
        tool = self.tools[call.tool]
        if name == "page" or name not in (needed := valued(tool, call.arguments)):
            return [()]
        return list(ways(needed, name, tool.chosen))

    def _has(self, want: Want, before: int | None) -> bool:
        """True if the opening shows it, or a planned call that can be made before."""
        if self.opening.shows(want):
            return True
        sources = (self._source(planned) for planned, _ in self.planned.values())
        return any(s is not None and (before is None or s.order < before) and s.seen.shows(want) for s in sources)

    def _cheapest(self, want: Want, before: int) -> Found | None:
        """The call that shows what is wanted for the fewest calls more; the first tried among equals, one that cannot be made
        itself only where there is no other (planning it then names what it lacks)."""
        sources = [f for f in self.found[:before] if f.seen.shows(want)]
        return min(sources, key=lambda f: (self._cost(f), f.order)) if sources else None

    def _cost(self, source: Found) -> float:
        """Calls that `source` adds to the plan, itself included (a bound: shared ones count twice); infinite where nothing shows
        what it needs."""
        if canonical_json(source.call.model_dump()) in self.planned:
            return 0
        if source.order in self._costs:
            return self._costs[source.order]
        cost = 1.0 + sum(self._cost(self.found[earlier]) for earlier in source.after)
        for name in source.call.arguments:
            cost += min((self._cost_of(way, source.order) for way in self._ways(source.call, name)), default=0)
        self._costs[source.order] = cost
        return cost

    def _cost_of(self, way: Sequence[Want], before: int) -> float:
        cost = 0.0
        for want in way:
            if not self.opening.shows(want):
                earlier = self._cheapest(want, before)
                cost += self._cost(earlier) if earlier is not None else inf
        return cost

    def _can_be_made(self, call: ToolCall) -> bool:
        """True if calls that can be made themselves show all that it needs."""
        source = self._source(call)
        before = source.order if source is not None else len(self.found)
        return all(min(self._cost_of(way, before) for way in self._ways(call, name)) < inf for name in call.arguments)

    def _source(self, call: ToolCall) -> Found | None:
        return next((f for f in self.found if f.call == call), None)

    def _demands(self, call: ToolCall) -> Iterator[tuple[str, ToolCall]]:
        """(rule id, the call that it demands before `call`) for every required-before rule in force that applies."""
        for ref in self.rules:
            if ref.rule != "required_before":
                continue
            _, parameters = compile_rule(ref.rule, ref.parameters)
            if parameters.tool != call.tool or not applies(parameters.when, call.arguments):  # type: ignore[attr-defined]
                continue
            for need in parameters.needs:  # type: ignore[attr-defined]
                name = next((t for t in need.tools if t in self.tools), None)
                if name is None:
                    raise Underivable(need.tools[0], "*", "tool", f"rule {ref.id} demands a tool that this task does not have")
                if self.tools[name].effect is not None:
                    continue  # a demanded write is a recorded act, never one to plan
                yield ref.id, self._needed(call, name, need, ref.id)

    def _needed(self, call: ToolCall, name: str, need: Any, rule_id: str) -> ToolCall:
        arguments: dict[str, Any] = {}
        for argument, to in need.same.items():
            try:
                found = self.view.follow(to, call.arguments, 0)[0] if isinstance(to, Lookup) else call.arguments.get(to)
            except NotThere as error:
                why = f"cannot be looked up from {call.tool}; {held(self.state, error.ref.system, error.ref.kind)}"
                raise Underivable(name, argument, "looked-up value", why) from error
            except GraderError as error:
                raise Underivable(name, argument, "looked-up value", f"cannot be looked up from {call.tool}") from error
            if found is None and name not in self.known:
                raise Underivable(name, argument, "looked-up value", f"is given by nothing in {call.tool}")
            arguments[argument] = found
        missing = [p for p in self.tools[name].parameters.get("required", ()) if p not in arguments]
        met: list[ToolCall] = []
        refusal: Refusal | None = None
        for filled in self._fillings(name, arguments, missing):
            trial = self.episode.fork()
            trial.step(ToolCall(tool=name, arguments=filled))
            entry = trial.journal.entries[-1]
            result = entry.result if isinstance(entry.result, dict) else {}
            refusal = entry.refusal
            if entry.ok and all(same(result.get(k), v) for k, v in need.returned.items()):
                met.append(ToolCall(tool=name, arguments=filled))
                if name not in self.known:
                    break
        if met:  # of several recorded ones, one that can be made with what is shown
            return next(filter(self._can_be_made, met), met[0]) if len(met) > 1 else met[0]
        if call.tool in self.known:
            raise Broken(rule_id)  # calls of a declared system are recorded: this one was made without the other
        untold = [p for p in missing if not told_values(self.episode.task, p)]
        if not missing:
            asked = next(iter(arguments), "*")
            why = why_refused(self.tools[name], asked, refusal, self.state, self.tools.values())
            raise Underivable(name, asked, "looked-up value", why)
        if not untold:
            raise Broken(rule_id)  # whatever the requester said, the check fails: the act was made against it
        raise Underivable(name, untold[0], "told value", "was told by nobody")

    def _fillings(self, name: str, arguments: dict[str, Any], missing: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Every way to fill the missing arguments with values that the requester told, or that stand in the opening, under that
        slot."""
        if name in self.known:
            yield from (given for given in self.known[name] if all(same(given.get(k), v) for k, v in arguments.items()))
            return
        if not missing:
            yield arguments
            return
        first, rest = missing[0], missing[1:]
        for value in told_values(self.episode.task, first):
            yield from self._fillings(name, {**arguments, first: value}, rest)

    # --- the plan ---------------------------------------------------------------------------------------------------

    def steps(self, targets: Sequence[ToolCall], finish: ToolCall, *, reads: Sequence[ToolCall] = ()) -> list[ReferenceStep]:
        """The whole reference: planned calls, recorded writes, finish; each argument with where its value was first seen.

        `reads` are recorded look-ups that decided the case: they stay, whatever else shows the same.
        """
        for call in reads:
            self._plan(call, ())
        for call in (*targets, finish):
            self.require(call)
        self.keep = {canonical_json(c.model_dump()) for c in reads}
        written = {canonical_json(c.model_dump()) for c in targets}
        calls: list[Planned] = [(c, True, rules) for key, (c, rules) in self.planned.items() if key not in written]
        calls += [(c, False, set()) for c in targets]
        calls.append((finish, False, set()))
        kept = self._asked_together(self._pruned(calls))
        self._check_choices([call for call, _, _ in kept])
        return self._labelled(kept)

    def _check_choices(self, calls: Sequence[ToolCall]) -> None:
        """Raises Underivable where a look-up shows several records of a kind and nothing that the requester said tells which is
        meant."""
        told = {fact.id: fact.answer for fact in self.facts}
        named = " ".join([self.episode.task.opening.subject, self.episode.task.opening.text, *told.values()])
        direct = Seen(named)
        play = self.episode.fork()
        shown: list[str] = []
        for call in calls:
            for name, value in call.arguments.items():
                kinds = self.kinds.get(value) if isinstance(value, str) else None
                if kinds is None or direct.holds(value) or self.opening.holds(value):
                    continue
                source = next((text for text in shown if Seen(text).holds(value)), None)
                rows = self._rows_of(source, kinds) if source is not None else {}
                described = {row: self._description(row, text) for row, text in rows.items()}
                if value in rows and not singles_out(named, described, value, self._everyday()):
                    why = f"is one of {len(rows)} and nothing said tells which"
                    raise Underivable(call.tool, name, kind_of(value), why)
            shown.append(play.step(call).observation.text)

    def _everyday(self) -> str:
        """Words of the policies in force."""
        policies = self.episode.taskset.policies(self.episode.task)
        return " ".join(clause.text for policy in policies for clause in policy.clauses)

    def _rows_of(self, text: str, kinds: set[str]) -> dict[str, str]:
        """Record of one of `kinds` that the observation lists -> what it says of it."""
        try:
            value = json.loads(text)
        except ValueError:
            return {}
        rows: dict[str, str] = {}
        for row in _objects(value):
            own = [
                v for k, v in row.items() if isinstance(v, str) and k in {f"{kind}_id" for kind in kinds} and self.kinds.get(v)
            ]
            if own:
                rows.setdefault(own[0], _texts(row))
        return rows

    def _description(self, record_id: str, row: str) -> str:
        """What the listed row and the look-ups of the record itself hold in words."""
        more = [
            _texts(json.loads(f.text)) for f in self.found if record_id in f.call.arguments.values() and f.text.startswith("{")
        ]
        return " ".join([row, *more])

    def _scheduled(self, calls: list[Planned]) -> list[Planned] | None:
        """The planned calls in an order in which every value is shown before it is used, then the rest; None where there is no
        such order. Of those that can be made, the one first that most rules in force demand, whatever comes of the case: whoever
        works a case does what every case needs first, and a look-up that only one decision needs once that is decided. An order
        that told the decision beforehand would be imitated, and then guessed.
        """
        left = [c for c in calls if c[1]]
        play, shown, ordered = self.episode.fork(), Seen(self.episode.opening.text), []
        while left:
            ready = [c for c in left if self._unseen(c[0], shown) is None]
            if not ready:
                return None
            chosen = max(ready, key=lambda c: self.demanded[c[0].tool])
            left.remove(chosen)
            ordered.append(chosen)
            shown.add(play.step(chosen[0]).observation.text, self._asked(chosen[0]))
        return ordered + [c for c in calls if not c[1]]

    def _unseen(self, call: ToolCall, shown: Seen) -> Any:
        """The first argument whose value was not shown; which page to read is never a value."""
        return unseen(self.tools[call.tool], {k: v for k, v in call.arguments.items() if k != "page"}, shown)

    def _pruned(self, calls: list[Planned]) -> list[Planned]:
        """Leaves out planned calls, last first, without which every value can still be shown before it is used."""
        kept = self._scheduled(calls) or calls
        for planned in reversed(calls):
            call, optional, rules = planned
            if not optional or rules or canonical_json(call.model_dump()) in self.keep:
                continue
            trial = self._scheduled([c for c in kept if c is not planned])
            if trial is not None and self._holds([c for c, _, _ in trial]):
                kept = trial
        return kept

    def _asked_together(self, calls: list[Planned]) -> list[Planned]:
        """Neighbouring questions put into one message where the requester's answer to it still tells all that is needed.

        A question behind a look-up stays there: what one decision alone needs to know would otherwise be asked first, and tell
        the decision before anything was looked up.
        """
        kept = list(calls)
        at = 0
        while at + 1 < len(kept):
            (call, planned, rules), later = kept[at], kept[at + 1]
            if call.tool == ASK == later[0].tool:
                text = f"{call.arguments['text']} {later[0].arguments['text']}"
                joined: Planned = (ToolCall(tool=ASK, arguments={"text": text}), planned, rules | later[2])
                trial = [joined if c is kept[at] else c for c in kept if c is not later]
                if self._holds([c for c, _, _ in trial]):
                    kept = trial
                    continue
            at += 1
        return kept

    def _play(self, calls: Sequence[ToolCall]) -> list[str]:
        play = self.episode.fork()
        return [play.step(call).observation.text for call in calls]

    def _holds(self, calls: Sequence[ToolCall]) -> bool:
        shown = Seen(self.episode.opening.text)
        for call, text in zip(calls, self._play(calls), strict=True):
            if self._unseen(call, shown) is not None:
                return False
            shown.add(text, self._asked(call))
        return True

    def _asked(self, call: ToolCall) -> str:
        return asked_in(self.tools[call.tool], call)

    def _labelled(self, calls: list[Planned]) -> list[ReferenceStep]:
        return labelled(self.episode.fork(), [(call, planned, tuple(sorted(rules))) for call, planned, rules in calls])
