"""Kills a stage at random moments, runs it again, and compares bytes with an unbroken run.

    python benchmarks/crash_safety.py --stage ingest --kills 10 --tickets 200

Each trial starts from the same finished input folders, kills the whole process group with SIGKILL after a random share of the
unbroken run's wall time (several times over until the run ends by itself), and then compares every published file. Prints a line
per trial and the count of trials whose bytes differ; exit code 1 if any does, or if a killed folder was taken for a whole one.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = "tasks/specs/helpdesk_v1.toml"
STAGES = ["samples", "ingest", "deid", "tasks"]
OUTPUT = {"samples": "raw/sample", "ingest": "records/sample", "deid": "clean/sample", "tasks": "tasksets/helpdesk_v1"}
NOT_OUTPUT = {"timings.json", ".lock"}


def command(stage: str, data: Path, tickets: int) -> list[str]:
    """The command line of a stage; the sample's size is a setting of the first only."""
    if stage == "samples":
        where = ["--out", str(data / "raw/sample"), "--truth", str(data / "truth/sample")]
        return [sys.executable, "-m", "samples", "--tickets", str(tickets), *where]
    export = ["--export", str(data / "raw/sample")] if stage == "ingest" else []
    return [sys.executable, "-m", stage, "--spec", SPEC, *export]


def digests(folder: Path) -> dict[str, str]:
    """File, relative to `folder`, -> sha256 of each published file (work folders, locks and timings are not output)."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts) and name.name not in NOT_OUTPUT:
            found[name.as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def environment(root: Path) -> dict[str, str]:
    """One key for all trials: with a key of its own, each would rightly write other tokens."""
    own = {"RECORDGYM_DATA": str(root / "data"), "RECORDGYM_HOME": str(root / "home"), "RECORDGYM_TOKEN_KEY": "c0ffee00" * 8}
    return os.environ | own


def run(stage: str, root: Path, tickets: int, kill_after: float | None) -> tuple[bool, float]:
    """Runs a stage; returns whether it ended by itself with exit code 0, and its wall seconds."""
    started = time.monotonic()
    process = subprocess.Popen(
        command(stage, root / "data", tickets),
        env=environment(root),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        _, errors = process.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return False, time.monotonic() - started
    if process.returncode != 0:
        raise SystemExit(f"{stage} failed with exit code {process.returncode}:\n{errors.decode()[-2000:]}")
    return True, time.monotonic() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", choices=STAGES, default="ingest", help="stage to kill (default ingest)")
    parser.add_argument("--kills", type=int, default=10, help="trials, each with one or more kills (default 10)")
    parser.add_argument("--tickets", type=int, default=200, help="size of the sample (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    before = STAGES[: STAGES.index(arguments.stage)]
    differing = 0
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "whole"
        for stage in before:
            run(stage, whole, arguments.tickets, None)
        ready = Path(scratch) / "ready"
        whole.mkdir(exist_ok=True)
        shutil.copytree(whole, ready)
        _, seconds = run(arguments.stage, whole, arguments.tickets, None)
        wanted = digests(whole / "data" / OUTPUT[arguments.stage])
        print(f"{arguments.stage}: unbroken run {seconds:.1f} s, {len(wanted)} files", flush=True)
        for trial in range(arguments.kills):
            here = Path(scratch) / f"trial{trial}"
            shutil.copytree(ready, here)
            kills: list[float] = []
            done = False
            while not done and len(kills) < 5:
                moment = chance.uniform(0.05, 1.0) * seconds
                done, _ = run(arguments.stage, here, arguments.tickets, moment)
                if not done:
                    kills.append(round(moment, 2))
            if not done:
                run(arguments.stage, here, arguments.tickets, None)
            got = digests(here / "data" / OUTPUT[arguments.stage])
            wrong = sorted(name for name in wanted.keys() | got.keys() if wanted.get(name) != got.get(name))
            differing += bool(wrong)
            print(f"trial {trial}: killed at {kills} s; {'same bytes' if not wrong else f'DIFFERS: {wrong[:5]}'}", flush=True)
            shutil.rmtree(here)
    print(f"{arguments.kills - differing} of {arguments.kills} trials ended in the bytes of an unbroken run")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
