"""PPO over multi-turn tool calls: `python -m training.ppo --taskset helpdesk_v1`.

Where this departs from the PPO that you know: the decision process has one step per ACTION token (what was read or forced is
not in it); advantages and value targets use separate lambdas; episodes cut off by a budget bootstrap; rollout and training
renormalise under the same grammar mask; the KL to the warm start is a term of the reward; an update stops early when the policy
has moved too far.

In reading order: one run (`train`), one iteration (rollout, advantages, update), the command. Settings are in config.py, what a
run stands on in lab.py. The run folder `data/runs/<id>/` gets config.json, vocabulary.json, warmstart.json, metrics.jsonl and
.csv, checkpoints step_N/ and, at the end, evaluation.json, episodes.jsonl, report.html, report.md and curves; trained_on.jsonl
names every episode. The same command continues a killed run and leaves a finished one alone. Several processes as one trainer are
in team.py, a large model in pieces over them in shard.py, a server that plays the episodes in engine.py.
"""

from __future__ import annotations

import dataclasses
import json
import math
import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from pipeline.cli import run_command
from pipeline.lock import locked
from rewards.score import Grader
from schemas.errors import StageError
from schemas.taskset import TaskSet
from training import audit, checkpoint, losses, shard, team
from training.alarms import fresh
from training.config import SMALL, Config, check_config, defaults, device_of
from training.continuing import Continued, find
from training.controls import imitate
from training.curriculum import by_difficulty, passes
from training.demonstrations import Demonstrator
from training.engine_rollout import play_by
from training.gae import gae, group_baseline, length_adaptive_lambda, terminal_only, turn_gae
from training.judges import open_judge, refuse_learnt_from
from training.lab import Lab, in_shards, prepare, references, resume, run_folder, save, say, set_rates, start_over, validated
from training.made import opened
from training.passed import require_passed
from training.policy import collate, microbatches, score
from training.report import Clock, rollout_metrics, summary_line, write_report
from training.rollout import Played, play
from training.scored import check_agreement, scored
from training.sides import held_out_ids, open_training_side
from training.tape import Tape

IMPORTANCE_CAP = 2.0
"""Largest weight of a token that an engine of its own sampled."""
PROGRAM = "python -m training.ppo"
Jobs = Sequence[tuple[str, int]]
"""(task, episode seed) of each episode."""


# --- one run ----------------------------------------------------------------------------------------------------------


