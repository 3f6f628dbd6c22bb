"""clean records -> a task set, in two restartable stages: drafts (one shard a group of organisations), then certified tasks.

The first stage is a pure function of the clean records and the spec. The second decides the hold-out (keeping every earlier decision,
which it reads from the splits.json that it replaces), certifies each task by real replays, runs the leak checks and writes both sides.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pipeline.manifest import Manifest, code_version, require_stage
from pipeline.stage import Shard, Stage, run_stage
from schemas.episode import Frozen
from schemas.errors import StageError
from schemas.files import put_content, read_json, read_models, sha256_json, write_json, write_models, write_text
from schemas.paths import clean_dir, taskset_dir
from schemas.spec import Spec
from schemas.task import Answer, Certificate, LedgerRow, TaskSpec, Trajectory
from schemas.taskset import SideManifest, TaskSet, TaskSetManifest, task_digest
from tasks import declared
from tasks.case import Clean, iso, open_clean, us
from tasks.certify import certify_task, constant_outcome_rates
from tasks.cut import connect, measure_skew
from tasks.draft import DECLARED, Draft, Fit, ShardWork, outcome_codes, work_shard
from tasks.holdout import SLICES, Candidate, Split, decide
from tasks.leaks import Finding, LeakInput, run_leaks
from tasks.ledger import counts_of, difficulty_shares, funnel_table, read_ledger, write_ledger
from tasks.policy import versions_of
from tasks.requester import TOKEN, message_forms
from tasks.screen import screen
from tasks.select import check_ledger
from tasks.trivial import Request, out_of_fold

SHARD = 100
"""Candidates of a shard, about; an organisation's stay together, so that its snapshots are made once."""
LARGEST = 250
"""Candidates of one organisation from which it is shared out."""
STAGE_MANIFEST = "stage.json"
CODE = ("schemas", "pipeline", "environments", "rewards", "tasks")
Side = Literal["train", "heldout"]
Forms = dict[str, dict[str, list[str]]]


def drafts_dir(name: str) -> Path:
    """Between the two stages: drafts.jsonl, ledger.jsonl, content/."""
    return taskset_dir(name).parent / ".drafts" / name


@dataclass(slots=True)
class BuildResult:
    """What a build says at its end."""

    folder: Path
    counts: dict[str, int]
    ran: bool
    table: str
    sound: bool
    """True if every leak check passed or is waived."""


def build(spec: Spec, *, workers: int = 0, quiet: bool = False) -> BuildResult:
    """Builds the task set of `spec` from data/clean/<supplier>. Raises StageError where the stage before has not run."""
    source = clean_dir(spec.supplier)
    made = require_stage(source, "deid")
    drafts, _ = run_stage(_draft_stage(spec, source, made), workers=workers, quiet=quiet)
    manifest, ran = run_stage(_task_stage(spec, source, drafts), workers=workers, quiet=quiet)
    folder = taskset_dir(spec.name)
    ledger = read_ledger(folder / "ledger.parquet")
    slices: dict[str, int] = {name: manifest.counts.get(f"slice.{name}", 0) for name in SLICES}
    return BuildResult(folder, dict(manifest.counts), ran, funnel_table(ledger, slices), manifest.counts["leaks_open"] == 0)


# --- drafts -------------------------------------------------------------------------------------------------------------


def _draft_stage(spec: Spec, source: Path, made: Manifest) -> Stage:
    return Stage(
        name="tasks.drafts",
        out=drafts_dir(spec.name),
        inputs={f"clean/{name}": digest for name, digest in made.files.items()},
        code_version=code_version(*CODE),
        settings=spec.model_dump(mode="json"),
        shards=lambda: _draft_shards(spec, source),
        work=work_shard,
        finish=_join_drafts,
    )


def _draft_shards(spec: Spec, source: Path) -> list[Shard]:
    clean = open_clean(source, spec.select)
    table = clean.records()
    by_organisation: dict[str, list[str]] = {}
    for record_id, organisation in table.select("record_id", "organisation").iter_rows():
        by_organisation.setdefault(organisation or "", []).append(record_id)
    if not by_organisation:
        raise StageError(f"{source}: no records of kind {'.'.join(clean.record)}")
    is_declared = any(s.plugin == DECLARED for s in spec.systems)
    apis = declared.apis_of(clean) if is_declared else {}
    chances = {} if is_declared else out_of_fold(_requests(clean, spec))
    con = connect(source)
    prefix = ".".join(clean.record) + "."
    links = sorted(key.removeprefix(prefix) for key, rule in clean.codebook.fields.items() if key.startswith(prefix) and rule.type == "id")
    skew = measure_skew(con, clean.record, links)
    con.close()
    shards: list[Shard] = []
    for ids in _portions(by_organisation):
        mine = {rid: chances[rid] for rid in ids if rid in chances}
        work = ShardWork(spec, str(source), tuple(ids), mine, skew, apis)
        shards.append(Shard(f"part-{len(shards):04d}", sha256_json([ids, mine, skew]), work, len(ids)))
    return shards


