"""`python -m tasks verify FOLDER`: derives every certificate again from the task set's folder alone and says which hold.

Needs what a trainer machine has, no table or privacy library and no export. It opens both sides and their answers: it is the
builder's checker and an auditor's, never a step of training. A damaged file does not stop it: what is wrong is listed, and what
can still be read is judged. Does not cover: whether the tasks are what the records said (that needs the records), nor who made
them: the seal of a set is no signature.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from pipeline.engines import begin_worker
from pipeline.manifest import code_version
from pipeline.progress import progress
from schemas.episode import Frozen
from schemas.errors import StageError
from schemas.files import get_content, read_json, read_models, sha256_file, sha256_text
from schemas.paths import taskset_dir
from schemas.proof import Placed, Proof
from schemas.task import CHECK_IDS, Answer, Certificate, ScoreBounds, TaskSpec
from schemas.taskset import SideManifest, TaskSet, TaskSetManifest
from tasks.certificates import names
from tasks.certify import CHECKED, Placement, certify_task

M = TypeVar("M", bound=Frozen)
Side = Literal["train", "heldout"]
SIDES: tuple[Side, ...] = ("train", "heldout")
CHUNK = 20
"""Tasks that a worker takes at a time."""
SHOWN = 20
"""Disagreements that are printed; the rest is counted."""
VERDICTS = ("passed", "not_applicable", "failed", "could_not_run")


@dataclass(slots=True)
class Opened:
    """A whole task set, both sides with their answers."""

    folder: Path
    manifest: TaskSetManifest
    proof: Proof
    sides: dict[Side, TaskSet]
    answers: dict[str, Answer]
    placements: dict[str, Placement]
    benches: dict[str, TaskSet] = field(default_factory=dict)
    """Side -> the set that holds the one task under verification."""

    def side_of(self, task_id: str) -> Side:
        return next(side for side, taskset in self.sides.items() if task_id in taskset.tasks)


@dataclass(slots=True)
class Verified:
    """What a verification found."""

    tasks: int = 0
    hold: int = 0
    matrix: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(check, verdict) -> tasks."""
    faults: list[str] = field(default_factory=list)
    """One line each: a file that is not what was built, a certificate that does not hold or says another thing than it did."""
    other_code: str = ""
    """Code that certified, where it is not this code."""

    @property
    def sound(self) -> bool:
        return self.tasks > 0 and not self.faults and self.hold == self.tasks


def open_whole(folder: Path) -> Opened:
    """Reads both sides. Raises StageError or SourceError for what is not there or cannot be read; `files` checks the digests."""
    manifest = _model(folder / "manifest.json", TaskSetManifest)
    if not manifest.proof:
        raise StageError(f"{folder / 'manifest.json'} names no proof: the set was built by an older release; build it again")
    proof = Proof.model_validate(get_content(folder / "content", manifest.proof))
    forms = get_content(folder / "content", manifest.forms) if manifest.forms else {"ask": {}, "tell": {}}
    requester = get_content(folder / "content", manifest.requester) if manifest.requester else {}
    sides: dict[Side, TaskSet] = {}
    answers: dict[str, Answer] = {}
    for side in SIDES:
        here = folder / side
        tasks = {task.task_id: task for task in read_models(here / "tasks.jsonl", TaskSpec)}
        sides[side] = TaskSet(folder, side, _model(here / "manifest.json", SideManifest), tasks, forms, requester=requester)
        answers |= {answer.task_id: answer for answer in read_models(here / "answers.jsonl", Answer)}
    return Opened(folder, manifest, proof, sides, answers, _placements(folder, sides))


def _model(path: Path, model: type[M]) -> M:
    try:
        return model.model_validate(read_json(path))
    except ValidationError as error:
        raise StageError(f"{path} is not a {model.__name__} of this version; build the task set again") from error


