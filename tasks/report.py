"""The report of a task set: report.json and one self-contained report.html, the same bytes for the same data.

`great_expectations` validates three small frames (findings, certificates, metrics) and its result is kept; the page is our own,
because the one that it renders loads from other hosts.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from schemas.files import read_json, write_json, write_text
from schemas.plugins import plugin_names
from schemas.spec import WaiverSpec
from schemas.task import Answer, Certificate, LedgerRow, TaskSpec
from tasks.certify import CHECKS, ConstantRate
from tasks.charts import bars
from tasks.leaks._types import Finding

IDENTITY = (
    "This task set is pseudonymised, not anonymous: whoever holds the key and the vault can lead every token back to a person, "
    "and what people wrote may still identify them to those who know the case."
)
SHOWN_IDS = 20
"""Task ids listed per line of the report; the count is always whole."""
LEAK_REASON = "leak"
"""Reason in the ledger of a task that a leak check took out; its detail is the check's name."""
GOOD = ("passed", "not_applicable", "waived", "suspect")
"""A suspect is shown and asked about; it fails nothing, because nothing proves it."""
VERDICTS = ("passed", "failed", "not_applicable", "could_not_run")


@dataclass(frozen=True, slots=True)
class RuleFit:
    """How a rule fits what people recorded: a test of whether it was written down rightly."""

    rule_id: str
    sentence: str
    observable: bool
    """False: it is about an act that exports do not record; neither kept nor broken by people."""
    applied: int
    """Recorded cases that it applied to."""
    broken: int
    """Of these, how many broke it."""


@dataclass(frozen=True, slots=True)
class ReportData:
    """All that the report shows; it is written from this alone."""

    name: str
    supplier: str
    spec_sha256: str
    code_version: str
    ledger: Sequence[LedgerRow]
    """Every candidate; funnel and kept shares are counted from it."""
    tasks: Sequence[TaskSpec]
    answers: Mapping[str, Answer]
    """With score bounds."""
    certificates: Sequence[Certificate]
    findings: Sequence[Finding]
    """As `run_leaks` returns them."""
    constant_rates: Sequence[ConstantRate]
    rule_fit: Sequence[RuleFit] = ()
    waivers: Sequence[WaiverSpec] = ()
    screen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Workflow -> its five traits, as short JSON values."""
    holdout: Mapping[str, Any] = field(default_factory=dict)
    """What else the hold-out says: boundary, embargo days, groups held out, near-duplicates dropped (short JSON values)."""
    notes: Sequence[str] = ()
    """Sentences that the report must carry, e.g. what this hold-out cannot promise."""


def write_report(folder: Path, data: ReportData) -> bool:
    """Writes `folder/report.json` and `folder/report.html`; True where nothing failed and nothing could not run."""
    report = summary(data)
    report["suite"] = validated(report, data)
    problems = faults(report)
    report["faults"] = problems
    report["verdict"] = "failed" if problems else "passed"
    write_json(folder / "report.json", report)
    return render_again(folder)


def render_again(folder: Path) -> bool:
    """Writes `report.html` anew from `report.json`; True where its verdict is "passed". StageError where there is none."""
    report = read_json(folder / "report.json")
    write_text(folder / "report.html", render(report))
    return bool(report["verdict"] == "passed")


def summary(data: ReportData) -> dict[str, Any]:
    """Everything counted, as JSON; independent of the order of what it is given."""
    ledger = sorted(data.ledger, key=lambda row: (row.kind, row.record_id))
    tasks = sorted(data.tasks, key=lambda task: task.task_id)
    certificates = sorted(data.certificates, key=lambda c: c.task_id)
    return {
        "name": data.name,
        "supplier": data.supplier,
        "spec_sha256": data.spec_sha256,
        "code_version": data.code_version,
        "identity": IDENTITY,
        "notes": list(data.notes),
        "funnel": {
            "candidates": len(ledger),
            "kept": sum(row.kept for row in ledger),
            "reasons": dict(sorted(Counter(row.reason for row in ledger if not row.kept).items())),
            "by_workflow": _by_workflow(ledger),
        },
        "difficulty": _difficulty(ledger),
        "screen": {name: dict(traits) for name, traits in sorted(data.screen.items())},
        "certificates": _certificates(certificates),
        "leaks": _leaks(data.findings),
        "removed_by_leak_checks": _removed(ledger),
        "waivers": [w.model_dump(mode="json") for w in sorted(data.waivers, key=lambda w: (w.check, w.path))],
        "slices": _slices(tasks, data.answers),
        "holdout": dict(data.holdout),
        "rules": _rules(tasks, data.rule_fit),
        "constant_rates": [asdict(rate) for rate in sorted(data.constant_rates, key=lambda r: r.code)],
        "bounds": _bounds(tasks, data.answers),
    }


def faults(report: Mapping[str, Any]) -> list[str]:
    """Why the report's verdict is not "passed", one line each."""
    found = []
    for row in report["certificates"]["checks"]:
        bad_verdicts = [v for v in ("failed", "could_not_run") if row[v]]
        found += [f"certificate {row['check']}: {row[v]} {v.replace('_', ' ')}" for v in bad_verdicts]
    if report["certificates"]["missing"]:
        found.append(f"{report['certificates']['missing']} tasks without a certificate")
    bad = Counter((f["check"], f["verdict"]) for f in report["leaks"] if f["verdict"] not in GOOD)
    found += [f"leak check {check}: {count} {verdict.replace('_', ' ')}" for (check, verdict), count in sorted(bad.items())]
    found += [
        f"C3: always {r['code']} is right above its base rate" for r in report["constant_rates"] if r["rate"] > r["base_rate"]
    ]
    unmet = [one for one in report["suite"]["expectations"] if one["verdict"] != "passed"]
    found += [f"quality suite: {one['frame']} {one['expectation']} {one['verdict'].replace('_', ' ')}" for one in unmet]
    return found


