"""Which tasks are held out: near-duplicates stay together, then whole groups, then time; frozen once decided.

Held out are whole groups (unseen_organisations), the last part of the time in seen groups (unseen_months) and both. Between the
last training case and the boundary lies an embargo of the workflow's p99 time to resolve; a training case is closed before the
boundary. Held-out tasks under a policy version that no training task shows carry the mark `unseen_policy` beside their slice.

A cluster of near-duplicates never crosses: of one that would, the held-out tasks are dropped and counted. Inside a side its tasks
stay, under one cluster id.

A later build keeps every earlier decision, which it reads from splits.json: an id never moves, nor comes back once it was
dropped here; the boundary, the embargo and the groups stay. Where a newcomer to training reads like what was held out before,
it is the newcomer that goes.
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
from tasks.duplicates import Reading, components, nearest, reading_of

Drop = Literal["embargo", "near_duplicate"]
SLICES: tuple[Slice, ...] = ("train", "unseen_organisations", "unseen_months", "both")
UNSEEN_POLICY = "unseen_policy"
"""Grade of a held-out task under a policy version that no training task shows; it cuts across the three slices."""
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
    policies: tuple[str, ...] = ()
    """Digests of the policy versions that the task shows."""


@dataclass(slots=True)
class Split:
    """The decision; `as_json` is splits.json, which the next build reads."""

    slices: dict[str, Slice] = field(default_factory=dict)
    dropped: dict[str, Drop] = field(default_factory=dict)
    boundary_us: int | None = None
    embargo_us: dict[str, int] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    """Groups held out."""
    seen_groups: list[str] = field(default_factory=list)
    """Every group of any build so far."""
    clusters: dict[str, str] = field(default_factory=dict)
    """Task -> its cluster of near-duplicates, named by one of its tasks (by the task itself where nothing reads like it)."""
    duplicates: dict[str, str] = field(default_factory=dict)
    """Task that was dropped -> the task of the other side in its cluster that reads most like it."""
    unseen_policy: list[str] = field(default_factory=list)
    """Held-out tasks with the mark UNSEEN_POLICY."""
    group_share: float = 0.0
    anew: bool = False
    """True: the decisions of the build before were of other records, and are not kept."""

    def as_json(
        self,
        hashes: Mapping[str, str],
        previous: Mapping[str, Any] | None,
        gone: Mapping[str, str] | None = None,
        shown: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """`hashes`: digest of each task of this build with its answer. `shown`: digest of the part of it that is shown or judged,
        which a new delivery of the same record does not change (`hashes` where left out). `gone`: why an id of an earlier build
        is not in this one.

        Earlier ids that this build does not have stay listed, and so do earlier drops: they may come again.
        """
        before = {} if self.anew or not previous else previous
        listed: dict[str, Any] = {**before.get("tasks", {})}
        shown = hashes if shown is None else shown
        mine = {t: name for t, name in self.slices.items() if t in hashes}
        changed = [t for t in mine if t in listed and listed[t].get("shown_sha256") != shown[t]]
        for task_id, name in mine.items():
            listed[task_id] = {
                "slice": name,
                "sha256": hashes[task_id],
                "shown_sha256": shown[task_id],
                "cluster": self.clusters[task_id],
            }
        dropped = {t: d for t, d in {**before.get("dropped", {}), **self.dropped}.items() if t not in listed or t in self.dropped}
        return {
            "boundary_us": self.boundary_us,
            "embargo_us": dict(sorted(self.embargo_us.items())),
            "groups": sorted(self.groups),
            "seen_groups": sorted(self.seen_groups),
            "group_share": self.group_share,
            "tasks": dict(sorted(listed.items())),
            "dropped": dict(sorted(dropped.items())),
            "duplicates": dict(sorted({**before.get("duplicates", {}), **self.duplicates}.items())),
            "unseen_policy": sorted(t for t in self.unseen_policy if t in hashes),
            "changed": sorted(changed),
            "gone": {t: (gone or {}).get(t, "not in the export") for t in sorted(listed) if t not in hashes},
        }


def decide(candidates: Sequence[Candidate], spec: HoldoutSpec, seed: int, previous: Mapping[str, Any] | None = None) -> Split:
    """The split of these tasks, given the decisions of the build before (its splits.json), if there was one."""
    cases = sorted(candidates, key=lambda c: c.task_id)
    split = Split()
    if not cases:
        return split
    if previous and not _same_records(cases, previous):
        previous, split.anew = None, True
    frozen: dict[str, Slice] = {}
    gone: dict[str, Drop] = {}
    if previous and previous.get("tasks"):
        frozen = {t: cast("Slice", entry["slice"]) for t, entry in previous["tasks"].items()}
        gone = {t: cast("Drop", reason) for t, reason in previous["dropped"].items()}
        split.duplicates = {c.task_id: previous["duplicates"][c.task_id] for c in cases if c.task_id in previous["duplicates"]}
        _keep(split, cases, frozen, seed, previous)
    else:
        split.boundary_us = _boundary(cases, spec)
        split.embargo_us = _embargo(cases, spec)
        split.groups, split.group_share = _groups(cases, spec, seed, split.boundary_us)
        split.seen_groups = sorted({c.group for c in cases})
    held = set(split.groups)
    for case in cases:
        if case.task_id in gone:
            split.dropped[case.task_id] = gone[case.task_id]
            continue
        placed = frozen.get(case.task_id) or _slice(case, held, split)
        if placed == "embargo":
            split.dropped[case.task_id] = "embargo"
        else:
            split.slices[case.task_id] = placed
    _separate(split, {c.task_id: reading_of(c.text) for c in cases}, frozen.keys())
    shown = {digest for c in cases if split.slices.get(c.task_id) == "train" for digest in c.policies}
    split.unseen_policy = [
        c.task_id for c in cases if split.slices.get(c.task_id, "train") != "train" and not shown.issuperset(c.policies)
    ]
    return split


def _keep(split: Split, cases: Sequence[Candidate], frozen: Mapping[str, Slice], seed: int, previous: Mapping[str, Any]) -> None:
    """What the build before decided; a group that it did not know is placed by its name, as then."""
    boundary = previous.get("boundary_us")
    split.boundary_us = int(boundary) if boundary is not None else None
    split.embargo_us = {k: int(v) for k, v in previous["embargo_us"].items()}
    # A workflow that is new since has no embargo of its own yet: the longest of the others'.
    longest = max(split.embargo_us.values(), default=0)
    split.embargo_us |= {c.workflow: longest for c in cases if c.workflow not in split.embargo_us}
    split.group_share = float(previous["group_share"])
    held = set(previous["groups"])
    seen = {c.group for c in cases if frozen.get(c.task_id) in ("train", "unseen_months")} | set(previous.get("seen_groups", ()))
    new = {c.group for c in cases} - held - seen
    split.groups = sorted(held | {g for g in new if _place(seed, g) < split.group_share})
    split.seen_groups = sorted(set(previous.get("seen_groups", ())) | {c.group for c in cases})


def _separate(split: Split, readings: Mapping[str, Reading], frozen: Iterable[str]) -> None:
    """Drops tasks until no cluster has tasks on both sides, and names the clusters.

    First go newcomers to training that read like a task held out in an earlier build, then newcomers to the hold-out, and last
    (only where the text of a task of an earlier build has changed) held-out tasks of an earlier build.
    """
    kept_before = set(frozen)
    found = components({t: readings[t] for t in split.slices})
    for side, old in (("train", False), ("heldout", False), ("heldout", True)):
        crossing = [ids for ids in found if len({split.slices[t] == "train" for t in ids}) > 1]
        for ids in crossing:
            if side == "train" and not any(t in kept_before and split.slices[t] != "train" for t in ids):
                continue
            train = [t for t in ids if split.slices[t] == "train"]
            held = [t for t in ids if split.slices[t] != "train"]
            leaving, staying = (train, held) if side == "train" else (held, train)
            for task_id in leaving:
                if (task_id in kept_before) == old:
                    split.duplicates[task_id] = nearest(task_id, staying, readings)
        for task_id in [t for ids in crossing for t in ids if t in split.duplicates]:
            split.dropped[task_id] = "near_duplicate"
            del split.slices[task_id]
        # A task that went may have been all that joined the others of its cluster.
        again = components({t: readings[t] for ids in crossing for t in ids if t in split.slices})
        found = [ids for ids in found if ids not in crossing] + again
    split.clusters = {t: t for t in split.slices}
    for ids in found:
        name = min(ids, key=lambda t: (t not in kept_before, t))
        split.clusters |= dict.fromkeys(ids, name)


def _same_records(cases: Sequence[Candidate], previous: Mapping[str, Any]) -> bool:
    """False where hardly an id nor a group of the build before comes again: its tokens and shifted times are those of another key
    (or of another supplier's export), so that its boundary would be an instant of another calendar."""
    ids, groups = {c.task_id for c in cases}, {c.group for c in cases}
    return _overlap(ids, set(previous.get("tasks", {}))) or _overlap(groups, set(previous.get("seen_groups", ())))


def _overlap(now: set[str], before: set[str]) -> bool:
    """A tenth of the smaller in common."""
    return bool(now & before) and 10 * len(before & now) >= min(len(before), len(now))


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
