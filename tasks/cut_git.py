"""The cut of a repository: what is reachable from the base commit, never what is dated before it.

Dates of commits are text that whoever commits may write: a rebase keeps the author's date and sets a new committer's one, so that
the fix itself may be "older" than the base. Reachability cannot lie. No source delivers repositories yet: the engineering world
takes its history from `commits_at` and its objects from `objects_at`, and nothing else of the repository enters a task.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from schemas.errors import StageError


def commits_at(repository: Path, base: str) -> frozenset[str]:
    """Ids of the base commit and of everything that it builds on. StageError for an unknown commit or no repository."""
    return frozenset(_git(repository, "rev-list", _commit(repository, base)))


def objects_at(repository: Path, base: str) -> frozenset[str]:
    """Ids of every commit, tree and blob that the base commit reaches: all that a copy for an agent may hold."""
    return frozenset(line.split(" ", 1)[0] for line in _git(repository, "rev-list", "--objects", _commit(repository, base)))


def _commit(repository: Path, base: str) -> str:
    return _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")[0]


def _git(repository: Path, *arguments: str) -> list[str]:
    """Lines of git's answer. Replacement objects and grafts are off: they may hide or add parents."""
    environment: Mapping[str, str] = {**os.environ, "GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull, "LC_ALL": "C"}
    done = subprocess.run(
        ["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=False, env=dict(environment)
    )
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["there is no such commit"]
        raise StageError(f"{repository}: git {arguments[0]}: {reason[0][:200]} (found {arguments[-1][:80]!r}, allowed a commit)")
    return done.stdout.splitlines()
