"""What a PPO step costs: the trainer's own functions beside a plain loop, and beside TRL's GRPO where trl is installed.

    python -m benchmarks.ppo [--steps 4] [--rounds 3]      64 episodes of 16 + 64 tokens, 2 epochs in minibatches of 32

Same tiny Qwen3 (fp32, one thread, random), same prompts, same number of sampled tokens, each in a process of its own, in turn.
The plain loop is one file of PyTorch: generate with a cache, one critic head, GAE, clipped loss. Ours is what training.ppo does
to the same tokens: tapes with digests, log-probabilities checked against the rollout's, the KL to the frozen warm start,
entropy, explained variance, dual clip, clipped value loss. TRL has no PPO any more; its GRPO has no critic and one scalar an
episode, so it does less. CPU seconds a step (wall seconds on a GPU). Target: ours at or under the plain loop. Exit code 1 if
missed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

VOCABULARY, WIDTH, LAYERS, HEADS = 384, 96, 3, 3
EPISODES, PROMPT, REPLY, MINIBATCH, EPOCHS = 64, 16, 64, 32, 2
PAD, END, FIRST = 0, 2, 5
"""Ids of padding and end (never sampled), and the first of ordinary tokens."""
CLIP, LAMBDA, RATE = (0.2, 0.2), 0.95, 3e-4


def made() -> tuple[Any, Any]:
    """(model, prompts (steps x EPISODES, PROMPT)), the same in every process."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=256, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=HEADS, head_dim=WIDTH // HEADS, max_position_embeddings=512, tie_word_embeddings=True,
        pad_token_id=PAD, eos_token_id=END,
    )  # fmt: skip
    return Qwen3ForCausalLM(config), torch.randint(FIRST, VOCABULARY, (64 * EPISODES, PROMPT))


def clock() -> float:
    import torch

    return time.perf_counter() if torch.cuda.is_available() else time.process_time()


def paid(ids: list[int]) -> float:
    """The reward of an episode: its share of even ids."""
    return sum(1 for i in ids if i % 2 == 0) / len(ids)


def plain(steps: int) -> list[float]:
    """PPO as one writes it down."""
    import torch
    import torch.nn.functional as F  # noqa: N812 - its usual name
    from torch import nn

    model, prompts = made()
    head = nn.Linear(WIDTH, 1)
    parameters = [*model.parameters(), *head.parameters()]
    optimizer, seconds = torch.optim.AdamW(parameters, lr=RATE), []
    for step in range(steps):
        start, ids = clock(), prompts[step * EPISODES : (step + 1) * EPISODES]
        with torch.inference_mode():
            out, logprobs, parts = model(ids, use_cache=True, logits_to_keep=1), [], [ids]
            for place in range(REPLY):
                logits = out.logits[:, -1].float()
                logits[:, END] = -1e9
                logp = F.log_softmax(logits, -1)
                chosen = torch.multinomial(logp.exp(), 1)
                logprobs.append(logp.gather(1, chosen))
                parts.append(chosen)
                if place < REPLY - 1:
                    out = model(chosen, past_key_values=out.past_key_values, use_cache=True)
        ids, old = torch.cat(parts, 1).clone(), torch.cat(logprobs, 1).clone()
        rewards = torch.zeros(EPISODES, REPLY)
        rewards[:, -1] = torch.tensor([paid(row.tolist()) for row in ids[:, PROMPT:]])
        with torch.no_grad():
            values = head(model.model(ids).last_hidden_state[:, PROMPT - 1 : -1]).squeeze(-1)
        advantage, running, after = torch.zeros_like(rewards), torch.zeros(EPISODES), torch.zeros(EPISODES)
        for place in reversed(range(REPLY)):
            running = rewards[:, place] + after - values[:, place] + LAMBDA * running
            advantage[:, place], after = running, values[:, place]
        target = advantage + values
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for _ in range(EPOCHS):
            for chosen in torch.randperm(EPISODES).split(MINIBATCH):
                hidden = model.model(ids[chosen]).last_hidden_state[:, PROMPT - 1 : -1]
                logits = model.lm_head(hidden).float()
                logits[:, :, END] = -1e9
                new = F.log_softmax(logits, -1).gather(2, ids[chosen][:, PROMPT:, None])[..., 0]
                ratio = (new - old[chosen]).exp()
                actor = torch.max(-advantage[chosen] * ratio, -advantage[chosen] * ratio.clamp(1 - CLIP[0], 1 + CLIP[1])).mean()
                critic = ((head(hidden).squeeze(-1) - target[chosen]) ** 2).mean()
                optimizer.zero_grad()
                (actor + 0.25 * critic).backward()
                nn.utils.clip_grad_norm_(parameters, 1.0)
                optimizer.step()
        seconds.append(clock() - start)
    return seconds


