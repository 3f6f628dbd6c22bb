"""Everything that a report counts, as JSON, and what of it makes the verdict FAIL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from statistics import median
from typing import Any

from schemas.spec import WaiverSpec
from schemas.task import Answer, Certificate, LedgerRow, TaskSpec
from tasks.certify import CHECKS, ConstantRate
from tasks.first_minute import held_out, nothing_held_out
from tasks.floor import UnreadFloor
from tasks.leaks._types import Finding
from tasks.ledger import long_tail, underivable_values

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
    partly: bool = False
    """True: judged by a part of what it demands (a write, a message), because look-ups are not recorded."""
    untold: int = 0
    """Of these, in how many no message says what the demanded check needs: made with what was said elsewhere, or never."""


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
    unread: Sequence[UnreadFloor] = ()
    """As `tasks.floor.unread_floor` returns them."""
    rule_fit: Sequence[RuleFit] = ()
    waivers: Sequence[WaiverSpec] = ()
    screen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Workflow -> its five traits, as short JSON values."""
    holdout: Mapping[str, Any] = field(default_factory=dict)
    """What else the hold-out says: boundary, embargo days, groups held out, near-duplicates dropped (short JSON values)."""
    notes: Sequence[str] = ()
    """Sentences that the report must carry, e.g. what this hold-out cannot promise."""
    clauses: Sequence[Mapping[str, Any]] = ()
    """Every clause of the policies, as `tasks.policy.clause_table` lists them."""
    overlaps: Sequence[Mapping[str, Any]] = ()
    """As `tasks.overlaps.overlap_table` lists them."""
    clusters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """As `tasks.overlaps.cluster_figures` counts them."""
    absent: Sequence[Mapping[str, Any]] = ()
    """As `tasks.absent.absent_kinds` finds them."""
    to_hold_out: bool = True
    """The spec holds out a share of groups or of time."""
    lost_held_out: Mapping[str, int] = field(default_factory=dict)
    """Reason -> tasks that were to be held out and went for it."""


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
            "underivable": underivable_values(ledger),
        },
        "difficulty": _difficulty(ledger),
        "long_tail": long_tail(ledger),
        "screen": {name: dict(traits) for name, traits in sorted(data.screen.items())},
        "certificates": _certificates(certificates, tasks, data.answers),
        "leaks": _leaks(data.findings),
        "probes": _probes(data.findings),
        "removed_by_leak_checks": _removed(ledger),
        "waivers": _waivers(data),
        "slices": _slices(tasks, data.answers),
        "held_out": held_out(
            Counter(task.slice for task in tasks),
            data.lost_held_out,
            Counter(row.reason for row in ledger if not row.kept),
            wanted=data.to_hold_out,
        ),
        "absent": [dict(one) for one in data.absent],
        "holdout": dict(data.holdout),
        "overlaps": [dict(row) for row in data.overlaps],
        "clusters": {side: dict(row) for side, row in sorted(data.clusters.items())},
        "clauses": _clauses(data.clauses),
        "rules": _rules(tasks, data.rule_fit),
        "constant_rates": [asdict(rate) for rate in sorted(data.constant_rates, key=lambda r: r.code)],
        "unread": _unread(data.unread),
        "bounds": _bounds(tasks, data.answers),
    }


def _unread(rows: Sequence[UnreadFloor]) -> dict[str, Any]:
    count, full = sum(row.tasks for row in rows), sum(row.full for row in rows)
    workflows = [{**asdict(row), "rate": row.full / row.tasks} for row in sorted(rows, key=lambda row: row.workflow)]
    return {"tasks": count, "full": full, "rate": full / count if count else 0.0, "workflows": workflows}


def faults(report: Mapping[str, Any]) -> list[str]:
    """Why the report's verdict is not "passed", one line each."""
    found = [line] if (line := nothing_held_out(report["held_out"])) else []
    certificates = report["certificates"]
    for row in certificates["checks"]:
        bad_verdicts = [v for v in ("failed", "could_not_run") if row[v]]
        found += [f"certificate {row['check']}: {row[v]} {v.replace('_', ' ')}" for v in bad_verdicts]
    if certificates["without"]["count"]:
        found.append(f"tasks without a certificate: {certificates['without']['count']}, e.g. {certificates['without']['ids'][0]}")
    if certificates["missing"]:
        found.append(f"certificates that lack a check: {certificates['missing']}")
    bad = Counter((f["check"], f["verdict"]) for f in report["leaks"] if f["verdict"] not in GOOD)
    found += [f"leak check {check}: {count} {verdict.replace('_', ' ')}" for (check, verdict), count in sorted(bad.items())]
    found += [
        f"hold-out: {row['what']} in training and in {name}: {cell['tasks']} tasks"
        for row in report["overlaps"]
        for name, cell in row["slices"].items()
        if cell["tasks"] and not cell["allowed"]
    ]
    found += [
        f"C3: always {r['code']} is right above its base rate" for r in report["constant_rates"] if r["rate"] > r["base_rate"]
    ]
    unmet = [one for one in report["suite"]["expectations"] if one["verdict"] != "passed"]
    found += [f"quality suite: {one['frame']} {one['expectation']} {one['verdict'].replace('_', ' ')}" for one in unmet]
    return found


