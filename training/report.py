"""The files of a run that people read: metrics as JSON lines and CSV, report.md, report.html and the card."""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schemas.episode import RefusalKind
from schemas.errors import StageError
from schemas.files import read_json, write_json, write_text
from training import team
from training.plots import plot_run
from training.rollout import Played, action_mix


class MetricsLog:
    """metrics.jsonl, one row an iteration. A continued run first cuts the rows after its checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "metrics.jsonl"
        self.started = False
        """True once this process has written a row."""

    def rows(self) -> list[dict[str, Any]]:
        """Whole rows; a last line cut short by a kill is left out."""
        if not self.path.exists():
            return []
        out = []
        for line in self.path.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                out.append(json.loads(line))
        return out

    @team.by_one
    def cut(self, step: int) -> None:
        """Keeps the rows up to iteration `step`."""
        rows = [row for row in self.rows() if row["iteration"] <= step]
        write_text(self.path, "".join(json.dumps(row) + "\n" for row in rows))

    def append(self, row: Mapping[str, Any]) -> None:
        """Adds a row, where this process writes."""
        self.started = True
        self._append(row)

    @team.by_one
    def _append(self, row: Mapping[str, Any]) -> None:
        """A number that is not finite is written as null. Raises StageError where the disk is full."""
        clean = {k: (None if isinstance(v, float) and not math.isfinite(v) else v) for k, v in row.items()}
        try:
            with self.path.open("a", encoding="utf-8") as handle:
                handle.write(json.dumps(clean) + "\n")
        except OSError as error:
            raise StageError(f"cannot write {self.path}: {error.strerror}") from error

    @team.by_one
    def write_csv(self) -> None:
        """metrics.csv with every column that any row has."""
        rows = self.rows()
        columns = list(dict.fromkeys(name for row in rows for name in row))
        out = io.StringIO()
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_text(self.path.with_suffix(".csv"), out.getvalue())


class Clock:
    """Wall and CPU seconds by phase."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        self.start_cpu = self.cpu

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[f"seconds_{name}"] = now - self.wall
        self.wall = now

    def row(self) -> dict[str, float]:
        return {**self.laps, "cpu_seconds": time.process_time() - self.start_cpu}


def rollout_metrics(played: Sequence[Played], prefix: str = "") -> dict[str, Any]:
    """What the episodes of a rollout achieved: shares in [0, 1], means per episode."""
    grades = [p.trace.grade for p in played if p.trace.grade is not None]
    count = max(1, len(played))
    row: dict[str, Any] = {
        "success": sum(g.success for g in grades) / count,
        "full": sum(g.full for g in grades) / count,
        "violations": sum(len(g.violations) for g in grades) / count,
        "return": sum(g.return_ for g in grades) / count,
        "timeouts": sum(p.tape.truncated for p in played) / count,
        "turns": sum(len(p.tape.rewards) for p in played) / count,
        "refusals": sum(p.refusals for p in played) / count,
    }
    if prefix:
        return {f"{prefix}{k}": v for k, v in row.items()}
    for name in ("success", "quality", "efficiency", "violation", "delay"):
        row[f"event_{name}"] = sum(float(getattr(e, name)) for g in grades for e in g.events) / count
    broken = Counter(v.rule for g in grades for v in g.violations)
    row |= {f"broke_{rule}": number / count for rule, number in sorted(broken.items())}
    kinds = Counter(e.refusal.kind for p in played for e in p.trace.journal.entries if e.refusal is not None)
    row |= {f"refused_{kind.value}": kinds[kind] / count for kind in RefusalKind}
    return row | {f"action_{tool}": share for tool, share in sorted(action_mix(played).items())}


def summary_line(row: Mapping[str, Any]) -> str:
    """One line of progress."""
    if "supervised_loss" in row:
        solved = f", validation greedy {row['validation_success']:.2f}" if "validation_success" in row else ""
        return f"iteration {row['iteration']}: supervised loss {row['supervised_loss']:.3f}{solved} cpu {row['cpu_seconds']:.1f}s"
    parts = [
        f"iteration {row['iteration']}: success {row['success']:.2f}",
        f"return {row['return']:+.2f}",
        f"violations {row['violations']:.2f}",
        f"turns {row['turns']:.1f}",
        f"entropy {row['entropy']:.2f}",
        f"kl_warm {row['kl_warm']:.3f}",
        f"k3 {row['k3']:.4f}",
        f"ev {row['explained_variance']:.2f}",
        f"cpu {row['cpu_seconds']:.1f}s",
    ]
    if "validation_success" in row:
        parts.append(f"validation greedy {row['validation_success']:.2f}")
    return " ".join(parts)


def interval(value: Mapping[str, Any] | None) -> str:
    """ "0.52 [0.41, 0.63]", or "-" where there is nothing to average."""
    if not value or value.get("mean") is None:
        return "-"
    if value.get("low") is None:
        return f"{value['mean']:.2f}"
    return f"{value['mean']:.2f} [{value['low']:.2f}, {value['high']:.2f}]"


