"""What a run stands on: task set, split, vocabulary, model, warm start, and going on where a killed run stopped."""

from __future__ import annotations

import dataclasses
import math
import random
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from pipeline.lock import LOCK
from pipeline.manifest import code_version
from rewards.score import Grader, load_grader
from schemas.errors import StageError
from schemas.files import read_json, sha256_file, sha256_json, write_json
from schemas.paths import runs_dir, taskset_dir
from schemas.taskset import TaskSet, open_taskset
from training import checkpoint
from training.config import SMALL, Config, device_of, identity
from training.corpus import Coverage, build_vocabulary, read_trajectories, warm_tapes
from training.curriculum import Record
from training.demonstrations import Demonstrator, epoch_of
from training.judges import SCORES, ScoreBook, open_judge
from training.models import load_codec, make_codec, new_policy
from training.policy import Policy, Reference, parameter_count
from training.report import MetricsLog, rollout_metrics
from training.rollout import Played, play
from training.script import Codec
from training.tape import Tape
from training.warmstart import WarmEpoch, warm_start


@dataclass(slots=True)
class Lab:
    """Everything that the phases of one run share."""

    config: Config
    folder: Path
    taskset: TaskSet
    grader: Grader
    codec: Codec
    policy: Policy
    reference: Reference
    optimizer: torch.optim.AdamW
    train_ids: list[str]
    validation_ids: list[str]
    meta: checkpoint.Meta
    log: MetricsLog
    record: Record
    """How the rollouts' episodes ended so far."""


def open_training_side(name: str) -> TaskSet:
    """The training side of a task set by name or folder. Refuses what is held out, by its manifest and its rows, whatever the
    folder is called."""
    folder = Path(name) if Path(name).is_dir() else taskset_dir(name)
    manifest = folder / "manifest.json"
    if manifest.is_file():
        side = read_json(manifest).get("side")
        if side == "heldout":
            raise StageError(f"{folder} is held out; only `python -m training.evaluate` opens it")
        if side == "train":
            if folder.resolve().name != "train":
                raise StageError(f"{folder} says that it is a training side, but is not the folder train/ of a task set")
            folder = folder.resolve().parent
    if not folder.is_dir():
        raise StageError(f"no task set {name!r} ({folder} is missing); build it with `make ingest deid build-tasks`")
    return open_taskset(folder, "train")


def taskset_hash(taskset: TaskSet) -> str:
    """Digest of every training task and answer, and of the episodes to imitate."""
    trajectories = taskset.folder / "train" / "trajectories.jsonl"
    return sha256_json([taskset.manifest.ids, sha256_file(trajectories) if trajectories.is_file() else ""])


def run_folder(config: Config, taskset: TaskSet) -> Path:
    if config.run:
        return runs_dir() / config.run
    digest = sha256_json([identity(config), taskset_hash(taskset), code_version("training")])
    return runs_dir() / f"{taskset.manifest.taskset}-{digest[:8]}"


def start_over(folder: Path) -> None:
    """Empties the folder of a run. Raises StageError for a folder with files that is none."""
    held = [path for path in folder.iterdir() if path.name != LOCK]
    if held and not (folder / "config.json").is_file():
        raise StageError(f"{folder} is no run (config.json is missing), so nothing in it is deleted; use another --run")
    for path in held:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def split_validation(taskset: TaskSet, share: float) -> tuple[list[str], list[str]]:
    """(train ids, validation ids): whole organisations, in the order of their digests, until `share` of the tasks is reached."""
    organisations: dict[str, list[str]] = {}
    for task_id, task in sorted(taskset.tasks.items()):
        organisations.setdefault(task.organisation, []).append(task_id)
    validation: list[str] = []
    for name in sorted(organisations, key=lambda o: sha256_json(["validation", o]))[:-1]:
        if len(validation) + len(organisations[name]) / 2 < share * len(taskset.tasks):
            validation += organisations[name]
    held = set(validation)
    return [t for t in sorted(taskset.tasks) if t not in held], sorted(validation)


