"""What a run stands on: task set, split, vocabulary, model, where its policy starts, and going on where a killed run stopped."""

from __future__ import annotations

import dataclasses
import math
import random
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pipeline.lock import LOCK
from pipeline.manifest import code_version
from rewards.score import Grader, load_grader
from schemas.errors import StageError
from schemas.files import read_json, sha256_json, write_json
from schemas.paths import runs_dir
from schemas.taskset import TaskSet
from training import checkpoint, shard, team
from training.config import SMALL, Config, device_of, differing, identity
from training.continuing import Continued, write_held_out
from training.corpus import Coverage, build_vocabulary, read_trajectories, warm_tapes
from training.curriculum import Record
from training.demonstrations import Demonstrator, epoch_of
from training.engine import Engine, Vllm
from training.hosts import Hosts
from training.judges import SCORES, ScoreBook, open_judge
from training.models import load_codec, make_codec, new_policy
from training.policy import Policy, Reference, parameter_count
from training.replay import Replay, replay, replay_line
from training.report import MetricsLog, rollout_metrics
from training.rollout import Played, play
from training.script import Codec
from training.sides import split_validation, taskset_hash
from training.tape import Tape
from training.warmstart import WarmEpoch, warm_start

OTHER_RUN = "use another --run, or --resume never"


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
    continued: Continued | None = None
    """The run that this one goes on from."""
    replay: Replay | None = None
    """Its tasks that are played again."""
    engine: Engine | None = None
    """What samples rollouts outside this process."""
    hosts: Hosts | None = None
    """What plays their episodes outside this process."""


def run_folder(config: Config, taskset: TaskSet, continued: Continued | None = None) -> Path:
    if config.run:
        return runs_dir() / config.run
    digest = sha256_json([_identity(config, continued), taskset_hash(taskset), code_version("training")])
    return runs_dir() / f"{taskset.manifest.taskset}-{digest[:8]}"


def _identity(config: Config, continued: Continued | None) -> dict[str, Any]:
    return identity(config, continued.sha256 if continued is not None else "")


@team.by_one
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


def prepare(
    config: Config, folder: Path, taskset: TaskSet, grader: Grader | None = None, continued: Continued | None = None
) -> Lab:
    """Opens or makes what the run stands on: config, vocabulary, model. `grader`: the task set's own where None."""
    device = device_of(config.device)
    folder.mkdir(parents=True, exist_ok=True)
    settings, data = _identity(config, continued), taskset_hash(taskset)
    judge = open_judge(config.judge)
    judged_by = judge.version if judge else ""
    meta = checkpoint.Meta(0, data, sha256_json(settings))
    known = read_json(folder / "config.json") if (folder / "config.json").exists() else None
    if known is not None and known["taskset_sha256"] != data:
        raise StageError(f"{folder} belongs to another task set, or to this one before it was built anew; {OTHER_RUN}")
    if known is not None and known["config_sha256"] != meta.config_sha256:
        changed = ", ".join(differing(config, known["settings"])) or "the run that it goes on from is another"
        raise StageError(f"{folder} was made with other settings: {changed}; {OTHER_RUN}")
    if known is not None and known.get("judge", "") != judged_by:
        raise StageError(f"{folder} was judged by {known.get('judge') or 'nobody'!r}, now {judged_by!r}; use another --run")
    seen = continued.trained_on if continued is not None else ()
    train_ids, validation_ids = split_validation(taskset, config.validation_share, seen)
    if known is None:
        if continued is not None:
            continued.codec.save(folder)
            continued.write(folder)
        else:
            held = set(validation_ids)
            rows = [r for r in read_trajectories(taskset) if r.task_id not in held]
            make_codec(config, build_vocabulary(taskset, rows, min_count=config.min_count)).save(folder)
        write_held_out(folder, taskset, continued)
        head = {"taskset": taskset.manifest.taskset, "taskset_folder": str(taskset.folder.resolve())}
        versions = {"code": code_version("training"), "torch": torch.__version__}
        digests = {"taskset_sha256": data, "config_sha256": meta.config_sha256}
        said = {"settings": dataclasses.asdict(config), "versions": versions, "judge": judged_by}
        write_json(folder / "config.json", {**head, **digests, **said})
    codec = load_codec(config, folder)
    policy = new_policy(config, codec).to(device)
    book = ScoreBook(judge, folder / team.own_file(SCORES)) if judge else None
    return Lab(
        config=config,
        folder=folder,
        taskset=taskset,
        grader=grader or load_grader(taskset, book),
        codec=codec,
        policy=policy,
        reference=Reference(policy),
        optimizer=new_optimizer(config, policy),
        train_ids=train_ids,
        validation_ids=validation_ids,
        meta=meta,
        log=MetricsLog(folder),
        record=Record(),
        continued=continued,
        replay=replay(config, continued, taskset, validation_ids, book) if continued is not None else None,
        engine=Vllm(config.engine_url, folder, codec.size, config.engine_timeout) if config.engine == "vllm" else None,
        hosts=Hosts(config, taskset, folder) if config.hosts else None,
    )


def new_optimizer(config: Config, policy: Policy) -> torch.optim.AdamW:
    groups = [
        {"params": policy.actor_parameters(), "lr": config.lr},
        {"params": list(policy.value.parameters()), "lr": config.value_lr},
    ]
    # One kernel for many tensors takes no mixture of whole ones and pieces.
    many = False if config.shard else None
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.0, foreach=many)


