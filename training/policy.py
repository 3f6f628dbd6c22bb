"""The policy: a causal language model with a value head, and batches of action tokens.

The model made here is a small Qwen3 (0.3 to 1 million parameters); any other is opened in models.py. What the trainer needs of
one is `hidden` and `logits`. The value head computes in fp32 whatever the model's own type, and so do the logits.

Of a large vocabulary only the logits of legal ids are made; where every id is legal, those of some decisions at a time.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel, Qwen3Config, Qwen3ForCausalLM
from transformers.cache_utils import Cache, DynamicCache

from training import losses
from training.losses import masked_logprobs
from training.ordinal import OrderedEmbedding, families
from training.pointer import Pointer
from training.shard import load_model
from training.tape import ACTION, Tape
from training.tokens import EOS, PAD, Vocabulary

DENSE = 4096
"""Ids up to which a decision's logits are made of all of them and masked; above, of the legal ones alone."""
SLICE = 2**26
"""Logits that exist at once where every id is legal (256 MB in fp32)."""


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
        with torch.autocast(hidden.device.type, enabled=False):
            value: Tensor = self.out(torch.tanh(self.inner(hidden.float()))).squeeze(-1)
        return value


class Policy(nn.Module):
    """A causal model with its value head and, for the model made here, its pointer."""

    def __init__(self, model: PreTrainedModel, pointer: Pointer | None = None, autocast: torch.dtype | None = None) -> None:
        """`autocast`: the type that matrix products are computed in where the parameters are kept in fp32."""
        super().__init__()
        self.model = model
        self.pointer = pointer
        self.autocast = autocast
        self.width: int = model.config.get_text_config().hidden_size
        self.value = ValueHead(self.width)
        self.adapters = any(".lora_" in name for name, _ in model.named_parameters())
        """Only low-rank adapters and the value head are trained."""

    def actor_parameters(self) -> list[nn.Parameter]:
        """All that is trained but the value head's."""
        found = [*self.model.parameters(), *(self.pointer.parameters() if self.pointer is not None else ())]
        return [p for p in found if p.requires_grad] if self.adapters else found

    def trained(self) -> dict[str, Tensor]:
        """What a checkpoint holds: every parameter, or adapters and value head."""
        state: dict[str, Tensor] = self.state_dict()
        return {k: v for k, v in state.items() if ".lora_" in k or k.startswith("value.")} if self.adapters else state

    def load_trained(self, state: Mapping[str, Tensor]) -> None:
        """Takes what `trained` gave. Raises RuntimeError for another model's."""
        if self.adapters and set(state) != set(self.trained()):
            raise RuntimeError("the adapters are others")
        load_model(self, state, strict=not self.adapters)

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """The context in which the model's own layers run."""
        if self.autocast is None:
            yield
        else:
            with torch.autocast(self.device.type, dtype=self.autocast):
                yield

    def hidden(self, ids: Tensor, cache: Cache | None = None) -> Tensor:
        """ids (B, T) -> hidden states (B, T, H); with a cache, ids continue it and the cache grows."""
        out = self.model.get_decoder()(input_ids=ids, cache=cache, use_cache=cache is not None)
        hidden: Tensor = out.last_hidden_state
        return hidden

    def logits(self, hidden: Tensor, columns: Tensor | None = None) -> Tensor:
        """(..., H) -> (..., V), or (..., U) of the ids `columns` (U,); in fp32."""
        head = self.model.get_output_embeddings()
        with torch.autocast(hidden.device.type, enabled=False):
            if columns is None and hidden.dtype == head.weight.dtype == torch.float32:
                logits: Tensor = head(hidden)
                return logits
            weight, bias = head.weight, getattr(head, "bias", None)
            if columns is not None:
                weight, bias = weight[columns], bias[columns] if bias is not None else None
            return nn.functional.linear(hidden.float(), weight.float(), bias.float() if bias is not None else None)

    def choose(
        self,
        chooser: Tensor,
        hidden: Tensor,
        ids: Tensor,
        segments: Tensor,
        rows: Tensor,
        at: Tensor,
        columns: Tensor | None = None,
    ) -> Tensor:
        """Logits (N, V) or (N, U) of decisions, as `logits` and `Pointer.forward` name what they are made from."""
        logits = self.logits(chooser, columns)
        if self.pointer is None:
            return logits
        added: Tensor = self.pointer(hidden, ids, segments, chooser, rows, at)
        return logits + (added if columns is None else added[:, columns]).to(logits.dtype)

    def new_cache(self) -> DynamicCache:
        return DynamicCache(config=self.model.config)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def exact(self) -> bool:
        """True where rollout and training must agree about log-probabilities to rounding in fp32."""
        return self.device.type == "cpu" and self.autocast is None and self.model.dtype == torch.float32


