"""What certified tasks are worth to a trainer: the same model on a naive conversion of the same records.

    python -m benchmarks.naive --run RUN            (RUN: a finished run of `python -m training.ppo`; its twin is trained here)
    python -m benchmarks.naive --run RUN --imitate references  its warm start from the certified references, look-ups and all
    python -m benchmarks.naive --run RUN --iterations 10       a shorter twin, to try it out

The twin has the run's settings and seed, and at least as much CPU time (its episodes are shorter, so it gets more iterations).
What the conversion changes stands in `benchmarks/_naive.py`: the rows are today's, the requester tells all at once, only the
outcome's code is paid, and what is imitated is what the systems logged (writes and closings). Both are judged on the certified
held-out tasks, and the twin also by its own held-out tasks, which is the figure that its owner would believe. Exit code 1 if the
run is not better.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
from pathlib import Path

import torch

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
from training.lab import prepare, resume, save, say
from training.made import opened
from training.models import load_codec
from training.ppo import iterate
from training.progress import Progress
from training.report import interval, summary_line

ROOT = Path(__file__).resolve().parents[1]
QUIET = Progress(quiet=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="name or folder of a finished run on a certified set")
    parser.add_argument("--iterations", type=int, default=0, help="of the twin; 0: as many as its CPU time needs to match")
    parser.add_argument(
        "--imitate",
        choices=("logged", "references"),
        default="logged",
        help="what the twin's warm start imitates (default logged)",
    )
    parser.add_argument("--samples", type=int, default=1, help="sampled episodes of each held-out task")
    parser.add_argument("--spec", type=Path, default=ROOT / "tasks" / "specs" / "helpdesk_v1.toml")
    given = parser.parse_args()
    folder = Path(given.run) if Path(given.run).is_dir() else runs_dir() / given.run
    if not (folder / "evaluation.json").is_file():
        raise StageError(f"{folder} is no finished run; train one with `python -m training.ppo --taskset ... --run NAME`")
    known = read_json(folder / "config.json")
    certified, settings = Path(known["taskset_folder"]), from_settings(known["settings"])
    side = open_taskset(certified, "train")
    twin_set = _twin_set(certified, given.spec, folder.with_name(f"{folder.name}-naive-{given.imitate}-set"), given.imitate)
    naive = open_naive(twin_set, "train", side)
    torch.set_num_threads(settings.threads)
    twin = folder.with_name(f"{folder.name}-naive-{given.imitate}")
    spent = _twin(settings, twin, naive, given.iterations, _cpu(folder))
    heldout, own = open_taskset(certified, "heldout"), open_naive(twin_set, "heldout", side)
    judge = load_grader(heldout)
    rows = _known(folder)
    for name, tasks, grader in (("naive", heldout, judge), ("naive, by its own test", own, naive_grader(own))):
        rows |= _judged(name, twin, tasks, grader, given.samples)
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
    return int(ours["low"] is None or theirs["high"] is None or ours["low"] <= theirs["high"])


def _known(folder: Path) -> dict[str, list[Result]]:
    """The certified run's own evaluation."""
    rows = [json.loads(line) for line in (folder / "episodes.jsonl").read_text(encoding="utf-8").splitlines()]
    return {
        f"certified, {mode}": [Result(**{**r, "tools": tuple(r["tools"])}) for r in rows if r["agent"] == f"after PPO, {mode}"]
        for mode in ("greedy", "sampled")
    }


def _twin_set(certified: Path, spec_path: Path, out: Path, imitate: str) -> Path:
    """The naive twin of the task set; made anew where it is of another build."""
    spec = load_spec(spec_path)
    mark = {"seal": read_json(certified / "manifest.json")["seal"], "code": sha256_file(ROOT / "benchmarks" / "_naive.py")}
    if not (out / "made_of.json").is_file() or read_json(out / "made_of.json") != mark:
        shutil.rmtree(out, ignore_errors=True)
        clean = open_clean(clean_dir(spec.supplier), spec.select)
        convert(certified, clean.folder, clean.codebook, out, logged=imitate == "logged")
        write_json(out / "made_of.json", mark)
    return out


def _cpu(folder: Path) -> float:
    """CPU s of a run: warm start, rollouts and updates."""
    log = folder / "metrics.jsonl"
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    warm = float(read_json(folder / "warmstart.json")["cpu_seconds"])
    return warm + sum(float(row["cpu_seconds"]) for row in rows)


def _twin(settings: Config, folder: Path, taskset: TaskSet, iterations: int, target: float) -> float:
    """Trains the same model on the naive set for `iterations`, or else for `target` CPU s, and returns its CPU s. Goes on where
    it was stopped."""
    config = dataclasses.replace(settings, run=folder.name, resume="auto", evaluate=False, warm_from="")
    checkpoint.tidy(folder)
    lab = prepare(config, folder, taskset, naive_grader(taskset))
    done = resume(lab)
    opened(lab, done)
    while done < iterations if iterations else _cpu(folder) < target:
        row = iterate(lab, done)
        lab.log.append(row)
        done += 1
        say(config, summary_line(row))
        if done % config.save_every == 0:
            save(lab, done)
    save(lab, done)
    return _cpu(folder)


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
