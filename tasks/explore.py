"""What an agent can come to see in a case: every read that known values allow, run through a real episode, breadth first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from environments.seen import Seen, Want, asked_in
from schemas.episode import ToolCall
from schemas.files import canonical_json
from schemas.task import Fact
from tasks.requester import TOKEN

if TYPE_CHECKING:
    from environments.episode import Episode
    from environments.tool import Tool

MAX_CALLS = 400
"""Reads that the search runs at most in one case."""
ASK = "reply_to_requester"
AGAIN = ("the", "another", "yet another", "one more", "a different", "any further", "a new", "the final")
"""How a question for a slot is put again: no two calls of a path are the same question."""
WORD = re.compile(r"[^\s,;:()\"']+")


@dataclass(slots=True)
class Found:
    """A call that was tried, and what it showed."""

    call: ToolCall
    order: int
    """Position in the search: a call only builds on earlier ones."""
    text: str
    seen: Seen = field(repr=False)
    fact: str | None = None
    """Id of the fact that a question brings."""
    after: tuple[int, ...] = ()
    """Places of the calls without which it does not show this: what the requester said later is told after what came first."""


def atoms_of(text: str) -> frozenset[str]:
    """Candidates for arguments of further reads: the scalars of an observation and the words and pseudonyms of its texts."""
    found: set[str] = set()
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    for scalar in scalars(value):
        if not isinstance(scalar, str):
            continue
        found.add(scalar)
        found.update(TOKEN.findall(scalar))
        found.update(word.strip(".!?") for word in WORD.findall(scalar))
    found.discard("")
    return frozenset(found)


def scalars(value: Any) -> Iterator[Any]:
    """Every value in a JSON value that is neither list nor object."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from scalars(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from scalars(inner)
    else:
        yield value


