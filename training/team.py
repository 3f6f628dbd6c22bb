"""Several processes as one trainer: `torchrun --nproc-per-node N -m training.ppo ...` (gloo on CPUs, nccl on GPUs).

Each process holds the whole policy. It plays its share of a rollout's episodes and computes the gradient of its share of each
microbatch list; both are put together, so that every process takes the same decision and the same optimizer step. What is
divided are whole episodes and whole forward passes: all that could differ from one process is the order in which fp32 gradients
are added. The first process alone writes files; all of them read the run folder and the task set, so hosts need a common one.

In one process, without torchrun, each function here gives back what it was given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
import torch.distributed as dist

from schemas.errors import StageError

T = TypeVar("T")
P = ParamSpec("P")
PATIENCE = timedelta(minutes=30)
"""How long a process waits for the others in one exchange; the longest is for whoever plays the longest episodes."""


def started() -> bool:
    """True under torchrun, with one process, too."""
    return dist.is_available() and dist.is_initialized()


def rank() -> int:
    return dist.get_rank() if started() else 0


def size() -> int:
    return dist.get_world_size() if started() else 1


def writes() -> bool:
    """True in the process that writes files and speaks."""
    return rank() == 0


@contextmanager
def joined() -> Iterator[None]:
    """Joins the processes that torchrun started, each with a GPU of its own where there are any. Without torchrun: nothing."""
    if not dist.is_torchelastic_launched():
        yield
        return
    gpu = torch.cuda.is_available()
    if gpu:
        here, there = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
        if here >= there:
            raise StageError(f"torchrun started more processes on this host than it has GPUs ({there}); --nproc-per-node {there}")
        torch.cuda.set_device(here)
    dist.init_process_group("cpu:gloo,cuda:nccl" if gpu else "gloo", timeout=PATIENCE)
    try:
        yield
        wait()  # nobody leaves while another still speaks: gloo takes a closed connection for a fault, and aborts the process
    finally:
        dist.destroy_process_group()


def own_file(name: str) -> str:
    """A file that each process writes for itself: `name.suffix` in the first, `name_1.suffix` in the next."""
    stem, dot, suffix = name.rpartition(".")
    return name if writes() else f"{stem}_{rank()}{dot}{suffix}"


def by_one(function: Callable[P, object]) -> Callable[P, None]:
    """What only the process that writes does."""

    @wraps(function)
    def only(*args: P.args, **kwargs: P.kwargs) -> None:
        if writes():
            function(*args, **kwargs)

    return only


@contextmanager
def first() -> Iterator[None]:
    """The process that writes goes through this first; the others find what it wrote."""
    if not writes():
        wait()
    yield
    if writes():
        wait()


def wait() -> None:
    """Until all processes are here."""
    if size() > 1:
        dist.all_reduce(torch.zeros(1))  # a barrier on CPU tensors, whatever the other backend is


def share(things: Sequence[T]) -> list[T]:
    """This process's part: every `size`-th, so that what is sorted by length is shared out evenly."""
    return list(things[rank() :: size()])


def gathered(mine: Sequence[T]) -> list[T]:
    """What all processes made of their `share`, one thing for each, in the order of the whole."""
    if size() == 1:
        return list(mine)
    parts: list[Any] = [None] * size()
    dist.all_gather_object(parts, list(mine))
    out: list[Any] = [None] * sum(map(len, parts))
    for at, part in enumerate(parts):
        out[at :: size()] = part
    return out


def sums(totals: Mapping[str, float]) -> dict[str, float]:
    """Each total, added up over the processes; the same bits in all of them."""
    if size() == 1:
        return dict(totals)
    added = torch.tensor(list(totals.values()), dtype=torch.float64)
    dist.all_reduce(added)
    return dict(zip(totals, added.tolist(), strict=True))


def add_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Adds up the gradients over the processes. One that no process has stays away, so that the optimizer leaves it alone."""
    if size() == 1:
        return
    trained = [p for p in parameters if p.requires_grad]
    had = torch.tensor([p.grad is not None for p in trained], dtype=torch.int32)
    dist.all_reduce(had)
    moved = [p for p, anywhere in zip(trained, had.tolist(), strict=True) if anywhere]
    for kind in sorted({p.dtype for p in moved}, key=str):
        these = [p for p in moved if p.dtype == kind]
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in these])
        dist.all_reduce(flat)
        for parameter, whole in zip(these, flat.split([p.numel() for p in these]), strict=True):
            parameter.grad = whole.view_as(parameter).clone()


def check_alike(totals: Sequence[float], what: str) -> None:
    """Raises StageError, in every process, where these sums of their parameters are not the same bits."""
    if any(other != totals for other in gathered([totals])):
        raise StageError(f"{what}: the processes no longer hold the same parameters; go on from the last checkpoint")
