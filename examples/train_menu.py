"""Train a small policy on a CPU: NumPy, REINFORCE with a baseline, a menu of concrete calls at each step.

    python examples/train_menu.py --seed 0 --minutes 2.5 --plot learning.png

The policy is linear in the features of each candidate (see dayshift.features) and in pairs of them.
It is trained on the train split and judged on held-out seeds of the validation split.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dayshift
import gymnasium
import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
TASK = "crm/correct-contact"
HELD_OUT = range(40)


@dataclass
class Policy:
    """A softmax over the candidates on offer."""

    weights: Array
    chance: np.random.Generator
    momentum: Array = field(init=False)
    speed: Array = field(init=False)
    updates: int = 0

    def __post_init__(self) -> None:
        self.momentum = np.zeros_like(self.weights)
        self.speed = np.zeros_like(self.weights)

    def probabilities(self, seen: Array) -> Array:
        scores = seen @ self.weights
        likely = np.exp(scores - scores.max())
        return np.asarray(likely / likely.sum())

    def choose(self, seen: Array, *, greedy: bool) -> int:
        likely = self.probabilities(seen)
        return int(likely.argmax()) if greedy else int(self.chance.choice(len(likely), p=likely))

    def climb(self, gradient: Array, rate: float) -> None:
        """One step of Adam, uphill."""
        self.updates += 1
        self.momentum = 0.9 * self.momentum + 0.1 * gradient
        self.speed = 0.99 * self.speed + 0.01 * gradient**2
        steady = self.momentum / (1 - 0.9**self.updates)
        scale = np.sqrt(self.speed / (1 - 0.99**self.updates)) + 1e-8
        self.weights = self.weights + rate * steady / scale


@dataclass(frozen=True)
class Attempt:
    """What was on offer, what was taken, and what it earned."""

    moves: list[tuple[Array, int]]
    reward: float


def crossed(observation: dict[str, Any]) -> Array:
    """The features on offer and all products of two of them."""
    features = observation["features"][observation["offered"].astype(bool)].astype(np.float64)
    left, right = np.triu_indices(features.shape[1])
    return np.asarray(features[:, left] * features[:, right])


def attempt(env: Any, policy: Policy, seed: int, split: str, *, greedy: bool, longest: int = 8) -> Attempt:
    observation, _ = env.reset(seed=seed, options={"split": split})
    moves: list[tuple[Array, int]] = []
    reward, over = 0.0, False
    while not over:
        seen = crossed(observation)
        # A learner that never submits learns nothing: after a few calls the only choice is to be judged.
        chosen = policy.choose(seen, greedy=greedy) if len(moves) < longest else submit_place(env)
        moves.append((seen, chosen))
        observation, reward, terminated, truncated, _ = env.step(chosen)
        over = terminated or truncated
    return Attempt(moves, float(reward))


def submit_place(env: Any) -> int:
    return next(place for place, call in enumerate(env.calls) if call.operation == "submit")


def learn(policy: Policy, batch: list[Attempt], rate: float = 0.03) -> None:
    rewards = np.array([one.reward for one in batch])
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
    gradient = np.zeros_like(policy.weights)
    for one, advantage in zip(batch, advantages, strict=True):
        for seen, chosen in one.moves:
            likely = policy.probabilities(seen)
            gradient += advantage * (seen[chosen] - likely @ seen)
            # A little entropy keeps it curious.
            gradient -= 0.01 * ((likely * np.log(likely + 1e-12)) @ (seen - likely @ seen))
    policy.climb(gradient / len(batch), rate)


def judged(env: Any, policy: Policy, *, greedy: bool) -> float:
    return float(np.mean([attempt(env, policy, seed, "validation", greedy=greedy).reward for seed in HELD_OUT]))


def train(env: Any, seed: int, seconds: float, batch: int = 24) -> Iterator[dict[str, float]]:
    chance = np.random.default_rng(seed)
    policy = Policy(np.zeros(crossed(env.reset(seed=0)[0]).shape[1]), chance)
    started = time.perf_counter()
    episodes = 0
    yield {"episodes": 0, "seconds": 0.0, "reward": judged(env, policy, greedy=False)}
    while time.perf_counter() - started < seconds:
        tries = [attempt(env, policy, int(chance.integers(2**31)), "train", greedy=False) for _ in range(batch)]
        learn(policy, tries)
        episodes += batch
        if episodes % (batch * 8) == 0:
            reward = judged(env, policy, greedy=True)
            yield {"episodes": episodes, "seconds": time.perf_counter() - started, "reward": reward}
            if reward == 1.0:
                return


def plot(curve: list[dict[str, float]], path: Path) -> None:
    import matplotlib as mpl  # late: pip install 'dayshift[reports]'

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot([point["episodes"] for point in curve], [point["reward"] for point in curve], marker="o")
    axes.axhline(curve[0]["reward"], linestyle="--", linewidth=1, label="random")
    axes.set(xlabel="training episodes", ylabel="mean reward on held-out seeds", title=TASK)
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
    parser.add_argument("--plot", type=Path, default=Path("learning.png"))
    chosen = parser.parse_args()
    env = dayshift.Menu(gymnasium.make("dayshift/Crm-v0", task=chosen.task, world=chosen.world))
    curve = []
    for point in train(env, chosen.seed, chosen.minutes * 60):
        curve.append(point)
        print(json.dumps(point), flush=True)
    env.close()
    plot(curve, chosen.plot)
    print(f"random {curve[0]['reward']:+.3f}, trained {curve[-1]['reward']:+.3f}; curve in {chosen.plot}")


if __name__ == "__main__":
    main()