class Exploration:
    """Searches a case once; `found` holds what was tried and what it showed, each call building on earlier ones."""

    def __init__(
        self,
        episode: Episode,
        facts: Sequence[Fact],
        kinds: Mapping[str, set[str]],
        known: Mapping[str, Sequence[dict[str, Any]]],
    ) -> None:
        """`kinds`: record id -> the kinds of which the state has such a record; `known` as in `tasks.derive.Deriver`."""
        self.episode = episode
        self.tools: dict[str, Tool] = episode.tools
        self.facts = facts
        self.kinds = kinds
        self.known = known
        self.found: list[Found] = []
        self._search()

    def _search(self) -> None:
        """Runs every read that known values allow, level by level, and asks for every fact."""
        start = self.episode.fork()
        for fact in self.facts:
            self._ask(start, fact)
        self._ask_again(start)
        self._ask_unknown(start)
        for name, calls in self.known.items():
            for arguments in reversed(calls):  # as they were made: an earlier answer shows what a later call uses
                if self.tools[name].reads:
                    call = ToolCall(tool=name, arguments=arguments)
                    self._add(call, start.fork().step(call).observation.text)
        tried: set[str] = set()
        old: set[str] = set()
        fresh = set(atoms_of(self.episode.opening.text)).union(*(atoms_of(f.text) for f in self.found))
        while fresh and len(self.found) < MAX_CALLS:
            new: set[str] = set()
            for call in self._executable(fresh):
                key = canonical_json(call.model_dump())
                if key in tried or len(self.found) >= MAX_CALLS:
                    continue
                tried.add(key)
                for text, paged in self._run(start, call):
                    self._add(paged, text)
                    new |= atoms_of(text)
            old |= fresh
            fresh = new - old

    def _add(self, call: ToolCall, text: str, fact: str | None = None, after: tuple[int, ...] = ()) -> None:
        seen = Seen()
        seen.add(text, asked_in(self.tools[call.tool], call))
        self.found.append(Found(call, len(self.found), text, seen, fact, after))

    def _ask(self, start: Episode, fact: Fact) -> None:
        if ASK not in self.tools:
            return
        for text in self._questions(fact):
            trial = start.fork()
            reply = trial.step(ToolCall(tool=ASK, arguments={"text": text}))
            told = trial.journal.entries[-1].told
            if fact.id in told:
                self._add(ToolCall(tool=ASK, arguments={"text": text}), reply.observation.text, fact.id)
                return

    def _ask_again(self, start: Episode) -> None:
        """Asks for each slot of which the requester said one value and later another, until all have been told."""
        giving: dict[str, list[str]] = {}
        for fact in self.facts:
            for slot in fact.values:
                giving.setdefault(slot, []).append(fact.id)
        for slot, facts in giving.items():
            if len(facts) < 2 or ASK not in self.tools:
                continue
            trial, before = start.fork(), tuple[int, ...]()
            for number in range(len(facts)):
                call = ToolCall(tool=ASK, arguments={"text": self._question(slot, number)})
                text = trial.step(call).observation.text
                told = [fact for fact in trial.journal.entries[-1].told if fact in facts]
                if not told:
                    break
                known = next((f.order for f in self.found if f.call == call), None)
                if known is None:
                    known = len(self.found)
                    self._add(call, text, told[0], before)
                before = (*before, known)

    def _ask_unknown(self, start: Episode) -> None:
        """Asks for every argument of which a system takes "I do not know" for an answer."""
        asked = [self.tools[tool] for tool, calls in self.known.items() if calls]
        wanted = {name: choice for tool in asked for name, choice in tool.chosen.items() if choice.unknown}
        for name, choice in sorted(wanted.items()):
            call = ToolCall(tool=ASK, arguments={"text": self._question(name)})
            text = start.fork().step(call).observation.text if ASK in self.tools else ""
            seen = Seen()
            seen.add(text, call.arguments["text"])
            if seen.shows(Want(choice.unknown, choice)):
                self._add(call, text)

    def _question(self, slot: str, number: int = 0) -> str:
        """A plain question for a slot: the first, or one of those after it."""
        named = next(iter(self._slot_words().get(slot, ())), slot.replace("_", " "))
        return f"Could you tell me {AGAIN[number % len(AGAIN)]} {named}, please?"

    def _questions(self, fact: Fact) -> Iterator[str]:
        """The recorded question; where that does not bring the fact (it was volunteered, or its words were few), plain ones by
        slot."""
        if fact.question.strip():
            yield fact.question
        yield from map(self._question, fact.slots)
        if fact.volunteered:
            yield "Is there anything else that I should know?"

    def _slot_words(self) -> dict[str, Sequence[str]]:
        found: dict[str, Sequence[str]] = {}
        for ref in self.episode.task.systems:
            found.update(ref.config.get("slots", {}))
        return found

    def _executable(self, fresh: set[str]) -> Iterator[ToolCall]:
        """Reads whose required arguments are all known, at least one of them newly."""
        for tool in self.tools.values():
            if not tool.reads or tool.effect or tool.finishing or tool.speaks:
                continue
            required = tool.parameters.get("required", ())
            if len(required) != 1 or required[0] in tool.prose:
                continue
            for value in self._candidates(required[0], tool, fresh):
                yield ToolCall(tool=tool.name, arguments={required[0]: value})

    def _candidates(self, name: str, tool: Tool, fresh: set[str]) -> list[Any]:
        schema = tool.parameters["properties"][name]
        if (choice := tool.chosen.get(name)) is not None and "enum" in schema:
            seen = [Seen(self.episode.opening.text), *(f.seen for f in self.found)]
            return [value for value in schema["enum"] if any(s.shows(Want(value, choice)) for s in seen)]
        if schema["type"] != "string":
            return []
        if name.endswith("_id"):
            kind = {"requester_id": "user"}.get(name, name[:-3])
            return sorted(a for a in fresh if kind in self.kinds.get(a, ()))
        if name == "document":
            documents = json.loads(self.episode.opening.text).get("policies", [])
            return sorted(d for d in documents if d in fresh)
        role = f"_{name.upper()}"
        return sorted(a for a in fresh if (TOKEN.fullmatch(a) and re.search(rf"{role}\d*$", a)) or (name == "email" and "@" in a))

    def _run(self, start: Episode, call: ToolCall) -> Iterator[tuple[str, ToolCall]]:
        """What the call shows, page by page where there are several."""
        page = 1
        while True:
            paged = call if page == 1 else ToolCall(tool=call.tool, arguments={**call.arguments, "page": page})
            step = start.fork().step(paged)
            if step.observation.kind == "refusal":
                return
            yield step.observation.text, paged
            shown = json.loads(step.observation.text) if step.observation.text.startswith("{") else {}
            if page >= int(shown.get("pages", 1)):
                return
            page += 1
