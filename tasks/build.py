"""clean records -> a task set, in two restartable stages: drafts (one shard a group of organisations), then certified tasks.

The first stage is a pure function of the clean records and the spec. The second decides the hold-out (keeping every earlier
decision, which it reads from the splits.json that it replaces), certifies each task, runs the leak checks and writes both sides.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.manifest import Manifest, code_version, require_stage
from pipeline.stage import WORK, Stage, run_stage
from pipeline.stage import Shard as StageShard
from schemas.errors import SpecError, StageError
from schemas.files import read_models, sha256_json, write_models
from schemas.paths import clean_dir, taskset_dir
from schemas.spec import Spec
from schemas.task import LedgerRow
from tasks import declared
from tasks.case import Clean, open_clean
from tasks.certified import CODE, SHARD, Decided, certify_shard, certify_shards, drafts_dir
from tasks.cut import connect, measure_skew
from tasks.declared_rules import with_declared_rules
from tasks.draft import known_values, work_shard
from tasks.fit import Fit
from tasks.holdout import SLICES
from tasks.ledger import counts_of, difficulty_shares, funnel_table, read_ledger
from tasks.merged import merged_of
from tasks.policy import check_clauses, versions_of
from tasks.portions import part_events, portion_size
from tasks.publish import write_taskset
from tasks.report import verdict
from tasks.rule_names import check_rules, known_of
from tasks.shard import DECLARED, Draft, ShardWork, outcome_codes
from tasks.trivial import Request, out_of_fold

LARGEST = 250
"""Candidates of one organisation from which it is shared out."""


STAGE_MANIFEST = "stage.json"


@dataclass(slots=True)
class BuildResult:
    """What a build says at its end."""

    folder: Path
    counts: dict[str, int]
    ran: bool
    table: str
    sound: bool
    """True if the report's verdict is "passed" today: certificates, leak checks, hold-out and quality suite."""
    verdict: str
    """That, with the reasons, as plain text."""


def build(spec: Spec, *, workers: int = 0, quiet: bool = False) -> BuildResult:
    """Builds the task set of `spec` from data/clean/<supplier>. Raises StageError where the stage before has not run."""
    source = clean_dir(spec.supplier)
    made = require_stage(source, "deid")
    if taskset_dir(spec.name).exists() and not taskset_dir(spec.name).is_dir():
        raise StageError(f"{taskset_dir(spec.name)} is a file where a task set belongs; move it away")
    spec = with_declared_rules(spec, open_clean(source, spec.select))
    drafts, _ = run_stage(_draft_stage(spec, source, made), workers=workers, quiet=quiet)
    manifest, ran = run_stage(task_stage(spec, source, drafts), workers=workers, quiet=quiet)
    folder = taskset_dir(spec.name)
    ledger = read_ledger(folder / "ledger.parquet")
    slices: dict[str, int] = {name: manifest.counts.get(f"slice.{name}", 0) for name in SLICES}
    return BuildResult(folder, dict(manifest.counts), ran, funnel_table(ledger, slices), *verdict(folder))


def _draft_stage(spec: Spec, source: Path, made: Manifest) -> Stage:
    return Stage(
        name="tasks.drafts",
        out=drafts_dir(spec.name),
        inputs={f"clean/{name}": digest for name, digest in made.files.items()},
        code_version=code_version(*CODE),
        settings=spec.model_dump(mode="json", exclude={"guesses"}),
        shards=lambda: _draft_shards(spec, source),
        work=work_shard,
        finish=_join_drafts,
    )


