"""Episodes by lockstep decoding: each row samples or consumes queued observation tokens, so all rows share one position.

No row is padded and every row's tokens are those that it would have had alone. A row that has ended leaves the batch and the
cache. Where all rows have several tokens queued, they are fed in one pass.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from environments.episode import Episode
from rewards.score import Grader
from schemas.episode import EpisodeTrace, Observation
from schemas.taskset import TaskSet
from training.losses import masked_logprobs
from training.policy import DENSE, Policy, legal_columns
from training.script import Codec, Script
from training.tape import Tape

SPAN = 65_536
"""Tokens of one forward pass at most: long openings are fed in parts."""


@dataclass(slots=True)
class Played:
    """One finished episode: its tokens, and the trace with the grade."""

    tape: Tape
    trace: EpisodeTrace
    refusals: int = 0
    token_limit: bool = False
    """The context was full before the episode ended."""


@dataclass(slots=True)
class Row:
    """One running episode."""

    episode: Episode
    script: Script
    context: int
    room: int
    limit: int | None
    tape: Tape
    fed: int = 0
    """Tokens of the tape that the model has consumed."""
    turn: int = 0
    prefix: list[int] = field(default_factory=list)
    acting: bool = False
    """An action can be written."""
    over: bool = False
    refusals: int = 0
    token_limit: bool = False
    chance: random.Random | None = None
    """What this episode alone draws from; None: all rows draw from one generator."""

    def open(self, observation: Observation) -> None:
        self._read(observation, "opening", -1)

    def legal(self) -> Sequence[int] | None:
        return self.script.legal(self.prefix)

    def take(self, token: int, legal: Sequence[int] | None, logprob: float) -> None:
        """The token just sampled; forced tokens behind it follow at once, and a complete call is made."""
        self.tape.choose(token, self.turn, legal, logprob)
        self.advance(token)

    def settle(self) -> None:
        """Writes forced tokens until there is something to choose or to read."""
        while not self.over and self.acting and (legal := self.legal()) is not None and len(legal) == 1:
            self.tape.force(legal[0], self.turn)
            self.advance(legal[0])

    def advance(self, token: int) -> None:
        """Goes on behind a token that is on the tape; a complete call is made."""
        self.prefix.append(token)
        legal = self.legal()
        if legal is not None and not legal:
            self._call()

    def _call(self) -> None:
        action = self.script.decode(self.prefix)
        step = self.episode.step(action)
        self.tape.rewards.append(step.reward or 0.0)
        self.refusals += step.observation.kind == "refusal"
        self.over = step.terminated or step.truncated
        self.tape.truncated = step.truncated and not step.terminated
        self._read(step.observation, "" if isinstance(action, str) else action.tool, self.turn)
        self.turn += 1

    def _read(self, observation: Observation, source: str, turn: int) -> None:
        """Takes in an observation. What a finished episode shows last is not read: nothing is chosen after it."""
        self.prefix, self.acting = [], False
        if self.over and not self.tape.truncated:
            return
        ids = self.script.read(observation, source)
        cue = self.script.cue_when_cut if self.over else self.script.cue
        if self.limit is not None:
            ids = ids[: max(0, self.limit - len(self.tape.ids) - len(cue))]
        self.tape.read([*ids, *cue], turn)
        if self.over:
            return
        if len(self.tape.ids) + self.room > self.context:
            self.episode.end()
            self.over = self.token_limit = self.tape.truncated = True
            return
        self.acting = True

    @property
    def waiting(self) -> int:
        """Tokens written but not yet consumed."""
        return len(self.tape.ids) - self.fed


@torch.no_grad()
def play(
    policy: Policy,
    taskset: TaskSet,
    grader: Grader,
    codec: Codec,
    jobs: Sequence[tuple[str, int]],
    *,
    context: int,
    generator: torch.Generator,
    greedy: bool = False,
    temperature: float = 1.0,
    word_dropout: float = 0.0,
    at_once: int = 0,
    agent: str = "policy",
    tick: Callable[[int], None] | None = None,
    chances: Sequence[random.Random] = (),
) -> list[Played]:
    """Plays each (task id, episode seed) once, in lockstep, and returns the episodes in the order of `jobs`; at most
    `at_once` of them together (0: all).

    A share `word_dropout` of the words of texts is not read (by episode seed).
    `tick` is told after each step how many episodes have ended in it.
    Sampling draws from `generator` in row order, so the same generator state, policy and jobs give the same episodes; or, with
    `chances`, one for each job, from the episode's own, so that it is the same episode whatever is played beside it.
    """
    if at_once and len(jobs) > at_once:
        out: list[Played] = []
        for start in range(0, len(jobs), at_once):
            out += play(
                policy, taskset, grader, codec, jobs[start : start + at_once], context=context, generator=generator,
                greedy=greedy, temperature=temperature, word_dropout=word_dropout, agent=agent, tick=tick,
                chances=chances[start : start + at_once],
            )  # fmt: skip
        return out
    rows = [open_row(taskset, grader, codec, task_id, seed, context, word_dropout) for task_id, seed in jobs]
    for row, chance in zip(rows, chances, strict=bool(chances)):
        row.chance = chance
    policy.eval()
    cache = policy.new_cache()
    active = [row for row in rows if not row.over]
    tick = tick or _unheard
    tick(len(rows) - len(active))
    # Only what points back needs the states of the whole episode.
    kept = context if policy.pointer is not None else 0
    hidden = torch.empty((len(active), kept, policy.width), device=policy.device)
    with policy.computing():
        while active:
            start, span = active[0].fed, min(row.waiting for row in active)
            span = min(span, max(1, SPAN // len(active)))
            ids = torch.tensor([row.tape.ids[row.fed : row.fed + span] for row in active], device=policy.device)
            states = policy.hidden(ids, cache)
            if kept:
                hidden[:, start : start + span] = states
                states = hidden[:, : start + span]
            for row in active:
                row.fed += span
            _sample(policy, active, states, codec.size, generator, greedy=greedy, temperature=temperature)
            keep = [index for index, row in enumerate(active) if not row.over]
            tick(len(active) - len(keep))
            if len(keep) < len(active):
                active = [active[index] for index in keep]
                if active:
                    going_on = torch.tensor(keep, device=policy.device)
                    hidden = hidden[going_on]
                    cache.batch_select_indices(going_on)
    return [finished(row, agent) for row in rows]


def _unheard(finished: int) -> None:
    """Where nobody asks for progress."""


def open_row(
    taskset: TaskSet, grader: Grader, codec: Codec, task_id: str, seed: int, context: int, word_dropout: float = 0.0
) -> Row:
    """An episode at its start, its opening read."""
    episode = Episode(taskset, grader)
    opening = episode.reset(task_id, seed)
    script = codec.open(taskset, task_id, seed, word_dropout)
    row = Row(episode, script, context, codec.room, codec.limit, Tape(task_id, seed))
    row.open(opening)
    row.settle()
    return row


def _sample(
    policy: Policy,
    active: Sequence[Row],
    hidden: torch.Tensor,
    size: int,
    generator: torch.Generator,
    *,
    greedy: bool,
    temperature: float,
) -> None:
    """One decision for each row that has consumed all it wrote; hidden (B, T, H) are its states, the last one its newest."""
    due = [index for index, row in enumerate(active) if row.waiting == 0]
    if not due:
        return
    legal = [active[index].legal() for index in due]
    columns, mask = legal_columns(legal, size)
    device = hidden.device
    logits = _logits(policy, active, hidden, due, columns.to(device) if columns is not None else None)
    logprobs = masked_logprobs(logits / temperature, mask.to(device) if mask is not None else None)
    if logprobs.shape[1] <= DENSE:
        logprobs = logprobs.cpu()
    chances = [row.chance.random() for index in due if (row := active[index]).chance is not None]
    chosen = logprobs.argmax(-1) if greedy else drawn(logprobs, chances or generator)
    picked = logprobs.gather(1, chosen[:, None]).squeeze(1).cpu()
    chosen = chosen.cpu()
    tokens = chosen if columns is None else columns[chosen]
    for line, index in enumerate(due):
        active[index].take(int(tokens[line]), legal[line], float(picked[line]))
        active[index].settle()


def drawn(logprobs: torch.Tensor, by: torch.Generator | Sequence[float]) -> torch.Tensor:
    """One id (N,) of each row, by a generator or by a chance in [0, 1) for each. Rows of a whole large vocabulary stay where they
    are: only the chance comes from the CPU."""
    if isinstance(by, torch.Generator) and logprobs.shape[1] <= DENSE:
        return torch.multinomial(logprobs.exp(), 1, generator=by).squeeze(1)
    up_to = logprobs.double().exp().cumsum(-1)
    if isinstance(by, torch.Generator):
        chance = torch.rand((len(up_to), 1), generator=by, dtype=torch.float64).to(up_to.device)
    else:
        chance = torch.tensor(by, dtype=torch.float64, device=up_to.device)[:, None]
    return torch.searchsorted(up_to, chance * up_to[:, -1:], right=True).squeeze(1).clamp(max=up_to.shape[1] - 1)


def _logits(
    policy: Policy, active: Sequence[Row], hidden: torch.Tensor, due: Sequence[int], columns: torch.Tensor | None
) -> torch.Tensor:
    """(len(due), U), from the same function as in training."""
    tapes, device = [active[index].tape for index in due], hidden.device
    own, length = hidden[torch.tensor(due, device=device)], hidden.shape[1]
    if policy.pointer is None:
        return policy.logits(own[:, -1], columns)
    return policy.choose(
        own[:, -1],
        own,
        torch.tensor([tape.ids for tape in tapes], device=device),
        torch.tensor([tape.segments() for tape in tapes], device=device),
        torch.arange(len(due), device=device),
        torch.full((len(due),), length, device=device),
    )


def finished(row: Row, agent: str = "policy") -> Played:
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