def prepare(config: Config, folder: Path, taskset: TaskSet, grader: Grader | None = None) -> Lab:
    """Opens or makes what the run stands on: config, vocabulary, model. `grader`: the task set's own where None."""
    device = device_of(config.device)
    folder.mkdir(parents=True, exist_ok=True)
    settings, data = identity(config), taskset_hash(taskset)
    judge = open_judge(config.judge)
    judged_by = judge.version if judge else ""
    meta = checkpoint.Meta(0, data, sha256_json(settings))
    known = read_json(folder / "config.json") if (folder / "config.json").exists() else None
    if known is not None and (known["taskset_sha256"], known["config_sha256"]) != (data, meta.config_sha256):
        raise StageError(f"{folder} belongs to another task set or other settings; use another --run, or --resume never")
    if known is not None and known.get("judge", "") != judged_by:
        raise StageError(f"{folder} was judged by {known.get('judge') or 'nobody'!r}, now {judged_by!r}; use another --run")
    train_ids, validation_ids = split_validation(taskset, config.validation_share)
    if known is None:
        held = set(validation_ids)
        rows = [r for r in read_trajectories(taskset) if r.task_id not in held]
        make_codec(config, build_vocabulary(taskset, rows, min_count=config.min_count)).save(folder)
        head = {"taskset": taskset.manifest.taskset, "taskset_folder": str(taskset.folder.resolve())}
        versions = {"code": code_version("training"), "torch": torch.__version__}
        digests = {"taskset_sha256": data, "config_sha256": meta.config_sha256}
        said = {"settings": dataclasses.asdict(config), "versions": versions, "judge": judged_by}
        write_json(folder / "config.json", {**head, **digests, **said})
    codec = load_codec(config, folder)
    policy = new_policy(config, codec).to(device)
    return Lab(
        config=config,
        folder=folder,
        taskset=taskset,
        grader=grader or load_grader(taskset, ScoreBook(judge, folder / SCORES) if judge else None),
        codec=codec,
        policy=policy,
        reference=Reference(policy),
        optimizer=new_optimizer(config, policy),
        train_ids=train_ids,
        validation_ids=validation_ids,
        meta=meta,
        log=MetricsLog(folder),
        record=Record(),
    )


def new_optimizer(config: Config, policy: Policy) -> torch.optim.AdamW:
    groups = [
        {"params": policy.actor_parameters(), "lr": config.lr},
        {"params": list(policy.value.parameters()), "lr": config.value_lr},
    ]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.0)


def resume(lab: Lab) -> int:
    """Loads the last whole checkpoint, or makes the warm start. Returns the number of finished iterations."""
    found = checkpoint.steps(lab.folder)
    if not found:
        (take_warm_start if lab.config.warm_from else make_warm_start)(lab)
        save(lab, 0)
        found = [0]
    _, warm = checkpoint.load(lab.folder, 0)
    lab.reference.load(warm["policy"])
    meta, state = checkpoint.load(lab.folder, found[-1])
    lab.policy.load_trained(state["policy"])
    lab.optimizer.load_state_dict(state["optimizer"])
    lab.record = Record.of(state["record"])
    lab.log.cut(meta.step)
    if meta.step:
        say(lab.config, f"{lab.folder}: going on after iteration {meta.step}")
    return meta.step


def save(lab: Lab, step: int) -> None:
    state = {"policy": lab.policy.trained(), "optimizer": lab.optimizer.state_dict(), "record": lab.record.state()}
    checkpoint.save(lab.folder, dataclasses.replace(lab.meta, step=step), state)
    lab.log.write_csv()


def references(lab: Lab) -> tuple[dict[str, Tape], list[Tape], Coverage]:
    """(task -> reference tape to imitate, those of the validation tasks, coverage). Raises StageError for a context too small."""
    config = lab.config
    rows = read_trajectories(lab.taskset)
    tapes, coverage = warm_tapes(lab.taskset, rows, lab.codec, config.context)
    if 20 * coverage.cut > len(tapes):
        raise StageError(
            f"--context {config.context} is too small: {coverage.cut} of {len(rows)} reference episodes do not fit; "
            f"try {2 * config.context}"
        )
    held = set(lab.validation_ids)
    ours = [t for t in tapes if t.task_id not in held]
    order = torch.randperm(len(ours), generator=torch.Generator().manual_seed(config.seed)).tolist()
    ours = [ours[i] for i in sorted(order[: max(1, round(config.warm_share * len(ours)))])]
    return {tape.task_id: tape for tape in ours}, [t for t in tapes if t.task_id in held], coverage


