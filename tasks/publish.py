"""The end of a build: what is not certified or leaks is dropped, and the task set is written."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pipeline.manifest import code_version, require_stage
from pipeline.tables import read_table
from schemas.events import RECORD_COLUMNS
from schemas.files import put_content, read_models, sha256_file, sha256_json, write_json, write_models, write_text
from schemas.spec import Spec
from schemas.task import Answer, LedgerRow, TaskSpec
from schemas.taskset import SideManifest, TaskSetManifest
from tasks.absent import absent_kinds
from tasks.case import Clean, iso, open_clean
from tasks.certified import CODE, Certified, Decided, canary_of, candidate_of, drafts_dir, in_memory
from tasks.certify import constant_outcome_rates
from tasks.fit import Fit
from tasks.floor import unread_floor
from tasks.holdout import SLICES, Split
from tasks.leak_input import Background
from tasks.leaks import Finding, run_leaks
from tasks.ledger import counts_of, write_ledger
from tasks.merged import merged_of
from tasks.overlaps import Placed, cluster_figures, overlap_table
from tasks.policy import clause_table, versions_of
from tasks.screen import screen
from tasks.select import check_ledger
from tasks.settled import leak_input_of, settle
from tasks.shard import outcome_codes

Side = Literal["train", "heldout"]


def write_taskset(spec: Spec, source: Path, decided: Decided, shards: list[Path], folder: Path) -> Mapping[str, int]:
    """Drops what is not certified or leaks, and writes the task set."""
    from tasks.report import ReportData, write_report

    clean = open_clean(source, spec.select)
    lines = sorted((c for s in shards for c in read_models(s / "certified.jsonl", Certified)), key=lambda c: c.draft.task.task_id)
    reasons: dict[str, tuple[str, str]] = {
        t: (why, decided.split.duplicates.get(t, "")) for t, why in decided.split.dropped.items()
    }
    content = drafts_dir(spec.name) / "content"
    kept, findings = settle(spec, clean, decided, lines, reasons, folder.parent)
    (folder / "content").mkdir()
    forms_digest = put_content(folder / "content", decided.forms)
    requester_digest = put_content(folder / "content", decided.requester)
    assert decided.proof is not None
    proof_digest = put_content(folder / "content", decided.proof.model_dump(mode="json"))
    _write_sides(spec, folder, kept)
    for digest in sorted({d for line in kept for d in _digests(line.draft.task)}):
        shutil.copyfile(content / digest, folder / "content" / digest)
    write_models(folder / "certificates.jsonl", [line.certificate for line in kept])
    hashes = {line.draft.task.task_id: line.certificate.task_sha256 for line in kept}
    placed_out = [t for t, one in decided.split.slices.items() if one != "train" and t not in hashes]
    lost = Counter(reasons[t][0] for t in {*placed_out, *decided.split.duplicates} if t in reasons)
    decided.split.slices = {t: s for t, s in decided.split.slices.items() if t in hashes}
    ledger = _ledger(drafts_dir(spec.name), reasons)
    gone = {row.record_id: row.reason for row in ledger if not row.kept}
    shown = {line.draft.task.task_id: _shown_digest(line.draft.task, line.draft.answer) for line in kept}
    splits = decided.split.as_json(hashes, decided.previous, gone, shown)
    write_json(folder / "splits.json", splits)
    check_ledger(ledger, clean.records().height)
    write_ledger(folder / "ledger.parquet", ledger)
    tasks = [line.draft.task for line in kept]
    answers = {line.draft.task.task_id: line.draft.answer for line in kept}
    findings += _file_findings(spec, clean, decided, kept, folder)
    open_leaks = sum(f.verdict in ("failed", "could_not_run") for f in findings)
    slices: Counter[str] = Counter(task.slice for task in tasks)
    counts = {
        **counts_of(ledger),
        "train": slices["train"],
        "heldout": len(tasks) - slices["train"],
        **{f"slice.{name}": slices[name] for name in SLICES},
        "leaks_open": open_leaks,
    }
    spec_sha = sha256_json(spec.model_dump(mode="json", exclude={"guesses"}))
    manifest = TaskSetManifest(
        name=spec.name,
        supplier=spec.supplier,
        code_version=code_version(*CODE),
        spec_sha256=spec_sha,
        inputs={"clean": sha256_json(require_stage(source, "deid").files)},
        counts=counts,
        forms=forms_digest,
        requester=requester_digest,
        proof=proof_digest,
        certificates_sha256=sha256_file(folder / "certificates.jsonl"),
        files={name: sha256_file(folder / name) for name in ("train/manifest.json", "heldout/manifest.json", "splits.json")},
    ).sealed()
    taskset = in_memory(spec, folder, {t.task_id: t for t in tasks}, decided.forms, decided.requester)
    placed = _placed(kept, decided.split)
    write_report(
        folder,
        ReportData(
            name=spec.name,
            supplier=spec.supplier,
            spec_sha256=spec_sha,
            code_version=code_version(*CODE),
            ledger=ledger,
            tasks=tasks,
            answers=answers,
            certificates=[line.certificate for line in kept],
            findings=findings,
            constant_rates=constant_outcome_rates(taskset, answers, codes=outcome_codes(spec, clean.codebook), seed=spec.seed),
            unread=unread_floor(taskset, answers, seed=spec.seed),
            rule_fit=_rule_fit(spec),
            clauses=clause_table(spec, versions_of(clean.policies())),
            waivers=(*spec.waivers, *spec.holdout.waivers()),
            screen=screen(spec, ledger, tasks, answers),
            holdout=_holdout_facts(spec, decided.split, slices, splits),
            notes=_notes(spec, decided),
            overlaps=overlap_table(
                placed, group=spec.holdout.group, boundary_us=decided.split.boundary_us, waived=spec.holdout.signed()
            ),
            clusters=cluster_figures(placed),
            absent=absent_kinds(spec, read_table(source / "records.parquet", RECORD_COLUMNS), merged_of(clean)),
            to_hold_out=spec.holdout.share_of_groups > 0 or spec.holdout.share_of_time > 0,
            lost_held_out=lost,
        ),
    )
    write_text(folder / "manifest.json", manifest.model_dump_json(indent=1) + "\n")
    return counts


def _shown_digest(task: TaskSpec, answer: Answer) -> str:
    """Of what is shown or judged. Source references change with each delivery, and slice and marks are the hold-out's own."""
    own = {"provenance", "slice", "grades", "canary"}
    return sha256_json([task.model_dump(mode="json", exclude=own), answer.model_dump(mode="json", exclude={"bounds", "canary"})])


