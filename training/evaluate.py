"""Held-out evaluation of a run: `python -m training.evaluate --run RUN`. The only code of this package that opens `heldout/`.

The warm start and the trained policy play every held-out task, greedily and sampled, beside scripted agents. Means carry 95%
intervals from a bootstrap over organisations (tasks of one customer are alike); differences to the warm start are paired by task.
"Recall" of an outcome class is the share of its episodes that are a success, so an agent that never grants shows as 0 there.

A run that continues another (`--continue-from`) also plays the held-out tasks of the other's task set, apart: what it scores
there after minus before is its forgetting. Held-out tasks that the other run was trained on are left out of both, and counted.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro

from environments.agents import PANEL, Agent, ConstantOutcome, ReferenceAgent, RefuseAll, run_episode
from environments.episode import Episode
from pipeline.cli import run_command
from rewards.score import Grader, load_grader
from schemas.episode import EpisodeTrace
from schemas.errors import RecordgymError, StageError
from schemas.files import canonical_json, read_json, sha256_json, write_json, write_text
from schemas.paths import runs_dir
from schemas.taskset import TaskSet, open_taskset
from training import checkpoint
from training.config import from_settings
from training.figures import Result, cluster_mean, paired, slices_of, summary
from training.models import load_codec, new_policy
from training.policy import Policy
from training.progress import Progress
from training.report import interval, write_report
from training.review_queue import queue, write_queue
from training.rollout import play
from training.run_files import continued_by, trained_before
from training.script import Codec
from training.sides import as_it_was
from training.transcripts import transcripts, write_transcripts

LOCKSTEP = 128
"""Episodes played at once."""


@dataclass(frozen=True)
class Options:
    """Evaluates a run's checkpoint on the held-out side of its task set, beside its warm start and scripted agents."""

    run: str
    """Run folder, or its name under data/runs."""
    checkpoint: str = "last"
    """last, or the number N of a step_N folder."""
    samples: int = 2
    """Sampled episodes of each task."""
    limit: int = 0
    """Tasks of each held-out slice, in the order of their ids; 0 = all."""
    device: str = "cpu"
    """cpu or cuda."""
    quiet: bool = False
    """No progress lines."""


def evaluate_run(
    folder: Path, *, step: int | None = None, samples: int = 2, limit: int = 0, device: str = "cpu", quiet: bool = False
) -> dict[str, Any]:
    """Plays, judges and writes evaluation.json, episodes.jsonl, transcripts.jsonl and the review queue; returns the first.

    Raises StageError where the run has no checkpoint or its task set has changed since.
    """
    config = read_json(folder / "config.json")
    steps = checkpoint.steps(folder)
    if not steps:
        raise StageError(f"{folder} has no checkpoint; run `python -m training.ppo` first")
    last = steps[-1] if step is None else step
    if last not in steps:
        raise StageError(f"{folder} has no checkpoint {last}; there: {', '.join(map(str, steps))}")
    root = Path(config["taskset_folder"])
    train, heldout = open_taskset(root, "train"), open_taskset(root, "heldout")
    if overlap := sorted(set(train.manifest.ids) & set(heldout.manifest.ids)):
        raise StageError(f"{root}: {len(overlap)} tasks are on both sides, e.g. {overlap[0]}")
    grader = load_grader(heldout)
    continued = continued_by(folder)
    seen = trained_before(folder)
    ids = _chosen(heldout, limit, seen)
    codec = load_codec(from_settings(config["settings"]), folder)
    old = OldHoldOut.of(continued, limit) if continued is not None else None
    agents = scripted(train, grader)
    policy_tasks = len(ids) + (len(old.ids) if old is not None else 0)
    progress = Progress(quiet, whole=2 * (1 + samples) * policy_tasks + len(agents) * len(ids))
    results: dict[str, list[Result]] = {}
    traces: dict[str, list[EpisodeTrace]] = defaultdict(list)
    for name, number in (("warm start", 0), ("after PPO", last)):
        policy = load_policy(folder, number, codec, config["settings"]).to(device)
        for mode, seeds in (("greedy", 1), ("sampled", samples)):
            key = f"{name}, {mode}"
            player = Player(policy, codec, config["settings"], seeds, mode == "greedy", key, progress)
            results[key] = player.play(key, heldout, grader, ids, traces[key])
            if old is not None and old.taskset is not None and old.grader is not None:
                old.results[key] = player.play(f"{key}, old tasks", old.taskset, old.grader, old.ids, [])
    for key, maker in agents.items():
        results[key] = play_agent(heldout, grader, ids, maker, key, progress)
    greedy, sampled = traces["after PPO, greedy"], traces["after PPO, sampled"]
    write_transcripts(folder, transcripts(traces["warm start, greedy"], greedy, heldout, grader))
    write_queue(folder, queue([*greedy, *sampled], heldout, grader))
    before = old_figures(folder, continued, old, len(set(heldout.tasks) & seen)) if continued is not None and old else None
    return _write(folder, config, last, samples, results, heldout, ids, before)


