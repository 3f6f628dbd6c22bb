"""Which tasks are held out: by near-duplicates, then whole groups, then time; frozen once decided.

Held out are whole groups (unseen_organisations), the last part of the time in seen groups (unseen_months) and both. Between the
last training case and the boundary lies an embargo of the workflow's p99 time to resolve; a training case is closed before the
boundary. A later build keeps every earlier decision: an id never moves, the boundary and the groups stay.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from schemas.files import sha256_text
from schemas.spec import HoldoutSpec
from schemas.task import Slice
from tasks.near import clusters, pairs

Drop = Literal["embargo", "near_duplicate"]
SLICES: tuple[Slice, ...] = ("train", "unseen_organisations", "unseen_months", "both")
MAX_GROUP_SHARE = 0.5
"""Groups held out at most, as a share of the tasks, however small a slice would be."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the hold-out looks at; times are microseconds since 1970."""

    task_id: str
    workflow: str
    group: str
    started_us: int
    closed_us: int
    text: str


@dataclass(slots=True)
class Split:
    """The decision; `as_json` is splits.json, which the next build reads."""

    slices: dict[str, Slice] = field(default_factory=dict)
    dropped: dict[str, Drop] = field(default_factory=dict)
    boundary_us: int | None = None
    embargo_us: dict[str, int] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    """Groups held out."""
    duplicates: dict[str, str] = field(default_factory=dict)
    """Held-out task that was dropped -> the training task that reads the same."""
    clusters: dict[str, str] = field(default_factory=dict)
    """Task -> the cluster of near-duplicates that it stands in (itself, where no other reads the same)."""
    group_share: float = 0.0
    anew: bool = False
    """True: the decisions of the build before were of other records, and are not kept."""

    def as_json(self, hashes: Mapping[str, str], previous: Mapping[str, Any] | None) -> dict[str, Any]:
        """Earlier ids that this build does not have stay listed: they may come again."""
        tasks = {
            **({} if self.anew or not previous else previous.get("tasks", {})),
            **{t: {"slice": s, "sha256": hashes[t], "cluster": self.clusters[t]} for t, s in self.slices.items() if t in hashes},
        }
        return {
            "boundary_us": self.boundary_us,
            "embargo_us": dict(sorted(self.embargo_us.items())),
            "groups": sorted(self.groups),
            "group_share": self.group_share,
            "tasks": dict(sorted(tasks.items())),
            "dropped": dict(sorted(self.dropped.items())),
            "duplicates": dict(sorted(self.duplicates.items())),
        }


def decide(candidates: Sequence[Candidate], spec: HoldoutSpec, seed: int, previous: Mapping[str, Any] | None = None) -> Split:
    """The split of these tasks, given the decisions of the build before (its splits.json), if there was one."""
    cases = sorted(candidates, key=lambda c: c.task_id)
    split = Split()
    if not cases:
        return split
    if previous and not _same_records(cases, previous):
        previous, split.anew = None, True
    if previous and previous.get("boundary_us") is not None:
        split.boundary_us = int(previous["boundary_us"])
        split.embargo_us = {k: int(v) for k, v in previous["embargo_us"].items()}
        split.group_share = float(previous["group_share"])
        held = set(previous["groups"])
        known = {c.group for c in cases} - held
        frozen = {t: cast("Slice", entry["slice"]) for t, entry in previous["tasks"].items()}
        seen = {c.group for c in cases if frozen.get(c.task_id) in ("train", "unseen_months")}
        split.groups = sorted(held | {g for g in known - seen if _place(seed, g) < split.group_share})
    else:
        frozen = {}
        split.boundary_us = _boundary(cases, spec)
        split.embargo_us = _embargo(cases, spec)
        split.groups, split.group_share = _groups(cases, spec, seed, split.boundary_us)
    split.clusters = clusters({c.task_id: c.text for c in cases})
    held = set(split.groups)
    for case in cases:
        placed = frozen.get(case.task_id) or _slice(case, held, split)
        if placed == "embargo":
            split.dropped[case.task_id] = "embargo"
        else:
            split.slices[case.task_id] = placed
    train = [c for c in cases if split.slices.get(c.task_id) == "train"]
    out = [c for c in cases if split.slices.get(c.task_id, "train") != "train"]
    for task_id, twin in near_duplicates(out, train).items():
        split.duplicates[task_id] = twin
        split.dropped[task_id] = "near_duplicate"
        del split.slices[task_id]
    return split