def ours(steps: int) -> list[float]:
    """The same tokens through the trainer's functions: tapes, collate, score, gae, losses."""
    import torch

    from training import losses
    from training.gae import gae
    from training.policy import Policy, Reference, collate, score
    from training.rollout import drawn
    from training.tape import Tape

    model, prompts = made()
    policy = Policy(model)
    reference = Reference(policy)
    reference.load(policy.trained())
    legal = tuple(token for token in range(VOCABULARY) if token != END)
    mask = torch.ones(EPISODES, VOCABULARY, dtype=torch.bool)
    mask[:, END] = False
    optimizer = torch.optim.AdamW([*policy.actor_parameters(), *policy.value.parameters()], lr=RATE)
    generator, seconds = torch.Generator().manual_seed(0), []
    for step in range(steps):
        start, ids = clock(), prompts[step * EPISODES : (step + 1) * EPISODES]
        tapes = [Tape(str(line)) for line in range(EPISODES)]
        for tape, row in zip(tapes, ids.tolist(), strict=True):
            tape.read(row, -1)
        with torch.no_grad():
            cache, after = policy.new_cache(), ids
            for _ in range(REPLY):
                logp = losses.masked_logprobs(policy.logits(policy.hidden(after, cache)[:, -1]), mask)
                chosen = drawn(logp, generator)
                picked = logp.gather(1, chosen[:, None]).squeeze(1).tolist()
                for tape, token, logprob in zip(tapes, chosen.tolist(), picked, strict=True):
                    tape.choose(token, 0, legal, logprob)
                after = chosen[:, None]
        for tape in tapes:
            tape.rewards = [paid(tape.ids[PROMPT:])]
            tape.seal()
        batch = collate(tapes, VOCABULARY, PAD, policy.device)
        with torch.no_grad():
            now, warm = score(policy, batch), reference.logprob(batch, temperature=1.0)
        old = torch.tensor([tape.logprobs[p] for tape in tapes for p in tape.actions()])
        drift = float((old - now.logprob).abs().max())
        if drift > 1e-4:
            raise SystemExit(f"rollout and training disagree by {drift:.1e}")
        kl, found = losses.k1(now.logprob, warm).view(EPISODES, REPLY).tolist(), []
        for tape, values, drifts in zip(tapes, now.value.view(EPISODES, REPLY).tolist(), kl, strict=True):
            rewards = [r - 0.005 * d for r, d in zip(tape.action_rewards(), drifts, strict=True)]
            found.append(gae(rewards, values, 0.0, gamma=1.0, lambda_pi=LAMBDA, lambda_v=1.0))
        advantages = losses.whiten(torch.tensor([a for a, _ in found]))
        targets = torch.tensor([t for _, t in found])
        losses.explained_variance(now.value, targets.flatten())
        old, values = old.view(EPISODES, REPLY), now.value.view(EPISODES, REPLY)
        for _ in range(EPOCHS):
            for some in torch.randperm(EPISODES, generator=generator).split(MINIBATCH):
                if not all(tapes[i].intact() for i in some.tolist()):
                    raise SystemExit("the tokens to train on are not those that were sampled")
                part = collate([tapes[i] for i in some.tolist()], VOCABULARY, PAD, policy.device)
                said = score(policy, part)
                actor, _ = losses.policy_loss(
                    said.logprob,
                    old[some].flatten(),
                    advantages[some].flatten(),
                    clip_low=CLIP[0],
                    clip_high=CLIP[1],
                    dual_clip=3,
                )
                critic = losses.value_loss(said.value, values[some].flatten(), targets[some].flatten(), clip=0.5)
                optimizer.zero_grad(set_to_none=True)
                ((actor.sum() + 0.25 * critic.sum() - 0.01 * said.entropy.sum()) / len(actor)).backward()
                torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
                optimizer.step()
        seconds.append(clock() - start)
    return seconds