def _draft_shards(spec: Spec, source: Path) -> list[StageShard]:
    clean = open_clean(source, spec.select)
    versions = versions_of(clean.policies())
    check_clauses(spec, versions)
    is_declared = any(s.plugin == DECLARED for s in spec.systems)
    apis = declared.apis_of(clean, spec) if is_declared else {}
    check_rules(spec, known_of(spec, clean.codebook, apis, versions))
    table = clean.records()
    by_organisation: dict[str, list[str]] = {}
    for record_id, organisation in table.select("record_id", "organisation").iter_rows():
        by_organisation.setdefault(organisation or "", []).append(record_id)
    if not by_organisation:
        raise StageError(f"{source}: no records of kind {'.'.join(clean.record)}")
    if is_declared and spec.select.trivial != "arguments":
        allowed = 'a declared system is judged by its arguments alone: say "arguments"'
        raise SpecError(spec.name, [f"select.trivial: {spec.select.trivial!r} found; {allowed}"])
    groups = merged_of(clean)
    chances = {} if is_declared else out_of_fold(_requests(clean, spec, groups))
    scratch = drafts_dir(spec.name) / WORK
    con = connect(source, spill=scratch / ".spill")
    prefix = ".".join(clean.record) + "."
    links = sorted(
        key.removeprefix(prefix) for key, rule in clean.codebook.fields.items() if key.startswith(prefix) and rule.type == "id"
    )
    skew = measure_skew(con, clean.record, links)
    con.close()
    shards: list[StageShard] = []
    known, portions = known_values(clean, spec), _portions(by_organisation)
    logs = part_events(clean, portions, scratch / "portions", groups=groups)
    for ids, log in zip(portions, logs, strict=True):
        mine = {rid: chances[rid] for rid in ids if rid in chances}
        work = ShardWork(spec, str(source), tuple(ids), mine, skew, apis, known, str(log), groups)
        shards.append(StageShard(f"part-{len(shards):04d}", sha256_json([ids, mine, skew, groups]), work, len(ids)))
    return shards


def _portions(by_organisation: Mapping[str, list[str]]) -> list[list[str]]:
    portions: list[list[str]] = [[]]
    size = portion_size(sum(map(len, by_organisation.values())), SHARD)
    for organisation in sorted(by_organisation):
        ids = sorted(by_organisation[organisation])
        for start in range(0, len(ids), LARGEST):
            if len(portions[-1]) >= size:
                portions.append([])
            portions[-1] += ids[start : start + LARGEST]
    return portions


def _requests(clean: Clean, spec: Spec, groups: Mapping[str, str]) -> list[Request]:
    """The decided candidates' openings, for the probe of triviality."""
    import polars as pl

    codes = outcome_codes(spec, clean.codebook)
    table = clean.records().filter(pl.col("outcome_code").is_in(list(codes)) & pl.col("opening_seq").is_not_null())
    system, kind = clean.record
    said = (
        clean.events()
        .filter((pl.col("system") == system) & (pl.col("kind") == kind) & (pl.col("type") == "message"))
        .select("record_id", "seq", "text")
    )
    openings = table.lazy().join(said, left_on=["record_id", "opening_seq"], right_on=["record_id", "seq"], how="inner")
    joined = openings.collect(engine="streaming").sort("record_id", "text")
    return [
        Request(
            row["record_id"],
            groups.get(row["organisation"], row["organisation"] or ""),
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


def task_stage(spec: Spec, source: Path, drafts: Manifest) -> Stage:
    decided = Decided()
    return Stage(
        name="tasks",
        out=taskset_dir(spec.name),
        inputs={f"drafts/{name}": digest for name, digest in drafts.files.items() if not name.startswith("content/")},
        code_version=code_version(*CODE),
        settings=spec.model_dump(mode="json", exclude={"guesses"}),
        shards=lambda: certify_shards(spec, source, decided),
        work=certify_shard,
        finish=lambda shards, folder: write_taskset(spec, source, decided, shards, folder),
        manifest=STAGE_MANIFEST,
    )


def summary(result: BuildResult) -> str:
    """The last lines of a build."""
    state = "built" if result.ran else "nothing to do: already built"
    shares = difficulty_shares(read_ledger(result.folder / "ledger.parquet"))
    lines = [result.table, ""]
    lines += [f"{name}: {json.dumps(value)}" for name, value in shares.items()]
    lines.append(result.verdict)
    lines.append(f"{state}: {result.folder}")
    return "\n".join(lines)
