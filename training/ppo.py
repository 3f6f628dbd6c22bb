"""PPO over multi-turn tool calls: `python -m training.ppo --taskset helpdesk_v1`.

Where this departs from the PPO that you know: the decision process has one step per ACTION token (what was read or forced is not
in it); advantages and value targets use separate lambdas; episodes cut off by a budget bootstrap; rollout and training renormalise
under the same grammar mask; the KL to the warm start is a term of the reward; an update stops early when the policy has moved too far.

In reading order: Config, one run (`train`), one iteration (rollout, advantages, update), the command. The run folder
`data/runs/<id>/` gets config.json, vocabulary.json, warmstart.json, metrics.jsonl and .csv, checkpoints step_N/ and, at the end,
evaluation.json, report.md and curves. The same command continues a killed run and leaves a finished one alone.
"""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro

from pipeline.cli import run_command
from pipeline.manifest import code_version
from rewards.score import Grader, load_grader
from schemas.errors import StageError
from schemas.files import read_json, sha256_file, sha256_json, write_json
from schemas.paths import runs_dir, taskset_dir
from schemas.taskset import TaskSet, open_taskset
from training import checkpoint, losses
from training.corpus import build_vocabulary, read_trajectories, warm_tapes
from training.gae import gae, group_baseline, length_adaptive_lambda, terminal_only, turn_gae
from training.policy import Policy, collate, microbatches, parameter_count, score, small_model
from training.report import MetricsLog, summary_line, write_report
from training.rollout import Played, action_mix, play
from training.tape import Tape
from training.tokens import PAD, Vocabulary
from training.warmstart import WarmEpoch, warm_start

STEP_ZERO_TOLERANCE = 1e-5
"""Largest |rollout - training| log-probability in fp32 before the first update of a process."""


@dataclass(frozen=True)
class Config:
    """Trains an agent on a certified task set: warm start on reference episodes, then PPO, then the held-out evaluation.

    The defaults fit 2 cores and ten minutes. Results are in data/runs/<id>/: report.md first.
    """

    taskset: str
    """Name of a task set under data/tasksets, or its folder. The held-out side is refused."""
    run: str = ""
    """Name of the run folder under data/runs; by default made of the task set's name and a digest of these settings and the code."""
    resume: Literal["auto", "never"] = "auto"
    """auto: continue this run's last whole checkpoint; never: start over and replace the run's files."""
    seed: int = 1
    """Seed of parameters, task order and sampling. On CPU the same seed gives the same parameters, bit for bit."""
    device: str = "auto"
    """auto (a GPU where there is one), cpu, cuda."""
    threads: int = 2
    """CPU threads; part of what makes a CPU run repeatable to the bit."""

    width: int = 128
    """Hidden size of the small model."""
    layers: int = 3
    """Transformer layers."""
    heads: int = 4
    """Attention heads; must divide width."""
    context: int = 768
    """Tokens of an episode; one that needs more is cut off (and bootstraps)."""
    min_count: int = 5
    """Training occurrences below which a word of a request is left out of the vocabulary."""

    warm_epochs: int = 10
    """Passes over the warm-start episodes; few make a deliberately weak start."""
    warm_share: float = 1.0
    """Share in (0, 1] of the training tasks whose reference episodes may be imitated."""
    warm_lr: float = 2e-3
    """Peak learning rate of the warm start."""
    warm_batch: int = 16
    """Episodes of a warm-start step."""
    validation_share: float = 0.12
    """Share of training tasks (whole organisations) kept out of warm start and PPO, to watch and to choose by."""

    iterations: int = 40
    """PPO iterations (one rollout and its update each)."""
    episodes: int = 64
    """Episodes of a rollout."""
    minibatch: int = 32
    """Episodes of an optimizer step."""
    microbatch: int = 16
    """Episodes of one forward pass; changes memory and speed, not the result beyond rounding."""
    epochs: int = 2
    """Passes over a rollout."""
    lr: float = 3e-4
    """Learning rate of the policy."""
    value_lr: float = 1e-3
    """Learning rate of the value head."""
    gamma: float = 1.0
    """Discount per action token."""
    lambda_pi: float = 0.95
    """GAE lambda of the policy's advantages."""
    lambda_v: float = 1.0
    """GAE lambda of the value targets (decoupled)."""
    adaptive_alpha: float = 0.0
    """Above 0: lambda_pi = 1 - 1/(alpha * action tokens of the episode), as in VAPO (0.05 there)."""
    advantage: Literal["token", "turn", "group", "terminal"] = "token"
    """token: GAE over action tokens; turn: over turns; group: return minus the task's mean, no critic; terminal: token GAE with the whole return paid at the end."""
    samples_per_task: int = 1
    """Episodes of the same task in a rollout; `--advantage group` needs more than 1."""
    clip_low: float = 0.2
    """The ratio is held above 1 - clip_low."""
    clip_high: float = 0.28
    """The ratio is held below 1 + clip_high."""
    dual_clip: float = 3.0
    """Bound on the loss of a token with a negative advantage, times its advantage; 0 = off."""
    value_clip: float = 0.5
    """Values move at most so far from the rollout's in one update; 0 = off."""
    value_weight: float = 0.5
    """Weight of the value loss."""
    entropy: float = 0.01
    """Weight of the entropy bonus."""
    kl_warm: float = 0.005
    """Weight of the KL to the warm start (k1), taken from the reward of each action token."""
    kl_stop: float = 0.03
    """An update stops when KL(rollout || new) (k3) passes this."""
    value_warmup: int = 2
    """First iterations in which only the value head learns."""
    grad_clip: float = 1.0
    """Largest gradient norm."""
    temperature: float = 1.0
    """Sampling temperature of rollouts; training scores under the same."""
    control: Literal["none", "shuffled_reward"] = "none"
    """shuffled_reward pays each episode another one's return: a control that must not rise."""

    eval_every: int = 10
    """Iterations between evaluations on the validation tasks; 0 = only the last."""
    save_every: int = 5
    """Iterations between checkpoints."""
    evaluate: bool = True
    """Run `python -m training.evaluate` on the held-out side at the end."""
    quiet: bool = False
    """No progress lines."""


