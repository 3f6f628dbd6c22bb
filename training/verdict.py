"""Is a run good? In words, from its evaluation and from what was not run. Pure functions; nothing that is missing counts as good.

A gain is shown where the 95% intervals of greedy success before and after, clustered by organisation, do not overlap (sampled
success rises whenever a policy grows surer of what it did anyway). Falls and low recall are said by outcome class: a policy that
never grants anything can look fine on average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.files import sha256_json
from training import forgetting
from training.report import interval
from training.run_files import AFTER, BEFORE, RunFiles

LOW_RECALL = 0.3
"""A class solved in less than this share of its tasks is not served, whatever the average says."""
FALL = 0.02
"""Recall that a class may lose without being named: less is one task of fifty."""
Figure = Mapping[str, Any]
"""{"mean", "low", "high"}; bounds are null with fewer than two organisations."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was found: good, bad, care (look at it), open (not run, or cannot be said)."""

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    level: str
    title: str
    lines: tuple[Line, ...]


def apart(before: Figure, after: Figure) -> bool | None:
    """True where the intervals do not overlap; None where there is none."""
    if any(figure.get(end) is None for figure in (before, after) for end in ("low", "high")):
        return None
    return bool(after["low"] > before["high"] or after["high"] < before["low"])


def above(before: Figure, after: Figure) -> bool | None:
    """True where the whole interval of `after` is above that of `before`; None where there is none."""
    found = apart(before, after)
    return None if found is None else found and after["mean"] > before["mean"]


def falls(before: Mapping[str, Figure], after: Mapping[str, Figure]) -> list[str]:
    """Outcome codes whose recall is lower after than before by more than FALL."""
    return [n for n in codes(after) if n in before and after[n]["mean"] < before[n]["mean"] - FALL]


def low(after: Mapping[str, Figure]) -> list[str]:
    """Outcome codes with a recall below LOW_RECALL."""
    return [n for n in codes(after) if after[n]["mean"] < LOW_RECALL]


def codes(classes: Mapping[str, Figure]) -> list[str]:
    """The outcome codes that have a figure, without the sums over classes ("all: grant")."""
    return [n for n, figure in classes.items() if not n.startswith("all: ") and figure.get("mean") is not None]


def verdict(run: RunFiles) -> Verdict:
    """Level, title and what it rests on."""
    if run.evaluation is None:
        missing = Line("open", f"Held-out evaluation: not run (`python -m training.evaluate --run {run.name}`).")
        return Verdict("open", "NOT EVALUATED", (missing, *_watched(run)))
    agents = run.evaluation["agents"]
    lines = [_moved(agents, mode) for mode in ("greedy", "sampled")]
    lines += [
        _paired(run.evaluation),
        _violations(agents),
        *_classes(agents),
        *_part(run.evaluation),
        *_kept(run),
        *controls(run),
    ]
    level, title = _title(run, agents)
    return Verdict(level, title, (*lines, *_watched(run)))


def _title(run: RunFiles, agents: Mapping[str, Any]) -> tuple[str, str]:
    assert run.evaluation is not None
    before, after = (agents[f"{name}, greedy"]["all"]["success"] for name in (BEFORE, AFTER))
    difference = run.evaluation["paired"]["greedy"]["success"]
    gain, lost = above(before, after), falls(*_recalls(agents))
    if run.control != "none":
        rises = difference["low"] is not None and difference["low"] > 0
        return "care" if rises else "open", f"A CONTROL RUN ({run.control.replace('_', ' ')})"
    if gain is None or difference["low"] is None:
        return "open", "NOT SHOWN: too few organisations for an interval"
    if difference["high"] < 0:
        return "bad", "WORSE THAN ITS WARM START"
    if gain and lost:
        return "care", f"BETTER ON AVERAGE, BUT {len(lost)} CLASS{'ES FALL' if len(lost) > 1 else ' FALLS'}"
    if gain:
        return "good", "BETTER THAN ITS WARM START"
    if difference["low"] > 0:
        return "care", "PERHAPS BETTER: more tasks are solved, but the intervals overlap"
    sampled = above(*(agents[f"{name}, sampled"]["all"]["success"] for name in (BEFORE, AFTER)))
    if sampled:
        return "care", "NO GREEDY GAIN: sampling came nearer to what the warm start already did greedily"
    return "care", "NO GAIN SHOWN"