def _by_workflow(ledger: Sequence[LedgerRow]) -> dict[str, dict[str, int]]:
    names = sorted({row.workflow or "(unknown)" for row in ledger})
    rows = {name: [row for row in ledger if (row.workflow or "(unknown)") == name] for name in names}
    return {name: {"candidates": len(mine), "kept": sum(row.kept for row in mine)} for name, mine in rows.items()}


def _difficulty(ledger: Sequence[LedgerRow]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in sorted({kind for row in ledger for kind in row.difficulty}):
        rows = [row for row in ledger if kind in row.difficulty]
        kept = sum(row.kept for row in rows)
        reasons = Counter(row.reason for row in rows if not row.kept)
        found[kind] = {
            "candidates": len(rows),
            "kept": kept,
            "share": round(kept / len(rows), 4),
            "lost_to": dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))[:5]),
        }
    return found


def _certificates(certificates: Sequence[Certificate]) -> dict[str, Any]:
    counts = {name: dict.fromkeys(VERDICTS, 0) for name in CHECKS}
    bad: dict[str, list[str]] = {}
    examples: dict[str, str] = {}
    for certificate in certificates:
        for check in certificate.checks:
            counts.setdefault(check.id, dict.fromkeys(VERDICTS, 0))[check.verdict] += 1
            if check.verdict in ("failed", "could_not_run"):
                bad.setdefault(check.id, []).append(certificate.task_id)
                examples.setdefault(check.id, check.detail)
    missing = sum(1 for c in certificates if {check.id for check in c.checks} < set(CHECKS))
    return {
        "tasks": len(certificates),
        "hold": sum(c.holds for c in certificates),
        "missing": missing,
        "checks": [{"check": name, **row} for name, row in counts.items()],
        "bad_tasks": {name: {"count": len(ids), "ids": ids[:SHOWN_IDS]} for name, ids in sorted(bad.items())},
        "example": examples,
    }


def _removed(ledger: Sequence[LedgerRow]) -> dict[str, Any]:
    """Tasks taken out because a leak check named them: the set left over passes that check, so its findings no longer say so."""
    by_check = Counter(row.detail for row in ledger if row.reason == LEAK_REASON)
    total, kept = sum(by_check.values()), sum(row.kept for row in ledger)
    return {
        "total": total,
        "share": round(total / (total + kept), 4) if total else 0.0,
        "by_check": dict(sorted(by_check.items())),
    }


