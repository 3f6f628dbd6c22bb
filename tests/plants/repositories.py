"""Files and git objects from after the base commit, in a copy of the repository that an agent is given."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path
from random import Random

from tasks.leaks import LeakInput
from tests.plants._edit import choose, stamp, when
from tests.plants._planted import Plant, Planted, UnplantableError

GIT, FILE = "git object beyond the base", "file time"
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "fixer",
    "GIT_AUTHOR_EMAIL": "fixer@example.org",
    "GIT_COMMITTER_NAME": "fixer",
    "GIT_COMMITTER_EMAIL": "fixer@example.org",
}


def git(folder: Path, *arguments: str, stdin: str | None = None) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
        env={**ENVIRONMENT, "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z"},
    )
    return done.stdout.strip()


def _fix(folder: Path, base: str) -> str:
    """The fix as a commit whose parent is the base; no reference names it."""
    blob = git(
        folder, "hash-object", "-w", "--stdin", stdin="def total(rows):\n    return sum(r.amount for r in rows if r.open)\n"
    )
    tree = git(folder, "mktree", stdin=f"100644 blob {blob}\tledger.py\n")
    return git(folder, "commit-tree", tree, "-p", base, "-m", "Count only open rows")


def _planted(change: Callable[[Path, str], None]) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        if not data.repositories:
            raise UnplantableError("no repositories")
        task_id = rng.choice(sorted(data.repositories))
        folder, base = data.repositories[task_id]
        copy = Path(tempfile.mkdtemp(prefix="planted-", dir=folder.parent)) / folder.name
        shutil.copytree(folder, copy, symlinks=True)
        change(copy, base)
        return Planted(replace(data, repositories={**data.repositories, task_id: (copy, base)}), (task_id,))

    return make


def branch(folder: Path, base: str) -> None:
    git(folder, "branch", "fix/rounding", _fix(folder, base))


def remote_branch(folder: Path, base: str) -> None:
    git(folder, "update-ref", "refs/remotes/origin/main", _fix(folder, base))


def pull_ref(folder: Path, base: str) -> None:
    git(folder, "update-ref", "refs/pull/41/head", _fix(folder, base))


def tag(folder: Path, base: str) -> None:
    git(folder, "tag", "-a", "v2.0", "-m", "release", _fix(folder, base))


def packed_ref(folder: Path, base: str) -> None:
    git(folder, "tag", "v2.1", _fix(folder, base))
    git(folder, "pack-refs", "--all")


def reflog(folder: Path, base: str) -> None:
    fix = _fix(folder, base)
    log = folder / ".git" / "logs" / "HEAD"
    log.parent.mkdir(exist_ok=True)
    with log.open("a", encoding="utf-8") as handle:
        handle.write(f"{fix} {base} fixer <fixer@example.org> 978307200 +0000\treset: moving to {base}\n")


def reflog_without_object(folder: Path, base: str) -> None:
    """Only the line: the object itself was pruned, its id and its message stay."""
    log = folder / ".git" / "logs" / "HEAD"
    log.parent.mkdir(exist_ok=True)
    fix = "1" * 4 + base[4:]
    with log.open("a", encoding="utf-8") as handle:
        handle.write(f"{base} {fix} fixer <fixer@example.org> 978307200 +0000\tcommit: Count only open rows\n")


def dangling(folder: Path, base: str) -> None:
    _fix(folder, base)


def dangling_blob(folder: Path, base: str) -> None:
    git(folder, "hash-object", "-w", "--stdin", stdin="def total(rows):\n    return sum(r.amount for r in rows if r.open)\n")


def packed(folder: Path, base: str) -> None:
    """Unreachable, in a pack, with no loose copy."""
    fix = _fix(folder, base)
    objects = git(folder, "rev-list", "--objects", fix, f"^{base}")
    names = "\n".join(line.split()[0] for line in objects.splitlines()) + "\n"
    git(folder, "pack-objects", str(folder / ".git" / "objects" / "pack" / "pack"), stdin=names)
    git(folder, "prune-packed")


def alternate(folder: Path, base: str) -> None:
    """In an object store outside, to which the repository points."""
    store = folder.parent / "upstream"
    shutil.copytree(folder, store, symlinks=True)
    git(store, "branch", "fix", _fix(store, base))
    info = folder / ".git" / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{store / '.git' / 'objects'}\n", encoding="utf-8")


def stash(folder: Path, base: str) -> None:
    git(folder, "update-ref", "refs/stash", _fix(folder, base))


def note(folder: Path, base: str) -> None:
    git(folder, "notes", "add", "-m", "fixed by counting only open rows", base)


def original_head(folder: Path, base: str) -> None:
    (folder / ".git" / "ORIG_HEAD").write_text(_fix(folder, base) + "\n", encoding="utf-8")


def fetch_head(folder: Path, base: str) -> None:
    fix = _fix(folder, base)
    (folder / ".git" / "FETCH_HEAD").write_text(f"{fix}\t\tbranch 'main' of example.org:team/ledger\n", encoding="utf-8")


def head_moved(folder: Path, base: str) -> None:
    git(folder, "update-ref", "HEAD", _fix(folder, base))


def index(folder: Path, base: str) -> None:
    """Staged: the index names the blob of the fixed file."""
    blob = git(folder, "hash-object", "-w", "--stdin", stdin="def total(rows):\n    return 0\n")
    git(folder, "update-index", "--add", "--cacheinfo", f"100644,{blob},ledger.py")


def working_tree(folder: Path, base: str) -> None:
    """The fix as a patch in a file that git does not track."""
    before, after = "    return sum(r.amount for r in rows)", "    return sum(r.amount for r in rows if r.open)"
    text = f"--- a/ledger.py\n+++ b/ledger.py\n@@ -3,1 +3,1 @@\n-{before}\n+{after}\n"
    (folder / "0001-count-only-open-rows.patch").write_text(text, encoding="utf-8")


def bundle(folder: Path, base: str) -> None:
    fix = _fix(folder, base)
    git(folder, "update-ref", "refs/heads/tmp", fix)
    git(folder, "bundle", "create", str(folder / "history.bundle"), "tmp")
    git(folder, "update-ref", "-d", "refs/heads/tmp")
    objects = folder / ".git" / "objects"
    for name in (fix, git(folder, "rev-parse", f"{fix}^{{tree}}"), git(folder, "rev-parse", f"{fix}:ledger.py")):
        (objects / name[:2] / name[2:]).unlink()
    shutil.rmtree(folder / ".git" / "logs", ignore_errors=True)


def nested(folder: Path, base: str) -> None:
    """A second clone inside the tree, one commit ahead."""
    inner = folder / "vendor" / "ledger"
    shutil.copytree(folder, inner, symlinks=True)
    git(inner, "update-ref", "HEAD", _fix(inner, base))


def worktree(folder: Path, base: str) -> None:
    """The place of a second working tree, detached at the fix."""
    fix = _fix(folder, base)
    place = folder / ".git" / "worktrees" / "fix"
    place.mkdir(parents=True)
    (place / "HEAD").write_text(fix + "\n", encoding="utf-8")
    (place / "commondir").write_text("../..\n", encoding="utf-8")
    (place / "gitdir").write_text(str(folder.parent / "elsewhere" / ".git") + "\n", encoding="utf-8")


def replacement(folder: Path, base: str) -> None:
    """A replacement reference: git shows the fix in place of the base."""
    git(folder, "update-ref", f"refs/replace/{base}", _fix(folder, base))


def submodule(folder: Path, base: str) -> None:
    """The repository of a submodule, one commit ahead, below .git/modules."""
    place = folder / ".git" / "modules" / "ledger"
    shutil.copytree(folder / ".git", place, symlinks=True, ignore=shutil.ignore_patterns("modules"))
    fix = _fix(folder.parent / folder.name, base)
    objects = folder / ".git" / "objects"
    for name in (fix, git(folder, "rev-parse", f"{fix}^{{tree}}"), git(folder, "rev-parse", f"{fix}:ledger.py")):
        target = place / "objects" / name[:2]
        target.mkdir(exist_ok=True)
        shutil.move(str(objects / name[:2] / name[2:]), target / name[2:])
    (place / "HEAD").write_text(fix + "\n", encoding="utf-8")


def _late_file(form: str) -> Callable[[LeakInput, Random], Planted]:
    def make(data: LeakInput, rng: Random) -> Planted:
        tasks = {t.task_id for t in data.tasks if data.file_times.get(t.task_id)}
        if not tasks:
            raise UnplantableError("no files with times")
        task = choose(data, rng, lambda t: t.task_id in tasks)
        start = when(task.started_at)
        moment = {
            "days": stamp(start + timedelta(days=3)),
            "second": stamp(start + timedelta(seconds=1)),
            "offset": (start + timedelta(hours=3)).astimezone(timezone(timedelta(hours=-9))).isoformat(),
        }[form]
        files = dict(data.file_times[task.task_id])
        name = rng.choice(sorted(files))
        files[name] = moment
        return Planted(replace(data, file_times={**data.file_times, task.task_id: files}), (task.task_id,))

    return make


REPOSITORY = {
    "branch": ("branch", branch),
    "remote_branch": ("branch of a remote", remote_branch),
    "pull_ref": ("reference of a pull request", pull_ref),
    "tag": ("annotated tag", tag),
    "packed_ref": ("tag in the file of packed references", packed_ref),
    "reflog": ("reflog only", reflog),
    "reflog_line": ("line of a reflog whose object is gone", reflog_without_object),
    "dangling": ("commit that nothing names", dangling),
    "dangling_blob": ("file content that nothing names", dangling_blob),
    "packed": ("unreachable objects in a pack", packed),
    "alternate": ("objects in a store outside to which the repository points", alternate),
    "stash": ("stash", stash),
    "note": ("note on the base commit", note),
    "original_head": ("ORIG_HEAD", original_head),
    "fetch_head": ("FETCH_HEAD", fetch_head),
    "head": ("HEAD itself is one commit further", head_moved),
    "index": ("staged content of the fix", index),
    "patch_file": ("patch in a file that git does not track", working_tree),
    "bundle": ("bundle in the working tree", bundle),
    "nested": ("second clone inside the tree", nested),
    "worktree": ("place of a second working tree", worktree),
    "replacement": ("replacement reference for the base", replacement),
    "submodule": ("repository of a submodule", submodule),
}
TIMES = {
    "days": "changed three days after the cut",
    "second": "changed one second after the cut",
    "offset": "changed three hours after the cut, with an offset far west",
}

PLANTS = (
    *(Plant(f"git_{name}", GIT, words, _planted(change)) for name, (words, change) in REPOSITORY.items()),
    *(Plant(f"file_{name}", FILE, f"file {words}", _late_file(name)) for name, words in TIMES.items()),
)
