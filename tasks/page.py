"""One HTML page of a report: no script, no reference to another host; the same text for the same report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.certificates import names
from tasks.charts import bars, interval
from tasks.first_minute import SOUND, first_minute, rule_of, why_passed
from tasks.holdout import SLICES
from tasks.leaks._types import NUMBERS

ORDER = ("could_not_run", "failed", "suspect", "waived", "passed", "not_applicable")
"""Verdicts in the order of their rows: what needs somebody first."""


def render(report: Mapping[str, Any]) -> str:
    """The page of a report as `tasks.figures.judged_on` returns it."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup, escape

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["percent"] = lambda share: f"{100 * share:.1f}%"
    environment.filters["short"] = _short
    environment.filters["path"] = lambda path: Markup(str(escape(path)).replace("/", "/<wbr>"))
    template = environment.from_string(Path(__file__).with_name("report.html.j2").read_text(encoding="utf-8"))
    funnel = report["funnel"]
    lost = sorted(funnel["reasons"].items(), key=lambda pair: (-pair[1], pair[0]))
    named = sorted(report["slices"], key=SLICES.index)
    slices = [(name.replace("_", " "), report["slices"][name]["tasks"]) for name in named]
    leaks = sorted(report["leaks"], key=lambda f: (ORDER.index(f["verdict"]), f["check"], f["path"]))
    probes = sorted(report["probes"], key=lambda p: (ORDER.index(p["verdict"]), p["check"], p["path"]))
    return template.render(
        report=report,
        cards=_cards(report),
        funnel_chart=Markup(bars([("kept", funnel["kept"]), *lost], whole=funnel["candidates"])),
        slice_chart=Markup(bars(slices, whole=sum(n for _, n in slices))),
        slices=[(name, report["slices"][name]) for name in named],
        leaks=leaks,
        suspects=[f for f in leaks if f["verdict"] == "suspect"],
        probes=[
            {**p, "chart": Markup(interval(p["numbers"])), "more": _more(p["numbers"]), "why": why_passed(p)} for p in probes
        ],
        probe_rule=rule_of(probes),
        minute=first_minute(report),
        sound=SOUND,
        check_names={row["check"]: names().get(row["check"], "") for row in report["certificates"]["checks"]},
        matrix=_matrix(report["certificates"]),
        slice_names=[name for name in SLICES if report["overlaps"] and name in report["overlaps"][0]["slices"]],
    )


def _cards(report: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """(figure, what it is, good) of what the page opens with."""
    certificates, funnel, leaks = report["certificates"], report["funnel"], report["leaks"]
    held = sum(one["tasks"] for name, one in report["slices"].items() if name != "train")
    checks = {f["check"] for f in leaks}
    bad = {f["check"] for f in leaks if f["verdict"] in ("failed", "could_not_run")}
    looked = {f["check"] for f in leaks if f["verdict"] != "not_applicable"}
    whole = certificates["hold"] == certificates["tasks"] and not certificates["without"]["count"]
    return [
        (f"{certificates['hold']} of {certificates['tasks']}", "tasks with a certificate that holds", whole),
        (f"{len(looked - bad)} of {len(checks)}", "leak checks had something to look at and failed nothing", not bad),
        (f"{funnel['kept']} of {funnel['candidates']}", "candidate records became tasks", True),
        (str(held), "tasks held out", held > 0 or not report["held_out"]["wanted"]),
        (str(sum(f["verdict"] == "waived" for f in leaks)), "findings waived, by signature or by the code book", True),
    ]


def _matrix(certificates: Mapping[str, Any]) -> dict[str, Any]:
    """Workflow x check: (verdict to show, tasks that passed, tasks with another verdict than n/a)."""
    checks = [row["check"] for row in certificates["checks"]]
    rows = []
    for name, one in certificates["by_workflow"].items():
        cells = []
        for check in checks:
            counts = one["checks"].get(check)
            if counts is None:
                cells.append(("could_not_run", "missing"))
                continue
            applicable = counts["passed"] + counts["failed"] + counts["could_not_run"]
            verdict = next((v for v in ("could_not_run", "failed", "passed") if counts[v]), "not_applicable")
            missing = one["tasks"] - applicable - counts["not_applicable"]
            if missing > 0:
                cells.append(("could_not_run", f"{missing} missing"))
            elif not applicable:
                cells.append((verdict, "n/a"))
            elif counts["passed"] == one["tasks"]:
                cells.append((verdict, "all"))
            else:
                cells.append((verdict, f"{counts['passed']}/{applicable}"))
        rows.append((name, one["tasks"], cells))
    return {"checks": checks, "rows": rows}


def _more(numbers: Mapping[str, float]) -> list[tuple[str, str]]:
    """What a probe measured beside the columns that all have."""
    return [(name.replace("_", " "), _short(value)) for name, value in numbers.items() if name not in NUMBERS]


def _short(value: Any) -> str:
    """A short JSON value as people write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{str(k).replace('_', ' ')} {_short(v)}" for k, v in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(_short(v) for v in value) or "none"
    return str(value)
