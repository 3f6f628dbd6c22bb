"""Export -> `data/records/<supplier>/`: events, records, links, policies, quarantine, code book, findings.

Rows in = rows out + rows quarantined + rows repeated, for every file and table; the manifest and the printed table say so.
Where more than a declared share of one file is unreadable, the run stops and publishes nothing; what it had put to quarantine
lies in `stopped-quarantine.jsonl` of the output folder for a look, until the next run that succeeds takes it away.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ingest.source import Context, Output, Part, Source
from pipeline.manifest import Manifest, code_version
from pipeline.stage import Shard, Stage, run_stage
from pipeline.tables import frame, write_table
from schemas.errors import SourceError, SpecError, WorldError
from schemas.events import POLICY_COLUMNS, QUARANTINE_COLUMNS
from schemas.files import canonical_json, read_json, sha256_file, sha256_json, write_json, write_text
from schemas.paths import records_dir
from schemas.plugins import load_plugin
from schemas.records import CodeBook
from schemas.spec import Spec, check_options, load_spec
from schemas.spec_faults import faults_of

if TYPE_CHECKING:
    import polars as pl

STOPPED = "stopped-quarantine.jsonl"
TABLES = ("events", "marks", "owners", "rows")


@dataclass(frozen=True, slots=True)
class Payload:
    """A shard: one part of one source."""

    context: Context
    part: Part


def load_source(name: str) -> Source:
    """The format plug-in; WorldError with a "did you mean" for an unknown one."""
    return load_plugin("ingest.sources", name, "SOURCE", Source)


def code_book_path(spec: Spec, spec_file: Path, export: Path) -> Path:
    if spec.code_book is None:
        raise SpecError(str(spec_file), ["code_book: is missing; ingest needs to know what each field is"])
    if spec.code_book.startswith("spec:"):
        return spec_file.parent / spec.code_book.removeprefix("spec:")
    return export / spec.code_book


def read_code_book(path: Path, supplier: str) -> CodeBook:
    """Raises SourceError for a missing or malformed code book, SpecError for one with faults."""
    if not path.is_file():
        raise SourceError(str(path), "", "the code book is missing", found="nothing")
    try:
        book = CodeBook.model_validate(read_json(path))
    except ValidationError as error:
        raise SpecError(str(path), faults_of(error, model=CodeBook)) from error
    faults = [f"supplier: found {book.supplier!r}, allowed {supplier!r}"] if book.supplier != supplier else []
    faults += [f"fields.{name}: a key is system.kind.field" for name in book.fields if len(name.split(".", 2)) != 3]
    faults += [
        f"fields.{name}.identity: type id needs one"
        for name, rule in book.fields.items()
        if rule.type == "id" and not rule.identity
    ]
    faults += [
        f"codes.{name}: is not a field of type code"
        for name in book.codes
        if getattr(book.fields.get(name), "type", "") != "code"
    ]
    if faults:
        raise SpecError(str(path), faults)
    return book


def contexts(spec: Spec, spec_file: Path, export: Path) -> list[Context]:
    """One a source, its options checked."""
    if not export.is_dir():
        hint = "; make it first: python -m samples" if spec.sample else ""
        raise SourceError(
            str(export), "", f"the export folder is missing{hint}", found="a file" if export.exists() else "nothing"
        )
    book = read_code_book(code_book_path(spec, spec_file, export), spec.supplier)
    made, faults = [], []
    for index, declared in enumerate(spec.sources):
        try:
            format_options = load_source(declared.format).options
            options = check_options(format_options, declared.options, str(spec_file), f"sources.{index}.options")
        except WorldError as error:
            faults.append(f"sources.{index}.format: {error}")
        except SpecError as error:
            faults += error.faults
        else:
            made.append(Context(declared, str(spec_file), export, book, options))
    if faults:
        raise SpecError(str(spec_file), faults)
    return made


def read_part(payload: Payload, folder: Path) -> None:
    """Shard function: reads one part and writes its staged tables."""
    from ingest.merge import staged

    context = payload.context
    output = Output(context.spec.name)
    load_source(context.spec.format).read(context, payload.part, output)
    rows = {"events": output.events, "marks": output.marks, "owners": output.owners, "rows": output.rows}
    for name, table in staged(rows).items():
        write_table(table, folder / f"{name}.parquet")
    write_table(frame(output.quarantine, QUARANTINE_COLUMNS), folder / "quarantine.parquet")
    write_json(folder / "notes.json", {"dropped": output.dropped, "undeclared": output.undeclared, "findings": output.findings})


@dataclass(frozen=True, slots=True)
class Finish:
    """Merges the shards into the stage's output."""

    spec: Spec
    export: Path
    out: Path
    made: Sequence[Context]

    def __call__(self, shards: list[Path], folder: Path) -> Mapping[str, int]:
        import polars as pl

        from ingest import links, merge, policies

        staged = {name: pl.concat([pl.read_parquet(shard / f"{name}.parquet") for shard in shards]) for name in TABLES}
        quarantine = pl.concat([pl.read_parquet(shard / "quarantine.parquet") for shard in shards])
        quarantine = quarantine.sort(list(QUARANTINE_COLUMNS))
        repeats = merge.repeated_rows(staged["rows"])
        counts, files = row_counts(staged["rows"], repeats)
        self.stop_if_unreadable(files, staged["rows"], quarantine)
        events = merge.sequenced(merge.without_repeats(staged["events"], repeats))
        owned = merge.organisations(merge.without_repeats(staged["owners"], repeats))
        events = merge.with_organisation(events, owned)
        records = merge.records(events, merge.without_repeats(staged["marks"], repeats), owned)
        linked, ambiguous = links.links(events, self.made[0].code_book)
        clauses = policies.read_policies(self.spec.policies, self.export) if self.spec.policies else []
        canonical = merge.canonical_events(events)
        for system in canonical["system"].unique().sort().to_list():
            write_table(canonical.filter(pl.col("system") == system), folder / "events" / f"{system}.parquet")
        write_table(records, folder / "records.parquet")
        write_table(linked, folder / "links.parquet")
        write_table(frame(clauses, POLICY_COLUMNS), folder / "policies.parquet")
        write_table(quarantine, folder / "quarantine.parquet")
        write_json(folder / "codebook.json", self.made[0].code_book.model_dump(mode="json"))
        declared = [entry for made in self.made if (read := load_source(made.spec.format).declarations) for entry in read(made)]
        if declared:
            write_json(folder / "declarations.json", declared)
        notes = merged_notes([read_json(shard / "notes.json") for shard in shards])
        extra = {"links_ambiguous": ambiguous, "policy_gaps": policies.gaps(clauses)}
        notes["findings"].update({name: number for name, number in extra.items() if number})
        unordered = canonical["event_ts"].null_count()
        write_json(folder / "findings.json", {**notes, "files": files})
        counts |= {
            "events": canonical.height,
            "events_without_time": unordered,
            "records": records.height,
            "links": linked.height,
            "policy_clauses": len(clauses),
            "dropped_values": sum(notes["dropped"].values()),
            "findings": sum(notes["findings"].values()),
        }
        return counts

    def stop_if_unreadable(self, files: dict[str, dict[str, int]], rows: pl.DataFrame, quarantine: pl.DataFrame) -> None:
        """SourceError where more than the declared share of a file's or table's rows is in quarantine, or nothing was read."""
        import polars as pl

        shares = {made.spec.name: made.options.max_quarantined_share for made in self.made}
        for name in shares:
            if not any(entry["rows_in"] for key, entry in files.items() if key.startswith(f"{name}:")):
                raise SourceError(str(self.export), "", f"source {name!r} holds no rows: the export is empty")
        units = rows.group_by("source", "unit").agg(pl.len().alias("rows_in"), pl.col("quarantined").sum()).sort("source", "unit")
        for entry in units.iter_rows(named=True):
            source, unit = entry["source"], entry["unit"]
            if entry["quarantined"] <= shares[source] * entry["rows_in"]:
                continue
            lines = [canonical_json(row) + "\n" for row in quarantine.iter_rows(named=True)]
            write_text(self.out / STOPPED, "".join(lines))
            of_unit = (rows["source"] == source) & (rows["unit"] == unit)
            bad = rows.filter(of_unit & rows["quarantined"]).sort("place").row(0, named=True)
            of_row = quarantine["source_pos"].str.split("#").list.first() == bad["source_pos"]
            first = quarantine.filter((quarantine["source_file"] == bad["source_file"]) & of_row).row(0, named=True)
            wrong = self.declared_at(source, unit.removeprefix(f"{bad['source_file']}/"), first["field"] or "")
            share = f"{entry['quarantined']} of {entry['rows_in']} rows cannot be read"
            raise SourceError(
                bad["source_file"],
                first["source_pos"],
                f"{share} (more than max_quarantined_share = {shares[source]}), the first here: {first['reason']}; all are in "
                f"{self.out / STOPPED}; nothing was published",
                field=f"{first['field']} ({wrong})" if wrong else first["field"] or "",
                found=first["found"] or "",
                allowed=first["allowed"] or "",
            )

    def declared_at(self, source: str, unit: str, field: str) -> str:
        """The options that say what the field is; "" where the format cannot tell."""
        context = next(made for made in self.made if made.spec.name == source)
        told = load_source(context.spec.format).declared_at
        return told(context, unit, field) if told is not None and field else ""