def write_report(folder: Path) -> Path:
    """report.md (and curves), report.html and the run's card from what stands in the run folder; what was not run is said to be
    missing. Returns the path of the first."""
    config = read_json(folder / "config.json")
    warm = read_json(folder / "warmstart.json")
    rows = MetricsLog(folder).rows()
    curves = plot_run(rows, folder)
    from training import forgetting
    from training.run_files import continued_by

    continued = continued_by(folder)
    started = (
        f"Warm start: {warm['episodes']} reference episodes, {len(warm['epochs'])} epochs, {warm['cpu_seconds']:.0f} CPU s."
        if continued is None
        else forgetting.origin(continued)
    )
    coverage = warm["coverage"]
    share = coverage["expressible"] / max(1, coverage["steps"])
    lines = [
        f"# Run {folder.name}",
        "",
        f"Task set `{config['taskset']}` (training side {config['taskset_sha256'][:12]}), "
        f"settings {config['config_sha256'][:12]}, code {config['versions']['code']}.",
        f"Policy: {warm['parameters']} parameters, {warm['symbols']} symbols. {started} "
        f"The grammar can write {share:.2%} of {coverage['steps']} reference steps.",
        f"PPO: {len(rows)} iterations, {sum(r['cpu_seconds'] for r in rows):.0f} CPU s."
        + (f" Control: **{config['settings']['control']}**." if config["settings"]["control"] != "none" else ""),
        "",
    ]
    if (folder / "evaluation.json").exists():
        lines += _evaluation(read_json(folder / "evaluation.json"))
    else:
        lines += ["Held-out evaluation: not run (`python -m training.evaluate --run " + folder.name + "`).", ""]
    lines += [
        "![curves](curves.svg)" if curves else "No curves: matplotlib is not installed (metrics.csv holds the numbers).",
        "",
    ]
    path = folder / "report.md"
    write_text(path, "\n".join(lines))
    _write_page(folder)
    return path


def _write_page(folder: Path) -> None:
    """report.html, card.json and card.md: all that they say is in files of the folder."""
    from training.card import card, card_text
    from training.page import page
    from training.run_files import load_run

    run = load_run(folder)
    made = card(run)
    write_json(folder / "card.json", made)
    write_text(folder / "card.md", card_text(made))
    write_text(folder / "report.html", page(run, made))


COLUMNS = ("success", "full", "violations", "timeouts", "turns", "score")


def _evaluation(evaluation: Mapping[str, Any]) -> list[str]:
    from training import forgetting

    agents = {name: evaluation["agents"][name] for name in evaluation["order"]}
    lines = [
        f"## Held-out tasks: {evaluation['tasks']} of {evaluation['organisations']} organisations",
        "",
        f"Mean [95% interval, bootstrap over organisations]. Sampled: {evaluation['samples']} episodes a task. "
        "Success, full and timeouts: shares of episodes; violations and turns: means an episode; score: 100 = the reference.",
        "",
        "| agent | " + " | ".join(COLUMNS) + " |",
        "|---|" + "---|" * len(COLUMNS),
    ]
    for name, judged in agents.items():
        lines.append(f"| {name} | " + " | ".join(interval(judged["all"].get(c)) for c in COLUMNS) + " |")
    if evaluation.get("paired"):
        lines += ["", "Paired with the warm start (after minus before, same tasks):", ""]
        lines += [
            f"- {name}: success {interval(p['success'])}, violations {interval(p['violations'])}"
            for name, p in evaluation["paired"].items()
        ]
    if evaluation.get("continued"):
        lines += ["", *forgetting.lines(evaluation["continued"])]
    policies = [n for n in agents if n.startswith(("warm start", "after PPO"))]
    lines += ["", "### Recall by outcome class (share of the class's episodes with the whole outcome right)", ""]
    lines += ["| class | tasks | " + " | ".join(policies) + " |", "|---|---|" + "---|" * len(policies)]
    for name, size in evaluation["classes"].items():
        cells = [interval(agents[p]["classes"].get(name)) for p in policies]
        lines.append(f"| {name} | {size} | " + " | ".join(cells) + " |")
    lines += ["", "### Success by held-out slice", "", "| slice | tasks | " + " | ".join(agents) + " |"]
    lines += ["|---|---|" + "---|" * len(evaluation["agents"])]
    for name, size in evaluation["slices"].items():
        cells = [interval(a["slices"].get(name, {}).get("success")) for a in agents.values()]
        lines.append(f"| {name} | {size} | " + " | ".join(cells) + " |")
    lines += ["", "### Action mix (share of calls)", ""]
    tools = list(dict.fromkeys(t for p in policies for t in agents[p]["actions"]))
    lines += ["| tool | " + " | ".join(policies) + " |", "|---|" + "---|" * len(policies)]
    for tool in tools:
        lines.append(
            f"| {tool} | " + " | ".join(f"{evaluation['agents'][p]['actions'].get(tool, 0.0):.3f}" for p in policies) + " |"
        )
    return [*lines, ""]