def _leaks(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """All findings; a check that ran again when it could say more is not also shown as not applicable."""
    ran = {f.check for f in findings if f.verdict != "not_applicable"}
    shown = {f for f in findings if f.verdict != "not_applicable" or f.check not in ran}
    return [_finding(f) for f in sorted(shown, key=lambda f: (f.check, f.verdict, f.path, f.detail, f.task_ids))]


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "check": finding.check,
        "verdict": finding.verdict,
        "path": finding.path,
        "detail": finding.detail,
        "tasks": len(finding.task_ids),
        "ids": list(finding.task_ids[:SHOWN_IDS]),
        "waiver": finding.waiver,
    }


def _slices(tasks: Sequence[TaskSpec], answers: Mapping[str, Answer]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in sorted({task.slice for task in tasks}):
        mine = [task for task in tasks if task.slice == name]
        codes = Counter(answers[task.task_id].outcome.code for task in mine if task.task_id in answers)
        found[name] = {
            "tasks": len(mine),
            "organisations": len({task.organisation for task in mine}),
            "workflows": dict(sorted(Counter(task.workflow for task in mine).items())),
            "codes": dict(sorted(codes.items())),
        }
    return found


def _rules(tasks: Sequence[TaskSpec], fits: Sequence[RuleFit]) -> list[dict[str, Any]]:
    """Every rule of any task: how many tasks it is in force in, and how people kept it."""
    in_force = Counter(rule.id for task in tasks for rule in task.rules)
    sentences = {rule.id: rule.sentence for task in tasks for rule in task.rules}
    by_id = {fit.rule_id: fit for fit in fits}
    rows = []
    for rule_id in sorted(in_force.keys() | by_id.keys()):
        fit = by_id.get(rule_id)
        rows.append(
            {
                "rule": rule_id,
                "sentence": fit.sentence if fit is not None else sentences[rule_id],
                "tasks": in_force[rule_id],
                "observable": fit.observable if fit is not None else None,
                "applied": fit.applied if fit is not None else None,
                "broken": fit.broken if fit is not None else None,
            }
        )
    return rows


def _bounds(tasks: Sequence[TaskSpec], answers: Mapping[str, Answer]) -> dict[str, Any]:
    bounds = [answers[t.task_id].bounds for t in tasks if t.task_id in answers]
    known = [b for b in bounds if b is not None]
    found: dict[str, Any] = {"tasks": len(tasks), "with_bounds": len(known)}
    if known:
        for name, values in (("g_min", [b.g_min for b in known]), ("g_max", [b.g_max for b in known])):
            found[name] = {"min": round(min(values), 6), "median": round(median(values), 6), "max": round(max(values), 6)}
        found["reference_above_panel"] = sum(b.g_max > b.g_min for b in known)
    return found


# --- the declared quality suite -------------------------------------------------------------------------------------------------


def frames(report: Mapping[str, Any], data: ReportData) -> dict[str, list[dict[str, Any]]]:
    """The three small frames that the suite validates."""
    funnel, bounds = report["funnel"], report["bounds"]
    metrics = [
        {"metric": f"always {rate['code']}", "value": rate["rate"], "at_most": rate["base_rate"]}
        for rate in report["constant_rates"]
    ]
    counted = funnel["kept"] + sum(funnel["reasons"].values())
    metrics += [
        {"metric": "candidates not accounted for", "value": float(abs(funnel["candidates"] - counted)), "at_most": 0.0},
        {"metric": "tasks beyond the ledger's kept", "value": float(abs(bounds["tasks"] - funnel["kept"])), "at_most": 0.0},
        {"metric": "tasks whose reference is not above the panel", "at_most": 0.0,
         "value": float(bounds["tasks"] - bounds.get("reference_above_panel", 0))},
    ]  # fmt: skip
    return {
        "findings": [{"check": f["check"], "verdict": f["verdict"], "path": f["path"]} for f in report["leaks"]],
        "certificates": [
            {"task_id": c.task_id, "check": check.id, "verdict": check.verdict}
            for c in sorted(data.certificates, key=lambda c: c.task_id)
            for check in c.checks
        ],
        "metrics": metrics,
    }


def validated(report: Mapping[str, Any], data: ReportData) -> dict[str, Any]:
    """What great_expectations says of the frames: {"success", "expectations": [{frame, expectation, verdict, ...}]}.

    An expectation whose metric raised reads "could_not_run", not "failed".
    """
    os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read at import: nothing of the build is told to another host
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library's own, at import and use
        with tempfile.TemporaryDirectory() as scratch:
            before, tempfile.tempdir = (
                tempfile.tempdir,
                scratch,
            )  # it leaves an empty folder behind for pages that nobody asked for
            try:
                return _validated(frames(report, data))
            finally:
                tempfile.tempdir = before


def _validated(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    import great_expectations
    import pandas as pd

    gx: Any = great_expectations  # its lazy exports and string severities are unknown to its own types
    expect = gx.expectations
    leaks, checks = plugin_names("tasks.leaks"), list(CHECKS)
    suites = {
        "findings": [
            expect.ExpectColumnValuesToBeInSet(column="verdict", value_set=list(GOOD), severity="critical"),
            expect.ExpectColumnDistinctValuesToContainSet(column="check", value_set=leaks, severity="critical"),
        ],
        "certificates": [
            expect.ExpectColumnValuesToBeInSet(column="verdict", value_set=["passed", "not_applicable"], severity="critical"),
            expect.ExpectColumnDistinctValuesToContainSet(column="check", value_set=checks, severity="critical"),
            expect.ExpectCompoundColumnsToBeUnique(column_list=["task_id", "check"], severity="critical"),
        ],
        "metrics": [
            expect.ExpectColumnPairValuesAToBeGreaterThanB(
                column_A="at_most", column_B="value", or_equal=True, severity="critical"
            ),
            expect.ExpectColumnValuesToNotBeNull(column="value", severity="critical"),
        ],
    }
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    source = context.data_sources.add_pandas("recordgym")
    columns = {
        "findings": ["check", "verdict", "path"],
        "certificates": ["task_id", "check", "verdict"],
        "metrics": ["metric", "value", "at_most"],
    }
    index = {"findings": ["path"], "certificates": ["task_id"], "metrics": ["metric"]}
    said: list[dict[str, Any]] = []
    for name, expectations in suites.items():
        table = pd.DataFrame(list(tables[name]), columns=columns[name])
        batch = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all").get_batch({"dataframe": table})
        form = {"result_format": "COMPLETE", "unexpected_index_column_names": index[name], "partial_unexpected_count": SHOWN_IDS}
        result = batch.validate(gx.ExpectationSuite(name=name, expectations=expectations), result_format=form)
        said += [_said(name, one) for one in result.to_json_dict()["results"]]
    said.sort(key=lambda one: (one["frame"], one["expectation"], one["column"]))
    return {"success": all(one["verdict"] == "passed" for one in said), "expectations": said}


def _said(frame: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """One expectation's result without what differs from run to run or names this machine (tracebacks, batch ids)."""
    config, counts = result["expectation_config"], result["result"]
    raised = result["exception_info"]
    broken = raised.get("raised_exception", False) or any(
        isinstance(v, dict) and v.get("raised_exception") for v in raised.values()
    )
    kwargs = config["kwargs"]
    unexpected = counts.get("unexpected_index_list") or []
    return {
        "frame": frame,
        "expectation": config["type"],
        "column": str(kwargs.get("column") or kwargs.get("column_list") or [kwargs.get("column_A"), kwargs.get("column_B")]),
        "severity": config.get("severity", ""),
        "verdict": "could_not_run" if broken else "passed" if result["success"] else "failed",
        "rows": counts.get("element_count"),
        "unexpected": counts.get("unexpected_count"),
        "examples": [{key: row[key] for key in sorted(row)} for row in unexpected[:SHOWN_IDS]],
    }


# --- the page -------------------------------------------------------------------------------------------------------------


def render(report: Mapping[str, Any]) -> str:
    """One HTML page: no script, no reference to another host; the same text for the same report."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(Path(__file__).with_name("report.html.j2").read_text(encoding="utf-8"))
    funnel = report["funnel"]
    lost = sorted(funnel["reasons"].items(), key=lambda pair: (-pair[1], pair[0]))
    slices = [(name, one["tasks"]) for name, one in report["slices"].items()]
    return template.render(
        report=report,
        funnel_chart=Markup(bars([("kept", funnel["kept"]), *lost], whole=funnel["candidates"])),
        slice_chart=Markup(bars(slices, whole=sum(n for _, n in slices))),
    )
