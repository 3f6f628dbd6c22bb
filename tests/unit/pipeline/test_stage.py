"""What `run_stage` promises: restartable, atomic, the same bytes, one writer."""

from __future__ import annotations

import fcntl
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.manifest import read_manifest
from pipeline.stage import WORK, finished, run_stage
from schemas.errors import SourceError, StageError
from tests.unit.pipeline.shard_work import stage

ROOT = Path(__file__).resolve().parents[3]
SIDE_FILES = {"timings.json", ".lock"}


def tree(folder: Path) -> dict[str, bytes]:
    """Every file that is part of the output (seconds and the lock are not)."""
    files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return {name: data for name, data in files.items() if name not in SIDE_FILES}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("unbroken") / "out"
    run_stage(stage(out, 6), engine="inline", quiet=True)
    return tree(out)


def test_a_finished_stage_is_a_no_op(tmp_path: Path) -> None:
    manifest, ran = run_stage(stage(tmp_path), engine="inline", quiet=True)
    assert ran
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.name != ".lock"}
    again, ran = run_stage(stage(tmp_path), engine="inline", quiet=True)
    assert not ran
    assert again == manifest
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.name != ".lock"} == before


def test_the_bytes_do_not_depend_on_the_number_of_workers(tmp_path: Path, unbroken: dict[str, bytes]) -> None:
    run_stage(stage(tmp_path / "pool", 6), workers=2, quiet=True)
    assert tree(tmp_path / "pool") == unbroken


def test_other_code_inputs_or_settings_run_again_and_leave_nothing_old(tmp_path: Path) -> None:
    run_stage(stage(tmp_path, 6), engine="inline", quiet=True)
    _, ran = run_stage(stage(tmp_path, 3, code="2"), engine="inline", quiet=True)
    assert ran
    assert sorted(p.name for p in (tmp_path / "parts").iterdir()) == ["0.txt", "1.txt", "2.txt"]
    assert not (tmp_path / WORK).exists()


@pytest.mark.parametrize("seed", range(8))
def test_killed_at_any_moment_it_continues_to_the_bytes_of_an_unbroken_run(
    tmp_path: Path, unbroken: dict[str, bytes], seed: int
) -> None:
    rng = random.Random(seed)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "tests.unit.pipeline.shard_work", str(out), "6", "1", "0.03"]
    for _ in range(3):
        process = subprocess.Popen(command, cwd=ROOT)
        time.sleep(rng.uniform(0.05, 0.75))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (out / "manifest.json").exists():
            assert tree(out).items() >= unbroken.items(), "a manifest stood beside a part of the output"
    subprocess.run(command, cwd=ROOT, check=True)
    assert {name: data for name, data in tree(out).items() if not name.startswith(WORK)} == unbroken
    assert not (out / WORK).exists()


