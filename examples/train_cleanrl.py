"""Train PPO in one file, in the manner of CleanRL: every line of the algorithm can be read and changed here.

    pip install ./env_client torch
    python examples/train_cleanrl.py --steps 32000

The policy scores each row of the menu with one network, because the order of the rows is random.
Rows of unscored episodes have a weight of 0 in every loss: an environment fault teaches nothing.
"""

import argparse
import time
from typing import Any

import gymnasium
import numpy as np
import torch
from dayshift.metrics import EpisodeMetrics, is_learnable
from dayshift.vector import unpack_infos
from gymnasium.vector import AutoresetMode
from torch import nn

GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, EPOCHS, BATCH = 0.99, 0.95, 0.2, 0.01, 0.5, 6, 256


class Agent(nn.Module):
    """One encoder for all rows; the policy scores each, and the value reads their mean."""

    def __init__(self, features: int, width: int = 64) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(features, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.scorer = nn.Sequential(nn.Linear(2 * width, width), nn.Tanh(), nn.Linear(width, 1))
        self.critic = nn.Linear(width, 1)

    def forward(self, features: torch.Tensor, offered: torch.Tensor) -> tuple[Any, torch.Tensor]:
        rows = self.encoder(features)
        weights = offered.unsqueeze(-1)
        summary = (rows * weights).sum(-2) / weights.sum(-2).clamp(min=1)
        scores = self.scorer(torch.cat([rows, summary.unsqueeze(-2).expand_as(rows)], -1)).squeeze(-1)
        logits = scores.masked_fill(offered == 0, -1e9)
        return torch.distributions.Categorical(logits=logits), self.critic(summary).squeeze(-1)


def tensors(observations: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(observations["features"]), torch.from_numpy(observations["offered"]).float()


class Rollout:
    """The rows of one rollout; `learnable` is 0 for those of episodes without a reward."""

    def __init__(self, length: int, envs: int) -> None:
        self.values, self.log_probs, self.rewards = (torch.zeros(length, envs) for _ in range(3))
        self.actions = torch.zeros(length, envs, dtype=torch.long)
        self.ends, self.learnable = torch.zeros(length, envs), torch.ones(length, envs)
        self.features: list[torch.Tensor] = []
        self.offered: list[torch.Tensor] = []
        self._starts = [0] * envs

    def mark_ends(self, step: int, over: Any, infos: list[dict[str, Any]], metrics: EpisodeMetrics) -> None:
        for env in np.flatnonzero(over):
            last = infos[env]["final_info"]
            metrics.add_info(last)
            if not is_learnable(last):
                self.learnable[self._starts[env] : step + 1, env] = 0
            self._starts[env] = step + 1

    def advantages(self, last_values: torch.Tensor) -> torch.Tensor:
        advantages, following, later = torch.zeros_like(self.rewards), last_values, torch.zeros_like(last_values)
        for step in reversed(range(len(self.rewards))):
            goes_on = 1 - self.ends[step]
            error = self.rewards[step] + GAMMA * following * goes_on - self.values[step]
            advantages[step] = later = error + GAMMA * LAMBDA * goes_on * later
            following = self.values[step]
        return advantages


def collect(envs: Any, agent: Agent, observations: Any, length: int, metrics: EpisodeMetrics) -> tuple[Any, Any, Any]:
    rollout = Rollout(length, envs.num_envs)
    for step in range(length):
        features, offered = tensors(observations)
        with torch.no_grad():
            policy, rollout.values[step] = agent(features, offered)
            action = policy.sample()
            rollout.log_probs[step] = policy.log_prob(action)
        rollout.features.append(features.clone())
        rollout.offered.append(offered)
        rollout.actions[step] = action
        observations, rewards, terminated, truncated, infos = envs.step(action.numpy())
        over = terminated | truncated
        rollout.rewards[step], rollout.ends[step] = torch.from_numpy(rewards).float(), torch.from_numpy(over).float()
        rollout.mark_ends(step, over, unpack_infos(infos, envs.num_envs), metrics)
    with torch.no_grad():
        last_values = agent(*tensors(observations))[1]
    return rollout, rollout.advantages(last_values), observations


def learn(agent: Agent, optimizer: torch.optim.Optimizer, rollout: Rollout, advantages: torch.Tensor) -> int:
    """Takes the steps of PPO over the learnable rows, and returns how many there are."""
    rows = rollout.learnable.flatten().nonzero().squeeze(-1)
    features, offered = torch.stack(rollout.features).flatten(0, 1), torch.stack(rollout.offered).flatten(0, 1)
    actions, old = rollout.actions.flatten(), rollout.log_probs.flatten()
    gains, returns = advantages.flatten(), (advantages + rollout.values).flatten()
    for _ in range(EPOCHS):
        for batch in rows[torch.randperm(len(rows))].split(BATCH):
            policy, values = agent(features[batch], offered[batch])
            gain = (gains[batch] - gains[batch].mean()) / (gains[batch].std(unbiased=False) + 1e-8)
            ratio = (policy.log_prob(actions[batch]) - old[batch]).exp()
            surrogate = torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            loss = VALUE * (returns[batch] - values).pow(2).mean() - surrogate - ENTROPY * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    return len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="PPO in one file, on menus of calls.")
    parser.add_argument("--task", default="crm/correct-contact")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--steps", type=int, default=32_000)
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--rollout", type=int, default=64, help="steps of each environment between updates")
    parser.add_argument("--max-steps", type=int, default=12, help="of an episode")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    envs = gymnasium.make_vec(
        "dayshift/Menu-v0",
        args.envs,
        task=args.task,
        world=args.world,
        max_steps=args.max_steps,
        on_fault="quarantine",
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    agent = Agent(envs.single_observation_space["features"].shape[1])
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    metrics, started = EpisodeMetrics(every=0), time.perf_counter()
    observations, _ = envs.reset(seed=args.seed)
    for update in range(max(1, args.steps // (args.envs * args.rollout))):
        rollout, advantages, observations = collect(envs, agent, observations, args.rollout, metrics)
        learned = learn(agent, optimizer, rollout, advantages)
        rows, seconds = args.envs * args.rollout, time.perf_counter() - started
        values = {name.partition("/")[2]: round(value, 3) for name, value in metrics.log().items()}
        print(
            {"steps": (update + 1) * rows, "seconds": round(seconds), "learned": learned, "of": rows, **values},
            flush=True,
        )
    envs.close()


if __name__ == "__main__":
    main()