def load_policy(folder: Path, step: int, codec: Codec, settings: Mapping[str, Any]) -> Policy:
    """The policy of a checkpoint, in evaluation mode."""
    policy = new_policy(from_settings(settings), codec)
    _, state = checkpoint.load(folder, step)
    policy.load_trained(state["policy"])
    return policy.eval()


@dataclass(frozen=True, slots=True)
class Player:
    """A policy in one mode."""

    policy: Policy
    codec: Codec
    settings: Mapping[str, Any]
    seeds: int
    """Episodes of a task."""
    greedy: bool
    name: str
    progress: Progress

    def play(self, phase: str, taskset: TaskSet, grader: Grader, ids: Sequence[str], traces: list[EpisodeTrace]) -> list[Result]:
        """Each task `seeds` times under a fixed generator; the episodes themselves go into `traces`."""
        jobs = [(task_id, seed) for seed in range(self.seeds) for task_id in ids]
        generator = torch.Generator().manual_seed(20_000 + self.settings["seed"])
        self.progress.start(phase, len(jobs))
        out: list[Result] = []
        together = min(LOCKSTEP, self.settings.get("lockstep") or LOCKSTEP)
        for start in range(0, len(jobs), together):
            played = play(
                self.policy,
                taskset,
                grader,
                self.codec,
                jobs[start : start + together],
                context=self.settings["context"],
                generator=generator,
                greedy=self.greedy,
                temperature=self.settings["temperature"],
                agent=self.name,
                tick=self.progress.tick,
            )
            traces += [p.trace for p in played]
            out += [judged(p.trace, taskset, grader, self.name) for p in played]
        self.progress.end(_success(out))
        return out


def play_agent(
    taskset: TaskSet, grader: Grader, ids: Sequence[str], maker: Callable[[str], Agent], name: str, progress: Progress
) -> list[Result]:
    """Each task once by a scripted agent made for it."""
    episode, out = Episode(taskset, grader), []
    progress.start(name, len(ids))
    for task_id in ids:
        out.append(judged(run_episode(episode, maker(task_id), task_id, 0, name=name), taskset, grader, name))
        progress.tick(1)
    progress.end(_success(out))
    return out


def _success(results: Sequence[Result]) -> str:
    return f"success {interval(cluster_mean(results, lambda r: r.success))}"


