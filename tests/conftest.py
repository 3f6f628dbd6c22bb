"""What every test gets: folders, keys and home of its own, and the real public records where they lie beside the clone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A loaded machine is slow, not wrong: no deadlines. In CI the examples are the same on every run; elsewhere each tries others.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

ROOT = Path(__file__).resolve().parents[1]
TEST_KEY = "0123456789abcdef0123456789abcdef"
"""Token key of all tests: 32 hexadecimal digits."""


@pytest.fixture(scope="session", autouse=True)
def _session_isolation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test, nor a module-wide fixture, ever touches the clone's `data/` or the user's keys and vaults."""
    folder = tmp_path_factory.mktemp("session")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECORDGYM_DATA", str(folder / "data"))
        patch.setenv("RECORDGYM_HOME", str(folder / "home"))
        patch.setenv("RECORDGYM_TOKEN_KEY", TEST_KEY)
        yield folder


@pytest.fixture(autouse=True)
def _test_isolation(_session_isolation: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has its own data and home; a wider fixture that has set its own RECORDGYM_DATA keeps it."""
    if os.environ["RECORDGYM_DATA"] == str(_session_isolation / "data"):
        monkeypatch.setenv("RECORDGYM_DATA", str(tmp_path / "data"))
        monkeypatch.setenv("RECORDGYM_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The clone's root."""
    return ROOT


@pytest.fixture(scope="session")
def real_dir() -> Path:
    """The real public records: `../shared/real` beside the clone. Skips where they are not there."""
    folder = ROOT.parent / "shared" / "real"
    if not folder.is_dir():
        pytest.skip("the real public records are not beside this clone (../shared/real)")
    return folder
