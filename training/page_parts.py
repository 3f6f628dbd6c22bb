"""The parts of `report.html` that are figures: cards, tables, curves. Each is a text of HTML; a part that was not run says so."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from statistics import fmean
from typing import Any

from training import charts, forgetting
from training.card import words
from training.report import interval
from training.run_files import AFTER, BEFORE, MODES, RunFiles
from training.verdict import FALL, LOW_RECALL, apart, codes, falls, low

SHOWN_ORGANISATIONS = 40
"""Rows of the table of organisations: those that lost most come first."""
SHOWN_KINDS = 6
"""Lines of a chart of kinds: the most frequent."""
SHOWN_TOOLS = 9
"""Tools with a colour of their own in the chart of actions; the others are one."""


def ticked(text: str) -> str:
    """Escaped, with `code` set as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def not_run(what: str, how: str = "") -> str:
    return f'<p class="note"><strong>{escape(what)}: not run.</strong>{" " + ticked(how) if how else ""}</p>'


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    numbers: Iterable[int] = (),
    marked: Mapping[str, str] | None = None,
) -> str:
    """Cells are HTML already; `numbers` are the columns set to the right, `marked` gives rows a class by their first cell."""
    right = set(numbers)
    named = "".join(f'<th scope="col"{" class=n" if i in right else ""}>{escape(h)}</th>' for i, h in enumerate(head))
    lines = []
    for row in rows:
        cells = "".join(f"<td{' class=n' if i in right else ''}>{cell}</td>" for i, cell in enumerate(row) if i)
        kind = (marked or {}).get(row[0])
        lines.append(f'<tr{f" class={kind}" if kind else ""}><th scope="row">{row[0]}</th>{cells}</tr>')
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide"><table class="tight">{said}<thead><tr>{named}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def evaluate_hint(run: RunFiles) -> str:
    return f"`python -m training.evaluate --run {run.name}`"


def cards(run: RunFiles) -> str:
    """What the page opens with: the figures of the verdict."""
    items: list[tuple[str, str, str]] = []
    if run.evaluation is None:
        items.append(("not run", "held-out evaluation", ""))
    else:
        agents = run.evaluation["agents"]
        for mode in MODES:
            before, after = (agents[f"{name}, {mode}"]["all"]["success"] for name in (BEFORE, AFTER))
            items.append((_move(before, after), f"{mode} success, before and after", _level(before, after)))
        before, after = (agents[f"{name}, greedy"]["all"]["violations"] for name in (BEFORE, AFTER))
        items.append((_move(before, after), "violations an episode, greedy", _level(after, before)))
        recalls = agents[f"{AFTER}, greedy"]["classes"]
        if named := codes(recalls):
            worst = min(named, key=lambda code: (recalls[code]["mean"], code))
            poor = "bad" if recalls[worst]["mean"] < LOW_RECALL else ""
            items.append((f"{recalls[worst]['mean']:.2f}", f"lowest recall: {worst.replace('_', ' ')}", poor))
        items.append((str(run.evaluation["tasks"]), f"held-out tasks of {run.evaluation['organisations']} organisations", ""))
    items.append((str(len(run.alarms)) if run.rows else "not run", "alarms", "bad" if run.alarms else ""))
    return (
        '<ul class="cards">'
        + "".join(f'<li class="{level}"><b>{escape(figure)}</b>{escape(what)}</li>' for figure, what, level in items)
        + "</ul>"
    )


