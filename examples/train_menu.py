"""Train a small policy on a CPU with NumPy alone, which chooses from a menu of concrete calls at each step.

    python examples/train_menu.py --seed 0 --minutes 2.5 --plot runs/learning.png

The value of a candidate call is linear in its plain features (dayshift.call_features) and in products of two of them.
It is fitted by least squares to the returns of past attempts, and the policy is a softmax over it with a falling
temperature.
Training uses the train split; the curve shows held-out seeds of the validation split.
"""

import argparse
import json
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dayshift
import gymnasium
import numpy as np
from dayshift.call_features import PLAIN_FEATURES

Array = np.ndarray[Any, np.dtype[np.float64]]
TASK = "crm/correct-contact"
HELD_OUT = range(40)
MAX_CALLS = 8
DISCOUNT = 0.98
MEMORY_SIZE = 6000
HOT, COLD, COOLING_EPISODES = 0.5, 0.03, 600
RIDGE = 1.0


@dataclass(frozen=True)
class Attempt:
    """The features of the calls of an episode, and its reward."""

    features: list[Array]
    reward: float

    def returns(self) -> list[float]:
        """Returns the discounted reward of each call."""
        length = len(self.features)
        return [self.reward * DISCOUNT ** (length - 1 - index) for index in range(length)]


class Policy:
    """A softmax over the estimated value of each candidate call."""

    def __init__(self, width: int, seed: int) -> None:
        self.weights: Array = np.zeros(width)
        self.temperature = float("inf")
        self._chance = np.random.default_rng(seed)
        self._past: deque[tuple[Array, float]] = deque(maxlen=MEMORY_SIZE)

    def choose(self, candidates: Array, *, greedy: bool) -> int:
        values = candidates @ self.weights
        if greedy:
            return int(values.argmax())
        weights = np.exp((values - values.max()) / self.temperature)
        return int(self._chance.choice(len(candidates), p=weights / weights.sum()))

    def sample_seed(self) -> int:
        return int(self._chance.integers(2**31))

    def learn(self, attempts: list[Attempt], episodes: int) -> None:
        for attempt in attempts:
            self._past.extend(zip(attempt.features, attempt.returns(), strict=True))
        features = np.array([row for row, _ in self._past])
        returns = np.array([value for _, value in self._past])
        self.weights = np.linalg.solve(features.T @ features + RIDGE * np.eye(features.shape[1]), features.T @ returns)
        share = min(1.0, episodes / COOLING_EPISODES)
        self.temperature = HOT * (COLD / HOT) ** share


def cross_features(observation: dict[str, Any]) -> Array:
    """Returns the products of every two plain features of each candidate call."""
    features = observation["features"][observation["offered"].astype(bool), : len(PLAIN_FEATURES)].astype(np.float64)
    left, right = np.triu_indices(features.shape[1])
    return np.asarray(features[:, left] * features[:, right])


def play(env: Any, policy: Policy, seed: int, split: str, *, greedy: bool) -> Attempt:
    observation, _ = env.reset(seed=seed, options={"split": split})
    features: list[Array] = []
    reward, over = 0.0, False
    while not over:
        candidates = cross_features(observation)
        # A policy that never submits learns nothing, so after a few calls the only choice is to submit.
        action = policy.choose(candidates, greedy=greedy) if len(features) < MAX_CALLS else find_submit(env)
        features.append(candidates[action])
        observation, reward, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
    return Attempt(features, float(reward))


def find_submit(env: Any) -> int:
    return next(index for index, call in enumerate(env.calls) if call.operation == "finish_work")


def evaluate(env: Any, policy: Policy, *, greedy: bool) -> float:
    return float(np.mean([play(env, policy, seed, "validation", greedy=greedy).reward for seed in HELD_OUT]))


def train(env: Any, seed: int, seconds: float, batch: int = 25) -> Iterator[dict[str, float]]:
    policy = Policy(cross_features(env.reset(seed=0)[0]).shape[1], seed)
    started = time.perf_counter()
    yield {"episodes": 0, "seconds": 0.0, "reward": evaluate(env, policy, greedy=False)}
    episodes = 0
    while time.perf_counter() - started < seconds:
        policy.learn([play(env, policy, policy.sample_seed(), "train", greedy=False) for _ in range(batch)], episodes)
        episodes += batch
        if episodes % (batch * 8) == 0:
            reward = evaluate(env, policy, greedy=True)
            yield {"episodes": episodes, "seconds": time.perf_counter() - started, "reward": reward}
            if reward == 1.0:
                return


def plot(curve: list[dict[str, float]], title: str, path: Path) -> None:
    import matplotlib as mpl  # pip install './env_client[reports]'

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot([point["episodes"] for point in curve], [point["reward"] for point in curve], marker="o")
    axes.axhline(curve[0]["reward"], linestyle="--", linewidth=1, label="random")
    axes.set(xlabel="training episodes", ylabel="mean reward on held-out seeds", title=title)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small policy on a menu of calls.")
    parser.add_argument("--task", default=TASK)
    parser.add_argument("--world", default="standard")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=2.5)
    parser.add_argument("--plot", type=Path, default=Path("runs/learning.png"), help="where the curve is drawn")
    args = parser.parse_args()
    env = dayshift.Menu(gymnasium.make("dayshift/Crm-v0", task=args.task, world=args.world))
    curve = []
    for point in train(env, args.seed, args.minutes * 60):
        curve.append(point)
        print(json.dumps(point), flush=True)
    env.close()
    args.plot.parent.mkdir(parents=True, exist_ok=True)
    plot(curve, args.task, args.plot)
    print(f"random {curve[0]['reward']:+.3f}, trained {curve[-1]['reward']:+.3f}; curve in {args.plot}")


if __name__ == "__main__":
    main()
