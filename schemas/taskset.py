"""Opening a task set: one side of it, checked against its manifest and certificates, without the answers.

data/tasksets/<name>/
  manifest.json            TaskSetManifest
  train/  {tasks,answers,trajectories}.jsonl, manifest.json (SideManifest)
  heldout/{tasks,answers}.jsonl, manifest.json
  content/<sha256>         state, provenance, policies, declarations, message forms, proof
  certificates.jsonl  ledger.parquet  splits.json  report.html  report.json  quality.json
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from schemas.episode import Frozen
from schemas.errors import LeakError, StageError
from schemas.files import get_content, read_json, read_models, sha256_file, sha256_json
from schemas.heldout import refuse_held_out
from schemas.sharing import shared
from schemas.task import CERTIFICATE_VERSION, CHECK_IDS, Answer, Certificate, PolicySpec, TaskSpec

M = TypeVar("M", bound=Frozen)
State = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""{system: {kind: {record_id: {field: value}}}}"""


SCHEMA_VERSION = 1
"""Of the folder as a whole; raised when an older release could misread it."""


class SideManifest(Frozen):
    """`train/manifest.json` or `heldout/manifest.json`."""

    taskset: str
    side: Literal["train", "heldout"]
    tasks: int
    files: dict[str, str]
    """File name -> sha256."""
    ids: dict[str, str]
    """Task id -> digest of its row and answer (task_digest): the frozen hold-out."""
    canary: str = ""
    """GUID that stands in every held-out file and in no other."""


class TaskSetManifest(Frozen):
    name: str
    supplier: str
    schema_version: int = SCHEMA_VERSION
    code_version: str
    spec_sha256: str
    inputs: dict[str, str]
    counts: dict[str, int]
    """candidates, kept, train, heldout, one per slice and reason."""
    forms: str | None = None
    """Content digest of the message forms: {"ask": {slot: [text, ...]}, "tell": {code: [text, ...]}}; training records only."""
    requester: str | None = None
    """Content digest of what requesters share: {"learnt": environments.asking.Learnt as JSON, fitted on the training tasks that
    it names; "speaker": the model that phrases their words, null where none is named}."""
    proof: str = ""
    """Content digest of what the certificates are derived from again (schemas.proof.Proof)."""
    certificates_sha256: str = ""
    """Of certificates.jsonl, verdicts included."""
    files: dict[str, str] = Field(default_factory=dict)
    """"train/manifest.json", "heldout/manifest.json" and "splits.json" -> sha256."""
    seal: str = ""
    """Digest of all the rest of this manifest: two folders with the same seal are the same task set."""
    seconds: float = Field(default=0.0, exclude=True)

    def sealed(self) -> TaskSetManifest:
        """The same with its seal."""
        return self.model_copy(update={"seal": self.expected_seal()})

    def expected_seal(self) -> str:
        return sha256_json(self.model_dump(mode="json", exclude={"seal"}))


def task_digest(task: TaskSpec, answer: Answer) -> str:
    """Binds a certificate to the exact task and answer; score bounds are not part of it (they are computed by certifying)."""
    return sha256_json([task.model_dump(mode="json"), answer.model_dump(mode="json", exclude={"bounds"})])


@dataclass(slots=True)
class TaskSet:
    """One side of a task set, held in memory; contents are read once and shared by all episodes."""

    folder: Path
    side: Literal["train", "heldout"]
    manifest: SideManifest
    tasks: dict[str, TaskSpec]
    forms: dict[str, dict[str, list[str]]]
    _content: dict[str, Any] = field(default_factory=dict)
    _states: dict[tuple[str, ...], State] = field(default_factory=dict)
    requester: dict[str, Any] = field(default_factory=dict)
    """What requesters share (see TaskSetManifest.requester); empty: the words of the spec alone decide, and no model speaks."""

    def content(self, digest: str) -> Any:
        """The stored JSON value; callers must not change it."""
        if digest not in self._content:
            self._content[digest] = get_content(self.folder / "content", digest)
        return self._content[digest]

    def state(self, task: TaskSpec) -> State:
        """The task's state at the cut, merged from its parts; shared and read-only."""
        if task.state not in self._states:
            merged: State = {}
            for digest in task.state:
                for system, kinds in self.content(digest).items():
                    for kind, rows in kinds.items():
                        merged.setdefault(system, {}).setdefault(kind, {}).update(rows)
            self._states[task.state] = merged
        return self._states[task.state]

    def policies(self, task: TaskSpec) -> list[PolicySpec]:
        return [PolicySpec.model_validate(self.content(digest)) for digest in task.policies]


