"""A small stage for the tests: importable, so that worker processes find its functions.

`python -m tests.unit.pipeline.shard_work OUT SHARDS WORKERS DELAY_S` runs it as a command that can be killed.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from pipeline.cli import run_command
from pipeline.stage import Shard, Stage, run_stage
from schemas.errors import SourceError


def work(payload: dict[str, Any], folder: Path) -> None:
    """Writes two files slowly enough to be killed between them; `die_once` names a flag file of a worker that kills itself."""
    flag = payload.get("die_once")
    if flag and not Path(flag).exists():
        Path(flag).write_text("died")
        os._exit(9)
    if payload.get("die_always"):
        os._exit(9)
    if payload.get("bad"):
        raise SourceError("a.jsonl", "3", "not JSON", field="status")
    for name in ("first", "second"):
        (folder / f"{name}.txt").write_text(f"{payload['number']} {name}\n" * 50)
        time.sleep(payload["delay"] / 2)


def finish(folders: list[Path], out: Path) -> dict[str, int]:
    (out / "parts").mkdir()
    for number, folder in enumerate(folders):
        (out / "parts" / f"{number}.txt").write_text((folder / "first.txt").read_text())
        time.sleep(0.002)
    (out / "all.txt").write_text("".join((folder / "second.txt").read_text() for folder in folders))
    return {"rows_in": len(folders), "rows_out": len(folders)}


def stage(out: Path, shards: int = 4, *, delay: float = 0.0, code: str = "1", **extra: Any) -> Stage:
    """`extra` goes into the payload of shard 1."""
    payloads = [{"number": n, "delay": delay} | (extra if n == 1 else {}) for n in range(shards)]
    return Stage(
        name="tally",
        out=out,
        inputs={"export": "0" * 64},
        code_version=code,
        settings={"shards": shards},
        shards=lambda: [Shard(f"s{p['number']}", str(p["number"]), p) for p in payloads],
        work=work,
        finish=finish,
    )


def main() -> int:
    out, shards, workers, delay = sys.argv[1:5]
    run_stage(stage(Path(out), int(shards), delay=float(delay)), workers=int(workers), quiet=True)
    return 0


if __name__ == "__main__":
    run_command(main)
