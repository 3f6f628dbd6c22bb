"""What a run that continues another kept of what was known: the same figures for report.md, report.html, card and verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from training.report import interval
from training.run_files import AFTER, BEFORE, MODES, RunFiles

MEASURES = ("score", "success", "violations")


def origin(continued: Mapping[str, Any]) -> str:
    """Where the policy came from."""
    found = continued["carried"]
    return (
        f"Continues run {continued['run']} after its iteration {continued['step']} (checkpoint "
        f"{continued['checkpoint_sha256'][:12]}, task set {continued['taskset']}): that policy is the warm start here, nothing "
        f"was imitated. Its vocabulary lacks {found['words']} words of the new set, {found['word_share']:.1%} of its texts."
    )


def excluded(evaluated: Mapping[str, Any]) -> str:
    """What is not in the new held-out score; "" for nothing."""
    count = evaluated["excluded"]
    return f"{count} held-out tasks of the new set are left out: {evaluated['run']} was trained on them." if count else ""


def signed(figure: Mapping[str, Any]) -> str:
    """ "-0.04 [-0.09, +0.01]", or "-"."""
    if figure.get("mean") is None:
        return "-"
    bounds = "" if figure.get("low") is None else f" [{figure['low']:+.2f}, {figure['high']:+.2f}]"
    return f"{figure['mean']:+.2f}{bounds}"


def rows(old: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """(what, before, after, forgetting)."""
    agents = old["agents"]
    out = []
    for mode in MODES:
        for name in MEASURES:
            before, after = (interval(agents[f"{when}, {mode}"]["all"][name]) for when in (BEFORE, AFTER))
            out.append((f"{name}, {mode}", before, after, signed(old["forgetting"][mode][name])))
    return out


HEAD = ("old held-out tasks", "before", "after", "forgetting (after - before)")


def heading(evaluated: Mapping[str, Any]) -> str:
    """The sentence above the figures, or why there are none."""
    old = evaluated["old"]
    if old is None:
        return f"Old held-out tasks of {evaluated['taskset']}: not played, so forgetting is not known ({evaluated['missing']})."
    return (
        f"{old['tasks']} held-out tasks of {evaluated['taskset']}, of {old['organisations']} organisations, played before and "
        "after; forgetting is paired by task, its 95% interval over organisations. Below 0 is forgotten (violations: above 0)."
    )


def lines(evaluated: Mapping[str, Any]) -> list[str]:
    """Of report.md."""
    out = ["### Forgetting: the held-out tasks of the old task set", "", heading(evaluated)]
    if left := excluded(evaluated):
        out += ["", left]
    if evaluated["old"] is not None:
        out += ["", f"| {' | '.join(HEAD)} |", "|---|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows(evaluated["old"]))]
    return out


def card_part(run: RunFiles) -> dict[str, Any] | None:
    """Of card.json; None for a run that continues no other. Forgetting is null where it is not known."""
    if run.continued is None:
        return None
    evaluated = run.evaluation and run.evaluation["continued"]
    old = evaluated and evaluated["old"]
    return {
        **{name: run.continued[name] for name in ("run", "step", "checkpoint_sha256", "taskset", "taskset_sha256")},
        "unknown_words": run.continued["carried"]["words"],
        "unknown_word_share": run.continued["carried"]["word_share"],
        "excluded_held_out_tasks": len(run.continued["excluded"]),
        "old_held_out_tasks": old and old["tasks"],
        "forgetting": old and old["forgetting"],
    }