class Reference:
    """The frozen warm start. Of a model with adapters it is the same model with other adapters in it (at a start without a warm
    start, with adapters that change nothing), so it costs no second model."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.own = None if policy.adapters else copy.deepcopy(policy).requires_grad_(False).eval()
        self.state: dict[str, Tensor] = {}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Takes the trained state of the warm start."""
        if self.own is not None:
            self.own.load_trained(state)
        else:
            self.state = {k: v.to(self.policy.device) for k, v in state.items()}

    @torch.no_grad()
    def logprob(self, batch: Batch, *, temperature: float) -> Tensor:
        """(N,) of the chosen tokens."""
        if self.own is not None:
            return score(self.own, batch, temperature=temperature).logprob
        parameters = [(p, self.state[name]) for name, p in self.policy.named_parameters() if name in self.state]
        held = [p.data for p, _ in parameters]
        try:
            for parameter, frozen in parameters:
                parameter.data = frozen
            return score(self.policy, batch, temperature=temperature).logprob
        finally:
            for (parameter, _), own in zip(parameters, held, strict=True):
                parameter.data = own


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
        slots = torch.tensor([symbol.startswith("@") or symbol in vocabulary.named for symbol in vocabulary.symbols])
        model = Qwen3ForCausalLM(config).float()
        if ordered := families(vocabulary):
            model.set_input_embeddings(OrderedEmbedding(model.get_input_embeddings(), ordered))
        return Policy(model, Pointer(width, slots))


def parameter_count(policy: Policy) -> int:
    return sum(p.numel() for p in policy.parameters())


@dataclass(slots=True)
class Batch:
    """The action tokens of some tapes, flattened; N = number of action tokens, U = number of ids that are legal somewhere."""

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
    choices: Tensor | None
    """(U,) the ids that `legal` is about; None: all of them, U = V."""
    legal: Tensor | None
    """(N, U) bool; None: every id is legal everywhere."""
    picks: Tensor
    """(N,) index of the target in `choices`."""
    last_rows: Tensor
    """(B,) 0..B-1, with `last_columns` the last position of each tape."""
    last_columns: Tensor


def legal_columns(legal: Sequence[Sequence[int] | None], size: int) -> tuple[Tensor | None, Tensor | None]:
    """(ids (U,) or None = all `size`, which of them are legal (N, U) or None = all) of decisions with these legal ids."""
    if any(ids is None for ids in legal):
        if not all(ids is None for ids in legal):
            raise ValueError("one batch holds decisions under a grammar and without one")
        return None, None
    known: dict[int, int] = {}
    """Each list once: many decisions share theirs."""
    rows: list[Sequence[int]] = []
    of: list[int] = []
    for ids in legal:
        assert ids is not None
        if id(ids) not in known:
            known[id(ids)] = len(rows)
            rows.append(ids)
        of.append(known[id(ids)])
    lines = torch.tensor([line for line, ids in enumerate(rows) for _ in ids], dtype=torch.long)
    flat = torch.tensor([token for ids in rows for token in ids], dtype=torch.long)
    if size <= DENSE:
        columns, places, width = None, flat, size
    else:
        columns, places = torch.unique(flat, return_inverse=True)
        width = len(columns)
    mask = torch.zeros((len(rows), width), dtype=torch.bool)
    mask[lines, places] = True
    return columns, mask if len(rows) == len(of) else mask[torch.tensor(of)]


