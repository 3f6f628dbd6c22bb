"""Several seeds and controls of one task set in one table: `python -m training.compare RUN [RUN ...]`.

The first run is the one that is asked about: its folder gets comparison.json, and its report is written again with the table.
Runs whose settings differ in nothing but the seed are one arm. Means are over an arm's seeds, with 95% intervals from a bootstrap
over organisations (the seeds play the same tasks); the range over seeds stands beside them. Every figure is made from
episodes.jsonl. Runs of other task sets, other held-out tasks or without an evaluation are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import tyro

from pipeline.cli import console, run_command
from schemas.errors import StageError
from schemas.files import write_json
from training.config import NOT_IDENTITY, Config
from training.figures import MEASURES, Result, cluster_mean, paired
from training.report import interval, write_report
from training.run_files import AFTER, BEFORE, MODES, RunFiles, find_run, load_run
from training.verdict import above, apart, falls, low

APART = (
    *NOT_IDENTITY,
    "seed",
    "warm_from",
    "continue_from",
    "taskset",
    "device",
    "threads",
    "eval_every",
    "save_every",
    "control",
)
"""Settings in which two runs of one arm may differ; the control names its arm by itself."""
DEFAULTS = {field.name: field.default for field in fields(Config) if field.default is not MISSING}


@dataclass(frozen=True)
class Options:
    """Compares evaluated runs of one task set: seeds of the first run's settings, and its controls."""

    runs: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Run folders, or their names under data/runs; the first is the one that is asked about."""


def compare(runs: Sequence[RunFiles]) -> dict[str, Any]:
    """The comparison as JSON. Raises StageError for runs that cannot be compared."""
    check(runs)
    first = runs[0]
    arms: dict[str, list[RunFiles]] = {}
    for run in runs:
        arms.setdefault(arm_of(run, first), []).append(run)
    table = [_arm(name, members) for name, members in arms.items()]
    listed = [
        {
            "run": run.name,
            "arm": arm_of(run, first),
            "seed": run.config["settings"]["seed"],
            "evaluation_sha256": run.evaluation_sha256,
        }
        for run in runs
    ]
    return {"runs": listed, "arms": table, "answers": answers(table)}


def check(runs: Sequence[RunFiles]) -> None:
    """Raises StageError, one line, for the first run that cannot stand beside the first one."""
    seen: set[str] = set()
    first = runs[0]
    for run in runs:
        if run.name in seen:
            raise StageError(f"run {run.name} is named twice")
        seen.add(run.name)
        if run.evaluation is None or not run.episodes:
            raise StageError(f"run {run.name} is not evaluated; `python -m training.evaluate --run {run.name}` first")
        if run.config["taskset_sha256"] != first.config["taskset_sha256"]:
            raise StageError(f"run {run.name} was trained on another task set than {first.name}; they cannot be compared")
        assert first.evaluation is not None
        if run.evaluation["heldout_ids_sha256"] != first.evaluation["heldout_ids_sha256"]:
            raise StageError(f"run {run.name} was evaluated on other held-out tasks than {first.name}; evaluate both alike")
        if run.evaluation["samples"] != first.evaluation["samples"]:
            raise StageError(f"run {run.name} was evaluated with other --samples than {first.name}; evaluate both alike")


def arm_of(run: RunFiles, first: RunFiles) -> str:
    """ "PPO", "PPO, continued", "shuffled reward", "supervised", with the settings in which it differs from the first run."""
    mine, others = (DEFAULTS | one.config["settings"] for one in (run, first))  # an older run lacks what is newer than it
    name = "PPO" if run.control == "none" else run.control.replace("_", " ")
    name += ", continued" if mine.get("continue_from") else ""
    differ = [
        f"{key} {mine.get(key)}" for key in sorted({*mine, *others}) if key not in APART and mine.get(key) != others.get(key)
    ]
    return f"{name} ({', '.join(differ)})" if differ else name


def results_of(run: RunFiles, agent: str) -> list[Result]:
    """The judged episodes of one agent of a run."""
    names = {f.name for f in fields(Result)}
    rows = [{k: v for k, v in row.items() if k in names} for row in run.episodes if row["agent"] == agent]
    return [Result(**{**row, "tools": tuple(row["tools"])}) for row in rows]


def _arm(name: str, runs: Sequence[RunFiles]) -> dict[str, Any]:
    out: dict[str, Any] = {"arm": name, "control": runs[0].control, "runs": [run.name for run in runs], "seeds": len(runs)}
    for mode in MODES:
        both = {when: [results_of(run, f"{when}, {mode}") for run in runs] for when in (BEFORE, AFTER)}
        pooled = {when: [r for one in both[when] for r in one] for when in both}
        out[mode] = {
            "before": _figures(pooled[BEFORE]),
            "after": _figures(pooled[AFTER]),
            "difference": _differences(both[BEFORE], both[AFTER]),
            "by_seed": [fmean(r.success for r in one) for one in both[AFTER]],
            "classes_before": _recalls(pooled[BEFORE]),
            "classes_after": _recalls(pooled[AFTER]),
        }
    before, after = out["greedy"]["classes_before"], out["greedy"]["classes_after"]
    lowest = min(after, key=lambda code: (after[code]["mean"], code))
    return out | {"lowest": lowest, "falls": falls(before, after), "low": low(after)}


def _figures(results: Sequence[Result]) -> dict[str, Any]:
    return {name: cluster_mean(results, MEASURES[name]) for name in ("success", "violations", "score")}


def _differences(before: Sequence[Sequence[Result]], after: Sequence[Sequence[Result]]) -> dict[str, Any]:
    """Paired by seed of the run and task; each run's own if there is one run, else over all pairs."""
    if len(before) == 1:
        return {"success": paired(before[0], after[0])["success"]}
    first = [{(r.task_id, r.seed): r.success for r in one} for one in before]
    value: dict[int, float] = {
        id(r): r.success - known[r.task_id, r.seed] for known, one in zip(first, after, strict=True) for r in one
    }
    get: Callable[[Result], float] = lambda r: value[id(r)]  # noqa: E731
    return {"success": cluster_mean([r for one in after for r in one], get)}


