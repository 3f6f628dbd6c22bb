"""What a task set carries beside tasks and answers so that its certificates can be derived again from its folder alone."""

from __future__ import annotations

from typing import Literal

from schemas.episode import Frozen
from schemas.records import OutcomeCode
from schemas.spec import RuleSpec
from schemas.task import Slice


class PolicyInterval(Frozen):
    """When one version of one document was in force: from `start` on and before `end`."""

    document: str
    version: int
    start: str | None
    """ISO 8601 UTC; null = always before."""
    end: str | None
    """ISO 8601 UTC; null = still in force."""


class Proof(Frozen):
    """A stored content, named by `TaskSetManifest.proof`; no agent and no trainer reads it."""

    seed: int
    """Of every replay."""
    token_scope: Literal["per_source", "per_supplier", "cross_system"]
    codes: dict[str, OutcomeCode]
    """The code book's outcomes of the set's workflows: what the wrong codes are."""
    rules: tuple[RuleSpec, ...]
    """Every rule of the spec with the policy versions with which it is in force."""
    policies: tuple[PolicyInterval, ...]
    """Every version of every policy document, whether some task shows it or not."""


class Placed(Frozen):
    """One entry of `tasks` in splits.json."""

    slice: Slice
    sha256: str
    """Digest of the task (schemas.taskset.task_digest)."""
    shown_sha256: str = ""
    """Digest of the part of it that is shown or judged, which a new delivery of the same record does not change."""
    cluster: str = ""
    """Id that its near-duplicates share; its own where no other request reads the same."""