NOT_IDENTITY = ("run", "resume", "quiet", "evaluate")
"""Settings that a run's results do not depend on."""


# --- one run ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Lab:
    """Everything that the phases of one run share."""

    config: Config
    folder: Path
    taskset: TaskSet
    grader: Grader
    vocabulary: Vocabulary
    policy: Policy
    reference: Policy
    """The frozen warm start."""
    optimizer: torch.optim.AdamW
    train_ids: list[str]
    validation_ids: list[str]
    meta: checkpoint.Meta
    log: MetricsLog


def train(config: Config) -> Path:
    """Runs or continues a run and returns its folder. Raises StageError for what the operator can mend."""
    check_config(config)
    torch.set_num_threads(config.threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    taskset = open_training_side(config.taskset)
    folder = run_folder(config, taskset)
    if config.resume == "never" and folder.exists():
        shutil.rmtree(folder)
    lab = prepare(config, folder, taskset)
    done = resume(lab)
    for iteration in range(done, config.iterations):
        row = iterate(lab, iteration)
        lab.log.append(row)
        say(config, summary_line(row))
        finished = iteration + 1
        if finished % config.save_every == 0 or finished == config.iterations:
            save(lab, finished)
    lab.log.write_csv()
    return folder


def check_config(config: Config) -> None:
    """Raises StageError naming the first setting that cannot be."""
    faults = {
        "width": config.width % config.heads != 0 or (config.width // config.heads) % 2 != 0,
        "minibatch": not 0 < config.minibatch <= config.episodes,
        "microbatch": config.microbatch < 1,
        "warm-share": not 0 < config.warm_share <= 1,
        "validation-share": not 0 <= config.validation_share < 0.9,
        "samples-per-task": config.samples_per_task < 1 or config.episodes % config.samples_per_task != 0,
        "save-every": config.save_every < 1,
        "iterations": config.iterations < 0,
        "advantage": config.advantage == "group" and config.samples_per_task < 2,
    }
    for name, bad in faults.items():
        if bad:
            value = getattr(config, name.replace("-", "_"))
            raise StageError(f"--{name} {value} does not fit the other settings; see `python -m training.ppo --help`")


def open_training_side(name: str) -> TaskSet:
    """The training side of a task set by name or folder. Refuses a folder whose manifest says held-out."""
    folder = Path(name) if Path(name).is_dir() else taskset_dir(name)
    manifest = folder / "manifest.json"
    if manifest.is_file():
        side = read_json(manifest).get("side")
        if side == "heldout":
            raise StageError(f"{folder} is held out; only `python -m training.evaluate` opens it")
        if side == "train":
            folder = folder.parent
    if not folder.is_dir():
        raise StageError(f"no task set {name!r} ({folder} is missing); build it with `make ingest deid build-tasks`")
    return open_taskset(folder, "train")


def device_of(name: str) -> torch.device:
    """Raises StageError for a device that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise StageError(f"--device {name}: there is no such device here; use cpu or auto")
    return torch.device(name)


def identity(config: Config) -> dict[str, Any]:
    """The settings that a run's results depend on."""
    return {k: v for k, v in dataclasses.asdict(config).items() if k not in NOT_IDENTITY}


def taskset_hash(taskset: TaskSet) -> str:
    """Digest of every training task and answer, and of the episodes to imitate."""
    trajectories = taskset.folder / "train" / "trajectories.jsonl"
    return sha256_json([taskset.manifest.ids, sha256_file(trajectories) if trajectories.is_file() else ""])


def run_folder(config: Config, taskset: TaskSet) -> Path:
    if config.run:
        return runs_dir() / config.run
    digest = sha256_json([identity(config), taskset_hash(taskset), code_version("training")])
    return runs_dir() / f"{taskset.manifest.taskset}-{digest[:8]}"


def split_validation(taskset: TaskSet, share: float) -> tuple[list[str], list[str]]:
    """(train ids, validation ids): whole organisations, in an order fixed by their digests, until `share` of the tasks is reached."""
    organisations: dict[str, list[str]] = {}
    for task_id, task in sorted(taskset.tasks.items()):
        organisations.setdefault(task.organisation, []).append(task_id)
    validation: list[str] = []
    for name in sorted(organisations, key=lambda o: sha256_json(["validation", o]))[:-1]:
        if len(validation) + len(organisations[name]) / 2 < share * len(taskset.tasks):
            validation += organisations[name]
    held = set(validation)
    return [t for t in sorted(taskset.tasks) if t not in held], sorted(validation)


def prepare(config: Config, folder: Path, taskset: TaskSet) -> Lab:
    """Opens or makes what the run stands on: config, vocabulary, model."""
    device = device_of(config.device)
    folder.mkdir(parents=True, exist_ok=True)
    settings, data = identity(config), taskset_hash(taskset)
    meta = checkpoint.Meta(0, data, sha256_json(settings))
    known = read_json(folder / "config.json") if (folder / "config.json").exists() else None
    if known is not None and (known["taskset_sha256"], known["config_sha256"]) != (data, meta.config_sha256):
        raise StageError(f"{folder} belongs to another task set or other settings; use another --run, or --resume never")
    train_ids, validation_ids = split_validation(taskset, config.validation_share)
    if known is None:
        held = set(validation_ids)
        rows = [r for r in read_trajectories(taskset) if r.task_id not in held]
        build_vocabulary(taskset, rows, min_count=config.min_count).save(folder / "vocabulary.json")
        head = {"taskset": taskset.manifest.taskset, "taskset_folder": str(taskset.folder.resolve())}
        versions = {"code": code_version("training"), "torch": torch.__version__}
        digests = {"taskset_sha256": data, "config_sha256": meta.config_sha256}
        write_json(folder / "config.json", {**head, **digests, "settings": dataclasses.asdict(config), "versions": versions})
    vocabulary = Vocabulary.load(folder / "vocabulary.json")
    policy, reference = (new_policy(config, vocabulary).to(device) for _ in range(2))
    reference.requires_grad_(False)
    return Lab(
        config=config,
        folder=folder,
        taskset=taskset,
        grader=load_grader(taskset),
        vocabulary=vocabulary,
        policy=policy,
        reference=reference,
        optimizer=new_optimizer(config, policy),
        train_ids=train_ids,
        validation_ids=validation_ids,
        meta=meta,
        log=MetricsLog(folder),
    )


def new_policy(config: Config, vocabulary: Vocabulary) -> Policy:
    return small_model(
        vocabulary, width=config.width, layers=config.layers, heads=config.heads, context=config.context, seed=config.seed
    )


def new_optimizer(config: Config, policy: Policy) -> torch.optim.AdamW:
    groups = [
        {"params": list(policy.model.parameters()), "lr": config.lr},
        {"params": list(policy.value.parameters()), "lr": config.value_lr},
    ]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.0)


def resume(lab: Lab) -> int:
    """Loads the last whole checkpoint, or makes the warm start. Returns the number of finished iterations."""
    found = checkpoint.steps(lab.folder)
    if not found:
        make_warm_start(lab)
        save(lab, 0)
        found = [0]
    _, warm = checkpoint.load(lab.folder, 0)
    lab.reference.load_state_dict(warm["policy"])
    meta, state = checkpoint.load(lab.folder, found[-1])
    lab.policy.load_state_dict(state["policy"])
    lab.optimizer.load_state_dict(state["optimizer"])
    lab.log.cut(meta.step)
    if meta.step:
        say(lab.config, f"{lab.folder}: going on after iteration {meta.step}")
    return meta.step


def save(lab: Lab, step: int) -> None:
    state = {"policy": lab.policy.state_dict(), "optimizer": lab.optimizer.state_dict(), "cursor": step * lab.config.episodes}
    checkpoint.save(lab.folder, dataclasses.replace(lab.meta, step=step), state)
    lab.log.write_csv()


def make_warm_start(lab: Lab) -> None:
    """Supervised training on the reference episodes; its course and the grammar's coverage go into warmstart.json."""
    config, vocabulary = lab.config, lab.vocabulary
    tapes, coverage = warm_tapes(lab.taskset, read_trajectories(lab.taskset), vocabulary, config.context)
    held = set(lab.validation_ids)
    ours = [t for t in tapes if t.task_id not in held]
    order = torch.randperm(len(ours), generator=torch.Generator().manual_seed(config.seed)).tolist()
    ours = [ours[i] for i in sorted(order[: max(1, round(config.warm_share * len(ours)))])]
    say(
        config,
        f"warm start: {len(ours)} episodes, {parameter_count(lab.policy)} parameters, {len(vocabulary)} symbols, "
        f"{coverage.share:.2%} of {coverage.steps} reference steps expressible",
    )
    course: list[WarmEpoch] = []

    def log(row: WarmEpoch) -> None:
        course.append(row)
        say(config, f"warm start {row.epoch}: loss {row.loss:.3f}, validation {row.validation_loss:.3f} ({row.validation_accuracy:.1%})")

    started = time.process_time()
    warm_start(
        lab.policy,
        ours,
        [t for t in tapes if t.task_id in held],
        vocabulary_size=len(vocabulary),
        pad=vocabulary.ids[PAD],
        epochs=config.warm_epochs,
        batch=config.warm_batch,
        lr=config.warm_lr,
        seed=config.seed,
        log=log,
    )
    write_json(
        lab.folder / "warmstart.json",
        {
            "episodes": len(ours),
            "parameters": parameter_count(lab.policy),
            "symbols": len(vocabulary),
            "coverage": {"steps": coverage.steps, "expressible": coverage.expressible, "reasons": coverage.reasons},
            "tokens": {"longest": max(len(t.ids) for t in tapes), "mean": sum(len(t.ids) for t in tapes) / len(tapes)},
            "epochs": [{k: v for k, v in dataclasses.asdict(e).items() if not math.isnan(v)} for e in course],
            "cpu_seconds": time.process_time() - started,
        },
    )


# --- one iteration ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Sample:
    """A tape with what the update needs of each of its action tokens, in order."""

    tape: Tape
    old_logprob: torch.Tensor
    """(n,) of the rollout."""
    old_value: torch.Tensor
    advantage: torch.Tensor
    target: torch.Tensor
    """Value target."""


def iterate(lab: Lab, iteration: int) -> dict[str, Any]:
    """Rollout, advantages, update; returns the row of metrics."""
    config = lab.config
    generator = torch.Generator().manual_seed(config.seed * 1_000_003 + iteration)
    clock = Clock()
    played = play(
        lab.policy,
        lab.taskset,
        lab.grader,
        lab.vocabulary,
        jobs(lab, iteration),
        context=config.context,
        generator=generator,
        temperature=config.temperature,
    )
    clock.lap("rollout")
    samples, row = advantages(lab, [p.tape for p in played], iteration, generator)
    clock.lap("score")
    row |= update(lab, samples, iteration, generator)
    clock.lap("update")
    row |= rollout_metrics(played)
    if lab.validation_ids and config.eval_every and (iteration + 1) % config.eval_every == 0:
        row |= validation_metrics(lab)
        clock.lap("validation")
    return {"iteration": iteration + 1, **row, **clock.row()}


def jobs(lab: Lab, iteration: int) -> list[tuple[str, int]]:
    """(task, episode seed) of an iteration: passes over the training tasks, each in its own order; a function of the cursor alone."""
    config, ids = lab.config, lab.train_ids
    tasks = config.episodes // config.samples_per_task
    out = []
    for index in range(iteration * tasks, (iteration + 1) * tasks):
        lap, place = divmod(index, len(ids))
        order = torch.randperm(len(ids), generator=torch.Generator().manual_seed(config.seed * 7919 + lap))
        out += [(ids[int(order[place])], iteration * config.samples_per_task + k) for k in range(config.samples_per_task)]
    return out


def advantages(
    lab: Lab, tapes: Sequence[Tape], iteration: int, generator: torch.Generator
) -> tuple[list[Sample], dict[str, Any]]:
    """Scores the rollout under the current policy and the warm start, then turns rewards into advantages and value targets."""
    config = lab.config
    rewards = {id(tape): tape.action_rewards() for tape in tapes}
    if config.control == "shuffled_reward":
        order = torch.randperm(len(tapes), generator=generator).tolist()
        totals = [sum(tape.rewards) for tape in tapes]
        for tape, other in zip(tapes, order, strict=True):
            rewards[id(tape)] = [0.0] * (len(rewards[id(tape)]) - 1) + [totals[other]]
    drift, kl_sum, samples = 0.0, 0.0, []
    for part in microbatches([t for t in tapes if rewards[id(t)]], config.microbatch):
        batch = collate(part, len(lab.vocabulary), lab.vocabulary.ids[PAD], lab.policy.device)
        lab.policy.eval()
        with torch.no_grad():
            now = score(lab.policy, batch, temperature=config.temperature)
            warm = score(lab.reference, batch, temperature=config.temperature).logprob if config.kl_warm else now.logprob
        old = torch.tensor([tape.logprobs[p] for tape in part for p in tape.actions()], device=lab.policy.device)
        drift = max(drift, float((old - now.logprob).abs().max()))
        kl = losses.k1(now.logprob, warm)
        kl_sum += float(kl.sum())
        start = 0
        for line, tape in enumerate(part):
            here = slice(start, start + len(rewards[id(tape)]))
            start = here.stop
            paid = [r - config.kl_warm * float(k) for r, k in zip(rewards[id(tape)], kl[here], strict=True)]
            values = [float(v) for v in now.value[here]]
            last = float(now.last_value[line]) if tape.truncated else 0.0
            adv, target = estimate(config, tape, paid, values, last)
            samples.append(
                Sample(tape, old[here], now.value[here], torch.tensor(adv, device=old.device), torch.tensor(target, device=old.device))
            )
    first = iteration == 0 or not lab.log.started
    if first and drift > STEP_ZERO_TOLERANCE and config.device != "cuda":
        raise StageError(f"rollout and training disagree about log-probabilities by {drift:.1e} (allowed {STEP_ZERO_TOLERANCE:.0e})")
    if config.advantage == "group":
        base = group_baseline([sum(s.tape.rewards) for s in samples], [s.tape.task_id for s in samples])
        for sample, value in zip(samples, base, strict=True):
            sample.advantage = torch.full_like(sample.advantage, value)
    everything = torch.cat([s.advantage for s in samples])
    targets, values_now = torch.cat([s.target for s in samples]), torch.cat([s.old_value for s in samples])
    raw_mean, raw_std = float(everything.mean()), float(everything.std(unbiased=False))
    for sample, white in zip(samples, losses.whiten(everything).split([len(s.advantage) for s in samples]), strict=True):
        sample.advantage = white
    return samples, {
        "logprob_drift": drift,
        "kl_warm": kl_sum / len(everything),
        "advantage_mean": raw_mean,
        "advantage_std": raw_std,
        "explained_variance": losses.explained_variance(values_now, targets),
        "value_mean": float(values_now.mean()),
        "target_mean": float(targets.mean()),
        "action_tokens": len(everything),
        "tokens": sum(len(s.tape.ids) for s in samples),
    }


def estimate(
    config: Config, tape: Tape, rewards: list[float], values: list[float], last: float
) -> tuple[list[float], list[float]]:
    """(advantages, value targets) of one tape by the configured estimator."""
    lam = length_adaptive_lambda(len(rewards), config.adaptive_alpha) if config.adaptive_alpha > 0 else config.lambda_pi
    lambdas = {"gamma": config.gamma, "lambda_pi": lam, "lambda_v": config.lambda_v}
    if config.advantage == "turn":
        return turn_gae(rewards, values, tape.action_turns(), last, **lambdas)
    return gae(terminal_only(rewards, config.gamma) if config.advantage == "terminal" else rewards, values, last, **lambdas)


def update(lab: Lab, samples: Sequence[Sample], iteration: int, generator: torch.Generator) -> dict[str, Any]:
    """Some epochs of minibatches; stops early by k3. Raises StageError before a step that is not finite, leaving the parameters whole."""
    config, only_value = lab.config, iteration < lab.config.value_warmup
    for sample in samples:
        if not sample.tape.intact():
            raise StageError(f"task {sample.tape.task_id}: the tokens to train on are not those that were sampled")
    by_tape = {id(s.tape): s for s in samples}
    sums: dict[str, float] = {}
    steps, stopped, norm, k3 = 0, False, 0.0, 0.0
    lab.policy.train()
    for _ in range(config.epochs):
        order = torch.randperm(len(samples), generator=generator).tolist()
        for start in range(0, len(order), config.minibatch):
            chosen = [samples[i] for i in order[start : start + config.minibatch]]
            count = sum(len(s.advantage) for s in chosen)
            lab.optimizer.zero_grad(set_to_none=True)
            totals = {"policy_loss": 0.0, "value_loss": 0.0, "entropy": 0.0, "clip_fraction": 0.0, "k3": 0.0}
            for part in microbatches([s.tape for s in chosen], config.microbatch):
                loss = minibatch_loss(lab, [by_tape[id(t)] for t in part], only_value, totals)
                (loss / count).backward()
            k3 = totals["k3"] / count
            stopped = not only_value and k3 > config.kl_stop
            if stopped:
                break
            norm = float(torch.nn.utils.clip_grad_norm_(lab.policy.parameters(), config.grad_clip))
            if not math.isfinite(norm) or not all(math.isfinite(v) for v in totals.values()):
                last = checkpoint.steps(lab.folder)
                raise StageError(
                    f"iteration {iteration + 1}: loss or gradient is not finite; {lab.folder}/step_{last[-1] if last else 0} is whole: "
                    "go on from it with a lower --lr"
                )
            lab.optimizer.step()
            steps += 1
            for name, value in totals.items():
                sums[name] = sums.get(name, 0.0) + value / count
        if stopped:
            break
    lab.optimizer.zero_grad(set_to_none=True)
    return {name: value / max(1, steps) for name, value in sums.items()} | {
        "k3_last": k3,
        "gradient_norm": norm,
        "optimizer_steps": steps,
        "stopped_early": int(stopped),
        "value_only": int(only_value),
    }


def minibatch_loss(lab: Lab, part: Sequence[Sample], only_value: bool, totals: dict[str, float]) -> torch.Tensor:
    """Sum over the action tokens of `part` of policy loss + value loss - entropy bonus; adds its terms to `totals`."""
    config = lab.config
    batch = collate([s.tape for s in part], len(lab.vocabulary), lab.vocabulary.ids[PAD], lab.policy.device)
    scores = score(lab.policy, batch, temperature=config.temperature, value_gradient=not only_value)
    old, advantage = torch.cat([s.old_logprob for s in part]), torch.cat([s.advantage for s in part])
    per_token, held = losses.policy_loss(
        scores.logprob, old, advantage, clip_low=config.clip_low, clip_high=config.clip_high, dual_clip=config.dual_clip
    )
    value = losses.value_loss(
        scores.value, torch.cat([s.old_value for s in part]), torch.cat([s.target for s in part]), clip=config.value_clip
    )
    spread = losses.entropy(scores.logprobs)
    parts = {"policy_loss": per_token, "value_loss": value, "entropy": spread, "clip_fraction": held}
    for name, tensor in parts.items():
        totals[name] += float(tensor.detach().sum())
    totals["k3"] += float(losses.k3(scores.logprob.detach(), old).sum())
    weighted = config.value_weight * value.sum() if config.advantage != "group" else 0.0 * value.sum()
    return weighted if only_value else per_token.sum() + weighted - config.entropy * spread.sum()


# --- metrics ----------------------------------------------------------------------------------------------------------


class Clock:
    """Wall and CPU seconds by phase."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        self.start_cpu = self.cpu

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[f"seconds_{name}"] = now - self.wall
        self.wall = now

    def row(self) -> dict[str, float]:
        return {**self.laps, "cpu_seconds": time.process_time() - self.start_cpu}


def rollout_metrics(played: Sequence[Played], prefix: str = "") -> dict[str, Any]:
    """What the episodes of a rollout achieved: shares in [0, 1], means per episode."""
    grades = [p.trace.grade for p in played if p.trace.grade is not None]
    count = max(1, len(played))
    row: dict[str, Any] = {
        "success": sum(g.success for g in grades) / count,
        "full": sum(g.full for g in grades) / count,
        "violations": sum(len(g.violations) for g in grades) / count,
        "return": sum(g.return_ for g in grades) / count,
        "timeouts": sum(p.tape.truncated for p in played) / count,
        "turns": sum(len(p.tape.rewards) for p in played) / count,
        "refusals": sum(p.refusals for p in played) / count,
    }
    if prefix:
        return {f"{prefix}{k}": v for k, v in row.items()}
    for name in ("success", "quality", "efficiency", "violation", "delay"):
        row[f"event_{name}"] = sum(float(getattr(e, name)) for g in grades for e in g.events) / count
    return row | {f"action_{tool}": share for tool, share in sorted(action_mix(played).items())}


def validation_metrics(lab: Lab) -> dict[str, Any]:
    """Greedy episodes on the validation tasks."""
    played = play(
        lab.policy,
        lab.taskset,
        lab.grader,
        lab.vocabulary,
        [(task, 0) for task in lab.validation_ids],
        context=lab.config.context,
        generator=torch.Generator().manual_seed(0),
        greedy=True,
    )
    return rollout_metrics(played, "validation_")


def say(config: Config, line: str) -> None:
    if not config.quiet:
        print(line, file=sys.stderr, flush=True)


# --- the command ------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    config = tyro.cli(Annotated[Config, tyro.conf.arg(name="")], prog="python -m training.ppo", args=argv)
    folder = train(config)
    if config.evaluate:
        from training.evaluate import evaluate_run

        evaluate_run(folder, quiet=config.quiet)
    write_report(folder)
    print(json.dumps({"run": str(folder), "report": str(folder / "report.md")}))
    return 0


if __name__ == "__main__":
    run_command(main)
