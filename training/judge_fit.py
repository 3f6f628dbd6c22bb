"""A judge learnt from what people said of episodes of the training side.

    python -m training.judge_fit RUN                       episodes of the run's validation tasks -> judge_queue.csv to fill in
    python -m training.judge_fit RUN --read FILE --out DIR the filled form -> DIR/judge.json, for `--judge learned:DIR`

The review queue of a run holds held-out tasks: what people say of those may never train anything. So this queue is another one,
of tasks that the run kept out of its warm start and of PPO, but that are not held out. The fit is refused with too few labels,
with one kind of label only, and where it does no better on tasks that it has not seen than always giving the commoner label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from pipeline.cli import console, run_command
from rewards.score import load_grader
from schemas.errors import StageError
from schemas.files import read_json, sha256_json, write_json
from schemas.taskset import open_taskset
from training import checkpoint
from training.config import from_settings
from training.evaluate import load_policy
from training.judges import features
from training.models import load_codec
from training.review import read_form
from training.review_queue import episode_id, queue, write_queue
from training.rollout import play
from training.run_files import find_run, json_lines, trained_before
from training.sides import as_it_was, split_validation

QUEUE, FORM = "judge_queue.jsonl", "judge_queue.csv"
AT_RANDOM = 60
"""Episodes of the queue that are drawn at random, at most one of a task: more than an evaluation's, since they are to be learnt
from."""
FEWEST = 20
"""Labels, unclear ones left out, from which a fit says anything."""
FOLDS = 5
L2 = 1.0
"""Weight of the squared weights: few labels, so they are held small."""


@dataclass(frozen=True)
class Options:
    """Makes a form of training-side episodes for people to judge, or fits a judge to a filled one."""

    run: Annotated[str, tyro.conf.Positional]
    """Run folder, or its name under data/runs."""
    read: str = ""
    """The filled form."""
    out: str = ""
    """Folder of the judge; must not hold another."""
    samples: int = 2
    """Sampled episodes of each validation task that the queue is drawn from."""


def make_queue(folder: Path, samples: int) -> list[dict[str, Any]]:
    """Plays the validation tasks with the run's last policy and writes the queue and its form. Raises StageError where the run
    has no checkpoint or no validation tasks."""
    config = read_json(folder / "config.json")
    settings = config["settings"]
    steps = checkpoint.steps(folder)
    if not steps:
        raise StageError(f"{folder} has no checkpoint; run `python -m training.ppo` first")
    if samples < 1:
        raise StageError(f"--samples {samples}: allowed is 1 or more")
    # Another build of the set may hold out other tasks than the run did.
    taskset = open_taskset(as_it_was(Path(config["taskset_folder"]), config["taskset_sha256"]), "train")
    _, ids = split_validation(taskset, settings["validation_share"], trained_before(folder))
    if not ids:
        raise StageError(f"{folder} kept no validation tasks (--validation-share {settings['validation_share']})")
    grader = load_grader(taskset)
    codec = load_codec(from_settings(settings), folder)
    policy = load_policy(folder, steps[-1], codec, settings)
    jobs = [(task, seed) for seed in range(samples) for task in ids]
    made = torch.Generator().manual_seed(settings["seed"])
    played = play(policy, taskset, grader, codec, jobs, context=settings["context"], generator=made, agent="to be judged")
    held = {episode_id(p.trace): features(p.trace.journal, taskset.tasks[p.trace.task_id].max_steps) for p in played}
    rows = [row | {"features": held[row["episode"]]} for row in queue([p.trace for p in played], taskset, grader, AT_RANDOM)]
    write_queue(folder, rows, QUEUE, FORM)
    return rows


def fit(labels: Sequence[Mapping[str, str]], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The judge as JSON, with its figures on tasks that it was not fitted on. Raises StageError where it is refused."""
    known = {row["episode"]: row for row in rows}
    said = [row for row in labels if row["label"] != "unclear"]
    kinds = {row["label"] for row in said}
    if len(said) < FEWEST or len(kinds) < 2:
        raise StageError(f"{len(said)} labels of {len(kinds)} kinds (right, wrong): a judge needs {FEWEST} of both")
    names = sorted({name for row in said for name in known[row["episode"]]["features"]})
    x = torch.tensor([[known[r["episode"]]["features"].get(n, 0.0) for n in names] for r in said], dtype=torch.float64)
    x = torch.cat([x, torch.ones(len(said), 1, dtype=torch.float64)], 1)
    y = torch.tensor([float(r["label"] == "right") for r in said], dtype=torch.float64)
    folds = torch.tensor([int(sha256_json(["fold", known[r["episode"]]["organisation"]])[:8], 16) % FOLDS for r in said])
    right = torch.zeros(len(said), dtype=torch.float64)
    commoner = torch.zeros(len(said), dtype=torch.float64)
    for fold in sorted(set(folds.tolist())):
        test, train = folds == fold, folds != fold
        if not train.any():
            raise StageError("all labels are of organisations of one fold; label episodes of more organisations")
        right[test] = (((x[test] @ weights_of(x[train], y[train])) > 0).double() == y[test]).double()
        commoner[test] = (y[test] == float(y[train].mean() > 0.5)).double()
    if right.sum() <= commoner.sum():
        raise StageError(
            f"refused: on organisations that it was not fitted on it is right in {int(right.sum())} of {len(said)}, "
            f"always saying the commoner label in {int(commoner.sum())}"
        )
    weights = weights_of(x, y).tolist()
    held: dict[str, Any] = {
        "weights": dict(zip([*names, "bias"], weights, strict=True)),
        "labels": [dict(row) for row in labels],
        "labelled": len(said),
        "right": int(right.sum()),
        "commoner_right": int(commoner.sum()),
    }
    return held | {"sha256": sha256_json(held)}