def scripted(train: TaskSet, grader: Grader) -> dict[str, Callable[[str], Agent]]:
    """What the policy is measured against: the panel, and three agents that know the answers.

    `majority, knows how` plays the reference where the task's code is the most frequent one of its workflow in training, else it
    gives that code at once; `never grants, knows how` plays the reference of refusals and refuses everything else: what a policy
    would score that masters every procedure and always decides the same.
    """
    codes: dict[str, Counter[str]] = defaultdict(Counter)
    training = load_grader(train)
    for task_id, task in train.tasks.items():
        codes[task.workflow][training.criteria(task_id).answer.outcome.code] += 1
    most = {workflow: min(count, key=lambda c: (-count[c], c)) for workflow, count in codes.items()}
    overall = sum(codes.values(), Counter[str]())
    commonest = min(overall, key=lambda c: (-overall[c], c))

    def reference(task_id: str) -> Agent:
        return ReferenceAgent(grader.criteria(task_id).answer.reference)

    def majority(task_id: str) -> Agent:
        criteria = grader.criteria(task_id)
        code = most.get(criteria.task.workflow, commonest)
        return reference(task_id) if criteria.answer.outcome.code == code else ConstantOutcome(code)

    def never_grants(task_id: str) -> Agent:
        return RefuseAll() if grader.criteria(task_id).answer.outcome_class == "grant" else reference(task_id)

    agents: dict[str, Callable[[str], Agent]] = {"reference": reference}
    agents |= {"majority, knows how": majority, "never grants, knows how": never_grants}
    agents["constant outcome"] = lambda _: ConstantOutcome(commonest)
    for name in ("do_nothing", "refuse_all", "escalate_all", "random"):
        agents[name.replace("_", " ")] = lambda _, make=PANEL[name]: make(0)  # type: ignore[misc]
    return agents


def judged(trace: EpisodeTrace, taskset: TaskSet, grader: Grader, agent: str) -> Result:
    """The row of one episode. Raises StageError where it was not graded."""
    if trace.grade is None:
        raise StageError(f"task {trace.task_id}: the episode of {agent} was not graded")
    task, answer, grade = taskset.tasks[trace.task_id], grader.criteria(trace.task_id).answer, trace.grade
    entries = trace.journal.entries
    return Result(
        agent=agent,
        task_id=trace.task_id,
        seed=trace.seed,
        organisation=task.organisation,
        slice=task.slice,
        unseen_policy="unseen_policy" in task.grades,
        workflow=task.workflow,
        code=answer.outcome.code,
        outcome_class=answer.outcome_class,
        success=float(grade.success),
        full=float(grade.full),
        violations=float(len(grade.violations)),
        timeouts=float(trace.journal.ended_by in ("step_limit", "token_limit")),
        turns=float(len(entries)),
        score=grade.score,
        return_=grade.return_,
        refusals=float(sum(not e.ok for e in entries)),
        tools=tuple(e.call.tool for e in entries),
        said=str(entries[-1].call.arguments.get("code", "")) if entries and entries[-1].finished else "",
    )


@dataclass(slots=True)
class OldHoldOut:
    """The held-out side of the task set that a continued run came from, and how its tasks were played."""

    taskset: TaskSet | None
    grader: Grader | None
    ids: list[str]
    missing: str
    """Why there is none."""
    results: dict[str, list[Result]] = field(default_factory=dict)

    @staticmethod
    def of(continued: Mapping[str, Any], limit: int) -> OldHoldOut:
        """Opens it where it is still what it was."""
        try:
            root = as_it_was(Path(continued["taskset_folder"]), continued["taskset_sha256"])
            taskset = open_taskset(root, "heldout")
        except RecordgymError as error:
            return OldHoldOut(None, None, [], str(error))
        return OldHoldOut(taskset, load_grader(taskset), _chosen(taskset, limit, frozenset(continued["trained_on"])), "")