LOWEST = 0.1
"""Of a learning rate, what `--anneal` leaves of it in the last iteration."""


def rate_share(iteration: int, iterations: int, anneal: float) -> float:
    """What is left of a learning rate in an iteration (from 0): 1 up to the last share `anneal` of them, then down in a line to
    LOWEST."""
    over = anneal * iterations
    behind = iteration + 1 - (iterations - over)
    return 1.0 if behind <= 0 else max(LOWEST, 1.0 - (1.0 - LOWEST) * behind / over)


def set_rates(lab: Lab, iteration: int) -> None:
    """The learning rates of an iteration: of its number alone, so a run that goes on has those of one that was never broken."""
    share = rate_share(iteration, lab.config.iterations, lab.config.anneal)
    for group, rate in zip(lab.optimizer.param_groups, (lab.config.lr, lab.config.value_lr), strict=True):
        group["lr"] = rate * share


def in_shards(lab: Lab) -> None:
    """Cuts policy, reference and optimizer state in pieces over the processes. No process may be ahead of the others."""
    device = lab.policy.device
    shard.shard(lab.policy.model, device)
    if lab.reference.own is not None:
        shard.shard(lab.reference.own.model, device)
    lab.optimizer = new_optimizer(lab.config, lab.policy)


def resume(lab: Lab) -> int:
    """Loads the last whole checkpoint, or makes the warm start. Returns the number of finished iterations."""
    found = checkpoint.steps(lab.folder)
    if not found:
        if lab.continued is not None:
            take_policy(lab, lab.continued)
        else:
            (take_warm_start if lab.config.warm_from else make_warm_start)(lab)
        save(lab, 0)
        found = [0]
    _, warm = checkpoint.load(lab.folder, 0)
    lab.reference.load(warm["policy"])
    meta, state = checkpoint.load(lab.folder, found[-1])
    lab.policy.load_trained(state["policy"])
    shard.load_optimizer(lab.optimizer, state["optimizer"])
    lab.record = Record.of(state["record"])
    lab.log.cut(meta.step)
    if meta.step:
        say(lab.config, f"{lab.folder}: going on after iteration {meta.step}")
    return meta.step


def save(lab: Lab, step: int) -> None:
    if team.size() > 1:
        team.check_alike(shard.totals(lab.policy), f"step {step}")
    learnt = shard.whole({"policy": lab.policy.trained(), "optimizer": lab.optimizer.state_dict()})
    state = learnt | {"record": lab.record.state()}
    with team.first():
        if team.writes():
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
    written(lab, read_json(folder / "warmstart.json") | {"taken_from": folder.name})
    say(lab.config, f"warm start taken from {folder}")


@team.by_one
def written(lab: Lab, warm: dict[str, Any]) -> None:
    write_json(lab.folder / "warmstart.json", warm)


def take_policy(lab: Lab, continued: Continued) -> None:
    """The policy and value head of the run that is continued, as they are; warmstart.json says that nothing was imitated."""
    for line in (*continued.lines(lab.taskset), replay_line(lab.replay, lab.config, continued)):
        say(lab.config, line)
    if not lab.validation_ids and lab.config.validation_share:
        say(lab.config, "no validation tasks: the earlier run was trained on every organisation of the new training side")
    plain, validation, coverage = references(lab)
    try:
        lab.policy.load_trained(continued.policy())
    except RuntimeError as error:
        raise StageError(f"--continue-from {lab.config.continue_from}: its model is not what its settings say") from error
    _write_start(lab, [*plain.values(), *validation], coverage, episodes=0, course=[], cpu_seconds=0.0)


def _write_start(
    lab: Lab, tapes: Sequence[Tape], coverage: Coverage, *, episodes: int, course: Sequence[WarmEpoch], cpu_seconds: float
) -> None:
    """warmstart.json."""
    lengths = [len(tape.ids) for tape in tapes]
    written(
        lab,
        {
            "episodes": episodes,
            "parameters": parameter_count(lab.policy),
            "symbols": lab.codec.size,
            "coverage": {"steps": coverage.steps, "expressible": coverage.expressible, "reasons": coverage.reasons},
            "tokens": {"longest": max(lengths), "mean": sum(lengths) / len(lengths)},
            "epochs": [{k: v for k, v in dataclasses.asdict(e).items() if not math.isnan(v)} for e in course],
            "cpu_seconds": cpu_seconds,
        },
    )


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
    tapes = [*plain.values(), *validation]
    _write_start(lab, tapes, coverage, episodes=len(plain), course=course, cpu_seconds=time.process_time() - started)


def validated(lab: Lab) -> list[Played]:
    """Greedy episodes of the policy on the validation tasks."""
    jobs = [(task, 0) for task in lab.validation_ids]
    made = torch.Generator().manual_seed(0)
    config = lab.config
    with shard.put_together(lab.policy.model):
        mine = play(
            lab.policy, lab.taskset, lab.grader, lab.codec, team.share(jobs), context=config.context, generator=made, greedy=True,
            at_once=config.lockstep,
        )  # fmt: skip
    return team.gathered(mine)


def say(config: Config, line: str) -> None:
    if not config.quiet and team.writes():
        print(line, file=sys.stderr, flush=True)
