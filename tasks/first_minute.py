"""What a reader of a report learns in the first minute, beside the verdict: tasks a side, the floor under every score, what was
not checked, and what waits for the supplier's word. Pure functions of the report as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.absent import in_words
from tasks.holdout import SLICES
from tasks.leaks._chance import FAMILY

NAMED = 5
"""Suspects named at the top; the others are counted there and listed below."""
SOUND = "Every certificate holds, no leak check failed or broke off, and nothing crosses the hold-out."
Lines = list[tuple[str, str, str]]
"""(what, in words, "" or "care" where somebody has to look)."""


def first_minute(report: Mapping[str, Any]) -> Lines:
    """The lines in a fixed order; those of which there is nothing to say are left out."""
    told = [
        ("Tasks", _tasks(report), ""),
        ("Floor", _floor(report), ""),
        ("Not checked", "; ".join(_unchecked(report)), ""),
        ("Suspect", _suspects(report["leaks"]), "care"),
        ("Worth a look", "; ".join(_near(report["probes"])), "care"),
        ("In no state", "; ".join(in_words(one) for one in report["absent"]), "care"),
    ]
    return [line for line in told if line[1]]


def held_out(slices: Mapping[str, int], lost: Mapping[str, int], dropped: Mapping[str, int], *, wanted: bool) -> dict[str, Any]:
    """{"tasks", "why", "wanted"} of the hold-out as a whole. `lost`: reason -> tasks that were to be held out and went for it;
    `dropped`: the same of all records."""
    count = sum(number for name, number in slices.items() if name != "train")
    if count:
        return {"tasks": count, "why": "", "wanted": wanted}
    if not wanted:
        return {"tasks": 0, "why": "the spec holds nothing out", "wanted": False}
    if not sum(slices.values()):
        return {"tasks": 0, "why": f"no record became a task: {_most(dropped)}", "wanted": True}
    none = "no task was placed there: too few groups or tasks for holdout.share_of_groups and holdout.share_of_time"
    return {"tasks": 0, "why": f"lost on the way: {_most(lost)}" if lost else none, "wanted": True}


def _most(counts: Mapping[str, int]) -> str:
    """Reasons with their counts, the commonest first."""
    return ", ".join(f"{reason} {number}" for reason, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def nothing_held_out(found: Mapping[str, Any]) -> str:
    """The fault of a set that was to hold tasks out and does not; "" of any other."""
    return f"0 tasks are held out ({found['why']})" if found["wanted"] and not found["tasks"] else ""


def rule_of(probes: Sequence[Mapping[str, Any]]) -> str:
    """When a probe fails, with this set's own figures."""
    bounds = sorted({p["numbers"]["alpha"] for p in probes if "alpha" in p["numbers"]})
    margins = sorted({p["numbers"]["margin"] for p in probes if "margin" in p["numbers"]})
    if not bounds:
        return ""
    level = f"{bounds[0]:.5f}" if bounds[0] == bounds[-1] else f"{bounds[0]:.5f} to {bounds[-1]:.5f}"
    matters = f"at least {margins[0]:.2f} above chance, " if margins else ""
    return (
        f"{len(probes)} probes were looked at. One fails where what it tells is enough to matter (an accuracy {matters}or its "
        f"strength) and its p is at most its bound ({level}). p is the share of shuffled outcomes that are told as well. The "
        f"bounds are small because of all tests together at most {FAMILY:.0%} may raise a false alarm on a clean set."
    )


def why_passed(probe: Mapping[str, Any]) -> str:
    """Why a probe passed although one of its two conditions was met; "" where neither was, or where it did not pass."""
    m = probe["numbers"]
    if probe["verdict"] != "passed" or not {"p", "alpha"} <= m.keys():
        return ""
    mark = m["chance"] + m["margin"] if {"accuracy", "chance", "margin"} <= m.keys() else None
    strong = mark is not None and m["accuracy"] >= mark
    if strong and m["p"] > m["alpha"]:
        tests = round(FAMILY / m["alpha"])
        expected = tests * m["p"]
        among = f"in about {expected:.1%} of clean sets" if expected < 1 else f"about {expected:.0f} times in every clean set"
        return (
            f"its accuracy reaches {mark:.3f}, where it would matter, but p {m['p']:.5f} is above its bound {m['alpha']:.5f}: "
            f"among {tests} tests so small a p comes about by chance {among}, and {FAMILY:.1%} is allowed"
        )
    if not strong and m["p"] <= m["alpha"]:
        what = (
            f"{m['accuracy']:.3f} is less than {mark:.3f}, where it matters"
            if mark is not None
            else "what it tells is too little"
        )
        return f"p is not above its bound, but {what}: not acted on"
    return ""


def _tasks(report: Mapping[str, Any]) -> str:
    counts = {name: report["slices"][name]["tasks"] for name in sorted(report["slices"], key=SLICES.index)}
    held = report["held_out"]
    parts = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items() if name != "train")
    words = f"{counts.get('train', 0)} for training, {held['tasks']} held out"
    return f"{words}: {parts or held['why']}" if parts or held["why"] else words


def _floor(report: Mapping[str, Any]) -> str:
    """What an agent gets that has read nothing: only what is above it shows anything."""
    unread, rates = report["unread"], report["constant_rates"]
    words = []
    if unread["tasks"]:
        share = f"{unread['full']} of {unread['tasks']} tasks ({unread['rate']:.1%})"
        words.append(f"an agent that looks everywhere and reads nothing is full in up to {share}: read scores against that")
    if rates:
        best = max(rates, key=lambda r: (r["rate"], r["base_rate"], r["code"]))
        right = f"it is the recorded answer of {best['base_rate']:.1%}"
        words.append(f"the best constant answer, {best['code']}, solves {best['rate']:.1%} ({right})")
    return "; ".join(words)


def _unchecked(report: Mapping[str, Any]) -> list[str]:
    """Checks that said nothing about this set: it has not what they look at."""
    idle = sorted((f["check"], f["detail"]) for f in report["leaks"] if f["verdict"] == "not_applicable")
    whole = {check for check, _ in idle} - {f["check"] for f in report["leaks"] if f["verdict"] != "not_applicable"}
    found = [
        f"{check.replace('_', ' ')} ({detail})" if detail else check.replace("_", " ") for check, detail in idle if check in whole
    ]
    tasks = report["certificates"]["tasks"]
    rows = report["certificates"]["checks"]
    return found + [f"certificate {r['check']} (applies to no task)" for r in rows if tasks and r["not_applicable"] == tasks]


def _suspects(leaks: Sequence[Mapping[str, Any]]) -> str:
    found = sorted({(f["path"] or f["check"], f["check"]) for f in leaks if f["verdict"] == "suspect"})
    if not found:
        return ""
    kinds = ", ".join(f"{check.replace('_', ' ')} {count}" for check, count in sorted(Counter(c for _, c in found).items()))
    shown = ", ".join(path for path, _ in found[:NAMED])
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return f"{len(found)} findings that nothing proves and nothing rules out need the supplier's word ({kinds}): {shown}{more}"


def _near(probes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Probes that guessed well enough to matter and passed by their p alone."""
    found = []
    for probe in probes:
        m = probe["numbers"]
        if "accuracy" in m and why_passed(probe) and m["p"] > m["alpha"]:
            words = f"guessed {m['accuracy']:.3f} where chance is {m['chance']:.3f}, p {m['p']:.5f}, bound {m['alpha']:.5f}"
            found.append(f"{probe['path'] or probe['check']} {words}")
    return found
