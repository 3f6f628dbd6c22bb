"""The stage: records -> clean. Plan once a process, rewrite threads in shards, join, scan for leaks, write the vault, publish."""

from __future__ import annotations

import csv
import io
import shutil
import traceback
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deid.gate import part_rows
from deid.plan import Plan, build_plan
from deid.residual import require_clean, scan
from deid.rewrite import Row, Shard
from deid.tables import Records, read_records, sort_all
from deid.text import UNDECLARED_DATE, Request
from deid.thread import Thread
from deid.tokens import key_id, load_key
from deid.vault import require_writable, seal, unseal, write_private, write_vault
from pipeline.manifest import Manifest, code_version, require_stage
from pipeline.stage import Shard as Job
from pipeline.stage import Stage, run_stage
from pipeline.tables import frame, write_table
from schemas.errors import PrivacyError, RecordgymError
from schemas.events import EVENT_COLUMNS, LINK_COLUMNS, POLICY_COLUMNS, QUARANTINE_COLUMNS, RECORD_COLUMNS
from schemas.files import read_json, write_json
from schemas.paths import clean_dir, records_dir, vault_file
from schemas.spec import Spec

if TYPE_CHECKING:
    import polars as pl

ROWS_PER_SHARD = 40_000
ROWS_PER_FILE = 200_000
PART = "vault.part"
LANGUAGES = ("en",)
EVENT_ORDER = ("system", "kind", "record_id", "seq")


@dataclass(frozen=True, slots=True)
class Payload:
    spec: Spec
    folder: Path
    inputs: str
    """Digest of the inputs: a process keeps its plan as long as it is the same."""
    bucket: int
    buckets: int


def review_file(supplier: str) -> Path:
    """Pairs for a person to decide: identifiable, so it lies beside the vault."""
    return vault_file(supplier).with_suffix(".review.csv")


@lru_cache(maxsize=1)
def _prepared(spec_json: str, folder: Path, inputs: str) -> tuple[Records, Plan, bytes]:
    spec = Spec.model_validate_json(spec_json)
    records = read_records(folder)
    key = load_key(spec, create=False)
    return records, build_plan(spec, records, key), key


def prepared(payload: Payload) -> tuple[Records, Plan, bytes]:
    return _prepared(payload.spec.model_dump_json(), payload.folder, payload.inputs)


@contextmanager
def without_text(what: str) -> Iterator[None]:
    """Turns any unexpected error into one that names its type and place only: the message of an error may quote a record."""
    try:
        yield
    except RecordgymError:
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        raise PrivacyError(
            f"{what} failed ({type(error).__name__} at {place}; its message may quote a record); nothing published"
        ) from None


def bucket_of(scope: str, thread: str, buckets: int) -> int:
    return zlib.crc32(f"{scope}\0{thread}".encode()) % buckets


def work(payload: Payload, folder: Path) -> None:
    """Rewrites one bucket of threads; what identifies leaves the process sealed."""
    with without_text(f"bucket {payload.bucket}"):
        _work(payload, folder)


def _work(payload: Payload, folder: Path) -> None:
    import polars as pl

    records, plan, key = prepared(payload)
    shard = Shard(plan, plan.minter.fork())
    threads = records.events.select(
        pl.struct("system", "record_id", "reference")
        .map_elements(
            lambda r: bucket_of(plan.scope_of(r["system"]), r["reference"] or r["record_id"], payload.buckets),
            return_dtype=pl.Int64,
        )
        .alias("bucket")
    )["bucket"]
    rows = records.events.filter(threads == payload.bucket).to_dicts()
    clean, quarantined = shard.rewrite_events(rows)
    write_table(frame(clean, EVENT_COLUMNS), folder / "events.parquet")
    write_table(frame(quarantined, QUARANTINE_COLUMNS), folder / "quarantine.parquet")
    (folder / PART).write_bytes(seal(key, part_of(shard), PART))


def part_of(shard: Shard) -> dict[str, Any]:
    tokens: dict[str, set[str]] = defaultdict(set)
    for token, original in shard.vault:
        tokens[token].add(original)
    owners = {token: list(owner) for token, owner in shard.minter.owners.items()}
    return {
        "tokens": {t: sorted(o) for t, o in tokens.items()},
        "refs": {r: list(p) for r, p in shard.refs.items()},
        "owners": owners,
        "local": sorted(shard.local),
    }


