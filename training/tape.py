"""One episode as token ids: what was read, what was forced, what was chosen, and by which turn.

A tape is written once, while the episode runs, and trained on as it is: ids are never re-encoded from text. `seal` fixes its
digest; `check` refuses a tape whose ids are not those that were sampled.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

OBSERVATION, FORCED, ACTION = 0, 1, 2
"""Kinds of token: read (observations and templates) · the only legal one · chosen among several. Only the last is trained."""


@dataclass(slots=True)
class Tape:
    """Token ids with, per position, kind and turn; per action token, the legal ids and the rollout's log-probability."""

    task_id: str
    seed: int = 0
    ids: list[int] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    """0-based turn of an action's tokens; an observation carries the turn that it answers (the opening: -1)."""
    legal: dict[int, tuple[int, ...] | None] = field(default_factory=dict)
    """Position of an action token -> legal ids; None: any."""
    logprobs: dict[int, float] = field(default_factory=dict)
    """Position of an action token -> log-probability under the rollout policy and the same legal ids."""
    rewards: list[float] = field(default_factory=list)
    """Reward of each turn, in [-1, 1]."""
    truncated: bool = False
    """A budget cut the episode off: its value goes on (bootstrap)."""
    digest: str = ""

    def read(self, ids: Sequence[int], turn: int) -> None:
        """Appends observation tokens."""
        self._append(ids, OBSERVATION, turn)

    def force(self, token: int, turn: int) -> None:
        """Appends the only legal token: no decision."""
        self._append([token], FORCED, turn)

    def choose(self, token: int, turn: int, legal: Sequence[int] | None, logprob: float) -> None:
        """Appends a token chosen among `legal`; None: among all."""
        position = len(self.ids)
        self._append([token], ACTION, turn)
        self.legal[position] = None if legal is None else tuple(legal)
        self.logprobs[position] = logprob

    def _append(self, ids: Sequence[int], kind: int, turn: int) -> None:
        self.ids += ids
        self.kinds += [kind] * len(ids)
        self.turns += [turn] * len(ids)

    def actions(self) -> Iterator[int]:
        """Positions of the action tokens, in order."""
        return (position for position, kind in enumerate(self.kinds) if kind == ACTION)

    def segments(self) -> list[int]:
        """Per position the number of its observation, from 1; 0 for what the agent wrote."""
        return [turn + 2 if kind == OBSERVATION else 0 for kind, turn in zip(self.kinds, self.turns, strict=True)]

    def renamed(self, names: Sequence[int]) -> Tape:
        """A copy with token t written as names[t], a permutation; legal ids and log-probabilities go with it."""
        return Tape(
            self.task_id,
            self.seed,
            ids=[names[token] for token in self.ids],
            kinds=list(self.kinds),
            turns=list(self.turns),
            legal={p: None if legal is None else tuple(names[t] for t in legal) for p, legal in self.legal.items()},
            logprobs=dict(self.logprobs),
            rewards=list(self.rewards),
            truncated=self.truncated,
        )

    def action_turns(self) -> list[int]:
        return [self.turns[position] for position in self.actions()]

    def action_rewards(self) -> list[float]:
        """Per action token: a turn's reward is paid at its last one; that of a turn without a decision, before it."""
        turns = self.action_turns()
        paid = [0.0] * len(turns)
        for turn, reward in enumerate(self.rewards):
            before = [index for index, of in enumerate(turns) if of <= turn]
            if before:
                paid[before[-1]] += reward
            elif paid:
                paid[0] += reward
        return paid

    def thinned(self, words: frozenset[int], rate: float, chance: random.Random) -> Tape:
        """A copy without a share `rate` of its observation tokens that are among `words`; every action token stays as it is."""
        out = Tape(self.task_id, self.seed, rewards=list(self.rewards), truncated=self.truncated)
        for position, (token, kind, turn) in enumerate(zip(self.ids, self.kinds, self.turns, strict=True)):
            if kind == OBSERVATION and token in words and chance.random() < rate:
                continue
            if kind == ACTION:
                out.choose(token, turn, self.legal[position], self.logprobs[position])
            else:
                out._append([token], kind, turn)
        return out

    def seal(self) -> None:
        """Fixes the digest of what was sampled."""
        self.digest = self._digest()

    def intact(self) -> bool:
        """True while ids, kinds and turns are those that were sealed."""
        return self.digest == self._digest()

    def _digest(self) -> str:
        return hashlib.sha256(repr((self.ids, self.kinds, self.turns)).encode()).hexdigest()