def take_warm_start(lab: Lab) -> None:
    """The warm start of another run of the same task set and the same model, as it is."""
    folder = Path(lab.config.warm_from) if Path(lab.config.warm_from).is_dir() else runs_dir() / lab.config.warm_from
    if not (folder / "config.json").is_file() or 0 not in checkpoint.steps(folder):
        raise StageError(f"--warm-from {lab.config.warm_from}: {folder} holds no run with a warm start (step_0)")
    if load_codec(lab.config, folder).digest() != lab.codec.digest():
        raise StageError(f"--warm-from {lab.config.warm_from}: its vocabulary is another, so its task set, split or model is")
    meta, state = checkpoint.load(folder, 0)
    if meta.taskset_sha256 != lab.meta.taskset_sha256:
        raise StageError(f"--warm-from {lab.config.warm_from}: it was made on another task set")
    try:
        lab.policy.load_trained(state["policy"])
    except RuntimeError as error:
        raise StageError(f"--warm-from {lab.config.warm_from}: its model has another shape than --width, --layers say") from error
    write_json(lab.folder / "warmstart.json", read_json(folder / "warmstart.json") | {"taken_from": folder.name})
    say(lab.config, f"warm start taken from {folder}")


def make_warm_start(lab: Lab) -> None:
    """Supervised training on the reference episodes; its course and the grammar's coverage go into warmstart.json."""
    config, codec = lab.config, lab.codec
    plain, validation, coverage = references(lab)
    say(
        config,
        f"warm start: {len(plain)} episodes, {parameter_count(lab.policy)} parameters, {codec.size} symbols, "
        f"{coverage.share:.2%} of {coverage.steps} reference steps expressible",
    )
    course: list[WarmEpoch] = []
    lengths = [len(tape.ids) for tape in (*plain.values(), *validation)]

    def log(row: WarmEpoch) -> None:
        course.append(row)
        held = f", validation {row.validation_loss:.3f} ({row.validation_accuracy:.1%})" if validation else ""
        solved = "" if math.isnan(row.validation_success) else f", solved {row.validation_success:.2f}"
        say(config, f"warm start {row.epoch}: loss {row.loss:.3f}{held}{solved}")

    started = time.process_time()
    shown = Demonstrator(lab.taskset, lab.grader, codec, config.context, rate=config.warm_detours)
    warm_start(
        lab.policy,
        lambda epoch: epoch_of(shown, plain, epoch, random.Random(f"{config.seed}/{epoch}")),
        len(plain),
        validation,
        vocabulary_size=codec.size,
        pad=codec.pad,
        epochs=config.warm_epochs,
        batch=config.warm_batch,
        lr=config.warm_lr,
        seed=config.seed,
        words=codec.words,
        word_dropout=config.word_dropout,
        part=0 if config.model == SMALL else config.microbatch,
        success=(lambda: rollout_metrics(validated(lab))["success"]) if lab.validation_ids else None,
        log=log,
    )
    write_json(
        lab.folder / "warmstart.json",
        {
            "episodes": len(plain),
            "parameters": parameter_count(lab.policy),
            "symbols": codec.size,
            "coverage": {"steps": coverage.steps, "expressible": coverage.expressible, "reasons": coverage.reasons},
            "tokens": {"longest": max(lengths), "mean": sum(lengths) / len(lengths)},
            "epochs": [{k: v for k, v in dataclasses.asdict(e).items() if not math.isnan(v)} for e in course],
            "cpu_seconds": time.process_time() - started,
        },
    )


def validated(lab: Lab) -> list[Played]:
    """Greedy episodes of the policy on the validation tasks."""
    jobs = [(task, 0) for task in lab.validation_ids]
    made = torch.Generator().manual_seed(0)
    config = lab.config
    return play(
        lab.policy, lab.taskset, lab.grader, lab.codec, jobs, context=config.context, generator=made, greedy=True,
        at_once=config.lockstep,
    )  # fmt: skip


def say(config: Config, line: str) -> None:
    if not config.quiet:
        print(line, file=sys.stderr, flush=True)
