"""Copying: the logit of a slot symbol ("@ORDER_2") rises with how well the places where it stands fit what is looked for.

A pointer network (arXiv:1506.03134) over the slots of the context, its scores added to the language model's own logits. What an
id or amount *means* stands around it ("1000 for standard", "ship_to ..."), so a place is known by its hidden state and by those
of the few symbols behind it in the same observation. Without it a small model learns which number a value usually has.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

REACH = 6
"""Symbols behind a slot, of the same observation, by which its place is known."""
SIZE = 64
"""Width of queries and keys."""


class Pointer(nn.Module):
    """Scores of places in the context for a query, added up by the slot symbol that stands there."""

    slots: Tensor

    def __init__(self, width: int, slots: Tensor) -> None:
        """`slots` (V,) bool: which symbols can be pointed to."""
        super().__init__()
        self.query = nn.Linear(width, SIZE)
        self.key = nn.Linear((1 + REACH) * width, SIZE)
        # Among slots it changes nothing, so its gradient is rounding, which Adam would make steps of.
        self.key.bias.requires_grad_(False)
        self.register_buffer("slots", slots, persistent=False)

    def forward(self, hidden: Tensor, ids: Tensor, segments: Tensor, chooser: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """Logits (N, V) to add; 0 for a symbol that stands nowhere before its decision.

        hidden (B, T, H) and ids (B, T) of the contexts; segments (B, T): one number per observation, 0 for what the agent wrote;
        chooser (N, H) is the hidden state of each decision, `rows` (N,) its context, `columns` (N,) the first position that it
        does not see.
        """
        added = hidden.new_zeros(len(chooser), len(self.slots))
        stands = self.slots[ids]
        most = int(stands.sum(1).max())
        if most == 0 or len(chooser) == 0:
            return added
        order = torch.sort(stands.to(torch.int8), dim=1, descending=True, stable=True).indices[:, :most]
        real = stands.gather(1, order)
        keys = self._keys(hidden, segments, order)
        scores = (keys[rows] @ self.query(chooser)[:, :, None]).squeeze(2) / math.sqrt(SIZE)
        places = order[rows]
        scores = scores.masked_fill(~real[rows] | (places >= columns[:, None]), -math.inf)
        top = scores.max(1, keepdim=True).values
        top = torch.where(torch.isfinite(top), top, torch.zeros_like(top)).detach()
        total = added.scatter_add(1, ids.gather(1, order)[rows], torch.exp(scores - top))
        there = total > 0
        return torch.where(there, torch.log(torch.where(there, total, torch.ones_like(total))) + top, added)

    def _keys(self, hidden: Tensor, segments: Tensor, places: Tensor) -> Tensor:
        """(B, S, SIZE) of the places (B, S)."""
        length = hidden.shape[1]
        own = segments.gather(1, places)
        parts = [_at(hidden, places)]
        for step in range(1, 1 + REACH):
            behind = (places + step).clamp(max=length - 1)
            same = (places + step < length) & (own > 0) & (segments.gather(1, behind) == own)
            parts.append(_at(hidden, behind) * same[:, :, None])
        keys: Tensor = self.key(torch.cat(parts, 2))
        return keys


def _at(hidden: Tensor, places: Tensor) -> Tensor:
    return hidden.gather(1, places[:, :, None].expand(-1, -1, hidden.shape[2]))
