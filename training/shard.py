"""`--shard`: a large model's layers lie in pieces over the processes of torchrun (FSDP2), and with them gradients and Adam state.

Sharded are the decoder's layers, which are nearly all of a large model; embeddings, norm and value head are whole in each
process (their weights are read outside a forward pass). For a rollout the layers are put together for its length, because
episodes differ in how many passes they take; in scoring and updates each pass gathers a layer when it comes to it. Checkpoints
hold whole tensors: a run goes on sharded or not. At its start each process holds the whole model once, before it is cut.

Every process must take part in each pass, so one without a part of its own repeats another's and adds nothing (`rounds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from training import team

T = TypeVar("T")


def shard(model: nn.Module, device: torch.device) -> None:
    """Cuts the layers of a language model in pieces over all processes. Gradients are summed, as elsewhere."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device.type, (team.size(),))
    for layer in layers(model):
        cut = fully_shard(layer, mesh=mesh, reshard_after_forward=True)
        cut.set_gradient_divide_factor(1.0)
        cut.set_force_sum_reduction_for_comms(True)  # gloo knows no scaled sum


def layers(model: nn.Module) -> list[Any]:
    """The layers of the decoder of a Hugging Face causal model."""
    decoder: Any = model
    return list(decoder.get_decoder().layers)


def in_pieces(value: object) -> bool:
    """True for a tensor of which each process holds a piece."""
    if not team.started():
        return False
    from torch.distributed.tensor import DTensor

    return isinstance(value, DTensor)


def whole(value: Any) -> Any:
    """The same without pieces, in mappings and lists, too. Every process must ask for it."""
    if in_pieces(value):
        return value.full_tensor()
    if isinstance(value, Mapping):
        return {key: whole(inner) for key, inner in value.items()}
    return [whole(inner) for inner in value] if isinstance(value, list) else value


def like(value: Tensor, pattern: Tensor) -> Tensor:
    """`value` in pieces where `pattern` is. Every process holds all of `value`, so nothing is sent."""
    if not in_pieces(pattern) or in_pieces(value):
        return value
    from torch.distributed.tensor import distribute_tensor

    there: Any = pattern
    return distribute_tensor(value.to(there.device), there.device_mesh, there.placements, src_data_rank=None)


def load_model(model: nn.Module, state: Mapping[str, Tensor], *, strict: bool) -> None:
    """`load_state_dict` for a state of whole tensors."""
    own = model.state_dict()
    model.load_state_dict({k: like(v, own[k]) if k in own else v for k, v in state.items()}, strict=strict)


def load_optimizer(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """The same for an optimizer: what has a parameter's shape lies in pieces where the parameter does."""
    trained = [p for group in optimizer.param_groups for p in group["params"]]
    held = {
        at: {k: like(v, trained[at]) if isinstance(v, Tensor) and v.shape == trained[at].shape else v for k, v in kept.items()}
        for at, kept in state["state"].items()
    }
    optimizer.load_state_dict({**state, "state": held})


@contextmanager
def put_together(model: nn.Module) -> Iterator[None]:
    """Each process holds every layer whole and can pass through the model by itself."""
    cut = [layer for layer in layers(model) if hasattr(layer, "unshard")] if team.started() else []
    for layer in cut:
        layer.set_reshard_after_forward(False)
        layer.unshard()
    try:
        yield
    finally:
        for layer in cut:
            layer.set_reshard_after_forward(True)
            layer.reshard()


def rounds(things: list[T], model: nn.Module) -> list[tuple[T, bool]]:
    """This process's share of `things`, each with True; where layers are in pieces, as many as the process with most has: what
    is added is another's, with False, and is only passed through."""
    mine = [(thing, True) for thing in team.share(things)]
    most = -(-len(things) // team.size())
    short = most - len(mine) if any(map(in_pieces, model.parameters())) else 0
    return mine + [(thing, False) for thing in things[:1] * short]


def add_gradients(model: nn.Module) -> None:
    """Adds up the gradients over the processes; those of what lies in pieces are added up in the backward pass."""
    team.add_gradients([p for p in model.parameters() if not in_pieces(p)])


@torch.no_grad()
def totals(model: nn.Module) -> list[float]:
    """The sum of each parameter."""
    return [float(whole(p.double().sum())) for p in model.parameters()]


def clip_gradients(parameters: Iterable[nn.Parameter], most: float) -> float:
    """Scales gradients to a common norm of at most `most` and returns the norm before."""
    moved = [p for p in parameters if p.grad is not None]
    if not any(in_pieces(p) for p in moved):
        return float(nn.utils.clip_grad_norm_(moved, most))
    norm = torch.stack([whole(torch.linalg.vector_norm(p.grad)) for p in moved if p.grad is not None]).norm()
    scale = (most / (norm + 1e-6)).clamp(max=1.0)
    for parameter in moved:
        assert parameter.grad is not None
        parameter.grad.mul_(scale.to(parameter.grad.device))
    return float(norm)