def _portions(by_organisation: Mapping[str, list[str]]) -> list[list[str]]:
    portions: list[list[str]] = [[]]
    for organisation in sorted(by_organisation):
        ids = sorted(by_organisation[organisation])
        for start in range(0, len(ids), LARGEST):
            if len(portions[-1]) >= SHARD:
                portions.append([])
            portions[-1] += ids[start : start + LARGEST]
    return portions


def _requests(clean: Clean, spec: Spec) -> list[Request]:
    """The decided candidates' openings, for the probe of triviality."""
    import polars as pl

    codes = outcome_codes(spec, clean.codebook)
    table = clean.records().filter(pl.col("outcome_code").is_in(list(codes)) & pl.col("opening_seq").is_not_null())
    system, kind = clean.record
    said = (
        clean.events()
        .filter((pl.col("system") == system) & (pl.col("kind") == kind) & (pl.col("type") == "message"))
        .select("record_id", "seq", "text")
        .collect()
    )
    joined = table.join(said, left_on=["record_id", "opening_seq"], right_on=["record_id", "seq"], how="inner").sort("record_id")
    return [
        Request(
            row["record_id"],
            row["organisation"] or "",
            codes[row["outcome_code"]].workflow,
            codes[row["outcome_code"]].outcome_class,
            row["text"] or "",
        )
        for row in joined.unique("record_id", keep="first", maintain_order=True).iter_rows(named=True)
    ]


def _join_drafts(shards: list[Path], folder: Path) -> Mapping[str, int]:
    drafts = sorted((d for s in shards for d in read_models(s / "drafts.jsonl", Draft)), key=lambda d: d.task.task_id)
    rows = sorted((r for s in shards for r in read_models(s / "ledger.jsonl", LedgerRow)), key=lambda r: r.record_id)
    fits = sorted((f for s in shards for f in read_models(s / "fit.jsonl", Fit)), key=lambda f: f.record_id)
    write_models(folder / "drafts.jsonl", drafts)
    write_models(folder / "ledger.jsonl", rows)
    write_models(folder / "fit.jsonl", fits)
    (folder / "content").mkdir()
    for shard in shards:
        for path in sorted((shard / "content").iterdir()):
            if not (folder / "content" / path.name).exists():
                shutil.copyfile(path, folder / "content" / path.name)
    return counts_of(rows)


# --- certified tasks ----------------------------------------------------------------------------------------------------


class CertifyWork(Frozen):
    """Payload of a shard of the second stage."""

    drafts: str
    """Folder of the drafts."""
    slices: dict[str, str]
    """Task id -> slice, of this shard's tasks."""
    forms: Forms
    canary: str
    codes_from: str
    """Folder of the clean records: the code book."""
    spec: Spec


class Certified(Frozen):
    """One line of a shard's certified.jsonl."""

    draft: Draft
    certificate: Certificate
    trajectory: Trajectory | None = None


@dataclass(slots=True)
class Decided:
    """What the shards of the second stage and its end share."""

    split: Split = field(default_factory=Split)
    previous: dict[str, Any] | None = None
    forms: Forms = field(default_factory=lambda: {"ask": {}, "tell": {}})


def _task_stage(spec: Spec, source: Path, drafts: Manifest) -> Stage:
    decided = Decided()
    return Stage(
        name="tasks",
        out=taskset_dir(spec.name),
        inputs={f"drafts/{name}": digest for name, digest in drafts.files.items() if not name.startswith("content/")},
        code_version=code_version(*CODE),
        settings=spec.model_dump(mode="json"),
        shards=lambda: _certify_shards(spec, source, decided),
        work=certify_shard,
        finish=lambda shards, folder: _finish(spec, source, decided, shards, folder),
        manifest=STAGE_MANIFEST,
    )


