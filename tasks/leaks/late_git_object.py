"""A git repository that the agent is given holds more than its base commit: later commits, trees, files, tags, reachable or not,
loose or packed; a ref, a reflog or a leftover head that names one; a list of commits kept beside the objects; the same in a
submodule (its base is the commit that the base names) or in another repository below the folder; a bundle, pack or patch that is
no file of the base.

Read with git's own plumbing, offline, by a git that runs no hook and heeds no configuration but its own.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from tasks.leaks._types import Finding, Leak, LeakInput
from tasks.leaks._walk import Found
from tasks.leaks._worktree import beside, is_repository, repositories_below

LIMIT_S = 120
_ID = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
HEADS = (
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "AUTO_MERGE",
    "BISECT_LOG",
    "packed-refs",
)
LISTS = ("objects/info/commit-graph", "objects/info/commit-graphs")
"""Lists of commits that stay when their objects are gone; a repository for an agent needs none."""


def run(data: LeakInput) -> list[Finding]:
    if not data.repositories:
        return [Finding("late_git_object", "not_applicable", detail="no task is given a repository")]
    found = Found("late_git_object")
    seen: dict[tuple[Path, str], list[tuple[str, str]]] = {}
    ids = {task.task_id for task in data.tasks}
    for task_id, (folder, base) in sorted(data.repositories.items()):
        if task_id not in ids:
            continue
        if (folder, base) not in seen:
            seen[folder, base] = [*beyond(folder, base), *beside_base(folder, base)]
        for path, detail in seen[folder, base]:
            found.add(path, detail, [task_id])
    return found.findings()


def beyond(folder: Path, base: str) -> Iterator[tuple[str, str]]:
    """(where, what) of all that the repository holds beyond `base`. Raises where git cannot read it or lacks the commit."""
    if not re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", base):
        raise ValueError("the base commit is not a full object id")
    if _git(folder, "cat-file", "-t", base).strip() != "commit":
        raise ValueError("the base is no commit of the repository")
    places = [Path(_git(folder, "rev-parse", flag).strip()) for flag in ("--absolute-git-dir", "--git-common-dir")]
    private, common = places[0], (folder / places[1]).resolve()
    reachable = {line.split(" ", 1)[0] for line in _git(folder, "rev-list", "--objects", "--no-object-names", base).splitlines()}
    born = int(_git(folder, "show", "-s", "--format=%ct", "--no-notes", base).strip())
    extra: dict[str, list[str]] = {}
    for line in _git(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)").splitlines():
        name, kind = line.split(" ", 1)
        if name not in reachable and not (kind == "tag" and _old_tag(folder, name, reachable, born)):
            extra.setdefault(kind, []).append(name)
    allowed = reachable | {n for n in _tags(folder) if n not in extra.get("tag", ())}
    for kind, names in sorted(extra.items()):
        yield f"git/objects/{kind}", f"{len(names)} beyond the base commit, e.g. {min(names)[:12]}"
    for line in _git(folder, "for-each-ref", "--format=%(objectname) %(refname)").splitlines():
        name, ref = line.split(" ", 1)
        if name not in allowed:
            yield f"git/{'/'.join(ref.split('/')[:2])}", "a ref to an object beyond the base commit"
    for place in {private, common}:
        for head in HEADS:
            if (place / head).is_file() and _others((place / head).read_text("utf-8", "replace"), allowed):
                yield f"git/{head}", "names an object beyond the base commit"
        for log in sorted((place / "logs").rglob("*")) if (place / "logs").is_dir() else ():
            if log.is_file() and _others(log.read_text("utf-8", "replace"), allowed):
                yield "git/logs", "a reflog names an object beyond the base commit"
        for other in sorted(place.glob("worktrees/*/*")):
            if (
                other.is_file()
                and other.suffix != ".lock"
                and other.name != "index"
                and _others(other.read_text("utf-8", "replace"), allowed)
            ):
                yield "git/worktrees", "another work tree's head names an object beyond the base commit"
    for name in LISTS:
        for listed in [common / name] if (common / name).is_file() else sorted((common / name).glob("*.graph")):
            listed_ids = {raw.hex() for raw in _listed(listed.read_bytes(), len(base) // 2)}
            if listed_ids - reachable:
                yield f"git/{name}", "lists commits beyond the base commit"


def beside_base(folder: Path, base: str) -> Iterator[tuple[str, str]]:
    """(where, what) of what lies beside the repository's own objects: other repositories, bundles, packs, patches."""
    blobs: dict[str, str] = {}
    links: dict[str, str] = {}
    for line in _git(folder, "ls-tree", "-r", "-z", base).split("\0"):
        if line:
            about, path = line.split("\t", 1)
            mode, _, name = about.split(" ")
            (links if mode == "160000" else blobs)[path] = name
    common = (folder / _git(folder, "rev-parse", "--git-common-dir").strip()).resolve()
    objects = [(place, "git/modules") for place in repositories_below(common / "modules") if is_repository(place)]
    if not is_repository(folder):
        objects += [(place, "git/nested") for place in repositories_below(folder) if is_repository(place)]
        for _, what in beside(folder, blobs):
            yield "git/files", f"{what} that is no file of the base commit"
    known = {line.split(" ", 1)[0] for line in _git(folder, "rev-list", "--objects", "--no-object-names", base).splitlines()}
    for place, where in objects:
        listed = _git(place, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
        start = next((name for name in links.values() if name in listed), None)
        if start is not None:
            yield from ((f"{where}/{path.removeprefix('git/')}", what) for path, what in beyond(place, start))
        elif more := set(listed) - known:
            yield f"{where}/objects", f"another repository: {len(more)} objects beyond the base commit, e.g. {min(more)[:12]}"


def _others(text: str, allowed: set[str]) -> bool:
    return any(name not in allowed and name.strip("0") for name in _ID.findall(text))


def _tags(folder: Path) -> list[str]:
    lines = _git(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)").splitlines()
    return [line.split(" ", 1)[0] for line in lines if line.endswith(" tag")]


def _old_tag(folder: Path, name: str, reachable: set[str], born: int) -> bool:
    """True for a tag of a commit that the base holds, made no later than the base."""
    text = _git(folder, "cat-file", "tag", name)
    target = re.search(r"^object ([0-9a-f]+)$", text, re.MULTILINE)
    made = re.search(r"^tagger .* (\d+) [+-]\d{4}$", text, re.MULTILINE)
    return target is not None and target[1] in reachable and made is not None and int(made[1]) <= born


def _listed(raw: bytes, size: int) -> Iterator[bytes]:
    """The commit ids of a commit-graph file: its chunk OIDL, whose place the table of chunks at its head tells."""
    chunks = raw[6]
    places = [(raw[8 + 12 * i : 12 + 12 * i], int.from_bytes(raw[12 + 12 * i : 20 + 12 * i], "big")) for i in range(chunks + 1)]
    for (name, start), (_, end) in pairwise(places):
        if name == b"OIDL":
            yield from (raw[at : at + size] for at in range(start, end, size))


def _git(folder: Path, *arguments: str) -> str:
    """What git says. Raises RuntimeError, without repeating the repository's text, where it fails."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "GIT_ALLOW_PROTOCOL": "",
    }
    safe = [
        "-c",
        "safe.directory=*",
        "-c",
        f"core.hooksPath={os.devnull}",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.commitGraph=false",
    ]
    # A submodule's folder of objects names a work tree that may not be there; nothing asked here needs one.
    place = ["--git-dir", str(folder.resolve()), "--bare"] if is_repository(folder) else ["-C", str(folder)]
    command = ["git", *safe, *place, *arguments]
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise RuntimeError(f"git {arguments[0]} ended with {done.returncode}")
    return done.stdout.decode("utf-8", "replace")


def planted(data: LeakInput) -> LeakInput:
    """Names the first parent of a repository's base as its base: the old base is then beyond it."""
    task_id, (folder, base) = sorted(data.repositories.items())[0]
    parent = _git(folder, "rev-parse", f"{base}^").strip()
    return replace(data, repositories={**data.repositories, task_id: (folder, parent)})


LEAK = Leak("late_git_object", run, planted)
