"""The run's card, `card.json` and `card.md`: what it was made from and on, what came out, and what it does not show."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.forgetting import card_part, heading, signed
from training.report import interval
from training.run_files import AFTER, BEFORE, RunFiles
from training.verdict import codes, controls, labels_line, verdict

FEW_ORGANISATIONS = 10
"""Below so many a bootstrap over organisations gives intervals that are too narrow."""
FEW_TASKS = 20
"""Below so many tasks a class's recall says little."""


def card(run: RunFiles) -> dict[str, Any]:
    """The card as JSON. What is not known is null."""
    config, said = run.config, verdict(run)
    names = {name: Path(config["settings"].get(name, "")).name for name in ("warm_from", "continue_from")}
    settings = {**config["settings"], "taskset": config["taskset"], **names}
    made, evaluation = run.made, run.evaluation
    return {
        "run": run.name,
        "verdict": said.title,
        "data": {
            "taskset": config["taskset"],
            "taskset_sha256": config["taskset_sha256"],
            "train_tasks": made and made["train_tasks"],
            "train_organisations": made and made["train_organisations"],
            "validation_tasks": made and made["validation_tasks"],
            "validation_organisations": made and made["validation_organisations"],
            "evaluated_tasks": evaluation and evaluation["tasks"],
            "evaluated_organisations": evaluation and evaluation["organisations"],
            "heldout_ids_sha256": evaluation and evaluation["heldout_ids_sha256"],
            "slices_held_out": evaluation and evaluation["slices"],
        },
        "config": {"sha256": config["config_sha256"], "settings": settings},
        "code": config["versions"]["code"],
        "hardware": made and made["machines"],
        "seeds": [settings["seed"]] if run.comparison is None else sorted({r["seed"] for r in run.comparison["runs"]}),
        "cpu_seconds": {
            "warm_start": run.warm.get("cpu_seconds"),
            "iterations": sum(row.get("cpu_seconds") or 0.0 for row in run.rows),
        },
        "iterations": len(run.rows),
        "continued": card_part(run),
        "results": _results(run),
        "alarms": [alarm.line() for alarm in run.alarms],
        "trained_on": None
        if run.audit is None
        else {"lines": run.audit.lines, "head": run.audit.head, "tasks": len(run.audit.tasks), "faults": list(run.audit.faults)},
        "limits": limits(run),
    }


def _results(run: RunFiles) -> dict[str, Any] | None:
    if run.evaluation is None:
        return None
    agents = run.evaluation["agents"]
    names = [f"{when}, {mode}" for when in (BEFORE, AFTER) for mode in ("greedy", "sampled")]
    return {
        name: {k: agents[name]["all"][k] for k in ("success", "violations", "timeouts", "score")}
        | {"recall": {code: agents[name]["classes"][code] for code in codes(agents[name]["classes"])}}
        for name in names
    }


def limits(run: RunFiles) -> list[str]:
    """What this run does not show: from what was not run, from the alarms, from small numbers."""
    out = []
    evaluation = run.evaluation
    if evaluation is None:
        out.append("Not evaluated on held-out tasks: nothing is known about what it is worth.")
    else:
        if evaluation.get("held_out_tasks", evaluation["tasks"]) != evaluation["tasks"]:
            out.append(f"Only {evaluation['tasks']} of {evaluation['held_out_tasks']} held-out tasks were played.")
        if evaluation["organisations"] < FEW_ORGANISATIONS:
            out.append(f"{evaluation['organisations']} held-out organisations: the intervals are too narrow.")
        small = [
            f"{code} ({evaluation['classes'][code]})" for code in _codes(evaluation) if evaluation["classes"][code] < FEW_TASKS
        ]
        if small:
            out.append(f"Outcome classes of fewer than {FEW_TASKS} tasks, whose recall says little: {', '.join(small)}.")
    if run.continued is not None and evaluation is not None and evaluation["continued"]["old"] is None:
        out.append(heading(evaluation["continued"]))
    out += [line.text for line in controls(run) if line.level == "open"]
    if run.comparison is None or run.comparison["arms"][0]["seeds"] == 1:
        out.append("One seed.")
    if run.audit is None:
        out.append("No audit log: what was trained on cannot be checked.")
    elif run.audit.faults:
        out.append(f"The audit log is broken: {run.audit.faults[0]}.")
    out += [f"Alarm at {alarm.line()}." for alarm in run.alarms]
    if run.labels is None:
        out.append(labels_line(run).text)
    if run.made is None:
        out.append("The machine that it ran on was not recorded.")
    elif said := run.made.get("report"):
        out.append(said)
    out.append("Organisations, months and policies unlike the held-out ones were not tried.")
    return out


def _codes(evaluation: Mapping[str, Any]) -> list[str]:
    return [name for name in evaluation["classes"] if not name.startswith("all: ")]


def card_text(made: Mapping[str, Any]) -> str:
    """card.md."""
    data, results = made["data"], made["results"]
    lines = [f"# Run card: {made['run']}", "", f"**{made['verdict']}**", "", "## Data", ""]
    lines += [f"- {name.replace('_', ' ')}: {words(value)}" for name, value in data.items()]
    lines += ["", "## Made with", "", f"- code: {made['code']}", f"- settings: {made['config']['sha256']}"]
    lines += [f"- seeds: {words(made['seeds'])}", f"- iterations: {made['iterations']}"]
    lines += [f"- CPU seconds, {name.replace('_', ' ')}: {words(value)}" for name, value in made["cpu_seconds"].items()]
    for number, machine in enumerate(made["hardware"] or [None], 1):
        lines.append(f"- machine {number}: {words(machine)}")
    lines += ["", "## Results (95% intervals over organisations)", ""]
    if results is None:
        lines.append("Not run.")
    else:
        lines += ["| agent | success | violations | timeouts | score |", "|---|---|---|---|---|"]
        for name, row in results.items():
            cells = " | ".join(interval(row[k]) for k in ("success", "violations", "timeouts", "score"))
            lines.append(f"| {name} | {cells} |")
        lines += ["", f"| recall of | {' | '.join(results)} |", f"|---|{'---|' * len(results)}"]
        for code in next(iter(results.values()))["recall"]:
            lines.append(f"| {code} | {' | '.join(interval(row['recall'].get(code)) for row in results.values())} |")
    if made["continued"] is not None:
        lines += ["", "## Continued from", ""]
        lines += [f"- {name.replace('_', ' ')}: {words(v)}" for name, v in made["continued"].items() if name != "forgetting"]
        for mode, figures in (made["continued"]["forgetting"] or {}).items():
            said = ", ".join(f"{name} {signed(figure)}" for name, figure in figures.items())
            lines.append(f"- forgetting, {mode} (after - before on the old held-out tasks): {said}")
    trained = made["trained_on"]
    lines += ["", "## Trained on", ""]
    if trained is None:
        lines.append("Not recorded.")
    else:
        lines.append(f"`trained_on.jsonl`: {trained['lines']} lines, {trained['tasks']} tasks, last digest `{trained['head']}`.")
        lines += [f"**Broken: {fault}.**" for fault in trained["faults"]]
    lines += ["", "## What it does not show", "", *(f"- {limit}" for limit in made["limits"])]
    lines += ["", "## Settings", "", *(f"- {name}: {words(value)}" for name, value in made["config"]["settings"].items())]
    return "\n".join(lines) + "\n"


def words(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {words(inner)}" for name, inner in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(words(inner) for inner in value) or "none"
    return str(value) or "none"