def run(spec: Spec, *, workers: int = 0, engine: str = "pool", quiet: bool = False) -> tuple[Manifest, bool]:
    """De-identifies the supplier's records. Returns the manifest and whether anything ran.

    Raises PrivacyError (no key, unsupported language, residual identifier, vault not writable; nothing is published
    then) and StageError.
    """
    if spec.deid.language not in LANGUAGES:
        raise PrivacyError(
            f"deid.language {spec.deid.language!r}: this version has a model for {', '.join(LANGUAGES)} only; nothing was written"
        )
    folder, out = records_dir(spec.supplier), clean_dir(spec.supplier)
    source = require_stage(folder, "ingest")
    key = load_key(spec, create=True)
    vault = vault_file(spec.supplier)
    _outside_data(vault)
    events = sum(1 for _ in (folder / "events").glob("*.parquet")) and _count_rows(folder)
    buckets = max(1, -(-events // ROWS_PER_SHARD))
    payloads = [Payload(spec, folder, f"{source.key} {key_id(key)}", i, buckets) for i in range(buckets)]
    stage = Stage(
        name="deid",
        out=out,
        inputs=source.files,
        code_version=code_version("deid", "schemas", "pipeline"),
        settings=[
            spec.supplier,
            spec.tokens.model_dump(mode="json"),
            spec.deid.model_dump(mode="json"),
            _sources(spec),
            key_id(key),
            source.key,
        ],
        shards=lambda: [Job(f"threads-{p.bucket:04d}", "", p) for p in payloads],
        work=work,
        finish=lambda folders, staging: _finish_guarded(payloads[0], key, folders, staging),
    )
    require_writable(vault)
    return run_stage(stage, workers=workers, engine=engine, quiet=quiet, force=not vault.exists())


def _sources(spec: Spec) -> list[list[str]]:
    return [[s.name, s.zone] for s in spec.sources]


def _count_rows(folder: Path) -> int:
    import polars as pl

    return int(pl.scan_parquet(folder / "events" / "*.parquet").select(pl.len()).collect().item())


def _outside_data(vault: Path) -> None:
    from schemas.paths import data_dir

    if vault.resolve().is_relative_to(data_dir().resolve()):
        raise PrivacyError("RECORDGYM_HOME lies inside the data folder; keys and vaults must lie outside it")


def _finish_guarded(payload: Payload, key: bytes, folders: Sequence[Path], staging: Path) -> Mapping[str, int]:
    with without_text("joining"):
        return finish(payload, key, folders, staging)


def finish(payload: Payload, key: bytes, folders: Sequence[Path], staging: Path) -> Mapping[str, int]:
    """Joins the shards, rewrites the small tables, scans everything, then writes the vault. Nothing is published
    unless all of it succeeds."""
    import polars as pl

    records, plan, _ = prepared(payload)
    rest = Shard(plan, plan.minter.fork())
    tables = _small_tables(records, rest)
    tokens, refs, owners, local = _join([*(unseal(key, (f / PART).read_bytes(), PART) for f in folders), part_of(rest)])
    events = sort_all(pl.concat([pl.read_parquet(f / "events.parquet") for f in folders]), EVENT_ORDER)
    held = pl.concat([tables["quarantine"], *(pl.read_parquet(f / "quarantine.parquet") for f in folders)])
    tables["quarantine"] = sort_all(held, ())
    _write_tables(events, tables, staging)
    for name in ("codebook.json", "declarations.json"):
        if (payload.folder / name).exists():
            write_json(staging / name, moved_dates(read_json(payload.folder / name), plan))
    spared = {(token, original) for _, token, original in local}
    everywhere = [o for token, originals in tokens.items() for o in originals if (token, o) not in spared]
    by_case: dict[str, list[str]] = defaultdict(list)
    for case, _, original in local:
        by_case[case].append(original)
    try:
        report = scan(staging, everywhere, plan.values, by_case)
        if report.hits:  # an odd row blocks no delivery; what is left is scanned again
            events, held = part_rows(report, events, tables["quarantine"], ROWS_PER_FILE)
            tables["quarantine"] = sort_all(held, ())
            _write_tables(events, tables, staging)
            report = scan(staging, everywhere, plan.values, by_case)
        require_clean(report)
    except PrivacyError:
        shutil.rmtree(staging.parent)  # what did not pass must not stay where it can be read
        raise
    meta = {
        "supplier": plan.spec.supplier,
        "shift_days": plan.shift_days,
        "epoch": plan.spec.tokens.epoch,
        "scope": plan.spec.tokens.scope,
    }
    write_vault(vault_file(plan.spec.supplier), key, tokens, refs, meta)
    write_private(review_file(plan.spec.supplier), _review(plan).encode())
    return _counts(records, plan, events, tables, report.characters, report.originals, report.not_scanned, len(owners))


def _write_tables(events: pl.DataFrame, tables: Mapping[str, pl.DataFrame], staging: Path) -> None:
    """Events in files of ROWS_PER_FILE rows, and the small tables."""
    shutil.rmtree(staging / "events", ignore_errors=True)
    for number, start in enumerate(range(0, max(1, events.height), ROWS_PER_FILE)):
        write_table(events.slice(start, ROWS_PER_FILE), staging / "events" / f"part-{number:04d}.parquet")
    for name, table in tables.items():
        write_table(table, staging / f"{name}.parquet")


def moved_dates(node: Any, plan: Plan) -> Any:
    """A declaration with the dates in its names and values moved, as they are in the rows."""
    if isinstance(node, dict):
        return {plan.moved(name): moved_dates(child, plan) for name, child in node.items()}
    if isinstance(node, list):
        return [moved_dates(child, plan) for child in node]
    if isinstance(node, str) and plan.unmovable(node):
        raise PrivacyError(f"the declarations hold {UNDECLARED_DATE}; nothing was published")
    return plan.moved(node) if isinstance(node, str) else node


def _join(
    parts: list[dict[str, Any]],
) -> tuple[dict[str, set[str]], dict[str, tuple[str, str]], dict[str, tuple[str, str]], list[tuple[str, str, str]]]:
    tokens: dict[str, set[str]] = defaultdict(set)
    refs: dict[str, tuple[str, str]] = {}
    owners: dict[str, tuple[str, str]] = {}
    local: list[tuple[str, str, str]] = []
    for part in parts:
        local.extend((case, token, original) for case, token, original in part["local"])
        for token, originals in part["tokens"].items():
            tokens[token].update(originals)
        for ref, place in part["refs"].items():
            if refs.setdefault(ref, (place[0], place[1])) != (place[0], place[1]):
                raise PrivacyError("two places of the export have one reference; set tokens.epoch to another number")
        for token, owner in part["owners"].items():
            if owners.setdefault(token, (owner[0], owner[1])) != (owner[0], owner[1]):
                raise PrivacyError("two identities have one token; set tokens.epoch to another number")
    return tokens, refs, owners, local


def _small_tables(records: Records, shard: Shard) -> dict[str, pl.DataFrame]:
    plan = shard.plan
    days = timedelta(days=plan.shift_days)

    def moved(row: Row, columns: tuple[str, ...]) -> Row:
        return {c: row[c] + days if row[c] is not None else None for c in columns}

    def placed(row: Row) -> Row:
        return {"source_file": "vault", "source_pos": shard.ref(row["source_file"], row["source_pos"])}

    def token(row: Row, side: str = "") -> str:
        system, kind, record = (row[f"{side}system"], row[f"{side}kind"], row[f"{side}id" if side else "record_id"])
        return shard.note(plan.id_token(shard.minter, record, kind, system), record)

    found = [
        row
        | moved(row, ("opened_ts", "closed_ts"))
        | {"record_id": token(row), "organisation": shard.organisation(row["organisation"], row["system"])}
        | {"outcome_code": row["outcome_code"] and plan.moved(row["outcome_code"])}
        for row in records.records.to_dicts()
    ]
    links = [
        row
        | moved(row, ("event_ts", "recorded_ts"))
        | placed(row)
        | {"left_id": token(row, "left_"), "right_id": token(row, "right_")}
        for row in records.links.to_dicts()
    ]
    texts = _policy_texts(records, shard)
    policies = [
        row
        | moved(row, ("published_ts", "in_force_from", "in_force_to"))
        | placed(row)
        | {c: texts.get((n, c), row[c]) for c in ("title", "text")}
        for n, row in enumerate(records.policies.to_dicts())
    ]
    held = [row | placed(row) | {"found": found_in(row, plan)} for row in records.quarantine.to_dicts()]
    return {
        "records": sort_all(frame(found, RECORD_COLUMNS), ("system", "kind", "record_id")),
        "links": sort_all(frame(links, LINK_COLUMNS), ()),
        "policies": sort_all(frame(policies, POLICY_COLUMNS), ("document", "version", "clause")),
        "quarantine": frame(held, QUARANTINE_COLUMNS),
    }


def found_in(row: Row, plan: Plan) -> str | None:
    """What ingest found in a row that it could not read, with its dates moved; None where one cannot be."""
    found = row["found"] or ""
    return None if plan.unmovable(found) else plan.moved(found) or None


def _policy_texts(records: Records, shard: Shard) -> dict[tuple[int, str], str]:
    """Policy wording with dates moved and known identities replaced. Without the name model: a policy that names an
    unknown person is not an export's usual content."""
    from deid.spans import GUESS, Detector
    from deid.text import TextRewriter
    from schemas.plugins import load_plugins

    exact = {n: d for n, d in load_plugins("deid.detectors", "DETECTOR", Detector).items() if d.tier != GUESS}
    key, plan = "\0policies", shard.plan
    shard.threads[key] = Thread(key, "", shard.plan, shard.minter)
    wanted: dict[tuple[int, str], Request] = {}
    for number, row in enumerate(records.policies.to_dicts()):
        near = (row["in_force_from"] or row["published_ts"]).date() if row["in_force_from"] or row["published_ts"] else plan.near
        if plan.moved(row["document"]) != row["document"] or plan.unmovable(row["document"]):
            raise PrivacyError(
                "policies: the name of a document holds a date, and the spec goes by that name; nothing was published"
            )
        for column in ("title", "text"):
            if row[column]:
                wanted[number, column] = Request(key, -1, near, row[column])
    answers = TextRewriter(shard.plan, exact).rewrite(dict.fromkeys(wanted.values()), shard.threads)
    texts = {}
    for place, request in wanted.items():
        if answers[request].failure:
            raise PrivacyError(
                f"policies: clause {place[0] + 1} cannot be read ({answers[request].failure}); nothing was published"
            )
        shard.vault.update(answers[request].originals)
        texts[place] = answers[request].text
    return texts


def _review(plan: Plan) -> str:
    """CSV of the pairs left for a person: who, where, and what is missing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["left_system", "left_kind", "left_id", "right_system", "right_kind", "right_id", "name", "organisation", "decision"]
    )
    for one, other in plan.review:
        writer.writerow([*one.key, *other.key, one.names[0], one.organisation, ""])
    return out.getvalue()


def _counts(
    records: Records,
    plan: Plan,
    events: pl.DataFrame,
    tables: dict[str, pl.DataFrame],
    characters: int,
    originals: int,
    skipped: int,
    tokens: int,
) -> dict[str, int]:
    held = tables["quarantine"].height - records.quarantine.height
    reasons = Counter(r for r in tables["quarantine"]["reason"].to_list() if r and r.startswith("deid: "))
    if events.height + held != records.events.height:
        raise PrivacyError(
            f"rows do not add up: {records.events.height} in, {events.height} out, {held} quarantined; nothing was published"
        )
    linked = sum(len(p.records) for p in plan.persons)
    return {
        "rows_in": records.events.height,
        "rows_out": events.height,
        "rows_quarantined": held,
        **{f"quarantined.{reason.removeprefix('deid: ')}": n for reason, n in sorted(reasons.items())},
        **{name: table.height for name, table in tables.items()},
        "persons": len(plan.persons),
        "person_records": linked,
        "review_pairs": len(plan.review),
        "tokens": len(plan.minter.owners) + tokens,
        "scanned_characters": characters,
        "scanned_originals": originals,
        "originals_not_scanned": skipped,
    }