def _digests(task: TaskSpec) -> list[str]:
    named = [
        v.removeprefix("content:")
        for ref in task.systems
        for v in ref.config.values()
        if isinstance(v, str) and v.startswith("content:")
    ]
    return [*task.state, *task.provenance, *task.policies, *named]


def _write_sides(spec: Spec, folder: Path, kept: Sequence[Certified]) -> None:
    sides: dict[Side, list[Certified]] = {
        "train": [c for c in kept if c.draft.task.slice == "train"],
        "heldout": [c for c in kept if c.draft.task.slice != "train"],
    }
    for side, lines in sides.items():
        here = folder / side
        write_models(here / "tasks.jsonl", [c.draft.task for c in lines])
        write_models(here / "answers.jsonl", [c.draft.answer for c in lines])
        names = ["answers.jsonl", "tasks.jsonl"]
        if side == "train":
            write_models(here / "trajectories.jsonl", [c.trajectory for c in lines if c.trajectory is not None])
            names.append("trajectories.jsonl")
        manifest = SideManifest(
            taskset=spec.name,
            side=side,
            tasks=len(lines),
            files={name: sha256_file(here / name) for name in names},
            ids={c.draft.task.task_id: c.certificate.task_sha256 for c in lines},
            canary=canary_of(spec) if side == "heldout" else "",
        )
        write_text(here / "manifest.json", manifest.model_dump_json(indent=1) + "\n")


def _ledger(drafts: Path, reasons: Mapping[str, tuple[str, str]]) -> list[LedgerRow]:
    rows = []
    for row in read_models(drafts / "ledger.jsonl", LedgerRow):
        if row.kept and row.record_id in reasons:
            reason, detail = reasons[row.record_id]
            rows.append(row.model_copy(update={"kept": False, "reason": reason, "detail": detail}))
        else:
            rows.append(row)
    return rows


