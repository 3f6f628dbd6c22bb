"""The policy: a causal language model with a value head, and batches of action tokens.

The model made here is a small Qwen3 (0.3 to 1 million parameters); what the trainer needs of any other is `hidden` and `logits`.
The value head computes in fp32 whatever the model's own type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import Qwen3Config, Qwen3ForCausalLM
from transformers.cache_utils import Cache, DynamicCache

from training.losses import masked_logprobs
from training.pointer import Pointer
from training.tape import ACTION, Tape
from training.tokens import EOS, PAD, Vocabulary


class ValueHead(nn.Module):
    """hidden (..., H) -> value (...), fp32. Starts at 0, so that before it has learned it claims nothing."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., H) -> (...)"""
        value: Tensor = self.out(torch.tanh(self.inner(hidden.float()))).squeeze(-1)
        return value


class Policy(nn.Module):
    """A causal model with its value head and, for the model made here, its pointer."""

    def __init__(self, model: Qwen3ForCausalLM, pointer: Pointer | None = None) -> None:
        super().__init__()
        self.model = model
        self.pointer = pointer
        self.value = ValueHead(model.config.hidden_size)

    def actor_parameters(self) -> list[nn.Parameter]:
        """All but the value head's."""
        return [*self.model.parameters(), *(self.pointer.parameters() if self.pointer is not None else ())]

    def hidden(self, ids: Tensor, cache: Cache | None = None) -> Tensor:
        """ids (B, T) -> hidden states (B, T, H); with a cache, ids continue it and the cache grows."""
        out = self.model.model(input_ids=ids, cache=cache, use_cache=cache is not None)
        hidden: Tensor = out.last_hidden_state
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """(..., H) -> (..., V)"""
        logits: Tensor = self.model.lm_head(hidden)
        return logits

    def choose(self, chooser: Tensor, hidden: Tensor, ids: Tensor, segments: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """Logits (N, V) of decisions, as `Pointer.forward` names what they are made from."""
        logits = self.logits(chooser)
        if self.pointer is None:
            return logits
        added: Tensor = self.pointer(hidden, ids, segments, chooser, rows, columns)
        return logits + added.to(logits.dtype)

    def new_cache(self) -> DynamicCache:
        return DynamicCache(config=self.model.config)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device


def small_model(vocabulary: Vocabulary, *, width: int, layers: int, heads: int, context: int, seed: int) -> Policy:
    """A fresh Qwen3-config policy in fp32 for this vocabulary; the same seed gives the same parameters."""
    config = Qwen3Config(
        vocab_size=len(vocabulary),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=width // heads,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        pad_token_id=vocabulary.ids[PAD],
        eos_token_id=vocabulary.ids[EOS],
        initializer_range=0.02,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        slots = torch.tensor([symbol.startswith("@") for symbol in vocabulary.symbols])
        return Policy(Qwen3ForCausalLM(config).float(), Pointer(width, slots))


def parameter_count(policy: Policy) -> int:
    return sum(p.numel() for p in policy.parameters())


@dataclass(slots=True)
class Batch:
    """The action tokens of some tapes, flattened; N = number of action tokens, K = number of tapes cut off by a budget."""

    ids: Tensor
    """(B, T) right-padded; a pad stands behind everything that is read, so it needs no mask under causal attention."""
    segments: Tensor
    """(B, T) number of the observation that a token belongs to; 0 for what the agent wrote and for padding."""
    rows: Tensor
    """(N,) tape of each action token."""
    columns: Tensor
    """(N,) its position; it was chosen from the hidden state one before."""
    targets: Tensor
    """(N,) its id."""
    legal: Tensor
    """(N, V) bool."""
    last_rows: Tensor
    """(B,) 0..B-1, with `last_columns` the last position of each tape."""
    last_columns: Tensor


def collate(tapes: Sequence[Tape], vocabulary_size: int, pad: int, device: torch.device) -> Batch:
    """One batch of all action tokens, in the order of the tapes and of their positions."""
    longest = max(len(tape.ids) for tape in tapes)
    ids = torch.full((len(tapes), longest), pad, dtype=torch.long)
    segments = torch.zeros((len(tapes), longest), dtype=torch.long)
    rows: list[int] = []
    columns: list[int] = []
    legal_rows: list[int] = []
    legal_columns: list[int] = []
    for row, tape in enumerate(tapes):
        ids[row, : len(tape.ids)] = torch.tensor(tape.ids)
        segments[row, : len(tape.ids)] = torch.tensor(tape.segments())
        for position in tape.actions():
            legal = tape.legal[position]
            legal_rows += [len(rows)] * len(legal)
            legal_columns += legal
            rows.append(row)
            columns.append(position)
    legal_mask = torch.zeros((len(rows), vocabulary_size), dtype=torch.bool)
    legal_mask[torch.tensor(legal_rows, dtype=torch.long), torch.tensor(legal_columns, dtype=torch.long)] = True
    row_index, column_index = torch.tensor(rows, dtype=torch.long), torch.tensor(columns, dtype=torch.long)
    return Batch(
        ids=ids.to(device),
        segments=segments.to(device),
        rows=row_index.to(device),
        columns=column_index.to(device),
        targets=ids[row_index, column_index].to(device),
        legal=legal_mask.to(device),
        last_rows=torch.arange(len(tapes), device=device),
        last_columns=torch.tensor([len(tape.ids) - 1 for tape in tapes], device=device),
    )


@dataclass(slots=True)
class Scores:
    """What the policy says about a batch."""

    logprob: Tensor
    """(N,) of the chosen token, renormalised over the legal ones."""
    logprobs: Tensor
    """(N, V)"""
    value: Tensor
    """(N,) of the state in which the token was chosen."""
    last_value: Tensor
    """(B,) of the state after everything in the tape."""


def score(policy: Policy, batch: Batch, *, temperature: float = 1.0, value_gradient: bool = True) -> Scores:
    """One full forward pass. `value_gradient` False keeps the critic's gradient out of the shared trunk."""
    hidden = policy.hidden(batch.ids)
    chosen_from = hidden[batch.rows, batch.columns - 1]
    logits = policy.choose(chosen_from, hidden, batch.ids, batch.segments, batch.rows, batch.columns)
    logprobs = masked_logprobs(logits / temperature, batch.legal)
    last = hidden[batch.last_rows, batch.last_columns]
    trunk, last = (chosen_from, last) if value_gradient else (chosen_from.detach(), last.detach())
    return Scores(
        logprob=logprobs.gather(1, batch.targets[:, None]).squeeze(1),
        logprobs=logprobs,
        value=policy.value(trunk),
        last_value=policy.value(last),
    )


def microbatches(tapes: Sequence[Tape], size: int) -> list[list[Tape]]:
    """Tapes in groups of at most `size` of similar length (longest first), so that little is padding."""
    ordered = sorted(tapes, key=lambda tape: (-len(tape.ids), tape.task_id, tape.seed))
    return [list(ordered[i : i + size]) for i in range(0, len(ordered), size)]


def action_count(tapes: Sequence[Tape]) -> int:
    return sum(kind == ACTION for tape in tapes for kind in tape.kinds)
