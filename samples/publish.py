"""Writes the sample as two finished folders, the export and its truth, each whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline.manifest import code_version
from pipeline.stage import Stage, run_stage
from samples import truth
from samples.codebook import code_book
from samples.orderdb import write_database
from samples.policies import policy_files
from samples.settings import Settings
from samples.simulate import collector_paused, simulate
from samples.world import World
from samples.zendesk import Export, write_helpdesk
from schemas.errors import StageError
from schemas.files import canonical_json, write_json, write_text

EXPORT, TRUTH = "samples", "samples.truth"
"""Names of the two stages."""


class Maker:
    """Simulates once, however many folders are written from it."""

    def __init__(self, settings: Settings, *, quiet: bool) -> None:
        self.settings, self.quiet = settings, quiet
        self.export: Export | None = None

    @cached_property
    def world(self) -> World:
        return simulate(self.settings, quiet=self.quiet)

    def write_export(self, folder: Path) -> dict[str, int]:
        """Writes the raw export, keeps what the truth needs to know of it, and returns its counts."""
        export = write_helpdesk(self.world, folder / "helpdesk")
        rows, history, bad = write_database(self.world.ledger, folder / "orders" / "orders.sqlite")
        export.bad.extend(bad)
        files = policy_files()
        for name, text in files.items():
            write_text(folder / "policies" / name, text)
        write_json(folder / "codebook.json", code_book().model_dump(mode="json"))
        self.export = export
        return {**export.counts, "order_rows": rows, "order_history_rows": history, "policy_files": len(files)}

    def write_truth(self, folder: Path) -> dict[str, int]:
        """Writes the truth. Where an earlier run finished the export, it is written once more, for the places of its rows."""
        if self.export is None:
            with TemporaryDirectory(dir=folder.parent) as scratch:
                self.write_export(Path(scratch))
        export = self.export
        assert export is not None
        files: Mapping[str, Iterable[dict[str, Any]]] = {
            "tickets": truth.ticket_rows(self.world),
            "identities": truth.identity_rows(self.world),
            "mentions": truth.mention_rows(export.mentions),
            "facts": truth.fact_rows(self.world),
            "leaks": truth.leak_rows(self.world),
            "off_system": truth.off_system_rows(self.world),
            "bodies": export.bodies,
            "bad_rows": truth.bad_rows(export.bad),
        }
        return {name: write_rows(folder / f"{name}.jsonl", rows) for name, rows in files.items()}


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as handle:
        for row in rows:
            handle.write(canonical_json(row) + "\n")
            count += 1
    return count


def make_sample(settings: Settings, out: Path, truth_folder: Path, *, quiet: bool = True) -> tuple[dict[str, int], bool]:
    """Writes what is not there yet. Returns the export's counts and whether anything was made.

    Raises StageError where a folder cannot be written or holds somebody's files, or where the truth would lie inside the export
    that the stages read.
    """
    if truth_folder.resolve().is_relative_to(out.resolve()) or out.resolve().is_relative_to(truth_folder.resolve()):
        raise StageError(f"--truth {truth_folder} and --out {out} must be apart: no stage may read the truth")
    maker = Maker(settings, quiet=quiet)
    version = code_version("samples")
    knobs = settings.model_dump(mode="json")

    def stage(name: str, folder: Path, finish: Any) -> Stage:
        return Stage(name, folder, {}, version, knobs, lambda: [], _no_work, lambda _, staging: finish(staging))

    with collector_paused():
        manifest, first = run_stage(stage(EXPORT, out, maker.write_export), quiet=True)
        _, second = run_stage(stage(TRUTH, truth_folder, maker.write_truth), quiet=True)
    return dict(manifest.counts), first or second


def _no_work(payload: Any, folder: Path) -> None:
    raise AssertionError("the sample has no shards")
