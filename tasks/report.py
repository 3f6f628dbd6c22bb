"""The report of a task set: report.json, quality.json and one self-contained report.html, the same bytes for the same data.

`great_expectations` validates three small frames (findings, certificates, metrics); the suite and what it said are kept in
quality.json. The page is our own, because the one that it renders loads from other hosts.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from schemas.errors import StageError
from schemas.files import canonical_json, read_json, write_json, write_text
from schemas.plugins import plugin_names
from tasks.certify import CHECKS
from tasks.figures import GOOD, SHOWN_IDS, ReportData, RuleFit, faults, judged_on, summary
from tasks.first_minute import first_minute
from tasks.page import render

COLUMNS = {
    "findings": ["check", "verdict", "path"],
    "certificates": ["task_id", "check", "verdict"],
    "metrics": ["metric", "value", "at_most"],
}
"""Columns of each frame."""
INDEX = {"findings": ["path"], "certificates": ["task_id"], "metrics": ["metric"]}
"""Columns by which a row that was not expected is named."""
KEPT = ("element_count", "unexpected_count", "unexpected_percent", "missing_count", "observed_value")
"""Figures of a result that are the same in each run; with them go the rows that were not expected, up to SHOWN_IDS."""


def write_report(folder: Path, data: ReportData, *, today: str | None = None) -> bool:
    """Writes `report.json`, `quality.json` and `report.html` into `folder`; True where nothing failed and nothing could not run.

    `today` (YYYY-MM-DD) is the day on which waivers are judged; by default that of the run.
    """
    report = summary(data)
    quality = validated(report, data)
    write_json(folder / "quality.json", quality)
    report["suite"] = {"success": quality["success"], "expectations": [_line(one) for one in quality["results"]]}
    report["faults"] = faults(report)
    report["verdict"] = "failed" if report["faults"] else "passed"
    write_json(folder / "report.json", report)
    return render_again(folder, today=today)


def render_again(folder: Path, *, today: str | None = None) -> bool:
    """Writes `report.html` anew from `report.json`; True where its verdict is "passed" on the day. StageError where there is
    no report.json of this version."""
    judged = _judged(folder, today)
    from jinja2 import UndefinedError

    try:
        page = render(judged)
    except (KeyError, UndefinedError) as error:
        raise _other_version(folder) from error
    write_text(folder / "report.html", page)
    return bool(judged["verdict"] == "passed")


def verdict(folder: Path, *, today: str | None = None) -> tuple[bool, str]:
    """Whether the report of `folder` passes on the day, and that with its reasons as plain text."""
    judged = _judged(folder, today)
    sound = bool(judged["verdict"] == "passed")
    lines = [f"{'PASS' if sound else 'FAIL'}: {folder / 'report.html'}"]
    lines += [f"  {fault}" for fault in judged["faults"]]
    return sound, "\n".join([*lines, *(f"  {what.lower()}: {words}" for what, words, _ in first_minute(judged))])


def _judged(folder: Path, today: str | None) -> dict[str, Any]:
    report = read_json(folder / "report.json")
    try:
        return judged_on(report, date.fromisoformat(today) if today else datetime.now(UTC).date())
    except KeyError as error:
        raise _other_version(folder) from error


def _other_version(folder: Path) -> StageError:
    return StageError(f"{folder / 'report.json'} is not of this version; build the task set again")


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
    """What great_expectations says of the frames: {"library", "version", "success", "suites", "results"}.

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
    declared, said = [], []
    for name, expectations in suites.items():
        table = pd.DataFrame(list(tables[name]), columns=COLUMNS[name])
        batch = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all").get_batch({"dataframe": table})
        form = {"result_format": "COMPLETE", "unexpected_index_column_names": INDEX[name], "partial_unexpected_count": SHOWN_IDS}
        suite = gx.ExpectationSuite(name=name, expectations=expectations)
        result = batch.validate(suite, result_format=form).to_json_dict()
        said += [_said(name, one) for one in result["results"]]
        declared.append({"name": name, "rows": len(table), "expectations": [_declared(e) for e in expectations]})
    said.sort(key=lambda one: (one["frame"], one["expectation"], canonical_json(one["kwargs"])))
    return {
        "library": "great_expectations",
        "version": gx.__version__,
        "success": all(one["verdict"] == "passed" for one in said),
        "suites": declared,
        "results": said,
    }


def _declared(expectation: Any) -> dict[str, Any]:
    """An expectation as the suite declares it."""
    config = expectation.configuration.to_json_dict()
    return {"type": config["type"], "kwargs": _settings(config["kwargs"]), "severity": config["severity"]}


def _settings(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Without the id of the batch, which differs from run to run."""
    return {name: kwargs[name] for name in sorted(kwargs) if name != "batch_id"}


def _said(frame: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """One expectation's result without what differs from run to run or names this machine (tracebacks, batch ids)."""
    config, counts = result["expectation_config"], result["result"]
    raised = result["exception_info"]
    broken = raised.get("raised_exception", False) or any(
        isinstance(v, dict) and v.get("raised_exception") for v in raised.values()
    )
    unexpected = counts.get("unexpected_index_list") or []
    return {
        "frame": frame,
        "expectation": config["type"],
        "kwargs": _settings(config["kwargs"]),
        "severity": config.get("severity", ""),
        "verdict": "could_not_run" if broken else "passed" if result["success"] else "failed",
        "result": {name: counts[name] for name in KEPT if name in counts},
        "unexpected": [{key: row[key] for key in sorted(row)} for row in unexpected[:SHOWN_IDS]],
    }


def _line(said: Mapping[str, Any]) -> dict[str, Any]:
    """A result as the page shows it."""
    kwargs, counts = said["kwargs"], said["result"]
    columns = kwargs.get("column") or kwargs.get("column_list") or [kwargs.get("column_A"), kwargs.get("column_B")]
    return {
        "frame": said["frame"],
        "expectation": said["expectation"],
        "column": columns if isinstance(columns, str) else ", ".join(map(str, columns)),
        "severity": said["severity"],
        "verdict": said["verdict"],
        "rows": counts.get("element_count"),
        "unexpected": counts.get("unexpected_count"),
        "examples": said["unexpected"],
    }


__all__ = ["ReportData", "RuleFit", "render_again", "verdict", "write_report"]