def canary_of(spec: Spec) -> str:
    """The same for every build of a task set, so that a leaked file of any build can be found."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"recordgym:{spec.supplier}:{spec.name}:{spec.seed}:held-out"))


def _certify_shards(spec: Spec, source: Path, decided: Decided) -> list[Shard]:
    folder = drafts_dir(spec.name)
    drafts = list(read_models(folder / "drafts.jsonl", Draft))
    splits = taskset_dir(spec.name) / "splits.json"
    decided.previous = read_json(splits) if splits.exists() else None
    decided.split = decide([_candidate(d) for d in drafts], spec.holdout, spec.seed, decided.previous)
    slices = decided.split.slices
    train = [d for d in drafts if slices.get(d.task.task_id) == "train"]
    decided.forms = message_forms((d.closing, d.answer.outcome.code, d.task.requester) for d in train)
    shards: list[Shard] = []
    placed = [d.task.task_id for d in drafts if d.task.task_id in slices]
    digests = {d.task.task_id: task_digest(d.task, d.answer) for d in drafts}
    for start in range(0, len(placed), SHARD):
        mine = {task_id: str(slices[task_id]) for task_id in placed[start : start + SHARD]}
        work = CertifyWork(
            drafts=str(folder), slices=mine, forms=decided.forms, canary=canary_of(spec), codes_from=str(source), spec=spec
        )
        key = sha256_json([mine, [digests[t] for t in mine], decided.forms])
        shards.append(Shard(f"part-{len(shards):04d}", key, work, len(mine)))
    return shards


def _candidate(draft: Draft) -> Candidate:
    from datetime import datetime

    task = draft.task
    started, closed = us(datetime.fromisoformat(task.started_at)), us(datetime.fromisoformat(draft.closed_at))
    assert started is not None
    assert closed is not None
    text = f"{task.opening.subject}\n{task.opening.text}"
    return Candidate(task.task_id, task.workflow, draft.group, started, closed, text)


def certify_shard(work: CertifyWork, folder: Path) -> None:
    """Writes certified.jsonl: each task in its slice with its certificate and, on the training side, an episode to imitate."""
    clean = open_clean(Path(work.codes_from), work.spec.select)
    codes = outcome_codes(work.spec, clean.codebook)
    drafts = [d for d in read_models(Path(work.drafts) / "drafts.jsonl", Draft) if d.task.task_id in work.slices]
    lines = []
    taskset = _in_memory(work.spec, Path(work.drafts), {}, work.forms)
    for draft in drafts:
        held = work.slices[draft.task.task_id] != "train"
        mark = {"canary": work.canary} if held else {}
        task = draft.task.model_copy(update={"slice": work.slices[draft.task.task_id], **mark})
        answer = draft.answer.model_copy(update=mark)
        taskset.tasks = {task.task_id: task}
        certificate, bounds = certify_task(taskset, task, answer, codes=codes, forms=work.forms, seed=work.spec.seed)
        answer = answer.model_copy(update={"bounds": bounds})
        trajectory = None if held else _trajectory(taskset, task, answer)
        taskset._states.clear()
        done = draft.model_copy(update={"task": task, "answer": answer})
        lines.append(Certified(draft=done, certificate=certificate, trajectory=trajectory))
    write_models(folder / "certified.jsonl", lines)


def _in_memory(spec: Spec, folder: Path, tasks: dict[str, TaskSpec], forms: Forms) -> TaskSet:
    manifest = SideManifest(taskset=spec.name, side="train", tasks=len(tasks), files={}, ids={})
    return TaskSet(folder, "train", manifest, tasks, forms)


def _trajectory(taskset: TaskSet, task: TaskSpec, answer: Answer) -> Trajectory:
    """The reference as an episode: what was read, and the text of each call."""
    from environments.agents import ReferenceAgent, action_text, run_episode
    from environments.episode import Episode

    trace = run_episode(Episode(taskset), ReferenceAgent(answer.reference), task.task_id, name="reference")
    texts = tuple(o.text for o in trace.observations)
    actions = tuple(action_text(entry.call) for entry in trace.journal.entries)
    return Trajectory(task_id=task.task_id, agent="reference", observations=texts, actions=actions)


def _finish(spec: Spec, source: Path, decided: Decided, shards: list[Path], folder: Path) -> Mapping[str, int]:
    """Drops what is not certified or leaks, and writes the task set."""
    from tasks.report import ReportData, write_report

    clean = open_clean(source, spec.select)
    lines = sorted((c for s in shards for c in read_models(s / "certified.jsonl", Certified)), key=lambda c: c.draft.task.task_id)
    reasons: dict[str, tuple[str, str]] = {
        t: (why, decided.split.duplicates.get(t, "")) for t, why in decided.split.dropped.items()
    }
    kept = []
    for line in lines:
        if line.certificate.holds:
            kept.append(line)
            continue
        bad = [c for c in line.certificate.checks if c.verdict in ("failed", "could_not_run")]
        reasons[line.draft.task.task_id] = ("certificate", "; ".join(f"{c.id} {c.detail}" for c in bad)[:300])
    content = drafts_dir(spec.name) / "content"
    kept, findings = _without_leaks(spec, clean, decided.split, kept, content.parent, reasons)
    (folder / "content").mkdir()
    forms_digest = put_content(folder / "content", decided.forms)
    _write_sides(spec, folder, kept)
    for digest in sorted({d for line in kept for d in _digests(line.draft.task)}):
        shutil.copyfile(content / digest, folder / "content" / digest)
    write_models(folder / "certificates.jsonl", [line.certificate for line in kept])
    hashes = {line.draft.task.task_id: line.certificate.task_sha256 for line in kept}
    decided.split.slices = {t: s for t, s in decided.split.slices.items() if t in hashes}
    write_json(folder / "splits.json", decided.split.as_json(hashes, decided.previous))
    ledger = _ledger(drafts_dir(spec.name), reasons)
    check_ledger(ledger, clean.records().height)
    write_ledger(folder / "ledger.parquet", ledger)
    tasks = [line.draft.task for line in kept]
    answers = {line.draft.task.task_id: line.draft.answer for line in kept}
    findings += _file_findings(spec, clean, decided.split, kept, folder)
    open_leaks = sum(f.verdict in ("failed", "could_not_run") for f in findings)
    slices: Counter[str] = Counter(task.slice for task in tasks)
    counts = {
        **counts_of(ledger),
        "train": slices["train"],
        "heldout": len(tasks) - slices["train"],
        **{f"slice.{name}": slices[name] for name in SLICES},
        "leaks_open": open_leaks,
    }
    spec_sha = sha256_json(spec.model_dump(mode="json"))
    manifest = TaskSetManifest(
        name=spec.name,
        supplier=spec.supplier,
        code_version=code_version(*CODE),
        spec_sha256=spec_sha,
        inputs={"clean": sha256_json(require_stage(source, "deid").files)},
        counts=counts,
        forms=forms_digest,
        certificates_sha256=sha256_json([c.certificate.task_sha256 for c in kept]),
    )
    taskset = _in_memory(spec, folder, {t.task_id: t for t in tasks}, decided.forms)
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
            rule_fit=_rule_fit(spec),
            waivers=spec.waivers,
            screen=screen(spec, ledger, tasks, answers),
            holdout=_holdout_facts(spec, decided.split, slices),
            notes=_notes(spec),
        ),
    )
    write_text(folder / "manifest.json", manifest.model_dump_json(indent=1) + "\n")
    return counts


def _digests(task: TaskSpec) -> list[str]:
    named = [
        v.removeprefix("content:")
        for ref in task.systems
        for v in ref.config.values()
        if isinstance(v, str) and v.startswith("content:")
    ]
    return [*task.state, *task.provenance, *task.policies, *named]


def _write_sides(spec: Spec, folder: Path, kept: Sequence[Certified]) -> None:
    from schemas.files import sha256_file

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


# --- leaks --------------------------------------------------------------------------------------------------------------

ROUNDS = 3
"""Times that leaking tasks are taken out and the set is looked at again."""


def _without_leaks(
    spec: Spec, clean: Clean, split: Split, kept: list[Certified], drafts: Path, reasons: dict[str, tuple[str, str]]
) -> tuple[list[Certified], list[Finding]]:
    """The tasks that no leak check names, and the findings on them."""
    taskset = _in_memory(spec, drafts, {}, {"ask": {}, "tell": {}})
    seen = _first_seen(clean)
    findings: list[Finding] = []
    for _ in range(ROUNDS):
        findings = run_leaks(_leak_input(spec, clean, split, kept, taskset, seen), spec)
        named = {t: f.check for f in findings if f.verdict == "failed" for t in f.task_ids}
        if not named:
            break
        reasons.update({t: ("leak", check) for t, check in named.items()})
        kept = [c for c in kept if c.draft.task.task_id not in named]
    return kept, findings


def _leak_input(
    spec: Spec, clean: Clean, split: Split, kept: Sequence[Certified], taskset: TaskSet, first_seen: Mapping[str, str]
) -> LeakInput:
    drafts = [c.draft for c in kept]
    ids = [d.task.task_id for d in drafts]
    policy_times = {
        f"{v.policy.document} v{v.policy.version}": (
            iso(v.from_us) if v.from_us is not None else None,
            iso(v.to_us) if v.to_us is not None else None,
        )
        for v in versions_of(clean.policies())
    }
    return LeakInput(
        tasks=tuple(d.task for d in drafts),
        answers={d.task.task_id: d.answer for d in drafts},
        content=taskset.content,
        code_book=clean.codebook,
        later_messages={d.task.task_id: d.later_messages for d in drafts},
        first_seen=first_seen,
        groups={
            spec.holdout.group: dict(zip(ids, (d.group for d in drafts), strict=True)),
            "requester": {d.task.task_id: d.requester for d in drafts},
        },
        waived_groups=spec.holdout.waived,
        closed_at={d.task.task_id: d.closed_at for d in drafts},
        boundary=iso(split.boundary_us) if split.boundary_us is not None else None,
        embargo_s={w: e / 1_000_000 for w, e in split.embargo_us.items()},
        policy_times=policy_times,
        seed=spec.seed,
    )


def _first_seen(clean: Clean) -> dict[str, str]:
    """Identifier -> instant at which the records first hold it: as a record's id, in the value of a field or in what somebody wrote."""
    import polars as pl

    events = clean.events().with_columns(pl.min_horizontal("event_ts", "recorded_ts").alias("at")).filter(pl.col("at").is_not_null())
    ids = events.select(pl.col("record_id").alias("token"), "at").filter(pl.col("token").str.contains(TOKEN.pattern))
    held = [
        events.filter(pl.col(column).is_not_null())
        .select(pl.col(column).str.extract_all(TOKEN.pattern).alias("token"), "at")
        .explode("token")
        .filter(pl.col("token").is_not_null())
        for column in ("value_json", "text")
    ]
    rows = pl.concat([ids, *held]).group_by("token").agg(pl.col("at").min()).collect()
    found = {token: us(at) for token, at in rows.sort("token").iter_rows()}
    return {token: iso(at) for token, at in found.items() if at is not None}


