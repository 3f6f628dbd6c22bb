"""Episodes by an engine of its own: in each round every running episode asks for what comes next, all at once.

Under the grammar a round is one choice (what is forced is not asked for); written freely, it is a whole action. The engine keeps
what it has read in its prefix cache, so an episode's tokens are read once.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from rewards.score import Grader
from schemas.taskset import TaskSet
from training.dialogue import ChatCodec
from training.engine import Ask, Engine
from training.rollout import Played, Row, finished, open_row
from training.script import Codec


def play_by(
    engine: Engine,
    taskset: TaskSet,
    grader: Grader,
    codec: Codec,
    jobs: Sequence[tuple[str, int]],
    *,
    context: int,
    temperature: float,
    chances: Sequence[random.Random],
) -> list[Played]:
    """Plays each (task id, episode seed) once, and returns the episodes in the order of `jobs`.

    The seed of each sample comes from the episode's own of `chances`.
    """
    stop = codec.stop if isinstance(codec, ChatCodec) else None
    rows = [open_row(taskset, grader, codec, task_id, seed, context) for task_id, seed in jobs]
    for row, chance in zip(rows, chances, strict=True):
        row.chance = chance
    while active := [row for row in rows if not row.over]:
        asked = [(row.legal(), row.turn) for row in active]
        asks = [ask(row, legal, codec.room, stop) for row, (legal, _) in zip(active, asked, strict=True)]
        for row, (legal, turn), said in zip(active, asked, engine.sample(asks, temperature), strict=True):
            for token, logprob in zip(said.ids, said.logprobs, strict=True):
                if row.turn != turn:
                    break  # the action is complete
                row.take(token, legal, logprob)
            row.settle()
    return [finished(row) for row in rows]


def ask(row: Row, legal: Sequence[int] | None, room: int, stop: int | None) -> Ask:
    """What comes next in an episode: one of the legal ids, or the rest of an action."""
    assert row.chance is not None
    seed = row.chance.getrandbits(31)
    if legal is not None:
        return Ask(tuple(row.tape.ids), tuple(legal), 1, None, seed)
    return Ask(tuple(row.tape.ids), None, room - len(row.prefix), stop, seed)
