"""What the leak checks are given: a task set, with what only the clean records know about the time after each cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from schemas.records import CodeBook
from schemas.spec import Spec
from schemas.task import Trajectory
from tasks.case import Clean, iso, us
from tasks.certified import Forms
from tasks.columns import of_events
from tasks.counters import undeclared_counters
from tasks.holdout import Split
from tasks.leaks import ColumnHistory, LeakInput
from tasks.policy import versions_of
from tasks.requester import TOKEN
from tasks.shard import Draft

NUMBERED = ("int", "number", "id", "code")
"""Types of fields that may hold numbers given in order of time."""
FEWEST = 20
"""Records from which numbers can be told to follow time."""
DISTINCT = 0.95
BACKWARDS = 0.01
"""Share of neighbours in time whose numbers may run the other way (two clerks, one import)."""

Sequence_ = tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Background:
    """What the checks need of a supplier's records, read once for several looks at a task set."""

    first_seen: Mapping[str, str]
    sequences: Mapping[str, Sequence_] = field(default_factory=dict)
    columns: Mapping[str, ColumnHistory] = field(default_factory=dict)
    counters: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Fields that count without saying so (tasks.counters)."""


def background(clean: Clean) -> Background:
    counters = undeclared_counters(clean.events(), clean.codebook)
    return Background(first_seen_of(clean), sequences_of(clean), of_events(clean.events(), clean.codebook), counters)


def leak_input(
    spec: Spec,
    clean: Clean,
    split: Split,
    drafts: Sequence[Draft],
    content: Callable[[str], Any],
    known: Background,
    forms: Forms,
    trajectories: Sequence[Trajectory] = (),
) -> LeakInput:
    """The input of all checks, without the written files. `split` says which drafts the forms were made from."""
    ids = [d.task.task_id for d in drafts]
    policy_times = {
        f"{v.policy.document} v{v.policy.version}": (
            iso(v.from_us) if v.from_us is not None else None,
            iso(v.to_us) if v.to_us is not None else None,
        )
        for v in versions_of(clean.policies())
    }
    return LeakInput(
        tasks=tuple(d.task for d in drafts),
        answers={d.task.task_id: d.answer for d in drafts},
        content=content,
        code_book=clean.codebook,
        later_messages={d.task.task_id: d.later_messages for d in drafts},
        requester_turns={d.task.task_id: d.requester_turns for d in drafts if d.requester_turns},
        first_seen=known.first_seen,
        groups={
            spec.holdout.group: dict(zip(ids, (d.group for d in drafts), strict=True)),
            "requester": {d.task.task_id: d.requester for d in drafts},
        },
        waived_groups=spec.holdout.signed(),
        closed_at={d.task.task_id: d.closed_at for d in drafts},
        boundary=iso(split.boundary_us) if split.boundary_us is not None else None,
        embargo_s={w: e / 1_000_000 for w, e in split.embargo_us.items()},
        policy_times=policy_times,
        aggregates={**known.counters, **aggregates_of(clean.codebook)},
        sequences=known.sequences,
        columns=known.columns,
        fitted_on={"forms": tuple(sorted(t for t, side in split.slices.items() if side == "train"))},
        forms=forms,
        trajectories=tuple(trajectories),
        seed=spec.seed,
    )


def aggregates_of(code_book: CodeBook) -> dict[str, tuple[str, str]]:
    """The counters that the code book declares ("count orders.order by account_id"); totals are no counters."""
    found = {}
    for name, rule in code_book.fields.items():
        if rule.aggregate is not None and rule.aggregate.startswith("count "):
            _, kind, _, column = rule.aggregate.split()
            found[name] = (kind, column)
    return found


def first_seen_of(clean: Clean) -> dict[str, str]:
    """Identifier -> instant at which the records first hold it: as a record's id, in the value of a field or in what somebody
    wrote."""
    import polars as pl

    events = (
        clean.events().with_columns(pl.min_horizontal("event_ts", "recorded_ts").alias("at")).filter(pl.col("at").is_not_null())
    )
    ids = events.select(pl.col("record_id").alias("token"), "at").filter(pl.col("token").str.contains(TOKEN.pattern))
    held = [
        events.filter(pl.col(column).is_not_null())
        .select(pl.col(column).str.extract_all(TOKEN.pattern).alias("token"), "at")
        .explode("token")
        .filter(pl.col("token").is_not_null())
        for column in ("value_json", "text")
    ]
    rows = pl.concat([ids, *held]).group_by("token").agg(pl.col("at").min()).collect()
    found = {token: us(at) for token, at in rows.sort("token").iter_rows()}
    return {token: iso(at) for token, at in found.items() if at is not None}


def sequences_of(clean: Clean) -> dict[str, Sequence_]:
    """Fields (and kinds, by the number in their ids) whose numbers follow time in the records, whoever declared them or not."""
    import polars as pl

    events = clean.events().filter(pl.col("event_ts").is_not_null())
    created = events.group_by("system", "kind", "record_id").agg(pl.col("event_ts").min().alias("at")).collect()
    found: dict[str, Sequence_] = {}
    for (system, kind), rows in created.group_by(["system", "kind"], maintain_order=True):
        pairs = [(at, number) for at, rid in rows.select("at", "record_id").iter_rows() if (number := _number(rid)) is not None]
        if (held := _in_time(pairs)) is not None:
            found[f"{system}.{kind}"] = held
    numbered = {name for name, rule in clean.codebook.fields.items() if rule.type in NUMBERED}
    given = (
        events.filter(pl.col("field").is_not_null() & pl.col("value_json").is_not_null())
        .with_columns(pl.concat_str(["system", "kind", "field"], separator=".").alias("name"))
        .filter(pl.col("name").is_in(sorted(numbered)) & pl.col("value_json").str.contains(r"\d"))
        .sort("event_ts", "seq")
        .group_by("name", "record_id", maintain_order=True)
        .agg(pl.col("event_ts").first().alias("at"), pl.col("value_json").first().alias("value"))
        .collect()
    )
    for (name,), rows in given.group_by(["name"], maintain_order=True):
        pairs = [(at, number) for at, value in rows.select("at", "value").iter_rows() if (number := _number(value)) is not None]
        if (held := _in_time(pairs)) is not None:
            found[str(name)] = held
    return dict(sorted(found.items()))


def _number(text: str) -> int | None:
    """The number in an id or value with one run of digits; None for pseudonyms, whose digits are a hash."""
    if TOKEN.search(text):
        return None
    runs = re.findall(r"\d+", text)
    return int(runs[0]) if len(runs) == 1 and len(runs[0]) <= 15 else None


def _in_time(pairs: list[tuple[Any, int]]) -> Sequence_ | None:
    """(instant, number) earliest first, where the numbers follow the time; else None."""
    if len(pairs) < FEWEST or len({number for _, number in pairs}) < DISTINCT * len(pairs):
        return None
    pairs = sorted(pairs)
    if len({at for at, _ in pairs}) < len(pairs) / 2:
        return None
    backwards = sum(a[1] > b[1] for a, b in pairwise(pairs))
    if backwards > BACKWARDS * len(pairs):
        return None
    return tuple((iso(instant), number) for at, number in pairs if (instant := us(at)) is not None)
