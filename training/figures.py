"""Judged episodes and the figures made from them: means with intervals, differences that are paired by task."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Result:
    """One judged episode."""

    agent: str
    task_id: str
    seed: int
    organisation: str
    slice: str
    unseen_policy: bool
    """The task is under a policy version that no training task shows; scored apart, across the slices."""
    workflow: str
    code: str
    outcome_class: str
    success: float
    """1 where the whole outcome is right and no hard rule was broken."""
    full: float
    """1 for a success without any violation, soft ones included."""
    violations: float
    """Violations in the episode."""
    timeouts: float
    """1 where a budget ended it."""
    turns: float
    """Calls of the episode."""
    score: float | None
    """0 = the worst scripted agent, 100 = the reference."""
    return_: float
    """Sum of the rewards, discounted by the task's gamma."""
    refusals: float
    """Calls that were refused."""
    tools: tuple[str, ...]
    said: str
    """Code of the finishing act, "" where there was none."""


def cluster_mean(results: Sequence[Result], value: Callable[[Result], float | None], seed: int = 0) -> dict[str, float | None]:
    """Mean with the 2.5% and 97.5% points of a bootstrap over organisations; no bounds with fewer than two of them."""
    sums: dict[str, list[float]] = {}
    for result in results:
        number = value(result)
        if number is not None:
            pair = sums.setdefault(result.organisation, [0.0, 0.0])
            pair[0] += number
            pair[1] += 1.0
    if not sums:
        return {"mean": None, "low": None, "high": None}
    table = torch.tensor([sums[name] for name in sorted(sums)], dtype=torch.float64)
    mean = float(table[:, 0].sum() / table[:, 1].sum())
    if len(table) < 2:
        return {"mean": mean, "low": None, "high": None}
    draws = torch.randint(len(table), (RESAMPLES, len(table)), generator=torch.Generator().manual_seed(seed))
    drawn = table[draws].sum(1)
    means = (drawn[:, 0] / drawn[:, 1]).sort().values
    return {"mean": mean, "low": float(means[int(0.025 * RESAMPLES)]), "high": float(means[int(0.975 * RESAMPLES) - 1])}


MEASURES: dict[str, Callable[[Result], float | None]] = {
    "success": lambda r: r.success,
    "full": lambda r: r.full,
    "violations": lambda r: r.violations,
    "timeouts": lambda r: r.timeouts,
    "turns": lambda r: r.turns,
    "refusals": lambda r: r.refusals,
    "return": lambda r: r.return_,
    "score": lambda r: r.score,
}


def slices_of(result: Result) -> tuple[str, ...]:
    """Under what a result is scored apart: its slice, and `any, unseen policy` where its mark says so."""
    return (result.slice, "any, unseen policy") if result.unseen_policy else (result.slice,)


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """Everything that the report says of one agent."""
    tools = Counter(tool for r in results for tool in r.tools)
    total = max(1, sum(tools.values()))
    groups: dict[str, Callable[[Result], tuple[str, ...]]] = {
        "classes": lambda r: (r.code, f"all: {r.outcome_class}"),
        "slices": slices_of,
        "workflows": lambda r: (r.workflow,),
    }
    out: dict[str, Any] = {"all": {name: cluster_mean(results, measure) for name, measure in MEASURES.items()}}
    for group, keys in groups.items():
        members: dict[str, list[Result]] = defaultdict(list)
        for result in results:
            for key in keys(result):
                members[key].append(result)
        if group == "classes":
            out[group] = {k: cluster_mean(v, MEASURES["success"]) for k, v in sorted(members.items())}
        else:
            out[group] = {
                k: {m: cluster_mean(v, MEASURES[m]) for m in ("success", "full", "violations")}
                for k, v in sorted(members.items())
            }
    said = Counter(f"{r.code} -> {r.said or 'none'}" for r in results)
    return out | {
        "actions": {tool: count / total for tool, count in sorted(tools.items(), key=lambda item: (-item[1], item[0]))},
        "confusion": dict(sorted(said.items())),
        "episodes": len(results),
    }


def paired(
    before: Sequence[Result], after: Sequence[Result], names: Sequence[str] = ("success", "full", "violations", "turns")
) -> dict[str, Any]:
    """Differences after - before of the same (task, seed), clustered by organisation."""
    first = {(r.task_id, r.seed): r for r in before}

    def difference(name: str) -> Callable[[Result], float | None]:
        def of(result: Result) -> float | None:
            new, old = MEASURES[name](result), MEASURES[name](first[(result.task_id, result.seed)])
            return None if new is None or old is None else new - old

        return of

    return {name: cluster_mean(after, difference(name)) for name in names}
