"""Embeddings of ordered symbols: what is learnt of one bin holds for those beyond it, too.

A bin ("d-14", "m:8000") is a symbol like any other, and a model that sees a few hundred episodes learns of each bin alone
which way it decides. Here the vector of the r-th symbol of an ordered family of R is its own parameters plus those of its first r
symbols added up, divided by the root of R (a thermometer code: Buckman et al., ICLR 2018, there for pixels): a step of the
gradient that moves a threshold moves all symbols behind it. As outputs these symbols are never chosen, so the tied output layer
reads the parameters as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from training.tokens import COUNTS, Vocabulary


def families(vocabulary: Vocabulary) -> list[list[int]]:
    """The ids of each ordered family, ascending; none for a vocabulary of a run before there were any."""
    if not vocabulary.ordered:
        return []
    days = [f"{way}{edge}" for way in ("d+", "d-", "D+", "D-") for edge in (*vocabulary.day_edges, "more")]
    width = len(vocabulary.day_edges) + 1
    amounts = [f"m:{edge}" for edge in (*vocabulary.amount_edges, "more")]
    below = [f"m:-{edge}" for edge in (*vocabulary.amount_edges, "more")]
    numbers = [*(f"n:{n}" for n in range(COUNTS + 1)), "n:more"]
    named = [*(days[i : i + width] for i in range(0, len(days), width)), amounts, below, numbers]
    return [[vocabulary.ids[s] for s in family if s in vocabulary.ids] for family in named if len(family) > 1]


class OrderedEmbedding(nn.Embedding):
    """An embedding to some rows of which running sums are added; it takes the place of `plain` and shares its parameter."""

    ordered: Tensor
    scale: Tensor

    def __init__(self, plain: nn.Embedding, ordered: Sequence[Sequence[int]]) -> None:
        super().__init__(plain.num_embeddings, plain.embedding_dim, padding_idx=plain.padding_idx, _weight=plain.weight.data)
        self.weight = plain.weight
        longest = max(map(len, ordered))
        # One line a family; what fills a line up counts for nothing.
        rows = [[*family, *([family[0]] * (longest - len(family)))] for family in ordered]
        scale = [[len(family) ** -0.5 if rank < len(family) else 0.0 for rank in range(longest)] for family in ordered]
        self.register_buffer("ordered", torch.tensor(rows, dtype=torch.long), persistent=False)
        self.register_buffer("scale", torch.tensor(scale)[:, :, None], persistent=False)

    def table(self) -> Tensor:
        """(V, H): the vectors that symbols have."""
        sums = self.weight[self.ordered].cumsum(1) * self.scale.to(self.weight.dtype)
        return self.weight.index_add(0, self.ordered.flatten(), sums.flatten(0, 1))

    def forward(self, input: Tensor) -> Tensor:
        """ids (...) -> (..., H)"""
        return nn.functional.embedding(input, self.table(), self.padding_idx)