def _file_findings(spec: Spec, clean: Clean, decided: Decided, kept: Sequence[Certified], folder: Path) -> list[Finding]:
    """The checks that look at the written files."""
    texts = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in (".json", ".jsonl") and "content" not in path.relative_to(folder).parts
        if path.stat().st_size  # a side without tasks has no line that could carry a mark or hold a constant
    }
    data = replace(leak_input_of(spec, clean, decided, kept, folder, Background({})), files=texts, canary=canary_of(spec))
    return run_leaks(data, spec, only=("canary", "grader_constants"))


def _rule_fit(spec: Spec) -> list[Any]:
    """How often people's recorded acts fell under each rule, and broke it, as far as the records can show it."""
    from rewards.path import compile_rule
    from tasks.report import RuleFit

    fits = list(read_models(drafts_dir(spec.name) / "fit.jsonl", Fit))
    counts = {
        name: Counter(rule for fit in fits for rule in getattr(fit, name))
        for name in ("applied", "broken", "untold", "partly", "hidden")
    }
    found = []
    for rule in spec.rules:
        plugin, parameters = compile_rule(rule.rule, rule.parameters)
        applied, hidden = counts["applied"][rule.id], counts["hidden"][rule.id]
        found.append(
            RuleFit(
                rule.id,
                plugin.sentence(parameters),
                observable=bool(applied) or not hidden,
                applied=applied,
                broken=counts["broken"][rule.id],
                partly=bool(counts["partly"][rule.id]),
                untold=counts["untold"][rule.id],
            )
        )
    return found


def _boundary(split: Split) -> str | None:
    return iso(split.boundary_us) if split.boundary_us is not None else None


def _placed(kept: Sequence[Certified], split: Split) -> list[Placed]:
    found = []
    for line in kept:
        case, task = candidate_of(line.draft), line.draft.task
        cluster = split.clusters[task.task_id]
        found.append(Placed(task.task_id, task.slice, case.group, line.draft.requester, cluster, case.started_us, case.closed_us))
    return found


def _holdout_facts(spec: Spec, split: Split, slices: Mapping[str, int], splits: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "group": spec.holdout.group,
        "groups_held_out": len(split.groups),
        "boundary": _boundary(split),
        "embargo_days": {w: round(e / 86_400_000_000, 2) for w, e in split.embargo_us.items()},
        "dropped": dict(sorted(Counter(split.dropped.values()).items())),
        "under_a_policy_version_that_training_never_saw": len(splits["unseen_policy"]),
        "slices": dict(slices),
        "waived": spec.holdout.signed(),
        "decided": "anew: the records are of another key or supplier than those of the build before"
        if split.anew
        else "once, and kept since",
        "content_changed_since_the_build_before": len(splits["changed"]),
        "ids_of_earlier_builds_not_in_this_one": dict(sorted(Counter(splits["gone"].values()).items())),
    }


def _notes(spec: Spec, decided: Decided) -> list[str]:
    notes, split = [], decided.split
    for name, (kind, column) in sorted(decided.counters.items()):
        rule = f"count {kind} by {column}"
        notes.append(
            f"{name} holds, in the end, how many {kind} there are by {column}: judged as a counter, tasks that count more "
            f'than was there were taken out. Declare it in the code book (aggregate = "{rule}"): it is then recomputed.'
        )
    if spec.select.allow_no_policy:
        notes.append(
            "No policy documents: tasks of the grade no_policy are judged by outcome and by the rules of the spec alone."
        )
    if spec.holdout.cannot_promise:
        notes.append(f"What this hold-out by {spec.holdout.group} cannot promise: {spec.holdout.cannot_promise.rstrip('.')}.")
    notes += [f"Group {name} may cross the hold-out: {words}." for name, words in sorted(spec.holdout.signed().items())]
    if split.boundary_us is None:
        notes.append("Nothing is held out by time.")
    if not split.groups:
        notes.append(f"No {spec.holdout.group} is held out as a whole.")
    return notes
