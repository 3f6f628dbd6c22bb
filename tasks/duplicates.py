"""Requests that read the same, and the clusters that they form: A like B and B like C stand together, though A be unlike C.

Near-duplicate: exact Jaccard of the 3-word shingles >= 0.8, or >= 0.5 where both have more than 60 words; openings under 8 words
carry nothing and are exempt, even where they are equal. No estimate is involved, so the answer depends neither on a seed nor on
the order of the requests.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tasks.leaks._walk import grams, words

SHORT = 8
"""Openings with fewer words are exempt."""
LONG = 60
"""Words above which, in both texts, ALIKE_LONG is enough."""
ALIKE, ALIKE_LONG = 0.8, 0.5
"""Least Jaccard similarity of near-duplicates, in [0, 1]."""
SHINGLE = 3
"""Words of a shingle."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What two openings are compared by."""

    shingles: frozenset[tuple[str, ...]]
    """Empty for an exempt opening."""
    words: int

    @property
    def least(self) -> float:
        """Smallest similarity at which it can be anything's near-duplicate."""
        return ALIKE_LONG if self.words > LONG else ALIKE


def reading_of(text: str) -> Reading:
    size = len(words(text))
    return Reading(frozenset(grams(text, SHINGLE)) if size >= SHORT else frozenset(), size)


def similarity(left: Reading, right: Reading) -> float:
    """Jaccard of the shingles, in [0, 1]; 0 where one is exempt."""
    if not left.shingles or not right.shingles:
        return 0.0
    shared = len(left.shingles & right.shingles)
    return shared / (len(left.shingles) + len(right.shingles) - shared)


def alike(left: Reading, right: Reading) -> bool:
    needed = ALIKE_LONG if min(left.words, right.words) > LONG else ALIKE
    return similarity(left, right) >= needed


def components(readings: Mapping[str, Reading]) -> list[list[str]]:
    """Task ids of each cluster of two or more, sorted.

    Only requests that share one of their rarest shingles are compared: two sets of similarity t share one among the first
    |A| - ceil(t |A|) + 1 of each, in any order that is the same for both. Equal requests are compared once.
    """
    same: dict[frozenset[tuple[str, ...]], list[str]] = defaultdict(list)
    for task_id in sorted(readings):
        if readings[task_id].shingles:
            same[readings[task_id].shingles].append(task_id)
    parent = {ids[0]: ids[0] for ids in same.values()}

    def root(task_id: str) -> str:
        while parent[task_id] != task_id:
            parent[task_id] = parent[parent[task_id]]
            task_id = parent[task_id]
        return task_id

    counts = Counter(shingle for shingles in same for shingle in shingles)
    index: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for shingles, (first, *_) in same.items():
        mine = readings[first]
        ordered = sorted(shingles, key=lambda s: (counts[s], s))
        prefix = ordered[: len(ordered) - math.ceil(mine.least * len(ordered)) + 1]
        for other in sorted({other for s in prefix for other in index[s]}):
            if root(first) != root(other) and alike(mine, readings[other]):
                parent[max(root(first), root(other))] = min(root(first), root(other))
        for s in prefix:
            index[s].append(first)
    found: dict[str, list[str]] = defaultdict(list)
    for ids in same.values():
        found[root(ids[0])] += ids
    return sorted(sorted(ids) for ids in found.values() if len(ids) > 1)


def nearest(task_id: str, others: Iterable[str], readings: Mapping[str, Reading]) -> str:
    """Of `others`, which must not be empty, the one that reads most like `task_id`; of equals the first by id."""
    return min(others, key=lambda other: (-similarity(readings[task_id], readings[other]), other))