def _moved(agents: Mapping[str, Any], mode: str) -> Line:
    before, after = (agents[f"{name}, {mode}"]["all"]["success"] for name in (BEFORE, AFTER))
    found = apart(before, after)
    said = {None: "there is no interval to compare", True: "the intervals do not overlap", False: "the intervals overlap"}[found]
    level = "open" if found is None else "care" if not found else "good" if after["mean"] > before["mean"] else "bad"
    return Line(level, f"{mode.capitalize()} success: {interval(before)} before, {interval(after)} after; {said}.")


def _paired(evaluation: Mapping[str, Any]) -> Line:
    figure = evaluation["paired"]["greedy"]["success"]
    if figure["low"] is None:
        return Line("open", "Task by task (greedy): no interval.")
    level = "good" if figure["low"] > 0 else "bad" if figure["high"] < 0 else "care"
    said = {"good": "a gain", "bad": "a loss", "care": "it may be chance"}[level]
    signed = f"{figure['mean']:+.2f} [{figure['low']:+.2f}, {figure['high']:+.2f}]"
    return Line(level, f"Task by task (greedy, after minus before): {signed}; {said}.")


def _violations(agents: Mapping[str, Any]) -> Line:
    parts = []
    levels = []
    for mode in ("greedy", "sampled"):
        before, after = (agents[f"{name}, {mode}"]["all"]["violations"] for name in (BEFORE, AFTER))
        found = apart(before, after)
        levels.append("open" if found is None else "care" if not found else "good" if after["mean"] < before["mean"] else "bad")
        parts.append(f"{interval(before)} before, {interval(after)} after ({mode})")
    level = next((name for name in ("bad", "open", "care") if name in levels), "good")
    return Line(level, f"Violations an episode: {'; '.join(parts)}.")


def _recalls(agents: Mapping[str, Any]) -> tuple[Mapping[str, Figure], Mapping[str, Figure]]:
    return agents[f"{BEFORE}, greedy"]["classes"], agents[f"{AFTER}, greedy"]["classes"]


def _classes(agents: Mapping[str, Any]) -> list[Line]:
    before, after = _recalls(agents)
    fallen, poor = falls(before, after), low(after)
    named = ", ".join(f"{n} ({before[n]['mean']:.2f} to {after[n]['mean']:.2f})" for n in fallen)
    stay = ", ".join(f"{n} ({after[n]['mean']:.2f})" for n in poor)
    return [
        Line("bad", f"Recall falls in {len(fallen)} of {len(codes(after))} outcome classes (greedy): {named}.")
        if fallen
        else Line("good", f"Recall falls in none of {len(codes(after))} outcome classes (greedy)."),
        Line("bad", f"Recall is below {LOW_RECALL} in {len(poor)} of {len(codes(after))} outcome classes (greedy): {stay}.")
        if poor
        else Line("good", f"Recall is {LOW_RECALL} or more in every outcome class (greedy)."),
    ]


def _part(evaluation: Mapping[str, Any]) -> list[Line]:
    whole = evaluation.get("held_out_tasks")
    if whole is None or whole == evaluation["tasks"]:
        return []
    return [Line("care", f"Only {evaluation['tasks']} of {whole} held-out tasks were played.")]


