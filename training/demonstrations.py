"""Reference episodes with detours: what to do next where something needless, or in vain, was done before.

A reference knows beforehand what the requester knows and asks for nothing else; an agent cannot. Imitating references alone
teaches nothing about the turn after "I do not know that". So in each epoch the reference of a training task is played anew,
with a few harmless calls before its own (a question, a look-up, the same once more). The detours are read and not imitated
(noise injection, arXiv:1703.09327; dataset aggregation, arXiv:1011.0686). Training side only.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from environments.tool import Tool
from rewards.score import Grader
from schemas.episode import ToolCall
from schemas.files import canonical_json
from schemas.taskset import TaskSet
from training.chat import Inexpressible
from training.grammar import ASK
from training.rollout import Row, open_row
from training.script import Codec
from training.tape import Tape
from training.tokens import END, SKIP

RATE = 0.3
"""Chance of a detour before each step of the reference."""
MOST = 3
"""Detours of an episode."""


@dataclass(slots=True)
class Demonstrator:
    """Plays references of the training side for the warm start."""

    taskset: TaskSet
    grader: Grader
    codec: Codec
    context: int
    rate: float = RATE
    told: dict[str, list[frozenset[str]]] = field(default_factory=dict)
    """Task -> the facts that each step of its reference is told."""

    def tape(self, task_id: str, seed: int) -> Tape | None:
        """The reference of the task with detours; None where it does not come to its end so, or cannot be written."""
        chance = random.Random(f"detours/{task_id}/{seed}")
        steps = [step.call for step in self.grader.criteria(task_id).answer.reference]
        row = self.open(task_id, seed)
        made: set[str] = set()
        left = MOST
        try:
            for call, facts in zip(steps, self._told(task_id, steps), strict=True):
                while left and chance.random() < self.rate:
                    left -= 1
                    self.detour(row, chance, made)
                    if row.over:
                        return None
                if not self._done(row, call, facts, made):
                    write(row, row.script.symbols(call))
                    made.add(canonical_json(call.model_dump()))
        except Inexpressible:
            return None
        return row.tape if row.over and row.episode.journal.ended_by == "finish" else None

    def open(self, task_id: str, seed: int) -> Row:
        return open_row(self.taskset, self.grader, self.codec, task_id, seed, self.context)

    def _told(self, task_id: str, steps: Sequence[ToolCall]) -> list[frozenset[str]]:
        if task_id not in self.told:
            row = self.open(task_id, 0)
            for call in steps:
                row.episode.step(call)
            self.told[task_id] = [frozenset(entry.told) for entry in row.episode.journal.entries]
        return self.told[task_id]

    def _done(self, row: Row, call: ToolCall, facts: frozenset[str], made: set[str]) -> bool:
        """True if a detour has already shown what the step is for."""
        if row.episode.tools[call.tool].effect is not None or row.episode.tools[call.tool].finishing:
            return False
        if call.tool == ASK and facts:
            return facts <= {fact for entry in row.episode.journal.entries for fact in entry.told}
        return canonical_json(call.model_dump()) in made

    def detour(self, row: Row, chance: random.Random, made: set[str]) -> None:
        """One harmless call, not imitated."""
        entries = row.episode.journal.entries
        harmless = {
            name: choices for name, choices in row.script.turn.options.items() if _looks_only(row.episode.tools[name[2:]])
        }
        kind = chance.random()
        if kind < 0.15 and entries and f"T:{entries[-1].call.tool}" in harmless:
            call = entries[-1].call
            symbols = row.script.symbols(call)
        else:
            asks = kind < 0.65 and f"T:{ASK}" in harmless
            names = [f"T:{ASK}"] if asks else [name for name in sorted(harmless) if name != f"T:{ASK}"]
            if not names:
                return
            tool = chance.choice(names)
            symbols = [tool]
            for parameter, options in zip(row.script.grammar.tools[tool[2:]], harmless[tool], strict=True):
                symbols.append(chance.choice(options))
                if parameter.several and symbols[-1] != SKIP:
                    symbols.append(END)
        write(row, symbols, imitate=False)
        made.add(canonical_json(row.episode.journal.entries[-1].call.model_dump()))


def _looks_only(tool: Tool) -> bool:
    """True for a question, and for a look-up of a record or document: what checks told values (a phone number) is no detour."""
    if tool.effect is not None or tool.finishing:
        return False
    schema = tool.parameters
    return tool.name == ASK or all(
        name.endswith("_id") or "enum" in schema["properties"][name] for name in schema.get("required", ())
    )


def write(row: Row, symbols: Sequence[str], *, imitate: bool = True) -> None:
    """Writes a whole call into the row, which makes it. Raises Inexpressible for what is not legal there."""
    for token in row.script.spell(symbols)[len(row.prefix) :]:
        legal = row.legal()
        if legal is not None and token not in legal:
            raise Inexpressible(f"{' '.join(symbols)} is not legal here")
        if imitate and (legal is None or len(legal) > 1):
            row.tape.choose(token, row.turn, legal, 0.0)
        else:
            row.tape.force(token, row.turn)
        row.advance(token)


def epoch_of(demonstrator: Demonstrator, plain: Mapping[str, Tape], epoch: int, chance: random.Random) -> list[Tape]:
    """A tape of each task: with detours where that can be, else the plain reference under other names."""
    tapes = []
    for task_id in sorted(plain):
        played = demonstrator.tape(task_id, epoch)
        tapes.append(played if played is not None else demonstrator.codec.renamed(plain[task_id], chance))
    return tapes