def weights_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """(features,) of a logistic regression with a squared penalty, by Newton's method; the last column, the bias, is free."""
    w = torch.zeros(x.shape[1], dtype=x.dtype)
    penalty = torch.full_like(w, L2)
    penalty[-1] = 1e-6
    for _ in range(50):
        p = torch.sigmoid(x @ w)
        gradient = x.T @ (p - y) + penalty * w
        hessian = (x * (p * (1 - p))[:, None]).T @ x + torch.diag(penalty)
        step = torch.linalg.solve(hessian, gradient)
        w = w - step
        if float(step.abs().max()) < 1e-9:
            break
    return w


def main(argv: Sequence[str] | None = None) -> int:
    options = tyro.cli(Annotated[Options, tyro.conf.arg(name="")], prog="python -m training.judge_fit", args=argv)
    folder = find_run(options.run)
    out = console(soft_wrap=True)
    if not options.read:
        rows = make_queue(folder, options.samples)
        out.print(f"{len(rows)} episodes of validation tasks in {folder / FORM}: fill the column label, then --read it --out DIR")
        return 0
    rows = json_lines(folder / QUEUE) or []
    if not rows:
        raise StageError(f"{folder / QUEUE} is missing; `python -m training.judge_fit {folder.name}` makes it")
    if not options.out:
        raise StageError("--read needs --out, the folder of the judge")
    try:
        labels = read_form(Path(options.read).read_text(encoding="utf-8"), rows, QUEUE)
    except (OSError, UnicodeDecodeError) as error:
        raise StageError(f"{options.read} cannot be read: {error}") from error
    made = fit(labels, rows)
    path = Path(options.out) / "judge.json"
    if path.exists() and read_json(path) != made:
        raise StageError(f"{path} holds another judge; use another --out")
    write_json(path, made)
    out.print(
        f"{path}: on organisations that it was not fitted on right in {made['right']} of {made['labelled']} "
        f"(the commoner label: {made['commoner_right']}); use it with --judge learned:{options.out}"
    )
    return 0


if __name__ == "__main__":
    run_command(main)
