"""What training shares with each held-out slice: groups, requesters, clusters of near-duplicates, time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TRAIN = "train"
BY_GROUP = ("unseen_organisations", "both")
"""Slices that promise groups never seen in training."""
BY_TIME = ("unseen_months", "both")
"""Slices that promise a later time."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One task in its slice; times are microseconds since 1970."""

    task_id: str
    slice: str
    group: str
    """Member of the group that the spec holds out by."""
    requester: str
    cluster: str
    started_us: int
    closed_us: int


def overlap_table(
    placed: Sequence[Placed], *, group: str, boundary_us: int | None, waived: Mapping[str, str]
) -> list[dict[str, Any]]:
    """A row for each kind of thing that could stand on both sides.

    Each is {"what", "slices": {slice: {"shared": members in training too, "tasks": held-out tasks concerned,
    "allowed": "" or why it may be so}}}; `allowed` is "" where nothing may be shared. `waived`: group -> signed waiver, in words.
    """
    slices = sorted({p.slice for p in placed} - {TRAIN}, key=lambda s: (s == "both", s))
    train = [p for p in placed if p.slice == TRAIN]
    later = "the slice holds later cases of the same ones, by definition"
    kinds: list[tuple[str, Callable[[Placed], str], Callable[[str], str]]] = [
        (group, lambda p: p.group, lambda s: waived.get(group, "") if s in BY_GROUP else later),
        ("requester", lambda p: p.requester, lambda s: waived.get("requester", "") if s in BY_GROUP else later),
        ("near-duplicate cluster", lambda p: p.cluster, lambda _: ""),
        ("task id", lambda p: p.task_id, lambda _: ""),
    ]
    rows = []
    for what, member, allowed in kinds:
        seen = {member(p) for p in train} - {""}
        cells = {}
        for name in slices:
            shared = [p for p in placed if p.slice == name and member(p) in seen]
            cells[name] = {"shared": len({member(p) for p in shared}), "tasks": len(shared), "allowed": allowed(name)}
        rows.append({"what": what, "slices": cells})
    if boundary_us is not None:
        rows.append({"what": "time (starts before the boundary)", "slices": {s: _early(placed, s, boundary_us) for s in slices}})
        # A training case that is closed after the boundary is on the wrong side of every slice.
        late = [p for p in train if p.closed_us >= boundary_us]
        cell = {"shared": len(late), "tasks": len(late), "allowed": ""}
        rows.append({"what": "training cases closed after the boundary", "slices": dict.fromkeys(slices, cell)})
    return rows


def _early(placed: Sequence[Placed], name: str, boundary_us: int) -> dict[str, Any]:
    early = sum(p.slice == name and p.started_us < boundary_us for p in placed)
    allowed = "" if name in BY_TIME else "held out by group, over the whole time"
    return {"shared": early, "tasks": early, "allowed": allowed}


def cluster_figures(placed: Sequence[Placed]) -> dict[str, dict[str, int]]:
    """How many tasks stand in a cluster with another, and how large clusters are, by side."""
    sizes: dict[str, dict[str, int]] = {}
    for p in placed:
        mine = sizes.setdefault(TRAIN if p.slice == TRAIN else "held out", {})
        mine[p.cluster] = mine.get(p.cluster, 0) + 1
    found = {}
    for side, members in sorted(sizes.items()):
        many = [size for size in members.values() if size > 1]
        found[side] = {
            "tasks": sum(members.values()),
            "clusters": len(many),
            "in_clusters": sum(many),
            "largest": max(many, default=1),
        }
    return found
