"""Requests that read the same: exact Jaccard of their three-word shingles, and the clusters that such pairs make."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from tasks.leaks._walk import grams, words

SHORT = 8
"""Openings with fewer words carry nothing and are exempt from the duplicate check."""
LONG = 60
"""Words above which half the shingles in common are a near-duplicate; up to it, 0.8."""
SHINGLE = 3
"""Words of a shingle."""


def pairs(asked: Iterable[tuple[str, str]], among: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, float]]:
    """(id, other id, likeness in [0, 1]) of each (id, text) of `asked` with each of `among` that reads the same, in their orders.

    Only pairs that share one of the rarest shingles are compared: two sets of similarity t must share one among the first
    |A| - ceil(t |A|) + 1, in any fixed order.
    """
    rows = [(i, grams(text, SHINGLE), len(words(text))) for i, text in among]
    rows = [row for row in rows if row[2] >= SHORT]
    asks = [(i, grams(text, SHINGLE), len(words(text))) for i, text in asked]
    counts = Counter(s for _, shingle, _ in (*rows, *asks) for s in shingle)
    index: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, (_, shingle, _) in enumerate(rows):
        for s in shingle:
            index[s].append(at)
    for asked_id, shingle, length in asks:
        if length < SHORT or not shingle:
            continue
        ordered = sorted(shingle, key=lambda s: (counts[s], s))
        least = 0.5 if length > LONG else 0.8
        prefix = ordered[: len(ordered) - math.ceil(least * len(ordered)) + 1]
        for at in sorted({at for s in prefix for at in index.get(s, ())}):
            other_id, other, other_length = rows[at]
            needed = 0.5 if min(length, other_length) > LONG else 0.8
            alike = len(shingle & other) / len(shingle | other)
            if other_id != asked_id and alike >= needed:
                yield asked_id, other_id, alike


def clusters(texts: Mapping[str, str]) -> dict[str, str]:
    """Id -> its cluster: requests joined by any chain of near-duplicates, named by the smallest id among them."""
    parent = {i: i for i in texts}

    def root(i: str) -> str:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for left, right, _ in pairs(texts.items(), texts.items()):
        small, large = sorted((root(left), root(right)))
        parent[large] = small
    return {i: root(i) for i in texts}
