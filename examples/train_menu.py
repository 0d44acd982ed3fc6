"""Train a small policy on a CPU: NumPy alone, a menu of concrete calls at each step.

    python examples/train_menu.py --seed 0 --minutes 2.5 --plot learning.png

The value of a candidate call is linear in its features (see dayshift.features) and in products of two of them.
It is fitted by least squares to the returns of past attempts, and the policy is a softmax over it that cools down.
Training sees the train split; the curve shows held-out seeds of the validation split.
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

Array = np.ndarray[Any, np.dtype[np.float64]]
TASK = "crm/correct-contact"
HELD_OUT = range(40)
LONGEST = 8
DISCOUNT = 0.98
REMEMBERED = 6000
HOT, COLD, COOLING_EPISODES = 0.5, 0.03, 600
RIDGE = 1.0


@dataclass(frozen=True)
class Attempt:
    """The calls that were made, as features, and what they earned."""

    moves: list[Array]
    reward: float

    def returns(self) -> list[float]:
        """Sooner is better: what is left of the reward, seen from each move."""
        return [self.reward * DISCOUNT ** (len(self.moves) - 1 - place) for place in range(len(self.moves))]


class Policy:
    """A softmax over the estimated value of each candidate on offer."""

    def __init__(self, width: int, seed: int) -> None:
        self.weights: Array = np.zeros(width)
        self.temperature = float("inf")
        self._chance = np.random.default_rng(seed)
        self._past: deque[tuple[Array, float]] = deque(maxlen=REMEMBERED)

    def choose(self, seen: Array, *, greedy: bool) -> int:
        values = seen @ self.weights
        if greedy:
            return int(values.argmax())
        likely = np.exp((values - values.max()) / self.temperature)
        return int(self._chance.choice(len(seen), p=likely / likely.sum()))

    def draw_seed(self) -> int:
        return int(self._chance.integers(2**31))

    def learn(self, attempts: list[Attempt], episodes: int) -> None:
        for one in attempts:
            self._past.extend(zip(one.moves, one.returns(), strict=True))
        moves = np.array([move for move, _ in self._past])
        returns = np.array([value for _, value in self._past])
        self.weights = np.linalg.solve(moves.T @ moves + RIDGE * np.eye(moves.shape[1]), moves.T @ returns)
        share = min(1.0, episodes / COOLING_EPISODES)
        self.temperature = HOT * (COLD / HOT) ** share


def crossed(observation: dict[str, Any]) -> Array:
    """The features on offer and all products of two of them."""
    features = observation["features"][observation["offered"].astype(bool)].astype(np.float64)
    left, right = np.triu_indices(features.shape[1])
    return np.asarray(features[:, left] * features[:, right])


def attempt(env: Any, policy: Policy, seed: int, split: str, *, greedy: bool) -> Attempt:
    observation, _ = env.reset(seed=seed, options={"split": split})
    moves: list[Array] = []
    reward, over = 0.0, False
    while not over:
        seen = crossed(observation)
        # A learner that never submits learns nothing: after a few calls the only choice is to be judged.
        chosen = policy.choose(seen, greedy=greedy) if len(moves) < LONGEST else submit_place(env)
        moves.append(seen[chosen])
        observation, reward, terminated, truncated, _ = env.step(chosen)
        over = terminated or truncated
    return Attempt(moves, float(reward))


def submit_place(env: Any) -> int:
    return next(place for place, call in enumerate(env.calls) if call.operation == "submit")


def judged(env: Any, policy: Policy, *, greedy: bool) -> float:
    return float(np.mean([attempt(env, policy, seed, "validation", greedy=greedy).reward for seed in HELD_OUT]))


def train(env: Any, seed: int, seconds: float, batch: int = 25) -> Iterator[dict[str, float]]:
    policy = Policy(crossed(env.reset(seed=0)[0]).shape[1], seed)
    started = time.perf_counter()
    yield {"episodes": 0, "seconds": 0.0, "reward": judged(env, policy, greedy=False)}
    episodes = 0
    while time.perf_counter() - started < seconds:
        policy.learn([attempt(env, policy, policy.draw_seed(), "train", greedy=False) for _ in range(batch)], episodes)
        episodes += batch
        if episodes % (batch * 8) == 0:
            reward = judged(env, policy, greedy=True)
            yield {"episodes": episodes, "seconds": time.perf_counter() - started, "reward": reward}
            if reward == 1.0:
                return


def plot(curve: list[dict[str, float]], title: str, path: Path) -> None:
    import matplotlib as mpl  # late: pip install 'dayshift[reports]'

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
    parser.add_argument("--plot", type=Path, default=Path("learning.png"))
    chosen = parser.parse_args()
    env = dayshift.Menu(gymnasium.make("dayshift/Crm-v0", task=chosen.task, world=chosen.world))
    curve = []
    for point in train(env, chosen.seed, chosen.minutes * 60):
        curve.append(point)
        print(json.dumps(point), flush=True)
    env.close()
    plot(curve, chosen.task, chosen.plot)
    print(f"random {curve[0]['reward']:+.3f}, trained {curve[-1]['reward']:+.3f}; curve in {chosen.plot}")


if __name__ == "__main__":
    main()