def test_killed_between_any_two_file_operations_of_publishing_it_continues(
    tmp_path: Path, unbroken: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, exhaustively: publishing stops before its n-th rename, for every n."""
    import os

    class Killed(BaseException):
        pass

    rename, left = os.replace, 0

    def counted(*arguments: object) -> None:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1
        rename(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", counted)
    for renames in range(40):
        out, left = tmp_path / str(renames), renames
        try:
            run_stage(stage(out, 6), engine="inline", quiet=True)
            break
        except Killed:
            assert not (out / "manifest.json").exists()
        left = 1000
        run_stage(stage(out, 6), engine="inline", quiet=True)
        assert tree(out) == unbroken
    else:
        pytest.fail("the run never got through")
    assert renames >= 6 + 7 + 2, "each shard, each output, timings and manifest are renamed into place"


def test_finished_shards_are_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        run_stage(stage(tmp_path, bad=True), engine="inline", quiet=True)
    [work] = (tmp_path / WORK).iterdir()
    [first] = [p for p in work.iterdir() if p.name.startswith("s0-")]
    stamp = (first / "first.txt").stat().st_mtime_ns
    (first / "second.txt").write_text("kept\n")
    run_stage(stage(tmp_path), engine="inline", quiet=True)
    assert (tmp_path / "all.txt").read_text().startswith("kept\n")
    assert stamp


def test_a_worker_that_dies_is_replaced_and_its_shard_made_again(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    manifest, _ = run_stage(stage(tmp_path / "out", 6, die_once=str(flag)), workers=2, quiet=True)
    assert flag.read_text() == "died"
    assert manifest.counts == {"rows_in": 6, "rows_out": 6}


def test_workers_that_always_die_end_in_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(StageError, match=r"workers died 6 times \(\d shards left\); is there enough memory\?"):
        run_stage(stage(tmp_path, 3, die_always=True), workers=2, quiet=True)


def test_an_error_of_a_shard_comes_through_from_a_worker(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"a\.jsonl:3: not JSON, field status"):
        run_stage(stage(tmp_path, 3, bad=True), workers=2, quiet=True)
    assert finished(stage(tmp_path, 3)) is None


@pytest.mark.parametrize("name", ["parts/2.txt", "all.txt", "manifest.json", "parts"])
def test_a_half_deleted_output_is_found_and_made_again(tmp_path: Path, unbroken: dict[str, bytes], name: str) -> None:
    run_stage(stage(tmp_path, 6), engine="inline", quiet=True)
    target = tmp_path / name
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    _, ran = run_stage(stage(tmp_path, 6), engine="inline", quiet=True)
    assert ran
    assert tree(tmp_path) == unbroken


@pytest.mark.parametrize("text", ["", "{", "[]", '{"stage": "tally"}', "\x00"])
def test_a_broken_manifest_is_not_taken_for_a_finished_stage(tmp_path: Path, text: str) -> None:
    run_stage(stage(tmp_path), engine="inline", quiet=True)
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(StageError, match="not a manifest of this version; delete"):
        read_manifest(tmp_path)
    _, ran = run_stage(stage(tmp_path), engine="inline", quiet=True)
    assert ran


def test_files_of_an_older_version_are_taken_away(tmp_path: Path) -> None:
    run_stage(stage(tmp_path), engine="inline", quiet=True)
    (tmp_path / "parts" / "old.txt").write_text("of an older version")
    run_stage(stage(tmp_path, code="2"), engine="inline", quiet=True)
    assert not (tmp_path / "parts" / "old.txt").exists()


def test_a_folder_with_somebodys_files_is_refused_and_keeps_them(tmp_path: Path) -> None:
    mine = tmp_path / "thesis.txt"
    mine.write_text("years of work")
    with pytest.raises(StageError, match="no stage made"):
        run_stage(stage(tmp_path), engine="inline", quiet=True)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_output_of_another_stage_is_refused_and_stays(tmp_path: Path) -> None:
    from dataclasses import replace

    run_stage(stage(tmp_path), engine="inline", quiet=True)
    before = tree(tmp_path)
    with pytest.raises(StageError, match="is the output of"):
        run_stage(replace(stage(tmp_path), name="other"), engine="inline", quiet=True)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["manifest.json", "parts/0.txt"])
def test_a_folder_where_a_file_belongs_is_one_clear_line(tmp_path: Path, name: str) -> None:
    run_stage(stage(tmp_path), engine="inline", quiet=True)
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(StageError, match="is a folder where"):
        run_stage(stage(tmp_path), engine="inline", quiet=True)


def test_fewer_than_no_workers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="found -3"):
        run_stage(stage(tmp_path), workers=-3, quiet=True)


def test_a_second_run_of_the_same_folder_is_refused(tmp_path: Path) -> None:
    with (tmp_path / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(StageError, match="is being written by another run"):
            run_stage(stage(tmp_path), engine="inline", quiet=True)


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StageError, match=r"cannot write in .*file/out: Not a directory"):
        run_stage(stage(tmp_path / "file" / "out"), engine="inline", quiet=True)


def test_a_full_disk_is_one_clear_line_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    rename, calls = os.replace, 0

    def full(*arguments: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError(28, "No space left on device")
        rename(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(StageError, match="No space left on device; finished work is kept"):
            run_stage(stage(tmp_path), engine="inline", quiet=True)
    [work] = (tmp_path / WORK).iterdir()
    assert len([p for p in work.iterdir() if not p.name.startswith(".")]) == 2
    _, ran = run_stage(stage(tmp_path), engine="inline", quiet=True)
    assert ran


def test_an_unknown_engine_lists_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="engine 'ray2' is not one of inline, pool"):
        run_stage(stage(tmp_path), engine="ray2", quiet=True)


def test_a_worker_ends_soon_after_its_killed_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.unit.pipeline.shard_work", str(tmp_path / "out"), "4", "2", "1.0"]
    process = subprocess.Popen(command, cwd=ROOT)
    children: list[int] = []
    deadline = time.monotonic() + 20
    while len(children) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        children = [int(p) for p in listed if b"spawn_main" in Path(f"/proc/{p}/cmdline").read_bytes()]
    assert children
    time.sleep(1.0)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while (alive := [p for p in children if _runs(p)]) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not alive


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_forced_run_makes_a_finished_stage_again_and_keeps_the_old_one_whole_until_then(tmp_path: Path) -> None:
    from dataclasses import replace

    made, _ = run_stage(stage(tmp_path), engine="inline", quiet=True)

    def stopped(folders: list[Path], staging: Path) -> dict[str, int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_stage(replace(stage(tmp_path), finish=stopped), engine="inline", quiet=True, force=True)
    assert read_manifest(tmp_path) == made
    _, ran = run_stage(stage(tmp_path), engine="inline", quiet=True, force=True)
    assert ran
