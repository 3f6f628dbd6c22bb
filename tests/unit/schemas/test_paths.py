from __future__ import annotations

from pathlib import Path

import pytest

from schemas import paths


def test_everything_but_keys_and_vaults_is_under_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECORDGYM_DATA")
    monkeypatch.delenv("RECORDGYM_HOME")
    for path in (paths.raw_dir("a"), paths.records_dir("a"), paths.clean_dir("a"), paths.taskset_dir("t"), paths.runs_dir()):
        assert path.parts[0] == "data"
    for path in (paths.key_file("a"), paths.vault_file("a")):
        assert path.is_relative_to(Path.home() / ".recordgym")


def test_both_roots_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECORDGYM_DATA", str(tmp_path / "d"))
    monkeypatch.setenv("RECORDGYM_HOME", str(tmp_path / "h"))
    assert paths.clean_dir("a") == tmp_path / "d" / "clean" / "a"
    assert paths.vault_file("a") == tmp_path / "h" / "vault" / "a.vault"