def _read_manifest(path: Path, model: type[M]) -> M:
    try:
        return model.model_validate(read_json(path))
    except ValidationError as error:
        raise StageError(f"{path} is not a {model.__name__} of this version; build the task set again") from error


def open_taskset(folder: Path, side: Literal["train", "heldout"], *, certified: bool = True) -> TaskSet:
    """Opens one side of the task set at `folder`.

    Raises StageError for a missing or changed file (contents are checked when they are read), and LeakError where `certified` and
    a task's certificate is missing, of another version, stale (its digest is not the task's) or does not hold. Only the builder,
    before it has certified, passes certified=False. Which code certified is not asked here: `python -m tasks verify` does.
    LeakError too where something held out stands on the training side.
    """
    here = folder / side
    manifest = _read_manifest(here / "manifest.json", SideManifest)
    if manifest.side != side:
        raise StageError(f"{here}: its manifest says {manifest.side!r}")
    for name, digest in sorted(manifest.files.items()):
        _unchanged(here / name, digest)
    top = folder / "manifest.json"
    if certified and not top.exists():
        raise StageError(f"{top} is missing: the task set was not finished; run `python -m tasks` again")
    whole = _read_manifest(top, TaskSetManifest) if top.exists() else None
    rows = list(shared(read_models(here / "tasks.jsonl", TaskSpec)))
    tasks = {task.task_id: task for task in rows}
    if not len(rows) == len(tasks) == manifest.tasks:
        raise StageError(
            f"{here / 'tasks.jsonl'} holds {len(rows)} rows of {len(tasks)} tasks, its manifest says {manifest.tasks}; "
            "build the task set again"
        )
    if side == "train":
        refuse_held_out(folder, here, manifest.files, tasks)
    if certified and whole is not None:
        _bound(folder, side, whole)
        certificates = {c.task_id: c for c in read_models(folder / "certificates.jsonl", Certificate)}
        for task_id in tasks:
            _certified(folder.name, task_id, certificates.get(task_id), manifest.ids.get(task_id))
        _unchanged(folder / "certificates.jsonl", whole.certificates_sha256)
    forms: dict[str, dict[str, list[str]]] = {"ask": {}, "tell": {}}
    if whole is not None and whole.forms:
        forms = get_content(folder / "content", whole.forms)
    requester = get_content(folder / "content", whole.requester) if whole is not None and whole.requester else {}
    return TaskSet(folder, side, manifest, tasks, forms, requester=requester)


def _unchanged(path: Path, digest: str) -> None:
    if not path.exists():
        raise StageError(f"{path} is missing; build the task set again")
    if sha256_file(path) != digest:
        raise StageError(f"{path} is not what was built; build the task set again")


def _bound(folder: Path, side: str, whole: TaskSetManifest) -> None:
    """The top manifest is as it was written, and the side's manifest is the one that it names."""
    if not whole.seal or not whole.files or not whole.certificates_sha256:
        raise StageError(f"{folder / 'manifest.json'} is of an older version; build the task set again")
    if whole.seal != whole.expected_seal():
        raise StageError(f"{folder / 'manifest.json'} is not what was built (its seal is another); build the task set again")
    if whole.schema_version != SCHEMA_VERSION:
        raise StageError(
            f"{folder / 'manifest.json'} is of schema version {whole.schema_version}, this release knows {SCHEMA_VERSION}; "
            "use the release that built it or build the task set again"
        )
    # The other side may lie elsewhere (a training machine has no need of what is held out); all else must be as it was built.
    other = {"train": "heldout", "heldout": "train"}[side]
    for name in sorted({f"{side}/manifest.json", "splits.json", *whole.files} - {f"{other}/manifest.json"}):
        _unchanged(folder / name, whole.files.get(name, ""))


def _certified(name: str, task_id: str, certificate: Certificate | None, digest: str | None) -> None:
    if certificate is None:
        raise LeakError(f"{name}: task {task_id} has no certificate; run `python -m tasks` again")
    if certificate.version != CERTIFICATE_VERSION:
        raise LeakError(
            f"{name}: the certificate of task {task_id} is of version {certificate.version}, this release knows "
            f"{CERTIFICATE_VERSION}; use the release that built it or run `python -m tasks` again"
        )
    if certificate.task_sha256 != digest:
        raise LeakError(f"{name}: the certificate of task {task_id} is stale; run `python -m tasks` again")
    if not certificate.holds:
        bad = [c.id for c in certificate.checks if c.verdict in ("failed", "could_not_run")]
        bad = bad or [f"without {check}" for check in CHECK_IDS if check not in {c.id for c in certificate.checks}]
        raise LeakError(
            f"{name}: the certificate of task {task_id} does not hold ({', '.join(bad)}); "
            "`python -m tasks verify` says more, `python -m tasks` builds again without such tasks"
        )