def _recalls(results: Sequence[Result]) -> dict[str, Any]:
    members: dict[str, list[Result]] = {}
    for result in results:
        members.setdefault(result.code, []).append(result)
    return {code: cluster_mean(rows, MEASURES["success"]) for code, rows in sorted(members.items())}


def answers(table: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The questions that a result has to answer. What was not run is answered with "not run"."""
    main = table[0]
    by_control = {arm["control"]: arm for arm in reversed(table) if arm["control"] != "none"}
    before, after = main["greedy"]["before"]["success"], main["greedy"]["after"]["success"]
    gain = above(before, after)
    out = [
        _answer(
            "Does greedy beat the greedy warm start with non-overlapping intervals?",
            gain,
            good=True,
            says=f"{interval(before)} before, {interval(after)} after, seeds: {main['seeds']}"
            + ("." if main["seeds"] >= 3 else " (three or more are asked for)."),
        )
    ]
    if (shuffled := by_control.get("shuffled_reward")) is None:
        out.append(_not_run("Does the shuffled-reward control rise?", "--control shuffled_reward"))
    else:
        moved = [shuffled[mode]["difference"]["success"] for mode in MODES]
        rises = None if any(m["low"] is None for m in moved) else any(m["low"] > 0 for m in moved)
        says = f"After minus before: {interval(moved[0])} greedy, {interval(moved[1])} sampled."
        out.append(_answer("Does the shuffled-reward control rise?", rises, good=False, says=says))
    if (supervised := by_control.get("supervised")) is None:
        out.append(_not_run("Does PPO beat continued imitation?", "--control supervised"))
    else:
        other = supervised["greedy"]["after"]["success"]
        found = apart(other, after)
        says = f"Greedy: {interval(after)} with PPO, {interval(other)} with imitation for the same time."
        out.append(
            _answer("Does PPO beat continued imitation?", None if found is None else above(other, after), good=True, says=says)
        )
    return out


def _answer(question: str, found: bool | None, *, good: bool, says: str) -> dict[str, str]:
    if found is None:
        return {"question": question, "answer": "cannot be said", "level": "open", "says": f"No interval. {says}"}
    return {"question": question, "answer": "Yes" if found else "No", "level": "good" if found is good else "bad", "says": says}


def _not_run(question: str, how: str) -> dict[str, str]:
    return {"question": question, "answer": "not run", "level": "open", "says": f"No such run was given (`{how}`)."}


def show(comparison: Mapping[str, Any]) -> None:
    """Prints the table and the answers."""
    from rich.table import Table

    out = console(soft_wrap=True)
    table = Table(
        "arm", "seeds", "greedy before", "greedy after", "sampled before", "sampled after", "lowest class", "classes that fall"
    )
    for arm in comparison["arms"]:
        cells = [interval(arm[mode][when]["success"]) for mode in MODES for when in ("before", "after")]
        worst = f"{arm['lowest']} {arm['greedy']['classes_after'][arm['lowest']]['mean']:.2f}"
        table.add_row(arm["arm"], str(arm["seeds"]), *cells, worst, ", ".join(arm["falls"]) or "none")
    out.print(table)
    for one in comparison["answers"]:
        out.print(f"{one['question']} {one['answer']}. {one['says']}", markup=False, highlight=False)


def main(argv: Sequence[str] | None = None) -> int:
    options = tyro.cli(Annotated[Options, tyro.conf.arg(name="")], prog="python -m training.compare", args=argv)
    folders = [find_run(run) for run in options.runs]
    comparison = compare([load_run(folder) for folder in folders])
    write_json(folders[0] / "comparison.json", comparison)
    show(comparison)
    written: Path = write_report(folders[0])
    print(f"report: {written.with_suffix('.html')}")
    return 0


if __name__ == "__main__":
    run_command(main)