def _placements(folder: Path, sides: dict[Side, TaskSet]) -> dict[str, Placement]:
    entries: dict[str, Any] = read_json(folder / "splits.json").get("tasks", {})
    placed: dict[str, Placed] = {}
    crossing: dict[str, set[str]] = {}
    for side, taskset in sides.items():
        for task_id in taskset.tasks:
            if task_id in entries:
                try:
                    placed[task_id] = Placed.model_validate(entries[task_id])
                except ValidationError as error:
                    raise StageError(f"{folder / 'splits.json'}: the entry of {task_id} is not one of this version") from error
                crossing.setdefault(placed[task_id].cluster, set()).add(side)
    return {task_id: Placement(entry, frozenset(crossing[entry.cluster])) for task_id, entry in placed.items()}


def files(opened: Opened) -> Iterator[str]:
    """What on disk is not what was built, one line each."""
    folder, manifest = opened.folder, opened.manifest
    if manifest.seal != manifest.expected_seal():
        yield "manifest.json: its seal is another"
    named = {**manifest.files, "certificates.jsonl": manifest.certificates_sha256}
    for side, taskset in opened.sides.items():
        named |= {f"{side}/{name}": digest for name, digest in taskset.manifest.files.items()}
    for name, digest in sorted(named.items()):
        if not (folder / name).is_file():
            yield f"{name}: is missing"
        elif sha256_file(folder / name) != digest:
            yield f"{name}: is not what was built"
    for path in sorted((folder / "content").iterdir()):
        if sha256_text(path.read_text(encoding="utf-8", errors="replace")) != path.name:
            yield f"content/{path.name}: the bytes do not match the name"


def verify(folder: Path, *, task: str | None = None, workers: int = 0, quiet: bool = False) -> Verified:
    """Derives the certificates again (of one task, if named). StageError for an unknown task or a set that cannot be read."""
    opened = open_whole(folder)
    found = Verified(faults=list(files(opened)))
    stored = {c.task_id: c for c in read_models(folder / "certificates.jsonl", Certificate)}
    ids = [task_id for side in SIDES for task_id in sorted(opened.sides[side].tasks)]
    if task is not None:
        if task not in ids:
            raise StageError(f"{folder} has no task {task} on either side")
        ids = [task]
    here = code_version(*CHECKED)
    with progress(f"verify {folder.name}", len(ids), quiet=quiet) as advance:
        for certificate, bounds in _derived(opened, ids, workers):
            advance()
            found.tasks += 1
            found.hold += certificate.holds
            found.matrix.update((check.id, check.verdict) for check in certificate.checks)
            before = stored.get(certificate.task_id)
            if before is not None and before.code_version != here:
                found.other_code = before.code_version
            found.faults += _faults(opened, certificate, bounds, before)
    if task is None:
        found.faults += [f"{i}: a certificate without a task" for i in sorted(stored.keys() - set(ids))]
        found.faults += [f"{i}: an answer without a task" for i in sorted(opened.answers.keys() - set(ids))]
    return found


