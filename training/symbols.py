"""The small model's tokens: one symbol, one id (see tokens.py, chat.py and grammar.py, which this file ties together)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schemas.episode import Observation, ToolCall
from schemas.taskset import TaskSet
from training.chat import Inexpressible, Memory, decode_action, encode_action, observation_symbols, plain_words
from training.grammar import ToolGrammar, Turn
from training.in_force import Limits, in_force, varying
from training.script import Grammars
from training.tape import Tape
from training.tokens import ACT, DROPPED, PAD, Vocabulary

ROOM = 16
"""Positions kept free for one more action; each field that an object may take needs one more."""


@dataclass(slots=True)
class SymbolScript:
    """One episode in symbols."""

    vocabulary: Vocabulary
    grammar: ToolGrammar
    memory: Memory
    word_dropout: float
    chance: random.Random
    cue: tuple[int, ...]
    rules: tuple[str, ...] = ()
    """What the opening says of the rules in force."""
    cue_when_cut: tuple[int, ...] = ()
    turn: Turn = field(init=False)

    def read(self, observation: Observation, source: str) -> list[int]:
        symbols = observation_symbols(observation, self.memory, self.vocabulary, source)
        if source == "opening":
            symbols = [*self.rules, *symbols]
        if self.word_dropout:
            symbols = [s for s in symbols if not s.startswith(DROPPED) or self.chance.random() >= self.word_dropout]
        self.turn = self.grammar.turn(self.memory.shown, self.memory.fields)
        return self.vocabulary.encode(symbols)

    def legal(self, prefix: Sequence[int]) -> list[int]:
        names, ids = self.vocabulary.symbols, self.vocabulary.ids
        return [ids[symbol] for symbol in self.turn.legal([names[token] for token in prefix])]

    def decode(self, prefix: Sequence[int]) -> ToolCall:
        return decode_action([self.vocabulary.symbols[token] for token in prefix], self.memory, self.grammar)

    def symbols(self, call: ToolCall) -> list[str]:
        return plain_words(encode_action(call, self.memory, self.grammar))

    def spell(self, symbols: Sequence[str]) -> list[int]:
        for symbol in symbols:
            if symbol not in self.vocabulary:
                raise Inexpressible(f"{symbol} is beyond the vocabulary")
        return [self.vocabulary.ids[symbol] for symbol in symbols]


class SymbolCodec:
    """The scripts of a run with the small model. A seed shuffles the numbers of slots, so that a number means nothing."""

    limit = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.size = len(vocabulary)
        self.room = ROOM + max((len(rule.keys) for rule in vocabulary.arguments.values()), default=0)
        self.pad = vocabulary.ids[PAD]
        self.words = vocabulary.words
        self.grammars = Grammars(vocabulary)

    def open(self, taskset: TaskSet, task_id: str, seed: int | None, word_dropout: float = 0.0) -> SymbolScript:
        chance = random.Random(f"{task_id}/{seed}")
        compared = in_force(taskset.tasks[task_id])
        grammar = self.grammars.of(taskset, task_id)
        orders = {} if seed is None else self.vocabulary.numbering(chance)
        memory = Memory(orders=orders, limits=Limits(compared), listed=grammar.listed)
        cue, rules = (self.vocabulary.ids[ACT],), tuple(varying(compared, self.vocabulary))
        return SymbolScript(self.vocabulary, grammar, memory, word_dropout, chance, cue, rules)

    def renamed(self, tape: Tape, chance: random.Random) -> Tape:
        return tape.renamed(self.vocabulary.renaming(chance))

    def digest(self) -> str:
        return self.vocabulary.digest()

    def save(self, folder: Path) -> None:
        self.vocabulary.save(folder / "vocabulary.json")

    @staticmethod
    def load(folder: Path) -> SymbolCodec:
        """Raises StageError for a missing file and SourceError for one that is not a vocabulary."""
        return SymbolCodec(Vocabulary.load(folder / "vocabulary.json"))