def _kept(run: RunFiles) -> list[Line]:
    """Where a run came from that continues another, and whether it forgot: by success, which is compared everywhere here."""
    if run.continued is None or run.evaluation is None:
        return []
    evaluated = run.evaluation["continued"]
    out = [Line("care", forgetting.origin(run.continued))]
    if left := forgetting.excluded(evaluated):
        out.append(Line("care", left))
    if evaluated["old"] is None:
        return [*out, Line("open", forgetting.heading(evaluated))]
    figure = evaluated["old"]["forgetting"]["greedy"]["success"]
    told = f"On the {evaluated['old']['tasks']} old held-out tasks (greedy, after minus before): {forgetting.signed(figure)}"
    if figure["low"] is None:
        return [*out, Line("open", f"{told}; no interval.")]
    level = "bad" if figure["high"] < 0 else "good" if figure["low"] >= 0 else "care"
    said = {"bad": "it has forgotten", "good": "nothing is forgotten", "care": "it may be chance"}[level]
    return [*out, Line(level, f"{told}; {said}.")]


def controls(run: RunFiles) -> list[Line]:
    """What seeds and controls say, where the run was compared with any."""
    if run.control != "none":
        return []
    command = f"`python -m training.compare {run.name} OTHER ...`"
    if run.comparison is None:
        return [Line("open", f"Other seeds and controls: not compared ({command}).")]
    mine = [one for one in run.comparison["runs"] if one["run"] == run.name]
    if not mine or mine[0]["evaluation_sha256"] != run.evaluation_sha256:
        return [Line("open", f"Other seeds and controls: compared before this run was evaluated anew ({command}).")]
    return [Line(one["level"], f"{one['question']} {one['answer']}. {one['says']}") for one in run.comparison["answers"]]


def _watched(run: RunFiles) -> list[Line]:
    lines = []
    names = list(dict.fromkeys(alarm.name for alarm in run.alarms))
    if not run.rows:
        lines.append(Line("open", "Alarms: no iteration was run."))
    elif names:
        lines.append(Line("bad", f"{len(run.alarms)} alarm{'s' if len(run.alarms) > 1 else ''}: {', '.join(names)}."))
    else:
        lines.append(Line("good", f"No alarm in {len(run.rows)} iterations."))
    return [*lines, audit_line(run), labels_line(run)]


def audit_line(run: RunFiles) -> Line:
    """What the audit log says of what was trained on."""
    if run.audit is None:
        return Line("open", "Audit log: not kept, so what was trained on cannot be checked.")
    if run.audit.faults:
        return Line("bad", f"Audit log: broken: {run.audit.faults[0]}.")
    both = run.audit.tasks & {row["task_id"] for row in run.episodes}
    if both:
        return Line("bad", f"Audit log: {len(both)} tasks were trained on and evaluated, e.g. {min(both)}.")
    known = f"{len(run.audit.tasks)} tasks and {run.audit.episodes} episodes were trained on"
    unseen = "none of them is among the evaluated tasks" if run.episodes else "no evaluation to compare them with"
    return Line("good" if run.episodes else "open", f"Audit log: its chain is whole; {known}; {unseen}.")


def labels_line(run: RunFiles) -> Line:
    """What people said of the queue."""
    if run.review is None:
        return Line("open", "Review by people: no queue, because nothing was evaluated.")
    if run.labels is None:
        return Line("open", f"Review by people: not done; {len(run.review)} episodes wait in review.csv.")
    if run.labels["queue_sha256"] != queue_digest(run.review):
        return Line("open", f"Review by people: version {run.labels['version']} is of an earlier evaluation.")
    row = run.labels["disagreement"]["all"]
    return Line("care" if row["differ"] else "good", f"Review by people: {disagreement_words(row)}.")


def disagreement_words(row: Mapping[str, Any]) -> str:
    """ "people disagree with the reward in 2 of 12 episodes, 0.17 [0.05, 0.45]"."""
    if not row["judged"]:
        return "nobody has said right or wrong of any episode"
    share = {"mean": row["differ"] / row["judged"], "low": row["low"], "high": row["high"]}
    return f"people disagree with the reward in {row['differ']} of {row['judged']} episodes, {interval(share)}"


def queue_digest(review: Sequence[Mapping[str, Any]]) -> str:
    return sha256_json([row["episode"] for row in review])