def _same_records(cases: Sequence[Candidate], previous: Mapping[str, Any]) -> bool:
    """False where hardly an id of the build before comes again: its tokens and shifted times are those of another key (or of
    another export), so that its boundary would be an instant of another calendar."""
    before, now = set(previous.get("tasks", {})), {c.task_id for c in cases}
    return 10 * len(before & now) >= min(len(before), len(now))


def _place(seed: int, group: str) -> float:
    """Where a group falls in [0, 1), fixed by its name."""
    return int(sha256_text(f"holdout/{seed}/{group}")[:12], 16) / 16**12


def _slice(case: Candidate, held: set[str], split: Split) -> Slice | Literal["embargo"]:
    boundary = split.boundary_us
    late = boundary is not None and case.started_us >= boundary
    if case.group in held:
        return "both" if late else "unseen_organisations"
    if late:
        return "unseen_months"
    if boundary is not None and (
        case.closed_us >= boundary or case.started_us >= boundary - split.embargo_us.get(case.workflow, 0)
    ):
        return "embargo"
    return "train"


def _boundary(cases: Sequence[Candidate], spec: HoldoutSpec) -> int | None:
    """The instant after which the last `share_of_time` of the tasks start; None where nothing is held out by time."""
    if spec.share_of_time <= 0:
        return None
    starts = sorted(c.started_us for c in cases)
    return starts[min(len(starts) - 1, math.floor(len(starts) * (1 - spec.share_of_time)))]


def _embargo(cases: Sequence[Candidate], spec: HoldoutSpec) -> dict[str, int]:
    """Per workflow the percentile of the time to resolve, in microseconds."""
    times: dict[str, list[int]] = defaultdict(list)
    for case in cases:
        times[case.workflow].append(max(0, case.closed_us - case.started_us))
    found = {}
    for workflow, spans in sorted(times.items()):
        spans.sort()
        found[workflow] = spans[min(len(spans) - 1, math.ceil(len(spans) * spec.embargo_percentile) - 1)]
    return found


def _groups(cases: Sequence[Candidate], spec: HoldoutSpec, seed: int, boundary: int | None) -> tuple[list[str], float]:
    """Groups in the order of their place until they hold their share of the tasks and each slice that they feed its least
    number."""
    sizes = Counter(c.group for c in cases)
    late = Counter(c.group for c in cases if boundary is not None and c.started_us >= boundary)
    chosen: list[str] = []
    for group in sorted(sizes, key=lambda g: (_place(seed, g), g)):
        total, after = sum(sizes[g] for g in chosen), sum(late[g] for g in chosen)
        enough = total >= spec.share_of_groups * len(cases)
        full = total - after >= spec.min_per_slice and (boundary is None or after >= spec.min_per_slice)
        if spec.share_of_groups <= 0 or (enough and full) or total + sizes[group] > MAX_GROUP_SHARE * len(cases):
            break
        chosen.append(group)
    share = sum(sizes[g] for g in chosen) / len(cases)
    return sorted(chosen), round(max(spec.share_of_groups, share), 6) if chosen else 0.0


def near_duplicates(held_out: Iterable[Candidate], train: Iterable[Candidate]) -> dict[str, str]:
    """Held-out task -> the training task whose opening is most like its own, of those that read the same."""
    best: dict[str, tuple[float, str]] = {}
    for task_id, other_id, alike in pairs([(c.task_id, c.text) for c in held_out], [(c.task_id, c.text) for c in train]):
        if task_id not in best or alike > best[task_id][0]:
            best[task_id] = (alike, other_id)
    return {task_id: other_id for task_id, (_, other_id) in best.items()}
