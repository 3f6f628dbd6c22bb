"""Episodes by lockstep decoding: each row samples or consumes queued observation tokens, so all rows share one position.

No row is padded and every row's tokens are those that it would have had alone. A row that has ended leaves the batch and the
cache. Where all rows have several tokens queued, they are fed in one pass.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from environments.episode import Episode, tools_for
from rewards.score import Grader
from schemas.episode import EpisodeTrace, Observation
from schemas.taskset import TaskSet
from training.chat import Memory, decode_action, observation_symbols
from training.grammar import ToolGrammar, Turn
from training.losses import masked_logprobs
from training.policy import Policy
from training.tape import Tape
from training.tokens import ACT, Vocabulary

ACTION_ROOM = 16
"""Positions kept free for one more action; an episode without that room is cut off."""


@dataclass(slots=True)
class Played:
    """One finished episode: its tokens, and the trace with the grade."""

    tape: Tape
    trace: EpisodeTrace
    refusals: int = 0
    token_limit: bool = False
    """The context was full before the episode ended."""


def grammar_for(taskset: TaskSet, task_id: str, vocabulary: Vocabulary, cache: dict[str, ToolGrammar]) -> ToolGrammar:
    """The grammar of a task's tools; tasks with the same tools share one through `cache`."""
    tools = tools_for(taskset, taskset.tasks[task_id])
    schemas = {name: tool.parameters for name, tool in tools.items()}
    key = repr(schemas)
    if key not in cache:
        cache[key] = ToolGrammar(schemas, vocabulary)
    return cache[key]


@dataclass(slots=True)
class Row:
    """One running episode."""

    episode: Episode
    vocabulary: Vocabulary
    grammar: ToolGrammar
    context: int
    tape: Tape
    memory: Memory = field(default_factory=Memory)
    fed: int = 0
    """Tokens of the tape that the model has consumed."""
    turn: int = 0
    prefix: list[str] = field(default_factory=list)
    trie: Turn | None = None
    word_dropout: float = 0.0
    chance: random.Random = field(default_factory=random.Random)
    over: bool = False
    refusals: int = 0
    token_limit: bool = False

    def open(self, observation: Observation) -> None:
        self._read(observation, "opening", -1)

    def legal(self) -> list[int]:
        assert self.trie is not None
        return [self.vocabulary.ids[symbol] for symbol in self.trie.legal(self.prefix)]

    def take(self, token: int, legal: Sequence[int], logprob: float) -> None:
        """The token just sampled; forced tokens behind it follow at once, and a complete call is made."""
        self.tape.choose(token, self.turn, legal, logprob)
        self.advance(token)

    def settle(self) -> None:
        """Writes forced tokens until there is something to choose or to read."""
        while not self.over and self.trie is not None and len(legal := self.legal()) == 1:
            self.tape.force(legal[0], self.turn)
            self.advance(legal[0])

    def advance(self, token: int) -> None:
        """Goes on behind a token that is on the tape; a complete call is made."""
        assert self.trie is not None
        self.prefix.append(self.vocabulary.symbols[token])
        if not self.trie.legal(self.prefix):
            self._call()

    def _call(self) -> None:
        call = decode_action(self.prefix, self.memory, self.grammar)
        step = self.episode.step(call)
        self.tape.rewards.append(step.reward or 0.0)
        self.refusals += step.observation.kind == "refusal"
        self.over = step.terminated or step.truncated
        self.tape.truncated = step.truncated and not step.terminated
        self._read(step.observation, call.tool, self.turn)
        self.turn += 1

    def _read(self, observation: Observation, source: str, turn: int) -> None:
        """Takes in an observation. What a finished episode shows last is not read: nothing is chosen after it."""
        self.prefix, self.trie = [], None
        if self.over and not self.tape.truncated:
            return
        symbols = observation_symbols(observation, self.memory, self.vocabulary, source)
        if self.word_dropout:
            symbols = [s for s in symbols if not s.startswith("w:") or self.chance.random() >= self.word_dropout]
        self.tape.read(self.vocabulary.encode(symbols if self.over else [*symbols, ACT]), turn)
        if self.over:
            return
        if len(self.tape.ids) + ACTION_ROOM > self.context:
            self.episode.end()
            self.over = self.token_limit = self.tape.truncated = True
            return
        self.trie = self.grammar.turn(self.memory.shown)

    @property
    def waiting(self) -> int:
        """Tokens written but not yet consumed."""
        return len(self.tape.ids) - self.fed