def _derived(opened: Opened, ids: Sequence[str], workers: int) -> Iterator[tuple[Certificate, ScoreBounds]]:
    chunks = [(str(opened.folder), tuple(ids[start : start + CHUNK])) for start in range(0, len(ids), CHUNK)]
    size = min(workers or os.cpu_count() or 1, len(chunks))
    if size <= 1:
        _held[str(opened.folder)] = opened
        for chunk in chunks:
            for task_id in chunk[1]:
                yield _one(opened, task_id)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(size, context, initializer=begin_worker, initargs=(os.getpid(),)) as pool:
        try:
            for results in pool.map(_chunk, chunks):
                yield from results
        except BrokenProcessPool as error:
            raise StageError(
                "a process that verified was killed; is there enough memory? (--workers 1 needs the least)"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # stopped early, nothing is left to do


_held: dict[str, Opened] = {}
"""Folder -> the set that this worker has opened."""


def _chunk(asked: tuple[str, tuple[str, ...]]) -> list[tuple[Certificate, ScoreBounds]]:
    folder, ids = asked
    if folder not in _held:
        _held[folder] = open_whole(Path(folder))
    return [_one(_held[folder], task_id) for task_id in ids]


def _one(opened: Opened, task_id: str) -> tuple[Certificate, ScoreBounds]:
    whole = opened.sides[opened.side_of(task_id)]
    answer = opened.answers.get(task_id)
    if answer is None:
        raise StageError(f"{opened.folder}: task {task_id} has no answer; build the task set again")
    # One task at a time on a set of its own, so that the states of thousands are not all in memory.
    taskset = opened.benches.setdefault(
        whole.side,
        TaskSet(whole.folder, whole.side, whole.manifest, {}, whole.forms, whole._content, requester=whole.requester),
    )
    taskset.tasks = {task_id: whole.tasks[task_id]}
    taskset._states.clear()
    placement = opened.placements.get(task_id, Placement(None))
    return certify_task(taskset, whole.tasks[task_id], answer, opened.proof, placement)


def _faults(opened: Opened, now: Certificate, bounds: ScoreBounds, before: Certificate | None) -> Iterator[str]:
    """What is wrong with one task: its certificate does not hold, or the stored one says something else."""
    name = now.task_id
    side = opened.sides[opened.side_of(name)]
    if side.manifest.ids.get(name) != now.task_sha256:
        yield f"{name}: task or answer is not the one that the manifest names"
    for check in now.checks:
        if check.verdict in ("failed", "could_not_run"):
            yield f"{name}: {check.id} {check.verdict.replace('_', ' ')}: {check.detail}"
    if before is None:
        yield f"{name}: has no certificate"
        return
    if before.task_sha256 != now.task_sha256:
        yield f"{name}: its certificate is of another content"
    if before.version != now.version:
        yield f"{name}: its certificate is of version {before.version}, this release derives {now.version}"
    said = {check.id: check for check in before.checks}
    for check in now.checks:
        if check.id not in said:
            yield f"{name}: its certificate says nothing of {check.id}"
        elif said[check.id].verdict != check.verdict:
            yield f"{name}: {check.id} is {check.verdict}, the certificate says {said[check.id].verdict}"
        elif said[check.id].detail != check.detail:
            yield f"{name}: {check.id} has other details than the certificate"
    if (before.replays, before.grades_sha256) != (now.replays, now.grades_sha256):
        yield f"{name}: the grades of its replays are others ({now.replays} replays, {before.replays} certified)"
    if opened.answers[name].bounds != bounds:
        yield f"{name}: its score bounds are others"


def table(found: Verified) -> str:
    """The matrix, the disagreements and the last line."""
    head = "".join(f"{verdict.replace('_', ' '):>16}" for verdict in VERDICTS)
    named = names()
    lines = [f"{'check':<26}{head}"]
    for check in CHECK_IDS:
        lines.append(
            f"{check:<5}{named.get(check, ''):<21}" + "".join(f"{found.matrix[check, verdict]:>16}" for verdict in VERDICTS)
        )
    lines += ["", *found.faults[:SHOWN]]
    if len(found.faults) > SHOWN:
        lines.append(f"... and {len(found.faults) - SHOWN} more")
    if found.other_code:
        lines.append(
            f"certified by code {found.other_code}, verified by {code_version(*CHECKED)}: where only grades differ, take the "
            "release that built the set, or build it again"
        )
    verdict = "PASS" if found.sound else "FAIL"
    lines.append(f"{verdict}: {found.hold} of {found.tasks} certificates hold; {len(found.faults)} disagreements")
    return "\n".join(line for at, line in enumerate(lines) if line or at)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tasks verify",
        description="Derives every certificate of a task set again, from its folder alone, and says which hold. Opens both sides "
        "and their answers: for who builds or audits a set; training never needs it. "
        "Exit codes: 0 where all hold and agree, 1 where not, 2 where the set cannot be read.",
    )
    parser.add_argument("taskset", help="folder of the task set, or its name")
    parser.add_argument("--task", help="id of one task; left out: all")
    parser.add_argument("--workers", type=int, default=0, help="processes; 0 = one per processor (default)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


def main(arguments: Sequence[str]) -> int:
    asked = _parser().parse_args(arguments)
    folder = Path(asked.taskset)
    if asked.workers < 0:
        raise StageError(f"--workers is 0 or more, found {asked.workers}")
    found = verify(
        folder if folder.is_dir() else taskset_dir(asked.taskset), task=asked.task, workers=asked.workers, quiet=asked.quiet
    )
    print(table(found))
    return 0 if found.sound else 1