def judged_on(report: Mapping[str, Any], today: date) -> dict[str, Any]:
    """The report as it reads on a day: what only waivers cover that have expired since is failed, and the verdict follows."""
    leaks = []
    for finding in report["leaks"]:
        covering = [w for w in report["waivers"] if w["check"] == finding["check"] and fnmatchcase(finding["path"], w["path"])]
        expired = [w for w in covering if date.fromisoformat(w["expires"]) < today]
        lapsed = finding["verdict"] == "waived" and covering and len(expired) == len(covering)
        said = "; ".join(f"the waiver of {w['signed_by']} expired on {w['expires']}" for w in expired)
        leaks.append({**finding, "verdict": "failed" if lapsed else finding["verdict"], "expired": said})
    gone = {
        f"{w['signed_by']}, until {w['expires']}: {w['reason']}"
        for w in report["waivers"]
        if date.fromisoformat(w["expires"]) < today
    }
    overlaps = []
    for row in report["overlaps"]:
        cells = {s: {**cell, "allowed": "" if cell["allowed"] in gone else cell["allowed"]} for s, cell in row["slices"].items()}
        overlaps.append({**row, "slices": cells})
    judged = {**report, "leaks": leaks, "overlaps": overlaps}
    judged["waivers"] = [{**w, "expired": date.fromisoformat(w["expires"]) < today} for w in report["waivers"]]
    judged["faults"] = faults(judged)
    judged["verdict"] = "failed" if judged["faults"] else "passed"
    return judged


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


def _certificates(
    certificates: Sequence[Certificate], tasks: Sequence[TaskSpec], answers: Mapping[str, Answer]
) -> dict[str, Any]:
    """Counts per check and per workflow, and the tasks that a rule obliges to check something first."""
    counts = {name: dict.fromkeys(VERDICTS, 0) for name in CHECKS}
    by_workflow: dict[str, dict[str, dict[str, int]]] = {}
    bad: dict[str, list[str]] = {}
    examples: dict[str, str] = {}
    workflows = {task.task_id: task.workflow for task in tasks}
    for certificate in certificates:
        matrix = by_workflow.setdefault(workflows.get(certificate.task_id, "(no task)"), {})
        for check in certificate.checks:
            counts.setdefault(check.id, dict.fromkeys(VERDICTS, 0))[check.verdict] += 1
            matrix.setdefault(check.id, dict.fromkeys(VERDICTS, 0))[check.verdict] += 1
            if check.verdict in ("failed", "could_not_run"):
                bad.setdefault(check.id, []).append(certificate.task_id)
                examples.setdefault(check.id, check.detail)
    having = {certificate.task_id for certificate in certificates}
    without = [task.task_id for task in tasks if task.task_id not in having]
    demanded = [t for t in workflows if t in answers and any(step.required_by for step in answers[t].reference)]
    return {
        "tasks": len(tasks),
        "hold": sum(c.holds for c in certificates),
        "without": {"count": len(without), "ids": without[:SHOWN_IDS]},
        "missing": sum(1 for c in certificates if not {check.id for check in c.checks} >= set(CHECKS)),
        "demanded": {"tasks": len(demanded), "share": round(len(demanded) / len(tasks), 4) if tasks else 0.0},
        "checks": [{"check": name, **row} for name, row in counts.items()],
        "by_workflow": {
            name: {"tasks": sum(w == name for w in workflows.values()), "checks": matrix}
            for name, matrix in sorted(by_workflow.items())
        },
        "bad_tasks": {name: {"count": len(ids), "ids": ids[:SHOWN_IDS]} for name, ids in sorted(bad.items())},
        "example": examples,
    }


def _probes(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Statistical checks with what they measured, passed or not."""
    measured = [f for f in findings if f.numbers]
    return [
        {"check": f.check, "verdict": f.verdict, "path": f.path, "numbers": {k: f.numbers[k] for k in sorted(f.numbers)}}
        for f in sorted(measured, key=lambda f: (f.check, f.path, f.verdict))
    ]


def _waivers(data: ReportData) -> list[dict[str, Any]]:
    """Signed waivers, with the findings that each covers: one that covers none can go."""
    rows = []
    for waiver in sorted(data.waivers, key=lambda w: (w.check, w.path, w.expires)):
        hit = {
            f.path
            for f in data.findings
            if f.check == waiver.check and fnmatchcase(f.path, waiver.path) and f.verdict == "waived"
        }
        rows.append({**waiver.model_dump(mode="json"), "covers": sorted(hit)})
    return rows


def _clauses(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The clause table and how much of it rules stand for."""
    enforced = sum(bool(row["rules"]) for row in rows)
    return {"all": len(rows), "enforced": enforced, "not_enforceable": len(rows) - enforced, "rows": [dict(r) for r in rows]}


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
        "numbers": {name: finding.numbers[name] for name in sorted(finding.numbers)},
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
                "partly": fit.partly if fit is not None else None,
                "untold": fit.untold if fit is not None else None,
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
