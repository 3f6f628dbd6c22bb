"""Copying by places: a slot is chosen for where it stands, whatever its number."""

from __future__ import annotations

import math
import random

import pytest
import torch

from training.pointer import REACH, Pointer
from training.tape import Tape
from training.tokens import Vocabulary, base_kind

SLOTS = torch.tensor([False, True, True, False])


def slow(pointer: Pointer, hidden: torch.Tensor, ids: list[int], segments: list[int], column: int) -> list[float]:
    """The added logits of the decision before `column`, one place at a time."""
    query = pointer.query(hidden[column - 1])
    scores: dict[int, list[float]] = {}
    for place in range(column):
        if not bool(SLOTS[ids[place]]):
            continue
        parts = [hidden[place]]
        for step in range(1, 1 + REACH):
            near = place + step
            same = near < len(ids) and segments[place] > 0 and segments[near] == segments[place]
            parts.append(hidden[near] if same else torch.zeros_like(hidden[place]))
        score = float(pointer.key(torch.cat(parts)) @ query) / math.sqrt(len(query))
        scores.setdefault(ids[place], []).append(score)
    return [math.log(sum(map(math.exp, scores[token]))) if token in scores else 0.0 for token in range(len(SLOTS))]


def test_scores_are_the_sum_over_the_places_of_a_slot() -> None:
    torch.manual_seed(3)
    pointer = Pointer(8, SLOTS)
    ids = [[0, 1, 3, 2, 1, 0, 1, 3], [2, 3, 3, 0, 0, 1, 2, 0]]
    segments = [[1, 1, 1, 1, 2, 2, 0, 0], [1, 1, 0, 0, 2, 2, 2, 0]]
    hidden = torch.randn(2, 8, 8)
    rows, columns = torch.tensor([0, 0, 1, 1]), torch.tensor([6, 8, 2, 8])
    with torch.no_grad():
        chooser = hidden[rows, columns - 1]
        found = pointer(hidden, torch.tensor(ids), torch.tensor(segments), chooser, rows, columns)
        for line, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
            assert found[line].tolist() == pytest.approx(slow(pointer, hidden[row], ids[row], segments[row], column), abs=1e-5)


def test_nothing_behind_a_decision_moves_it() -> None:
    """What the agent wrote has no look ahead, and places behind the decision do not count."""
    torch.manual_seed(4)
    pointer = Pointer(8, SLOTS)
    ids, segments = torch.tensor([[1, 3, 2, 1, 2]]), torch.tensor([[1, 1, 0, 0, 3]])
    hidden = torch.randn(1, 5, 8)
    other = hidden.clone()
    other[:, 3:] = torch.randn(1, 2, 8)
    rows, columns = torch.tensor([0]), torch.tensor([3])
    chooser = hidden[:, 2]
    assert torch.equal(
        pointer(hidden, ids, segments, chooser, rows, columns), pointer(other, ids, segments, chooser, rows, columns)
    )


def test_a_renamed_tape_says_the_same_under_other_numbers(vocabulary: Vocabulary) -> None:
    names = vocabulary.renaming(random.Random(1))
    assert sorted(names) == list(range(len(vocabulary)))
    assert names != list(range(len(vocabulary)))
    for token, other in enumerate(names):
        here, there = vocabulary.symbols[token], vocabulary.symbols[other]
        assert (here == there) or (here.startswith("@") and here.rsplit("_", 1)[0] == there.rsplit("_", 1)[0])
    tape = Tape("t")
    tape.read(list(range(len(vocabulary))), -1)
    tape.choose(5, 0, [4, 5], -0.5)
    again = tape.renamed(names)
    assert again.ids == [names[t] for t in tape.ids]
    assert again.legal[len(vocabulary)] == (names[4], names[5])
    assert (again.kinds, again.turns, again.logprobs) == (tape.kinds, tape.turns, tape.logprobs)


def test_the_roles_of_a_person_keep_one_number(vocabulary: Vocabulary) -> None:
    names = vocabulary.renaming(random.Random(2))
    by_base: dict[tuple[str, str], set[str]] = {}
    for token, symbol in enumerate(vocabulary.symbols):
        if symbol.startswith("@"):
            kind, number = symbol[1:].rsplit("_", 1)
            by_base.setdefault((base_kind(kind), number), set()).add(vocabulary.symbols[names[token]].rsplit("_", 1)[1])
    assert by_base
    assert all(len(numbers) == 1 for numbers in by_base.values())