def train(config: Config) -> Path:
    """Runs or continues a run and returns its folder. Raises StageError for what the operator can mend."""
    check_config(config)
    torch.set_num_threads(config.threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    taskset = open_training_side(config.taskset)
    require_passed(taskset.folder, accepted=config.accept_failed_report)
    if config.shard and not team.started():
        raise StageError("--shard cuts a model in pieces over several processes; start it with torchrun")
    if config.hosts and team.size() > 1:
        raise StageError("--hosts and several processes of torchrun do not go together; give --nproc-per-node 1")
    if team.started() or config.engine != "hf":
        config = dataclasses.replace(config, noise="episode")
    continued = find(config, taskset) if config.continue_from else None
    # Before anything of an earlier run under this name is touched.
    refuse_learnt_from(open_judge(config.judge), held_out_ids(taskset) | (continued.held_out if continued else frozenset()))
    folder = run_folder(config, taskset, continued)
    if continued is not None and folder.resolve() == continued.folder.resolve():
        raise StageError(f"--continue-from {config.continue_from} is this run itself; give another --run")
    with locked(folder) if team.writes() else nullcontext():
        return run(config, folder, taskset, continued=continued)


def run(config: Config, folder: Path, taskset: TaskSet, grader: Grader | None = None, continued: Continued | None = None) -> Path:
    """The run in its folder, which no other process writes. `grader`: what pays, where it is not the task set's own."""
    with team.first():
        if config.resume == "never":
            start_over(folder)
        checkpoint.tidy(folder)
        lab = prepare(config, folder, taskset, grader, continued)
    if config.shard:
        in_shards(lab)
    done = resume(lab)
    opened(lab, done)
    step = supervised(lab) if config.control == "supervised" else iterate
    for iteration in range(done, config.iterations):
        set_rates(lab, iteration)
        row = step(lab, iteration)
        lab.log.append(row)
        say(config, summary_line(row))
        for alarm in fresh(lab.log.rows()):
            say(config, f"ALARM {alarm.line()}")
        finished = iteration + 1
        if finished % config.save_every == 0 or finished == config.iterations:
            save(lab, finished)
    lab.log.write_csv()
    return folder


def supervised(lab: Lab) -> Callable[[Lab, int], dict[str, Any]]:
    """The step of the control that goes on imitating, with the same evaluations on the validation tasks."""
    plain, _, _ = references(lab)
    demonstrator = Demonstrator(lab.taskset, lab.grader, lab.codec, lab.config.context, rate=lab.config.warm_detours)

    def step(lab: Lab, iteration: int) -> dict[str, Any]:
        row = imitate(lab, iteration, plain, demonstrator)
        return row | (rollout_metrics(validated(lab), "validation_") if due(lab, iteration) else {})

    return step


def due(lab: Lab, iteration: int) -> bool:
    """True where the validation tasks are played after this iteration."""
    return bool(lab.validation_ids and lab.config.eval_every and (iteration + 1) % lab.config.eval_every == 0)


# --- one iteration ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Sample:
    """A tape with what the update needs of each of its action tokens, in order."""

    tape: Tape
    old_logprob: torch.Tensor
    """(n,) of the policy before the update: the rollout's own, or where an engine of its own sampled, the trainer's."""
    old_value: torch.Tensor
    advantage: torch.Tensor
    target: torch.Tensor
    """Value target."""
    weight: torch.Tensor | None = None
    """(n,) importance weights, where an engine of its own sampled."""


def iterate(lab: Lab, iteration: int) -> dict[str, Any]:
    """Rollout, advantages, update; returns the row of metrics."""
    config = lab.config
    generator = torch.Generator().manual_seed(config.seed * 1_000_003 + iteration)
    clock = Clock()
    played, again = rollout(lab, iteration, generator)
    clock.lap("rollout")
    for episode in played:
        lab.record.add(episode.tape.task_id, bool(episode.trace.grade and episode.trace.grade.success))
    samples, row = advantages(lab, [p.tape for p in played], iteration, generator)
    clock.lap("score")
    row |= update(lab, samples, iteration, generator)
    audit.append_tapes(lab.folder, iteration + 1, "rollout", [sample.tape for sample in samples])
    clock.lap("update")
    row |= rollout_metrics(played) | again
    if due(lab, iteration):
        row |= rollout_metrics(validated(lab), "validation_")
        clock.lap("validation")
    return {"iteration": iteration + 1, **row, **clock.row()}


def rollout(lab: Lab, iteration: int, generator: torch.Generator) -> tuple[list[Played], dict[str, Any]]:
    """The episodes of an iteration, and what the row of metrics says of the old tasks among them."""
    config = lab.config
    here, away = lab.replay.jobs(iteration) if lab.replay is not None else ([], [])
    sides = [(lab.taskset, lab.grader, jobs(lab, iteration) + here)]
    if lab.replay is not None and lab.replay.old is not None and lab.replay.grader is not None:
        sides.append((lab.replay.old, lab.replay.grader, away))
    own, played = chances(config, iteration), list[Played]()
    if lab.engine is not None:
        lab.engine.push(lab.policy, iteration)
        team.wait()
    for taskset, grader, asked in (side for side in sides if side[2]):
        mine = playing(lab, taskset, grader, team.share(asked), team.share(own[: len(asked)]), generator)
        played, own = played + team.gathered(mine), own[len(asked) :]
    if lab.replay is None:
        return played, {}
    again = played[config.episodes - len(here) - len(away) :]
    return played, {"replayed": len(again), "replayed_success": rollout_metrics(again)["success"]}


def playing(
    lab: Lab, taskset: TaskSet, grader: Grader, asked: Jobs, own: Sequence[random.Random], generator: torch.Generator
) -> list[Played]:
    """This process's share of a rollout's episodes, by whatever plays them."""
    config, common = lab.config, (taskset, grader, lab.codec, asked)
    if lab.hosts is not None and taskset is lab.taskset:
        return lab.hosts.play(asked, own)
    if lab.engine is not None:
        return play_by(lab.engine, *common, context=config.context, temperature=config.temperature, chances=own)
    with shard.put_together(lab.policy.model):
        return play(
            lab.policy,
            *common,
            context=config.context,
            generator=generator,
            temperature=config.temperature,
            word_dropout=config.rollout_word_dropout,
            at_once=config.lockstep,
            chances=own,
        )


def jobs(lab: Lab, iteration: int) -> list[tuple[str, int]]:
    """(task, episode seed) of an iteration, without the tasks that are replayed."""
    config, ids = lab.config, lab.train_ids
    tasks = config.episodes // config.samples_per_task - (lab.replay.tasks if lab.replay is not None else 0)
    if config.sampling == "difficulty":
        drawn = torch.Generator().manual_seed(config.seed * 2_000_003 + iteration)
        chosen = by_difficulty(ids, lab.record, tasks, config.replay, drawn)
    else:
        chosen = passes(ids, iteration * tasks, tasks, config.seed)
    return [(task, iteration * config.samples_per_task + k) for task in chosen for k in range(config.samples_per_task)]


def chances(config: Config, iteration: int) -> list[random.Random]:
    """What each episode of an iteration draws from; none where they draw from one generator."""
    own = range(config.episodes) if config.noise == "episode" else ()
    return [random.Random(f"{config.seed}/{iteration}/{number}") for number in own]


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
    kl_sum, samples, sampled = 0.0, list[Sample](), list[torch.Tensor]()
    parts = microbatches([t for t in tapes if rewards[id(t)]], config.microbatch)
    mine = [(scored(lab, part), counts) for part, counts in shard.rounds(parts, lab.policy.model)]
    found = team.gathered([now for now, counts in mine if counts])
    device = lab.policy.device
    for part, now in zip(parts, found, strict=True):
        sampled.append(torch.tensor([tape.logprobs[p] for tape in part for p in tape.actions()]))
        old = (sampled[-1] if lab.engine is None else now.logprob).to(device)
        weight = None if lab.engine is None else losses.importance(old, sampled[-1].to(device), cap=IMPORTANCE_CAP)
        kl_sum += float(now.kl.sum())
        start = 0
        for line, tape in enumerate(part):
            here = slice(start, start + len(rewards[id(tape)]))
            start = here.stop
            paid = [r - config.kl_warm * float(k) for r, k in zip(rewards[id(tape)], now.kl[here], strict=True)]
            values = [float(v) for v in now.value[here]]
            last = float(now.last_value[line]) if tape.truncated else 0.0
            adv, target = (torch.tensor(made, device=device) for made in estimate(config, tape, paid, values, last))
            importance = None if weight is None else weight[here]
            samples.append(Sample(tape, old[here], now.value[here].to(device), adv, target, importance))
    apart = (torch.cat(sampled) - torch.cat([now.logprob for now in found])).abs()
    check_agreement(lab, apart, first=iteration == 0 or not lab.log.started)
    if config.advantage == "group":
        base = group_baseline([sum(s.tape.rewards) for s in samples], [s.tape.task_id for s in samples])
        for sample, value in zip(samples, base, strict=True):
            sample.advantage = torch.full_like(sample.advantage, value)
    everything = torch.cat([s.advantage for s in samples])
    targets, values_now = torch.cat([s.target for s in samples]), torch.cat([s.old_value for s in samples])
    raw_mean, raw_std = float(everything.mean()), float(everything.std(unbiased=False))
    for sample, white in zip(samples, losses.whiten(everything).split([len(s.advantage) for s in samples]), strict=True):
        sample.advantage = white
    weights = [s.weight for s in samples if s.weight is not None]
    return samples, {
        "logprob_drift": float(apart.max()),
        **({"importance_mean": float(torch.cat(weights).mean())} if weights else {}),
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
    """Some epochs of minibatches; stops early by k3. Raises StageError before a step that is not finite."""
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
            for part, counts in shard.rounds(microbatches([s.tape for s in chosen], config.microbatch), lab.policy.model):
                loss = minibatch_loss(lab, [by_tape[id(t)] for t in part], only_value, totals if counts else dict(totals))
                (loss / count if counts else 0.0 * loss).backward()
            totals = team.sums(totals)
            k3 = totals["k3"] / count
            stopped = not only_value and k3 > config.kl_stop
            if stopped:
                break
            shard.add_gradients(lab.policy)
            norm = shard.clip_gradients(lab.policy.actor_parameters(), config.grad_clip)
            norm += shard.clip_gradients(lab.policy.value.parameters(), config.grad_clip)
            if not math.isfinite(norm) or not all(math.isfinite(v) for v in totals.values()):
                raise StageError(
                    f"iteration {iteration + 1}: loss or gradient is not finite; "
                    f"{checkpoint.newest(lab.folder)} is whole; try a lower --lr"
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
    batch = collate([s.tape for s in part], lab.codec.size, lab.codec.pad, lab.policy.device)
    scores = score(lab.policy, batch, temperature=config.temperature, value_gradient=config.value_in_trunk and not only_value)
    old, advantage = torch.cat([s.old_logprob for s in part]), torch.cat([s.advantage for s in part])
    per_token, held = losses.policy_loss(
        scores.logprob, old, advantage, clip_low=config.clip_low, clip_high=config.clip_high, dual_clip=config.dual_clip
    )
    if part[0].weight is not None:
        per_token = per_token * torch.cat([s.weight for s in part if s.weight is not None])
    value = losses.value_loss(
        scores.value, torch.cat([s.old_value for s in part]), torch.cat([s.target for s in part]), clip=config.value_clip
    )
    spread = scores.entropy
    parts = {"policy_loss": per_token, "value_loss": value, "entropy": spread, "clip_fraction": held}
    for name, tensor in parts.items():
        totals[name] += float(tensor.detach().sum())
    totals["k3"] += float(losses.k3(scores.logprob.detach(), old).sum())
    weighted = config.value_weight * value.sum() if config.advantage != "group" else 0.0 * value.sum()
    return weighted if only_value else per_token.sum() + weighted - config.entropy * spread.sum()


# --- the command ------------------------------------------------------------------------------------------------------


def parsed(argv: Sequence[str] | None) -> Config:
    """The settings on the command line; for a language model, with its own defaults where a flag was not given."""
    config = tyro.cli(Annotated[Config, tyro.conf.arg(name="")], prog=PROGRAM, args=argv)
    if not (other := defaults(config.model, config.lora_rank, config.engine)):
        return config
    base = Config(taskset=tyro.MISSING, **other)
    config = tyro.cli(Annotated[Config, tyro.conf.arg(name="")], prog=PROGRAM, args=argv, default=base)
    resolved = ", ".join(f"{name.replace('_', '-')} {getattr(config, name)}" for name in other)
    say(config, f"settings of a language model: {resolved}")
    return config


def main(argv: Sequence[str] | None = None) -> int:
    with team.joined():
        config = parsed(argv)
        folder = train(config)
        ended_first = team.writes()
    if not ended_first:
        return 0
    if config.evaluate:
        from training.evaluate import evaluate_run

        # A language model is judged where it was trained; the small one needs no GPU.
        device = "cpu" if config.model == SMALL else str(device_of(config.device))
        evaluate_run(folder, device=device, quiet=config.quiet)
    write_report(folder)
    print(json.dumps({"run": str(folder), "report": str(folder / "report.html")}))
    return 0


if __name__ == "__main__":
    run_command(main)