def _file_findings(spec: Spec, clean: Clean, split: Split, kept: Sequence[Certified], folder: Path) -> list[Finding]:
    """The checks that look at the written files."""
    from dataclasses import replace

    texts = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in (".json", ".jsonl") and "content" not in path.relative_to(folder).parts
    }
    taskset = _in_memory(spec, folder, {}, {"ask": {}, "tell": {}})
    data = replace(_leak_input(spec, clean, split, kept, taskset, {}), files=texts, canary=canary_of(spec))
    return run_leaks(data, spec, only=("canary", "grader_constants"))


def _rule_fit(spec: Spec) -> list[Any]:
    """How often people's recorded acts fell under each rule, and broke it. A demand for look-ups is observable only where those are recorded."""
    from rewards.path import compile_rule
    from tasks.report import RuleFit

    fits = list(read_models(drafts_dir(spec.name) / "fit.jsonl", Fit))
    applied = Counter(rule for fit in fits for rule in fit.applied)
    broken = Counter(rule for fit in fits for rule in fit.broken)
    recorded_reads = any(system.plugin == DECLARED for system in spec.systems)
    found = []
    for rule in spec.rules:
        plugin, parameters = compile_rule(rule.rule, rule.parameters)
        observable = rule.rule != "required_before" or recorded_reads
        counts = (applied[rule.id], broken[rule.id]) if observable else (0, 0)
        found.append(RuleFit(rule.id, plugin.sentence(parameters), observable, *counts))
    return found


