"""What an audit is (`Audit`), what it is asked (`Asked`) and what it says (`AuditResult`, made of `Measure`s)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schemas.errors import StageError


@dataclass(frozen=True, slots=True)
class Measure:
    """One line of the table for one domain: `count` of `of`, or why there is none."""

    key: str
    """Stable name, e.g. "do_nothing"."""
    certificate: str
    """The certificate of ours that it belongs to, e.g. "C2"."""
    label: str
    """What is counted, as a reader sees it."""
    count: int = 0
    of: int = 0
    judged: int = 0
    """Further ones that pass all that can be computed and are left to a judge that is a language model."""
    wanted: str = ""
    """What a certificate of ours demands: "0", "all", or "" where the figure only informs."""
    note: str = ""
    """How it was measured here, or why it does not apply."""
    applies: bool = True
    """False: not applicable or could not be run; `note` says why."""
    ids: tuple[str, ...] = ()
    """Tasks counted."""
    judged_ids: tuple[str, ...] = ()
    """Tasks of `judged`."""


@dataclass(frozen=True, slots=True)
class DomainAudit:
    name: str
    tasks: int
    measures: tuple[Measure, ...]
    notes: tuple[str, ...] = ()
    """What a reader must know of this domain's figures."""


@dataclass(frozen=True, slots=True)
class AuditResult:
    audit: str
    source: str
    """Which version was audited: its commit, or what its files digest to."""
    isolation: str
    """How somebody else's code was kept apart, and what that holds."""
    domains: tuple[DomainAudit, ...]
    not_run: dict[str, str] = field(default_factory=dict)
    """Domain -> why it could not be run."""
    notes: tuple[str, ...] = ()
    """How passing was decided, with the files that say so."""


@dataclass(frozen=True, slots=True)
class Asked:
    path: Path
    domains: tuple[str, ...] = ()
    """Empty: every domain that is there."""
    limit: int | None = None
    """The first so many tasks of each domain; None = all."""
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Audit:
    """One format of task sets. `run` raises StageError for a path that is not one, and for an unknown domain."""

    name: str
    about: str
    """One line for --help: which task set, what stands at the path."""
    run: Callable[[Asked], AuditResult]


def chosen(place: Path, there: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The domains wanted, each once, or all that are there. Raises StageError with a "did you mean" for an unknown one."""
    for name in wanted:
        if name not in there:
            close = difflib.get_close_matches(name, there, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise StageError(f"{place} has no domain {name!r}{hint} (there: {', '.join(there)})")
    return list(dict.fromkeys(wanted)) or list(there)
