"""Between an episode and token ids: what every kind of policy has to say about its tokens, and nothing else.

A `Script` belongs to one episode: it turns what the agent reads into ids, says which ids may come next in an action, and turns a
finished action into a call. A `Codec` belongs to a run and opens scripts. Two kinds: `symbols.py` (the small model's symbols) and
`dialogue.py` (any tokenizer and chat template). Rollouts, demonstrations and warm tapes know only these two protocols.

Between calls and ids stand the symbols of `chat.encode_action` ("T:get_order", "@ORDER_1"): which calls there are is decided on
them, by the same grammar, whatever the tokens.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from environments.episode import tools_for
from schemas.episode import Observation, ToolCall
from schemas.taskset import TaskSet
from training.grammar import ToolGrammar, Turn
from training.tape import Tape
from training.tokens import Vocabulary


class Script(Protocol):
    """One episode as token ids."""

    cue: tuple[int, ...]
    """Read before each action: now it is the agent's turn."""
    cue_when_cut: tuple[int, ...]
    """Read behind the last observation of an episode that a budget cut off, where its value is asked for."""
    grammar: ToolGrammar
    turn: Turn
    """The calls that are legal after what was read last, in symbols."""

    def read(self, observation: Observation, source: str) -> list[int]:
        """Ids of what the agent reads now; `source` is the tool that was called, "opening" at the start. After an action that
        was not offered to `decode`, the ids are those behind the same action, written whole."""
        ...

    def legal(self, prefix: Sequence[int]) -> Sequence[int] | None:
        """Ids that may follow `prefix` in an action: none = the action is complete, None = any."""
        ...

    def decode(self, prefix: Sequence[int]) -> ToolCall | str:
        """What a complete action says: a call, or the text that is none (which the environment refuses, typed and counted)."""
        ...

    def symbols(self, call: ToolCall) -> list[str]:
        """The call as the grammar writes it. Raises chat.Inexpressible where it cannot."""
        ...

    def spell(self, symbols: Sequence[str]) -> list[int]:
        """The ids of a whole action. Raises chat.Inexpressible for symbols that have none."""
        ...


class Codec(Protocol):
    """What the scripts of a run share."""

    @property
    def size(self) -> int:
        """Ids are 0..size-1."""
        ...

    @property
    def pad(self) -> int:
        """Fills batches up, behind all that is read; it differs from whatever ends a turn."""
        ...

    @property
    def room(self) -> int:
        """Positions kept free for one more action."""
        ...

    @property
    def limit(self) -> int | None:
        """Ids of an episode that no observation goes beyond, its rest is left out; None: an observation is never cut."""
        ...

    @property
    def words(self) -> frozenset[int]:
        """Ids that word dropout may leave out of observations."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """What the grammar was learnt from."""
        ...

    def open(self, taskset: TaskSet, task_id: str, seed: int | None, word_dropout: float = 0.0) -> Script:
        """The script of an episode; under a seed, whatever may be named by chance is, and without one it is not."""
        ...

    def renamed(self, tape: Tape, chance: random.Random) -> Tape:
        """The same episode under other names, where the tokens hold names that mean nothing."""
        ...

    def digest(self) -> str:
        """sha256 of everything that token ids depend on."""
        ...

    def save(self, folder: Path) -> None: ...


@dataclass(slots=True)
class Grammars:
    """The grammars of tasks; tasks with the same tools share one."""

    vocabulary: Vocabulary
    known: dict[str, ToolGrammar] = field(default_factory=dict)

    def of(self, taskset: TaskSet, task_id: str) -> ToolGrammar:
        schemas = {name: tool.parameters for name, tool in tools_for(taskset, taskset.tasks[task_id]).items()}
        key = repr(schemas)
        if key not in self.known:
            self.known[key] = ToolGrammar(schemas, self.vocabulary)
        return self.known[key]
