from __future__ import annotations

from pathlib import Path

import pytest

from pipeline import manifest
from pipeline.manifest import code_version, read_manifest, require_stage
from pipeline.stage import run_stage
from schemas.errors import StageError
from tests.unit.pipeline.shard_work import stage


def test_the_next_stage_takes_only_a_whole_output_of_the_right_stage(tmp_path: Path) -> None:
    with pytest.raises(StageError, match=r"holds no finished stage \(manifest.json is missing\); run the stage before"):
        read_manifest(tmp_path)
    run_stage(stage(tmp_path), engine="inline", quiet=True)
    assert require_stage(tmp_path, "tally").stage == "tally"
    with pytest.raises(StageError, match="is the output of 'tally', not of 'deid'"):
        require_stage(tmp_path, "deid")
    (tmp_path / "all.txt").write_text("changed")
    with pytest.raises(StageError, match=r"all\.txt is missing or was changed"):
        require_stage(tmp_path, "tally")


def test_the_manifest_holds_no_time_so_that_a_rerun_has_the_same_bytes(tmp_path: Path) -> None:
    run_stage(stage(tmp_path / "a"), engine="inline", quiet=True)
    run_stage(stage(tmp_path / "b", delay=0.1), engine="inline", quiet=True)
    assert (tmp_path / "a" / "manifest.json").read_bytes() == (tmp_path / "b" / "manifest.json").read_bytes()
    assert (tmp_path / "a" / "timings.json").exists()


def test_changed_code_changes_the_code_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "versioned_for_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    versions = set()
    for name, text in (("a.py", "x = 1\n"), ("a.py", "x = 2\n"), ("b.py", "x = 2\n"), ("page.j2", "<p>"), ("notes.txt", "?")):
        (package / name).write_text(text)
        code_version.cache_clear()
        versions.add(code_version("versioned_for_test"))
    assert len(versions) == 4, "a text file is no code"
    assert all(len(version) == 16 for version in versions)
    assert manifest.SCHEMA_VERSION == 1