def row_counts(rows: pl.DataFrame, repeats: pl.DataFrame) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Counts of the manifest ("rows_in", "rows_in.<source>", ...) and of each file ("<source>:<file>" -> counts)."""
    import polars as pl

    again = repeats.group_by("source", "source_file").agg(pl.len().alias("rows_repeated"))
    per_file = (
        rows.group_by("source", "source_file")
        .agg(pl.len().alias("rows_in"), pl.col("quarantined").sum().alias("rows_quarantined"))
        .join(again, on=["source", "source_file"], how="left")
        .with_columns(pl.col("rows_repeated").fill_null(0))
        .with_columns((pl.col("rows_in") - pl.col("rows_quarantined") - pl.col("rows_repeated")).alias("rows_out"))
        .sort("source", "source_file")
    )
    names = ("rows_in", "rows_out", "rows_quarantined", "rows_repeated")
    files = {
        f"{row['source']}:{row['source_file']}": {name: int(row[name]) for name in names}
        for row in per_file.iter_rows(named=True)
    }
    counts = {name: sum(entry[name] for entry in files.values()) for name in names}
    for source in per_file["source"].unique().sort().to_list():
        for name in names:
            counts[f"{name}.{source}"] = sum(entry[name] for key, entry in files.items() if key.startswith(f"{source}:"))
    return counts, files


def merged_notes(notes: list[Any]) -> dict[str, dict[str, int]]:
    """Sums of the shards' dropped values (and of those that nobody declared) and findings, by name, sorted."""
    total: dict[str, dict[str, int]] = {"dropped": {}, "undeclared": {}, "findings": {}}
    for note in notes:
        for group, names in total.items():
            for name, number in note[group].items():
                names[name] = names.get(name, 0) + number
    return {group: dict(sorted(names.items())) for group, names in total.items()}