def _holdout_facts(spec: Spec, split: Split, slices: Mapping[str, int]) -> dict[str, Any]:
    return {
        "group": spec.holdout.group,
        "groups_held_out": len(split.groups),
        "boundary": iso(split.boundary_us) if split.boundary_us is not None else None,
        "embargo_days": {w: round(e / 86_400_000_000, 2) for w, e in split.embargo_us.items()},
        "near_duplicates_dropped": len(split.duplicates),
        "slices": dict(slices),
        "waived": dict(spec.holdout.waived),
    }


def _notes(spec: Spec) -> list[str]:
    notes = ["Pseudonymised, not anonymous."]
    if spec.select.allow_no_policy:
        notes.append(
            "No policy documents: tasks of the grade no_policy are judged by outcome and by the rules of the spec alone."
        )
    notes += [f"Group {name} may cross the hold-out: {reason}." for name, reason in sorted(spec.holdout.waived.items())]
    return notes


def summary(result: BuildResult) -> str:
    """The last lines of a build."""
    state = "built" if result.ran else "nothing to do: already built"
    shares = difficulty_shares(read_ledger(result.folder / "ledger.parquet"))
    lines = [result.table, ""]
    lines += [f"{name}: {json.dumps(value)}" for name, value in shares.items()]
    if not result.sound:
        lines.append(f"LEAK CHECKS ARE OPEN: {result.counts['leaks_open']} (see {result.folder / 'report.html'})")
    lines.append(f"{state}: {result.folder}")
    return "\n".join(lines)