def old_figures(folder: Path, continued: Mapping[str, Any], old: OldHoldOut, excluded: int) -> dict[str, Any]:
    """`continued` of evaluation.json; the episodes go into episodes_old.jsonl."""
    of = {"run": continued["run"], "step": continued["step"], "taskset": continued["taskset"], "excluded": excluded}
    _write_episodes(folder / "episodes_old.jsonl", old.results)
    if old.taskset is None or not old.ids:
        return {**of, "old": None, "missing": old.missing or "it holds out no task that the run was not trained on"}
    both = {mode: (old.results[f"warm start, {mode}"], old.results[f"after PPO, {mode}"]) for mode in ("greedy", "sampled")}
    return {
        **of,
        "old": {
            "heldout_ids_sha256": tasks_digest(old.taskset, old.ids),
            "tasks": len(old.ids),
            "held_out_tasks": len(old.taskset.tasks),
            "organisations": len({old.taskset.tasks[i].organisation for i in old.ids}),
            "agents": {name: summary(rows) for name, rows in old.results.items()},
            "forgetting": {mode: paired(*pair, ("score", "success", "violations")) for mode, pair in both.items()},
        },
    }


def _write_episodes(path: Path, results: Mapping[str, Sequence[Result]]) -> None:
    lines = [canonical_json(asdict(r) | {"tools": list(r.tools)}) for rows in results.values() for r in rows]
    write_text(path, "".join(line + "\n" for line in lines))


def _chosen(taskset: TaskSet, limit: int, without: Collection[str] = ()) -> list[str]:
    by_slice: dict[str, list[str]] = defaultdict(list)
    for task_id, task in sorted(taskset.tasks.items()):
        if task_id not in without:
            by_slice[task.slice].append(task_id)
    return sorted(i for ids in by_slice.values() for i in (ids[:limit] if limit else ids))


def _write(
    folder: Path,
    config: Mapping[str, Any],
    step: int,
    samples: int,
    results: Mapping[str, Sequence[Result]],
    taskset: TaskSet,
    ids: Sequence[str],
    continued: Mapping[str, Any] | None,
) -> dict[str, Any]:
    reference = results["reference"]
    evaluation = {
        "taskset": config["taskset"],
        "heldout_ids_sha256": tasks_digest(taskset, ids),
        "step": step,
        "samples": samples,
        "tasks": len(ids),
        "held_out_tasks": len(taskset.tasks),
        "organisations": len({taskset.tasks[i].organisation for i in ids}),
        "slices": dict(sorted(Counter(name for r in reference for name in slices_of(r)).items())),
        "classes": dict(sorted(Counter(k for r in reference for k in (r.code, f"all: {r.outcome_class}")).items())),
        "order": list(results),
        "agents": {name: summary(rows) for name, rows in results.items()},
        "paired": {mode: paired(results[f"warm start, {mode}"], results[f"after PPO, {mode}"]) for mode in ("greedy", "sampled")},
    }
    if continued is not None:
        evaluation["continued"] = continued
    write_json(folder / "evaluation.json", evaluation)
    _write_episodes(folder / "episodes.jsonl", results)
    return evaluation


def tasks_digest(taskset: TaskSet, ids: Sequence[str]) -> str:
    """Digest of exactly the held-out tasks and answers that were played."""
    return sha256_json({i: taskset.manifest.ids[i] for i in ids})


def main(argv: Sequence[str] | None = None) -> int:
    options = tyro.cli(Annotated[Options, tyro.conf.arg(name="")], prog="python -m training.evaluate", args=argv)
    folder = Path(options.run) if Path(options.run).is_dir() else runs_dir() / options.run
    if not (folder / "config.json").is_file():
        raise StageError(
            f"{folder} is not a run folder (config.json is missing); `python -m training.ppo` prints its run's folder"
        )
    if options.checkpoint != "last" and not options.checkpoint.isdigit():
        raise StageError(f"--checkpoint {options.checkpoint!r} is neither `last` nor the number of a step")
    step = None if options.checkpoint == "last" else int(options.checkpoint)
    evaluate_run(folder, step=step, samples=options.samples, limit=options.limit, device=options.device, quiet=options.quiet)
    print(json.dumps({"run": str(folder), "report": str(write_report(folder).with_suffix(".html"))}))
    return 0


if __name__ == "__main__":
    run_command(main)