def stage_of(spec: Spec, spec_file: Path, export: Path) -> Stage:
    """The stage: what it reads, its shards and its end. Raises SpecError or SourceError before anything is written."""
    from ingest.policies import policy_files, read_policies

    made = contexts(spec, spec_file, export)
    inputs = {"codebook.json": sha256_file(code_book_path(spec, spec_file, export))}
    parts: list[tuple[Context, Part]] = []
    for context in made:
        source = load_source(context.spec.format)
        for name, digest in source.inputs(context).items():
            inputs[f"{context.spec.name}:{name}"] = digest
        parts.extend((context, part) for part in source.parts(context))
    if spec.policies:
        inputs |= {path.relative_to(export).as_posix(): sha256_file(path) for path in policy_files(spec.policies, export)}
        read_policies(spec.policies, export)  # a fault in them is said now, and not after hours of rows
    out = records_dir(spec.supplier)
    settings = {
        "sources": [source.model_dump(mode="json") for source in spec.sources],
        "policies": spec.policies.model_dump(mode="json") if spec.policies else None,
        "supplier": spec.supplier,
    }
    shards = [
        Shard(f"{context.spec.name}-{part.name}", sha256_json(part.name), Payload(context, part), part.weight)
        for context, part in parts
    ]
    return Stage(
        name="ingest",
        out=out,
        inputs=inputs,
        code_version=code_version("ingest", "pipeline", "schemas"),
        settings=settings,
        shards=lambda: shards,
        work=read_part,
        finish=Finish(spec, export, out, made),
    )


def ingest(
    spec_file: Path, export: Path | None = None, *, workers: int = 0, engine: str = "pool", quiet: bool = False
) -> tuple[Manifest, bool, Path]:
    """Runs the stage. Returns the manifest, whether anything ran, and the output folder."""
    spec = load_spec(spec_file)
    if export is None and not spec.export:
        told = "is missing; name the folder of the export there, or for this run as EXPORT=folder (--export folder)"
        raise SpecError(str(spec_file), [f"export: {told}"])
    folder = export or Path(spec.export)
    try:
        stage = stage_of(spec, spec_file, folder)
    except OSError as error:  # up to here everything is only read
        raise SourceError(str(error.filename or folder), "", f"cannot be read ({error.strerror})") from error
    manifest, ran = run_stage(stage, workers=workers, engine=engine, quiet=quiet)
    return manifest, ran, stage.out


def summary(manifest: Manifest, out: Path) -> str:
    """A short table of rows a source, and what came of them. Ids and counts only."""
    sources = sorted(name.removeprefix("rows_in.") for name in manifest.counts if name.startswith("rows_in."))
    lines = [f"{'source':<12}{'rows in':>10}{'out':>10}{'quarantined':>13}{'repeated':>10}"]
    for source in sources:
        numbers = [manifest.counts[f"rows_{name}.{source}"] for name in ("in", "out", "quarantined", "repeated")]
        lines.append(f"{source:<12}{numbers[0]:>10}{numbers[1]:>10}{numbers[2]:>13}{numbers[3]:>10}")
    counts = manifest.counts
    lines.append(
        f"{counts['events']} events of {counts['records']} records, {counts['links']} links, "
        f"{counts['policy_clauses']} policy clauses, {counts['events_without_time']} events without a time"
    )
    notes = json.loads((out / "findings.json").read_text(encoding="utf-8"))
    undeclared = notes["undeclared"]
    for named, what in (
        (
            {n: c for n, c in notes["dropped"].items() if n not in undeclared},
            "left out (no history to rebuild them from, or no use)",
        ),
        (undeclared, "left out (declared by neither the code book nor the columns of the spec)"),
        (notes["findings"], "findings"),
    ):
        if named:
            shown = ", ".join(f"{name} {number}" for name, number in list(named.items())[:6])
            more = f" and {len(named) - 6} more" if len(named) > 6 else ""
            lines.append(f"{what}: {shown}{more} (findings.json)")
    return "\n".join(lines)