def trl_grpo(steps: int) -> list[float]:
    """TRL's GRPO on the same model and prompts: 8 replies to each of 8 prompts, 2 passes."""
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    model, prompts = made()
    words = Tokenizer(models.WordLevel({f"t{i}": i for i in range(VOCABULARY)}, unk_token="t3"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="t0", eos_token="t2", unk_token="t3", padding_side="left"
    )
    laps: list[float] = []

    class Clock(TrainerCallback):
        last = 0.0

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            self.last = clock()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            laps.append(clock() - self.last)
            self.last = clock()

    import torch

    groups = EPISODES // 8
    rows = [tokenizer.decode(prompt) for prompt in prompts[: groups * steps]]
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder, per_device_train_batch_size=MINIBATCH, gradient_accumulation_steps=1, steps_per_generation=2,
            num_iterations=EPOCHS, num_generations=8, max_completion_length=REPLY, max_steps=4 * steps, temperature=1.0,
            report_to=[], save_strategy="no", use_cpu=not torch.cuda.is_available(), bf16=False, gradient_checkpointing=False,
            beta=0.0, disable_tqdm=True, logging_strategy="no", generation_kwargs={"suppress_tokens": [END]},
        )  # fmt: skip
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=lambda completions, completion_ids=None, **_: [paid(ids) for ids in completion_ids],
            args=config,
            train_dataset=Dataset.from_dict({"prompt": rows}),
            processing_class=tokenizer,
            callbacks=[Clock()],
        )
        trainer.train()
    return [sum(laps[i : i + 4]) for i in range(0, len(laps) - 3, 4)]


RUNS: dict[str, Callable[[int], list[float]]] = {"plain": plain, "ours": ours, "trl_grpo": trl_grpo}


def apart(name: str, steps: int) -> list[float]:
    """Seconds of each step but the first, in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, "-m", "benchmarks.ppo", "--only", name, "--steps", str(steps)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: list[float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found[1:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4, help="steps of a process; the first one is not counted (default 4)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each, in turn (default 3)")
    parser.add_argument("--only", choices=RUNS, help="one of them, in this process: prints the seconds of its steps")
    given = parser.parse_args()
    if given.only:
        print(json.dumps(RUNS[given.only](given.steps)))
        return 0
    names = [name for name in RUNS if name != "trl_grpo" or importlib.util.find_spec("trl") is not None]
    if "trl_grpo" not in names:
        print("trl is not installed, so its row is missing: pip install trl datasets")
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(given.rounds):
        for name in names:
            seconds[name] += apart(name, given.steps)
    base = statistics.median(seconds["plain"])
    for name, laps in seconds.items():
        middle = statistics.median(laps)
        rate = EPISODES * (PROMPT + REPLY) / middle
        spread = f"[{min(laps):.2f}, {max(laps):.2f}]"
        print(f"{name:<10} {middle:6.2f} s a step {spread}, {rate:6.0f} tokens/s, {middle / base:.2f}x plain")
    met = statistics.median(seconds["ours"]) <= base
    print(f"ours at or under the plain loop: {'met' if met else 'missed'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