def collate(tapes: Sequence[Tape], vocabulary_size: int, pad: int, device: torch.device) -> Batch:
    """One batch of all action tokens, in the order of the tapes and of their positions."""
    longest = max(len(tape.ids) for tape in tapes)
    ids = torch.full((len(tapes), longest), pad, dtype=torch.long)
    segments = torch.zeros((len(tapes), longest), dtype=torch.long)
    rows: list[int] = []
    columns: list[int] = []
    legal: list[Sequence[int] | None] = []
    for row, tape in enumerate(tapes):
        ids[row, : len(tape.ids)] = torch.tensor(tape.ids)
        segments[row, : len(tape.ids)] = torch.tensor(tape.segments())
        for position in tape.actions():
            legal.append(tape.legal[position])
            rows.append(row)
            columns.append(position)
    choices, mask = legal_columns(legal, vocabulary_size)
    row_index, column_index = torch.tensor(rows, dtype=torch.long), torch.tensor(columns, dtype=torch.long)
    targets = ids[row_index, column_index]
    return Batch(
        ids=ids.to(device),
        segments=segments.to(device),
        rows=row_index.to(device),
        columns=column_index.to(device),
        targets=targets.to(device),
        choices=choices.to(device) if choices is not None else None,
        legal=mask.to(device) if mask is not None else None,
        picks=(targets if choices is None else torch.searchsorted(choices, targets)).to(device),
        last_rows=torch.arange(len(tapes), device=device),
        last_columns=torch.tensor([len(tape.ids) - 1 for tape in tapes], device=device),
    )


@dataclass(slots=True)
class Scores:
    """What the policy says about a batch."""

    logprob: Tensor
    """(N,) of the chosen token, renormalised over the legal ones."""
    entropy: Tensor
    """(N,) of the choice, in nats."""
    likeliest: Tensor
    """(N,) id of the most likely legal token."""
    value: Tensor
    """(N,) of the state in which the token was chosen."""
    last_value: Tensor
    """(B,) of the state after everything in the tape."""


def score(policy: Policy, batch: Batch, *, temperature: float = 1.0, value_gradient: bool = True) -> Scores:
    """One full forward pass. `value_gradient` False keeps the critic's gradient out of the shared trunk."""
    with policy.computing():
        hidden = policy.hidden(batch.ids)
    chosen_from = hidden[batch.rows, batch.columns - 1]
    if batch.legal is None:
        logprob, entropy, likeliest = unbounded(policy, chosen_from, batch.targets, temperature)
    else:
        logits = policy.choose(chosen_from, hidden, batch.ids, batch.segments, batch.rows, batch.columns, batch.choices)
        logprobs = masked_logprobs(logits / temperature, batch.legal)
        logprob = logprobs.gather(1, batch.picks[:, None]).squeeze(1)
        entropy, likeliest = losses.entropy(logprobs), logprobs.argmax(-1)
        likeliest = likeliest if batch.choices is None else batch.choices[likeliest]
    last = hidden[batch.last_rows, batch.last_columns]
    trunk, last = (chosen_from, last) if value_gradient else (chosen_from.detach(), last.detach())
    return Scores(logprob, entropy, likeliest, policy.value(trunk), policy.value(last))


def unbounded(policy: Policy, chosen_from: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """(log-probability, entropy, likeliest id), each (N,), over the whole vocabulary: some decisions at a time, and their logits
    are made again for the gradient instead of kept."""

    def some(states: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        logprobs = masked_logprobs(policy.logits(states) / temperature, None)
        picked = logprobs.gather(1, wanted[:, None]).squeeze(1)
        return picked, losses.entropy(logprobs), logprobs.argmax(-1)

    part = max(1, SLICE // policy.model.get_output_embeddings().weight.shape[0])
    pairs = zip(chosen_from.split(part), targets.split(part), strict=True)
    if torch.is_grad_enabled():
        found = [checkpoint(some, *pair, use_reentrant=False, preserve_rng_state=False) for pair in pairs]
    else:
        found = [some(*pair) for pair in pairs]
    picked, entropy, likeliest = (torch.cat(parts) for parts in zip(*found, strict=True))
    return picked, entropy, likeliest


def microbatches(tapes: Sequence[Tape], size: int) -> list[list[Tape]]:
    """Tapes in groups of at most `size` of similar length (longest first), so that little is padding."""
    ordered = sorted(tapes, key=lambda tape: (-len(tape.ids), tape.task_id, tape.seed))
    return [list(ordered[i : i + size]) for i in range(0, len(ordered), size)]


def action_count(tapes: Sequence[Tape]) -> int:
    return sum(kind == ACTION for tape in tapes for kind in tape.kinds)
