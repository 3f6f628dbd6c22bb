"""What a git repository holds beyond its base commit is found wherever git keeps it; what the base holds is no leak."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.leaks.late_git_object import beside_base, beyond
from tests.unit.tasks.leak_inputs import committed, git, git_repository


@pytest.fixture
def repository(tmp_path: Path) -> tuple[Path, str]:
    return git_repository(tmp_path / "code")


def places(repository: tuple[Path, str]) -> set[str]:
    return {path for path, _ in beyond(*repository)}


def test_a_repository_at_its_base_is_clean_loose_and_packed(repository: tuple[Path, str]) -> None:
    assert places(repository) == set()
    git(repository[0], "gc", "-q")
    assert places(repository) == set()


def test_an_unreachable_commit_is_found_loose_and_packed(repository: tuple[Path, str]) -> None:
    folder, base = repository
    committed(folder, "the repair\n")
    git(folder, "reset", "-q", "--hard", base)
    assert "git/objects/commit" in places(repository)
    git(folder, "branch", "later", "ORIG_HEAD")
    git(folder, "gc", "-q")
    assert {"git/objects/commit", "git/refs/heads"} <= places(repository)


def test_a_dangling_file_a_tag_and_a_reflog_are_found(repository: tuple[Path, str]) -> None:
    folder, base = repository
    (folder / "new.py").write_text("repaired = True\n", encoding="utf-8")
    git(folder, "hash-object", "-w", "new.py")
    assert places(repository) == {"git/objects/blob"}
    logs = folder / ".git" / "logs"
    logs.mkdir()
    (logs / "HEAD").write_text(f"{base} {'1' * 40} A <a@example.org> 1736071200 +0000\tcommit: repair\n", encoding="utf-8")
    assert "git/logs" in places(repository)


def test_a_tag_of_the_base_itself_is_no_leak_and_one_of_a_later_commit_is(repository: tuple[Path, str]) -> None:
    folder, base = repository
    git(folder, "tag", "-a", "v1", "-m", "a release", base)
    assert places(repository) == set()
    later = committed(folder, "a = 3\n")
    git(folder, "tag", "-a", "v2", "-m", "a release", later)
    git(folder, "reset", "-q", "--hard", base)
    assert {"git/objects/tag", "git/refs/tags"} <= places(repository)


def test_a_folder_that_is_no_repository_or_lacks_the_base_could_not_be_looked_at(
    repository: tuple[Path, str], tmp_path: Path
) -> None:
    with pytest.raises(RuntimeError, match="git"):
        list(beyond(repository[0], "1" * 40))
    (tmp_path / "empty").mkdir()
    with pytest.raises(RuntimeError, match="git"):
        list(beyond(tmp_path / "empty", repository[1]))


def lying_beside(repository: tuple[Path, str]) -> set[str]:
    return {path for path, _ in beside_base(*repository)}


def test_files_of_the_base_and_results_of_a_build_are_nothing_beside_it(repository: tuple[Path, str]) -> None:
    folder, _ = repository
    (folder / "fix.patch").write_text("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", encoding="utf-8")
    git(folder, "add", "fix.patch")
    git(folder, "commit", "-q", "-m", "a patch that the project keeps")
    (folder / "main.pyc").write_bytes(b"\x00built")
    assert lying_beside((folder, git(folder, "rev-parse", "HEAD"))) == set()


@pytest.mark.parametrize("kind", ["patch", "bundle", "mail"])
def test_later_changes_kept_in_an_untracked_file_are_found(repository: tuple[Path, str], kind: str) -> None:
    folder, base = repository
    committed(folder, "a = 3\n")
    (folder / "notes").mkdir()
    if kind == "bundle":
        git(folder, "bundle", "create", "notes/keep.txt", "HEAD")
    else:
        command = ("diff", base) if kind == "patch" else ("format-patch", "--stdout", base)
        (folder / "notes" / "keep.txt").write_text(git(folder, *command), encoding="utf-8")
    git(folder, "reset", "-q", "--hard", base)
    assert lying_beside(repository) == {"git/files"}


def test_another_clone_below_the_folder_may_hold_what_the_base_holds_and_no_more(repository: tuple[Path, str]) -> None:
    folder, _ = repository
    git(folder, "clone", "-q", str(folder), "vendor/copy")
    assert lying_beside(repository) == set()
    committed(folder / "vendor" / "copy", "a = 3\n")
    assert lying_beside(repository) == {"git/nested/objects"}


def test_a_submodule_is_held_against_the_commit_that_the_base_names(repository: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = repository
    other, at = git_repository(tmp_path / "library")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "library")
    git(folder, "commit", "-q", "-m", "with a library")
    base = git(folder, "rev-parse", "HEAD")
    for log in sorted((folder / ".git" / "modules" / "library" / "logs").rglob("*"), reverse=True):
        log.unlink() if log.is_file() else log.rmdir()
    assert lying_beside((folder, base)) == set()
    later = committed(folder / "library", "a = 3\n")
    git(folder / "library", "reset", "-q", "--hard", at)
    assert later != at
    assert "git/modules/objects/commit" in lying_beside((folder, base))
