"""The trainer's core (training.gae and training.losses) on CartPole-v1: a wrong sign or an off-by-one would show here.

    python benchmarks/ppo_cartpole.py [--steps 100000] [--seed 1]

Bar: a mean of at least 475 (gymnasium's own threshold) over 20 episodes within the steps. Needs the `gym` extra.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import gymnasium
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from training import losses
from training.gae import gae

HORIZON, ENVIRONMENTS, EPOCHS, MINIBATCH = 128, 8, 8, 128
BAR = 475.0
RATE = 1e-3
LEGAL = torch.ones(1, 2, dtype=torch.bool)


def network(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


@dataclass
class Row:
    """What one environment went through in one rollout; `close` turns the part since the last end into advantages."""

    states: list[torch.Tensor] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    advantages: list[float] = field(default_factory=list)
    targets: list[float] = field(default_factory=list)

    def close(self, bootstrap: float) -> None:
        start = len(self.advantages)
        got, wanted = gae(self.rewards[start:], self.values[start:], bootstrap, gamma=0.99, lambda_pi=0.95, lambda_v=0.95)
        self.advantages += got
        self.targets += wanted


def run(steps: int, seed: int, bar: float = BAR) -> tuple[float, int]:
    """(mean length of the last 20 episodes, steps used); stops early once the mean passes the bar."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    worlds = [gymnasium.make("CartPole-v1") for _ in range(ENVIRONMENTS)]
    seen = [world.reset(seed=seed * 100 + i)[0] for i, world in enumerate(worlds)]
    actor, critic = network(4, 2), network(4, 1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=RATE, eps=1e-5)
    finished: list[float] = []
    lengths = [0.0] * ENVIRONMENTS
    updates = steps // (HORIZON * ENVIRONMENTS)
    for update in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - update / updates)
        rows = [Row() for _ in worlds]
        for _ in range(HORIZON):
            now = torch.tensor([list(map(float, s)) for s in seen])
            with torch.no_grad():
                logprobs, value = losses.masked_logprobs(actor(now), LEGAL), critic(now).squeeze(-1)
            picks = torch.multinomial(logprobs.exp(), 1).squeeze(1)
            for index, (row, world) in enumerate(zip(rows, worlds, strict=True)):
                after, reward, terminated, truncated, _ = world.step(int(picks[index]))
                row.states.append(now[index])
                row.chosen.append(int(picks[index]))
                row.logprobs.append(float(logprobs[index, picks[index]]))
                row.rewards.append(float(reward))
                row.values.append(float(value[index]))
                lengths[index] += 1
                if terminated or truncated:
                    with torch.no_grad():
                        row.close(0.0 if terminated else float(critic(torch.tensor(after))))
                    finished.append(lengths[index])
                    lengths[index] = 0.0
                    after = world.reset()[0]
                seen[index] = after
        with torch.no_grad():
            for index, row in enumerate(rows):
                row.close(float(critic(torch.tensor(seen[index]))))
        learn(rows, actor, critic, optimizer)
        if len(finished) >= 20 and sum(finished[-20:]) / 20 >= bar:
            return sum(finished[-20:]) / 20, (update + 1) * HORIZON * ENVIRONMENTS
    return sum(finished[-20:]) / max(1, len(finished[-20:])), updates * HORIZON * ENVIRONMENTS


def learn(rows: list[Row], actor: nn.Module, critic: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """The epochs of one update."""
    x = torch.stack([s for row in rows for s in row.states])
    a = torch.tensor([c for row in rows for c in row.chosen])
    before = torch.tensor([p for row in rows for p in row.logprobs])
    v0, target = torch.tensor([v for row in rows for v in row.values]), torch.tensor([t for row in rows for t in row.targets])
    white = losses.whiten(torch.tensor([g for row in rows for g in row.advantages]))
    for _ in range(EPOCHS):
        for part in torch.randperm(len(x)).split(MINIBATCH):
            logprobs = losses.masked_logprobs(actor(x[part]), LEGAL)
            new = logprobs.gather(1, a[part, None]).squeeze(1)
            loss, _ = losses.policy_loss(new, before[part], white[part], clip_low=0.2, clip_high=0.2, dual_clip=3.0)
            fit = losses.value_loss(critic(x[part]).squeeze(-1), v0[part], target[part], clip=0.0)
            optimizer.zero_grad()
            (loss.mean() + 0.5 * fit.mean() - 0.01 * losses.entropy(logprobs).mean()).backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
            optimizer.step()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000, help="environment steps at most")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    started = time.process_time()
    mean, used = run(arguments.steps, arguments.seed)
    print(f"cartpole seed {arguments.seed}: mean of the last 20 episodes {mean:.0f} after {used} steps (bar {BAR:.0f}), "
          f"{time.process_time() - started:.0f} CPU s")  # fmt: skip
    return 0 if mean >= BAR else 1


if __name__ == "__main__":
    raise SystemExit(main())