@torch.no_grad()
def play(
    policy: Policy,
    taskset: TaskSet,
    grader: Grader,
    vocabulary: Vocabulary,
    jobs: Sequence[tuple[str, int]],
    *,
    context: int,
    generator: torch.Generator,
    greedy: bool = False,
    temperature: float = 1.0,
    word_dropout: float = 0.0,
    agent: str = "policy",
) -> list[Played]:
    """Plays each (task id, episode seed) once, in lockstep, and returns the episodes in the order of `jobs`.

    A share `word_dropout` of the words of texts is not read (by episode seed).
    Sampling draws from `generator` in row order, so the same generator state, policy and jobs give the same episodes.
    """
    grammars: dict[str, ToolGrammar] = {}
    rows = [open_row(taskset, grader, vocabulary, task_id, seed, context, grammars, word_dropout) for task_id, seed in jobs]
    policy.eval()
    cache = policy.new_cache()
    active = [row for row in rows if not row.over]
    hidden = torch.empty((len(active), context, policy.model.config.hidden_size), device=policy.device)
    while active:
        start, span = active[0].fed, min(row.waiting for row in active)
        ids = torch.tensor([row.tape.ids[row.fed : row.fed + span] for row in active], device=policy.device)
        hidden[:, start : start + span] = policy.hidden(ids, cache)
        for row in active:
            row.fed += span
        _sample(policy, active, hidden[:, : start + span], generator, greedy=greedy, temperature=temperature)
        keep = [index for index, row in enumerate(active) if not row.over]
        if len(keep) < len(active):
            active = [active[index] for index in keep]
            if active:
                kept = torch.tensor(keep, device=policy.device)
                hidden = hidden[kept]
                cache.batch_select_indices(kept)
    return [_played(row, agent) for row in rows]


def open_row(
    taskset: TaskSet,
    grader: Grader,
    vocabulary: Vocabulary,
    task_id: str,
    seed: int,
    context: int,
    grammars: dict[str, ToolGrammar],
    word_dropout: float = 0.0,
) -> Row:
    """An episode at its start, its opening read."""
    episode = Episode(taskset, grader)
    opening = episode.reset(task_id, seed)
    grammar = grammar_for(taskset, task_id, vocabulary, grammars)
    chance = random.Random(f"{task_id}/{seed}")
    memory = Memory(orders=vocabulary.numbering(chance))
    row = Row(episode, vocabulary, grammar, context, Tape(task_id, seed), memory, word_dropout=word_dropout, chance=chance)
    row.open(opening)
    row.settle()
    return row


def _sample(
    policy: Policy, active: Sequence[Row], hidden: torch.Tensor, generator: torch.Generator, *, greedy: bool, temperature: float
) -> None:
    """One decision for each row that has consumed all it wrote; hidden (B, T, H) are its states up to there."""
    due = [index for index, row in enumerate(active) if row.waiting == 0]
    if not due:
        return
    legal = [active[index].legal() for index in due]
    mask = torch.zeros((len(due), len(active[0].vocabulary)), dtype=torch.bool)
    for line, ids in enumerate(legal):
        mask[line, ids] = True
    logprobs = masked_logprobs(_logits(policy, active, hidden, due) / temperature, mask.to(hidden.device)).cpu()
    chosen = logprobs.argmax(-1) if greedy else torch.multinomial(logprobs.exp(), 1, generator=generator).squeeze(1)
    picked = logprobs.gather(1, chosen[:, None]).squeeze(1)
    for line, index in enumerate(due):
        active[index].take(int(chosen[line]), legal[line], float(picked[line]))
        active[index].settle()


def _logits(policy: Policy, active: Sequence[Row], hidden: torch.Tensor, due: Sequence[int]) -> torch.Tensor:
    """(len(due), V), from the same function as in training."""
    tapes, device = [active[index].tape for index in due], hidden.device
    own, length = hidden[torch.tensor(due, device=device)], hidden.shape[1]
    return policy.choose(
        own[:, -1],
        own,
        torch.tensor([tape.ids for tape in tapes], device=device),
        torch.tensor([tape.segments() for tape in tapes], device=device),
        torch.arange(len(due), device=device),
        torch.full((len(due),), length, device=device),
    )


def _played(row: Row, agent: str) -> Played:
    row.tape.seal()
    return Played(row.tape, row.episode.trace(agent), row.refusals, row.token_limit)


def action_mix(played: Sequence[Played]) -> Mapping[str, float]:
    """Share of each tool among all calls, in [0, 1], most used first."""
    counts: dict[str, int] = {}
    for episode in played:
        for entry in episode.trace.journal.entries:
            counts[entry.call.tool] = counts.get(entry.call.tool, 0) + 1
    total = sum(counts.values())
    return {tool: count / total for tool, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))}