def _move(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    return f"{before['mean']:.2f} → {after['mean']:.2f}"


def _level(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    return ("good" if after["mean"] > before["mean"] else "bad") if apart(before, after) else ""


def results(run: RunFiles) -> str:
    """Every agent with intervals."""
    if run.evaluation is None:
        return not_run("Held-out evaluation", evaluate_hint(run))
    evaluation = run.evaluation
    rows = []
    for name in evaluation["order"]:
        figures = evaluation["agents"][name]["all"]
        success, score = figures["success"], figures.get("score")
        cells = [escape(name), charts.interval(success), interval(success), charts.interval(score, whole=100.0), interval(score)]
        rows.append([*cells, *(interval(figures.get(k)) for k in ("full", "violations", "refusals", "timeouts", "turns"))])
    head = ("agent", "success, 0 to 1", "", "score, 0 to 100", "", "full", "violations", "refusals", "timeouts", "turns")
    note = (
        f"{evaluation['tasks']} held-out tasks of {evaluation['organisations']} organisations; sampled: {evaluation['samples']} "
        "episodes a task. Mean and 95% interval from a bootstrap over organisations. Full: solved without any violation. Score: "
        "100 is the reference, 0 the worst scripted agent. Violations, refusals and turns: means an episode."
    )
    return (
        f'<p class="hint">{escape(note)}</p>'
        + table(head, rows, numbers=(2, 4, 5, 6, 7, 8, 9), marked=dict.fromkeys(_policies(), "policy"))
        + _slices(evaluation)
        + (_forgotten(evaluation["continued"]) if evaluation.get("continued") else "")
    )


def _forgotten(evaluated: Mapping[str, Any]) -> str:
    """The held-out tasks of the task set before, of a run that continues another."""
    said = " ".join(part for part in (forgetting.heading(evaluated), forgetting.excluded(evaluated)) if part)
    if evaluated["old"] is None:
        return f'<p class="note">{escape(said)}</p>'
    rows = [[escape(cell) for cell in row] for row in forgetting.rows(evaluated["old"])]
    return f'<p class="hint">{escape(said)}</p>' + table(forgetting.HEAD, rows, caption="Forgetting", numbers=(1, 2, 3))


def _policies() -> list[str]:
    """Names of the four columns: greedy before and after, sampled before and after."""
    return [f"{when}, {mode}" for mode in MODES for when in (BEFORE, AFTER)]


FOUR = ("greedy before", "greedy after", "sampled before", "sampled after")


def _slices(evaluation: Mapping[str, Any]) -> str:
    names = _policies()
    rows = [
        [escape(part.replace("_", " ")), str(size)]
        + [interval(evaluation["agents"][n]["slices"].get(part, {}).get("success")) for n in names]
        for part, size in evaluation["slices"].items()
    ]
    return table(("slice", "tasks", *FOUR), rows, caption="Success by held-out slice", numbers=range(1, 6))


def classes(run: RunFiles) -> str:
    """Recall of each outcome class before and after."""
    if run.evaluation is None:
        return not_run("Recall by outcome class", evaluate_hint(run))
    agents = run.evaluation["agents"]
    greedy = [agents[f"{when}, greedy"]["classes"] for when in (BEFORE, AFTER)]
    sampled = [agents[f"{when}, sampled"]["classes"] for when in (BEFORE, AFTER)]
    fallen, poor = set(falls(*greedy)), set(low(greedy[1]))
    rows = []
    sizes = run.evaluation["classes"]
    for name in sorted(sizes, key=lambda name: name.startswith("all: ")):
        size = sizes[name]
        said = [
            f'<span class="bad">{w}</span>' for w, found in (("falls", fallen), (f"below {LOW_RECALL}", poor)) if name in found
        ]
        drawn = charts.interval(greedy[1].get(name), before=greedy[0].get(name))
        cells = [interval(part.get(name)) for part in (*greedy, *sampled)]
        rows.append([escape(name.replace("_", " ")), str(size), drawn, *cells[:2], " ".join(said), *cells[2:]])
    head = ("class", "tasks", "greedy, 0 to 1", "before", "after", "", "sampled before", "sampled after")
    note = (
        "Share of the class's episodes with the whole outcome right and no hard rule broken. Grey: before, blue: after. "
        f"“falls”: lower by more than {FALL} (small classes fall by chance, too: look at the intervals)."
    )
    return f'<p class="hint">{escape(note)}</p>' + table(
        head, rows, numbers=(1, 3, 4, 6, 7), marked={escape(n): "sum" for n in sizes if n.startswith("all: ")}
    )


# --- course -----------------------------------------------------------------------------------------------------------


def points(rows: Sequence[Mapping[str, Any]], name: str) -> list[tuple[float, float]]:
    return [(float(row["iteration"]), float(row[name])) for row in rows if row.get(name) is not None]


PANELS: tuple[tuple[str, tuple[tuple[str, str], ...], float | None], ...] = (
    (
        "Success: share of episodes",
        (("success", "rollout, sampled"), ("full", "without violation"), ("validation_success", "validation, greedy")),
        0.0,
    ),
    ("Return of an episode", (("return", "rollout"), ("validation_return", "validation, greedy")), 0.0),
    ("Violations and refused calls an episode", (("violations", "violations"), ("refusals", "refused calls")), 0.0),
    ("Losses", (("policy_loss", "policy"), ("value_loss", "value"), ("supervised_loss", "supervised")), 0.0),
    ("KL, nats an action token", (("kl_warm", "to the warm start"), ("k3_last", "of the update")), 0.0),
    ("Entropy, nats an action token", (("entropy", "entropy"),), 0.0),
    ("Critic and clipping", (("explained_variance", "explained variance"), ("clip_fraction", "clipped share")), 0.0),
    ("Turns of an episode", (("turns", "turns"),), 0.0),
    ("Episodes cut off, share", (("timeouts", "cut off"),), 0.0),
)


def course(run: RunFiles) -> str:
    """Curves of the iterations and of the warm start."""
    out = []
    if not run.rows:
        out.append(not_run("Training", "No iteration is in metrics.jsonl."))
    for title, series, floor in PANELS:
        out.append(charts.lines(title, {label: points(run.rows, name) for name, label in series}, floor=floor))
    out += [
        by_kind(run.rows, "refused_", "Refused calls an episode, by kind"),
        by_kind(run.rows, "broke_", "Violations an episode, by rule"),
    ]
    out.append(actions(run.rows))
    out.append(warm_course(run.warm))
    return f'<div class="charts">{"".join(out)}</div>'


def by_kind(rows: Sequence[Mapping[str, Any]], prefix: str, title: str) -> str:
    """The most frequent kinds of a rate; a kind that a row does not name did not happen there."""
    played = [row for row in rows if row.get("success") is not None]
    names = sorted({name for row in played for name in row if name.startswith(prefix)})
    sums = {name: sum(row.get(name) or 0.0 for row in played) for name in names}
    happened = [name for name in sorted(names, key=lambda n: (-sums[n], n)) if sums[name] > 0]
    most = happened[:SHOWN_KINDS]
    if played and not most:
        return f'<figure><figcaption>{escape(title)}</figcaption><p class="hint">None in {len(played)} iterations.</p></figure>'
    label = {name: name[len(prefix) :].replace("_", " ") for name in most}
    more = f" ({len(most)} of {len(happened)})" if len(happened) > len(most) else ""
    return charts.lines(
        title + more, {label[n]: [(float(r["iteration"]), float(r.get(n) or 0.0)) for r in played] for n in most}, floor=0.0
    )


def actions(rows: Sequence[Mapping[str, Any]]) -> str:
    """Share of each tool among the calls, stacked."""
    played = [row for row in rows if any(name.startswith("action_") and name != "action_tokens" for name in row)]
    names = sorted({n for row in played for n in row if n.startswith("action_") and n != "action_tokens"})
    most = sorted(names, key=lambda n: (-sum(row.get(n) or 0.0 for row in played), n))[:SHOWN_TOOLS]
    columns = []
    for row in played:
        shares = [float(row.get(name) or 0.0) for name in most]
        columns.append((float(row["iteration"]), [*shares, max(0.0, 1.0 - sum(shares))]))
    labels = [name[len("action_") :].replace("_", " ") for name in most]
    return charts.stacked("Which tools are called: share of calls", [*labels, "all others"] if most else [], columns)


def warm_course(warm: Mapping[str, Any]) -> str:
    def of(name: str) -> list[tuple[float, float]]:
        return [(float(e["epoch"]), float(e[name])) for e in warm.get("epochs", ()) if e.get(name) is not None]

    series = {"loss": of("loss"), "validation loss": of("validation_loss"), "validation solved": of("validation_success")}
    return charts.lines("Warm start, by epoch", series, floor=0.0).replace(">iteration<", ">epoch<")


# --- groups -----------------------------------------------------------------------------------------------------------


def groups(run: RunFiles) -> str:
    """Success and violations by workflow, and by organisation."""
    if run.evaluation is None:
        return not_run("Workflows and organisations", evaluate_hint(run))
    agents = run.evaluation["agents"]
    names = _policies()
    sizes: dict[str, set[str]] = defaultdict(set)
    for row in run.episodes:
        sizes[row["workflow"]].add(row["task_id"])
    rows = []
    for workflow in agents[names[0]]["workflows"]:
        found = [agents[name]["workflows"][workflow] for name in names]
        drawn = charts.interval(found[1]["success"], before=found[0]["success"])
        cells = [interval(one["success"]) for one in found] + [interval(one["violations"]) for one in found[:2]]
        rows.append([escape(workflow.replace("_", " ")), str(len(sizes[workflow])), drawn, *cells])
    head = ("workflow", "tasks", "greedy, 0 to 1", *FOUR, "violations before", "violations after")
    return table(head, rows, caption="Success by workflow", numbers=(1, 3, 4, 5, 6, 7, 8)) + _organisations(run, names)


def _organisations(run: RunFiles, names: Sequence[str]) -> str:
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    tasks: dict[str, set[str]] = defaultdict(set)
    for row in run.episodes:
        if row["agent"] in names:
            found[row["organisation"]][row["agent"]].append(row["success"])
            tasks[row["organisation"]].add(row["task_id"])
    if not found:
        return '<p class="note">By organisation: episodes.jsonl is not there.</p>'
    means = {name: [fmean(one[n]) if one[n] else None for n in names] for name, one in found.items()}

    def moved(name: str) -> float:
        before, after = means[name][:2]
        return (after - before) * len(tasks[name]) if before is not None and after is not None else 0.0

    order = sorted(found, key=lambda name: (moved(name), name))
    rows = []
    for name in order[:SHOWN_ORGANISATIONS]:
        cells = ["-" if mean is None else f"{mean:.2f}" for mean in means[name]]
        rows.append([f"<code>{escape(name)}</code>", str(len(tasks[name])), f"{moved(name):+.0f}", *cells])
    worse, better = (sum(sign * moved(n) > 0.5 for n in order) for sign in (-1, 1))
    cut = f" The {SHOWN_ORGANISATIONS} that lost most are shown." if len(order) > SHOWN_ORGANISATIONS else ""
    caption = (
        f"Success by organisation: {worse} of {len(order)} have fewer tasks solved greedily than before, {better} more.{cut}"
    )
    return (
        "<details><summary>By organisation</summary>"
        + table(("organisation", "tasks", "solved more", *FOUR), rows, caption=caption, numbers=range(1, 7))
        + "</details>"
    )


# --- comparison, alarms, card -----------------------------------------------------------------------------------------


def compared(run: RunFiles) -> str:
    """Seeds and controls in one table."""
    if run.comparison is None:
        return not_run("Comparison with other seeds and controls", f"`python -m training.compare {run.name} OTHER ...`")
    rows = []
    for arm in run.comparison["arms"]:
        greedy, sampled = arm["greedy"], arm["sampled"]
        drawn = charts.interval(greedy["after"]["success"], before=greedy["before"]["success"])
        spread = f"{min(greedy['by_seed']):.2f} to {max(greedy['by_seed']):.2f}" if arm["seeds"] > 1 else "one seed"
        worst = f"{arm['lowest'].replace('_', ' ')} {greedy['classes_after'][arm['lowest']]['mean']:.2f}"
        cells = [interval(m[w]["success"]) for m in (greedy, sampled) for w in ("before", "after")]
        violations = [interval(greedy[w]["violations"]) for w in ("before", "after")]
        fallen = ", ".join(code.replace("_", " ") for code in arm["falls"]) or "none"
        rows.append([escape(arm["arm"]), str(arm["seeds"]), drawn, *cells, spread, *violations, escape(worst), escape(fallen)])
    head = (
        "arm", "seeds", "greedy, 0 to 1", "greedy before", "greedy after", "sampled before", "sampled after",
        "greedy over seeds", "violations before", "violations after", "lowest class", "classes that fall",
    )  # fmt: skip
    said = "".join(
        f"<li>{escape(a['question'])} <strong>{a['answer']}.</strong> {ticked(a['says'])}</li>" for a in run.comparison["answers"]
    )
    runs = ", ".join(f"{one['run']} ({one['arm']}, seed {one['seed']})" for one in run.comparison["runs"])
    return (
        f"<ul>{said}</ul>"
        + table(head, rows, numbers=(1, 3, 4, 5, 6, 7, 8, 9))
        + f'<p class="hint">Mean over the seeds of an arm, 95% intervals over organisations. Runs: {escape(runs)}.</p>'
    )


def alarm_table(run: RunFiles) -> str:
    if not run.rows:
        return not_run("Alarms", "No iteration is in metrics.jsonl.")
    if not run.alarms:
        return f"<p>None in {len(run.rows)} iterations.</p>"
    rows = [
        [escape(a.name), f"{a.iteration} to {a.until}", f"{a.figure:.3f}", f"{a.bound:.3f}", escape(a.says)] for a in run.alarms
    ]
    return table(("alarm", "iterations", "figure when it began", "bound", "what it means"), rows, numbers=(1, 2, 3))


def card_table(card: Mapping[str, Any]) -> str:
    """card.json as tables."""
    limits = "".join(f"<li>{ticked(limit)}</li>" for limit in card["limits"])
    trained = card["trained_on"]
    facts = [("data: " + k.replace("_", " "), _value(v)) for k, v in card["data"].items()]
    facts += [("code", _value(card["code"])), ("seeds", _value(card["seeds"])), ("iterations", _value(card["iterations"]))]
    facts += [("CPU seconds, " + k.replace("_", " "), _value(v)) for k, v in card["cpu_seconds"].items()]
    facts += [(f"machine {n}", _value(m)) for n, m in enumerate(card["hardware"] or [None], 1)]
    facts.append(("trained on", "not recorded" if trained is None else f"{trained['tasks']} tasks in {trained['lines']} lines"))
    if trained is not None:
        facts.append(("last digest of the audit log", f"<code>{escape(trained['head'])}</code>"))
        facts += [("audit log", f'<span class="bad">{escape(fault)}</span>') for fault in trained["faults"]]
    settings = [(escape(k), _value(v)) for k, v in card["config"]["settings"].items()]
    return (
        f"<h3>What it does not show</h3><ul>{limits}</ul>"
        + table(("fact", "value"), [(escape(k), v) for k, v in facts])
        + f"<details><summary>Settings</summary>{table(('setting', 'value'), settings)}</details>"
    )


def _value(value: Any) -> str:
    return escape(words(value))
