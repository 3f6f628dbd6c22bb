"""What a git repository holds beyond its base commit is found wherever git keeps it; what the base holds is no leak."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.leaks.late_git_object import beyond
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
