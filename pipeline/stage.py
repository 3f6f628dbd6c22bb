"""Runs one stage: shards in parallel, each kept by the hash of its inputs; outputs published by rename; the manifest last.

Killed at any moment it continues: finished shards are found by name, unfinished ones are temporary names that nothing reads.
The bytes do not depend on the number of workers nor on what was killed. Does not cover: two machines writing one folder.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.engines import run_shards
from pipeline.lock import LOCK, locked
from pipeline.manifest import MANIFEST, SCHEMA_VERSION, Manifest, damaged, read_manifest
from pipeline.progress import progress
from schemas.errors import StageError
from schemas.files import sha256_file, sha256_json, write_json, write_text

WORK = ".work"
TIMINGS = "timings.json"
UNWRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class Shard:
    """A unit of work: `payload` is picklable; `key` digests everything that its output depends on beside the stage's own key."""

    name: str
    key: str
    payload: Any
    weight: int = 1
    """Units for the progress bar."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What `run_stage` needs. `work(payload, folder)` writes the shard's files into `folder`; `finish(shard_folders, folder)`
    writes the stage's output into `folder` and returns its counts. Both must be deterministic; `work` must be a
    module-level function."""

    name: str
    out: Path
    inputs: Mapping[str, str]
    code_version: str
    settings: Any
    """JSON value that the output depends on (the spec's part)."""
    shards: Callable[[], Sequence[Shard]]
    work: Callable[[Any, Path], None]
    finish: Callable[[list[Path], Path], Mapping[str, int]]
    manifest: str = MANIFEST
    """Name of the stage's own manifest, where `manifest.json` is a file of its output (a task set's)."""

    @property
    def key(self) -> str:
        return sha256_json([self.name, SCHEMA_VERSION, dict(self.inputs), self.code_version, self.settings])


def _refuse_foreign(stage: Stage) -> None:
    """StageError for a folder that holds somebody's files or another stage's output: publishing would delete them."""
    out = stage.out
    try:
        foreign = out.is_dir() and any(out.iterdir()) and not (out / LOCK).exists()
    except OSError as error:
        raise StageError(f"cannot read {out}: {error.strerror}") from error
    if foreign:
        raise StageError(f"{out} holds files that no stage made and that this one would delete; name a new or an empty folder")
    try:
        made_by = read_manifest(out, stage.manifest).stage
    except StageError:
        return  # no manifest, or one that is not whole: a run of this stage that was broken off
    if made_by != stage.name:
        raise StageError(f"{out} is the output of `{made_by}`, which `{stage.name}` would delete; name another folder")


def _own(out: Path) -> None:
    """Raises StageError for a folder with files that no stage made."""
    try:
        foreign = out.is_dir() and any(out.iterdir()) and not (out / LOCK).exists()
    except OSError as error:
        raise StageError(f"cannot read {out}: {error.strerror}") from error
    if foreign:
        raise StageError(f"{out} holds files that no stage made and that this one would delete; name a new or an empty folder")


@contextmanager
def _teaching(out: Path) -> Iterator[None]:
    """A full disk or a missing permission is the operator's to mend: one line; finished shards are kept."""
    try:
        yield
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        raise StageError(f"cannot write in {out}: {error.strerror}; finished work is kept, run the same command again") from error


def finished(stage: Stage) -> Manifest | None:
    """The manifest, if the stage's output is whole and of this key; else None."""
    try:
        manifest = read_manifest(stage.out, stage.manifest)
    except StageError:
        return None  # nothing there, or what is there is not whole: it is made again
    if manifest.key != stage.key or manifest.stage != stage.name or damaged(stage.out, manifest):
        return None
    return manifest


def run_stage(
    stage: Stage, *, workers: int = 0, engine: str = "pool", quiet: bool = False, force: bool = False
) -> tuple[Manifest, bool]:
    """Runs what is not finished. Returns the manifest and whether anything ran. `workers` 0 = one per processor.

    `force` runs a finished stage too (something that it writes elsewhere was lost); what is published stays whole until the new
    output is.

    Raises StageError where the output folder cannot be written, holds somebody's files or is held by another run; errors of
    `work` pass through.
    """
    if workers < 0:
        raise StageError(f"workers must be 0 (one per processor) or more, found {workers}")
    _refuse_foreign(stage)
    _own(stage.out)
    with locked(stage.out), _teaching(stage.out):
        if not force and (done := finished(stage)):
            shutil.rmtree(stage.out / WORK, ignore_errors=True)  # left where a run was killed between its last two acts
            return done, False
        started = time.monotonic()
        work_dir = stage.out / WORK / stage.key[:16]
        for stale in (stage.out / WORK).glob("*") if (stage.out / WORK).exists() else ():
            if stale != work_dir:
                shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
        work_dir.mkdir(parents=True, exist_ok=True)
        shards = list(stage.shards())
        folders = [work_dir / f"{shard.name}-{sha256_json([stage.key, shard.name, shard.key])[:16]}" for shard in shards]
        todo = [(shard, folder) for shard, folder in zip(shards, folders, strict=True) if not folder.exists()]
        with progress(stage.name, sum(s.weight for s in shards), quiet=quiet) as advance:
            advance(sum(s.weight for s in shards) - sum(s.weight for s, _ in todo))
            jobs = [(shard.payload, folder) for shard, folder in todo]
            weights = {folder: shard.weight for shard, folder in todo}
            for folder in run_shards(one_shard, stage.work, jobs, workers=workers or os.cpu_count() or 1, engine=engine):
                advance(weights[folder])
        staging = work_dir / ".staging"
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
        counts = dict(stage.finish(folders, staging))
        manifest = _publish(stage, staging, counts, time.monotonic() - started)
        shutil.rmtree(stage.out / WORK, ignore_errors=True)
        return manifest, True


def one_shard(work: Callable[[Any, Path], None], payload: Any, folder: Path) -> Path:
    """Runs one shard into `folder`, which is there whole or not at all."""
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    work(payload, temporary)
    try:
        os.replace(temporary, folder)
    except OSError:
        if not folder.is_dir():
            raise
        shutil.rmtree(temporary)  # a worker that outlived a killed run has just published the same bytes
    return folder


def _publish(stage: Stage, staging: Path, counts: dict[str, int], seconds: float) -> Manifest:
    """Takes the old manifest away first and writes the new one last: a reader never takes a part for the whole."""
    out = stage.out
    names = sorted(p.relative_to(staging).as_posix() for p in staging.rglob("*") if p.is_file())
    for name in (stage.manifest, TIMINGS, *names):
        if (out / name).is_dir():
            raise StageError(f"{out / name} is a folder where `{stage.name}` writes a file; move it away and run the stage again")
    (out / stage.manifest).unlink(missing_ok=True)
    keep = {*names, TIMINGS, LOCK}
    for path in sorted(out.rglob("*"), reverse=True):
        relative = path.relative_to(out).as_posix()
        if relative.split("/", 1)[0] == WORK or relative in keep:
            continue
        if path.is_file() or path.is_symlink():
            path.unlink()
        elif not any(path.iterdir()):
            path.rmdir()
    files = {}
    for name in names:
        files[name] = sha256_file(staging / name)
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(staging / name, out / name)
    manifest = Manifest(
        stage=stage.name,
        schema_version=SCHEMA_VERSION,
        key=stage.key,
        code_version=stage.code_version,
        inputs=dict(stage.inputs),
        counts=counts,
        files=files,
    )
    write_json(out / TIMINGS, {"seconds": round(seconds, 3)})
    write_text(out / stage.manifest, manifest.model_dump_json(indent=1) + "\n")
    return manifest
