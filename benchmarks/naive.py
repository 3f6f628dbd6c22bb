"""What certified tasks are worth to a trainer: the same model on a naive conversion of the same records.

    python -m benchmarks.naive --run RUN            (RUN: a finished run of `python -m training.ppo`; its twin is trained here)
    python -m benchmarks.naive --run RUN --iterations 10      a shorter twin, to try it out

The twin has the run's settings and seed, and at least as much CPU time (its episodes are shorter, so it gets more iterations).
What the conversion changes stands in `benchmarks/_naive.py`: the rows are today's, the requester tells all at once, only the
outcome's code is paid, and what is imitated is what the systems logged. Both are judged on the certified held-out tasks, and the
twin also by its own held-out tasks, which is the figure that its owner would believe. Exit code 1 if the run is not better.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import shutil
import sys
from pathlib import Path

from benchmarks._naive import convert, naive_grader, open_naive
from pipeline.cli import run_command
from rewards.score import Grader, load_grader
from schemas.errors import StageError
from schemas.files import read_json, sha256_file, write_json
from schemas.paths import clean_dir, runs_dir
from schemas.spec import load_spec
from schemas.taskset import TaskSet, open_taskset
from tasks.case import open_clean
from training import checkpoint
from training.config import Config, from_settings
from training.evaluate import Player, load_policy, play_agent, scripted
from training.figures import Result, cluster_mean
from training.models import load_codec
from training.ppo import run as train
from training.progress import Progress
from training.report import interval

ROOT = Path(__file__).resolve().parents[1]
QUIET = Progress(quiet=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="name or folder of a finished run on a certified set")
    parser.add_argument("--iterations", type=int, default=0, help="of the twin; 0: as many as its CPU time needs to match")
    parser.add_argument("--samples", type=int, default=1, help="sampled episodes of each held-out task")
    parser.add_argument("--spec", type=Path, default=ROOT / "tasks" / "specs" / "helpdesk_v1.toml")
    given = parser.parse_args()
    folder = Path(given.run) if Path(given.run).is_dir() else runs_dir() / given.run
    if not (folder / "config.json").is_file() or len(checkpoint.steps(folder)) < 2:
        raise StageError(f"{folder} is no finished run; train one with `python -m training.ppo --taskset ... --run NAME`")
    known = read_json(folder / "config.json")
    certified, settings = Path(known["taskset_folder"]), from_settings(known["settings"])
    side = open_taskset(certified, "train")
    twin_set = _twin_set(certified, given.spec, folder.with_name(f"{folder.name}-naive-set"))
    naive = open_naive(twin_set, "train", side)
    twin, spent = _twin(settings, folder, naive, given.iterations)
    heldout, own = open_taskset(certified, "heldout"), open_naive(twin_set, "heldout", side)
    judge = load_grader(heldout)
    rows: dict[str, list[Result]] = {}
    for name, of, tasks, grader in (
        ("certified", folder, heldout, judge),
        ("naive", twin, heldout, judge),
        ("naive, by its own test", twin, own, naive_grader(own)),
    ):
        rows |= _judged(name, of, tasks, grader, given.samples)
    constant = scripted(side, judge)["constant outcome"]
    for name, tasks, grader in (("certified", heldout, judge), ("by the naive test", own, naive_grader(own))):
        rows[f"constant outcome, {name}"] = play_agent(tasks, grader, sorted(tasks.tasks), constant, "constant", QUIET)
    print(f"CPU s of training: certified {_cpu(folder):.0f}, naive {spent:.0f}")
    for name, results in rows.items():
        grants = [r for r in results if r.outcome_class == "grant"]
        print(
            f"{name:<36}success {interval(cluster_mean(results, lambda r: r.success)):<24}"
            f"grants {interval(cluster_mean(grants, lambda r: r.success)):<24}"
            f"violations {interval(cluster_mean(results, lambda r: r.violations))}"
        )
    ours = cluster_mean(rows["certified, greedy"], lambda r: r.success)
    theirs = cluster_mean(rows["naive, greedy"], lambda r: r.success)
    write_json(twin / "naive.json", {name: cluster_mean(r, lambda one: one.success) for name, r in rows.items()})
    return int((ours["low"] or 0.0) <= (theirs["high"] or 1.0))


def _twin_set(certified: Path, spec_path: Path, out: Path) -> Path:
    """The naive twin of the task set; made anew where it is of another build."""
    spec = load_spec(spec_path)
    mark = {"seal": read_json(certified / "manifest.json")["seal"], "code": sha256_file(ROOT / "benchmarks" / "_naive.py")}
    if not (out / "made_of.json").is_file() or read_json(out / "made_of.json") != mark:
        shutil.rmtree(out, ignore_errors=True)
        clean = open_clean(clean_dir(spec.supplier), spec.select)
        convert(certified, clean.folder, clean.codebook, out)
        write_json(out / "made_of.json", mark)
    return out


def _cpu(folder: Path) -> float:
    """CPU s of a run: warm start, rollouts and updates."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    warm = float(read_json(folder / "warmstart.json")["cpu_seconds"])
    return warm + sum(float(row["cpu_seconds"]) for row in rows)


def _twin(settings: Config, folder: Path, taskset: TaskSet, iterations: int) -> tuple[Path, float]:
    """(folder, CPU s) of the same model trained on the naive set for as long; more iterations until it had the time."""
    wanted, warm_from = iterations or math.ceil(1.5 * settings.iterations), ""
    while True:
        out = folder.with_name(f"{folder.name}-naive-{wanted}")
        config = dataclasses.replace(
            settings, run=out.name, iterations=wanted, resume="auto", evaluate=False, warm_from=warm_from
        )
        train(config, out, taskset, naive_grader(taskset))
        spent, target = _cpu(out), _cpu(folder)
        if iterations or spent >= target:
            return out, spent
        warm = float(read_json(out / "warmstart.json")["cpu_seconds"])
        print(f"the twin had {spent:.0f} of {target:.0f} CPU s in {wanted} iterations: again with more", file=sys.stderr)
        warm_from, wanted = str(out), math.ceil(1.05 * wanted * (target - warm) / max(1.0, spent - warm))


def _judged(name: str, folder: Path, tasks: TaskSet, grader: Grader, samples: int) -> dict[str, list[Result]]:
    """Greedy and sampled episodes of a run's last checkpoint."""
    settings = read_json(folder / "config.json")["settings"]
    codec = load_codec(from_settings(settings), folder)
    policy = load_policy(folder, checkpoint.steps(folder)[-1], codec, settings)
    return {
        f"{name}, {mode}": Player(policy, codec, settings, n, mode == "greedy", mode, QUIET).play(
            mode, tasks, grader, sorted(tasks.tasks), []
        )
        for mode, n in (("greedy", 1), ("sampled", samples))
    }


if __name__ == "__main__":
    run_command(main)
