"""Train MaskablePPO of Stable-Baselines3 on menus of calls, with several seeds and a held-out evaluation.

    pip install './env_client[sb3,reports]' tensorboard
    python examples/train_sb3.py
    python examples/train_sb3.py --families mix --steps 24000 --held-out 96 --into runs/sb3-mix
    python examples/train_sb3.py --families mix --curriculum --into runs/sb3-curriculum

It writes a learning curve with its spread over the seeds (curve.png), a manifest with seeds, versions, fingerprints,
git state, curricula and results (experiment.json), scalars for TensorBoard, and the policies.
Training uses the train split; the evaluation plays held-out seeds of the validation split without exploration.
"""

import argparse
import multiprocessing
import time
from pathlib import Path
from typing import Any

import dayshift
import numpy as np
import torch
from dayshift.integrations.sb3 import EpisodeCallback, LearnableMaskableBuffer, MenuPolicy, MenuVecEnv
from dayshift.integrations.trackers import TensorBoardTracker
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

# Ten families of three products, each with a train and a validation split. One is of the desk, whose verdicts take
# ten times as long as the others': customers react for some simulated hours first.
MIX = (
    "billing/add-discount",
    "billing/change-plan-at-renewal",
    "billing/credit-double-line",
    "billing/write-off",
    "crm/advance-deal",
    "crm/correct-contact",
    "crm/enrich-known",
    "crm/gdpr-delete",
    "crm/log-call",
    "desk/invoice-details",
)
PPO = {"n_steps": 64, "batch_size": 256, "n_epochs": 6, "learning_rate": 2e-3, "ent_coef": 0.05, "gamma": 0.99}
# The share of the training after which nothing is paid for exploration any more.
EXPLORING = 0.7


class EntropyDecay(BaseCallback):
    """Lowers the entropy bonus to 0.

    Harm costs reward, so a policy that explores little soon finishes at once, or writes to every record that may be the
    right one and never learns that reading first earns more. A policy that explores for ever makes slips at the end.
    """

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._steps, self._start = steps, PPO["ent_coef"]

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.model.ent_coef = self._start * max(0.0, 1 - self.num_timesteps / (EXPLORING * self._steps))


class Evaluation(BaseCallback):
    """Plays the held-out seeds every so many steps, and at the end."""

    def __init__(self, env: MenuVecEnv, every: int, seeds: range) -> None:
        super().__init__()
        self.points: list[dict[str, float]] = []
        self._env, self._every, self._seeds = env, every, seeds
        self._started = time.perf_counter()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self.num_timesteps >= len(self.points) * self._every:
            self.evaluate()

    def evaluate(self) -> dict[str, float]:
        point = play(self._env, self.model, self._seeds)
        point |= {"steps": self.num_timesteps, "seconds": round(time.perf_counter() - self._started, 1)}
        self.points.append(point)
        print(point, flush=True)
        return point


def play(env: MenuVecEnv, model: MaskablePPO | None, seeds: range) -> dict[str, float]:
    """Returns the mean reward and the pass rate over held-out seeds; without a model, of random choices."""
    chance = np.random.default_rng(0)
    rewards, passed = [], []
    for start in range(seeds.start, seeds.stop, env.num_envs):
        env.seed(start)
        observations = env.reset()
        waiting = np.ones(env.num_envs, bool)
        while waiting.any():
            masks = np.stack(env.action_masks())
            actions = choose(model, observations, masks, chance)
            observations, _, dones, infos = env.step(actions)
            for index in np.flatnonzero(dones & waiting):
                # An episode without a verdict is unscored: it counts neither as a reward nor as a failure.
                if "verdict" in infos[index]:
                    rewards.append(infos[index]["verdict"]["reward"])
                    passed.append(infos[index]["verdict"]["outcome"] == "passed")
            waiting &= ~dones
    return {"reward": float(np.mean(rewards)), "pass_rate": float(np.mean(passed)), "episodes": len(rewards)}


def choose(model: MaskablePPO | None, observations: Any, masks: Any, chance: np.random.Generator) -> Any:
    if model is None:
        return np.array([chance.choice(np.flatnonzero(row)) for row in masks])
    return model.predict(observations, action_masks=masks, deterministic=True)[0]


def compare(trained: dict[str, float], random: dict[str, float]) -> dict[str, float]:
    """Returns how many times random's results the trained ones are; 3 is three times as good.

    Random choices do harm and earn less than 0, of which no multiple is better. So the rewards are compared by their
    distance: three times a positive reward is that reward and twice its size more.
    """
    gain = trained["reward"] - random["reward"]
    return {
        "pass_rate": trained["pass_rate"] / max(random["pass_rate"], 1e-9),
        "reward": 1 + gain / max(abs(random["reward"]), 1e-9),
    }


def train(args: argparse.Namespace, seed: int, options: dict[str, Any]) -> tuple[list[dict[str, float]], Any, Any]:
    """Trains one policy and returns its curve, the fingerprints of its worlds, and the state of its curriculum."""
    torch.set_num_threads(1)
    curriculum = dayshift.Curriculum(options["families"], seed=seed) if args.curriculum else None
    env = MenuVecEnv(args.envs, split="train", curriculum=curriculum, **options)
    held_out = MenuVecEnv(args.envs, split="validation", **options)
    tracker = TensorBoardTracker(args.into / f"tensorboard/seed-{seed}")
    metrics = dayshift.EpisodeMetrics(tracker, every=0)
    model = MaskablePPO(MenuPolicy, env, rollout_buffer_class=LearnableMaskableBuffer, seed=seed, device="cpu", **PPO)
    evaluation = Evaluation(held_out, args.evaluate_every, range(args.held_out))
    model.learn(args.steps, callback=[EpisodeCallback(metrics), EntropyDecay(args.steps), evaluation])
    if evaluation.points[-1]["steps"] < model.num_timesteps:
        evaluation.evaluate()
    model.save(args.into / f"policy-{seed}")
    tracker.close()
    env.close()
    held_out.close()
    return evaluation.points, metrics.fingerprints, None if curriculum is None else curriculum.state()


def plot(curves: list[list[dict[str, float]]], random: dict[str, float], title: str, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    length = min(map(len, curves))
    steps = [point["steps"] for point in curves[0][:length]]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for axes, name in ((left, "reward"), (right, "pass_rate")):
        values = np.array([[point[name] for point in curve[:length]] for curve in curves])
        axes.plot(steps, values.mean(0), marker="o", label=f"mean of {len(curves)} seeds")
        axes.fill_between(steps, values.min(0), values.max(0), alpha=0.2, label="smallest to largest")
        axes.axhline(random[name], linestyle="--", linewidth=1, label="random choices")
        axes.set(xlabel="training steps", ylabel=f"held-out {name.replace('_', ' ')}")
        axes.legend()
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train MaskablePPO on menus of calls.")
    parser.add_argument("--families", default="crm/correct-contact", help="ids with commas between, or mix")
    parser.add_argument("--curriculum", action="store_true", help="draw families by how often they are passed")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--steps", type=int, default=24_000, help="training steps of each seed")
    parser.add_argument("--seeds", type=int, default=3, help="how many policies are trained")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="policies that are trained at the same time")
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--max-steps", type=int, default=12, help="of an episode")
    parser.add_argument("--held-out", type=int, default=48, help="seeds of the evaluation")
    parser.add_argument("--evaluate-every", type=int, default=8_000, help="training steps")
    parser.add_argument("--into", type=Path, default=Path("runs/sb3"))
    args = parser.parse_args()
    args.into.mkdir(parents=True, exist_ok=True)
    families = MIX if args.families == "mix" else tuple(args.families.split(","))
    options = {"families": families, "world": args.world, "max_steps": args.max_steps}

    held_out = MenuVecEnv(args.envs, split="validation", **options)
    random = play(held_out, None, range(args.held_out))
    held_out.close()
    print("random", random, flush=True)
    started = time.perf_counter()
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    # A trainer waits for the stack half of the time, so two of them use two cores.
    with multiprocessing.get_context("spawn").Pool(min(args.jobs, args.seeds)) as pool:
        trained = pool.starmap(train, [(args, seed, options) for seed in seeds], chunksize=1)
    curves = [points for points, _, _ in trained]
    fingerprints = {family: fingerprint for _, seen, _ in trained for family, fingerprint in seen.items()}
    plot(
        curves,
        random,
        ", ".join(families) if len(families) < 4 else f"{len(families)} families",
        args.into / "curve.png",
    )
    last = [curve[-1] for curve in curves]
    results = {
        "random": random,
        "reward": float(np.mean([point["reward"] for point in last])),
        "pass_rate": float(np.mean([point["pass_rate"] for point in last])),
        "seconds": round(time.perf_counter() - started, 1),
        "curves": curves,
    }
    results["times_random"] = compare(results, random)
    dayshift.write_experiment(
        args.into / "experiment.json",
        seeds=seeds,
        settings={**vars(args), "families": families, "ppo": PPO, "exploring": EXPLORING},
        packages=("stable-baselines3", "sb3-contrib", "torch"),
        fingerprints=fingerprints,
        curriculum=[state for _, _, state in trained] if args.curriculum else None,
        results=results,
    )
    print(
        f"random {random['reward']:+.3f} ({random['pass_rate']:.0%} passed), "
        f"trained {results['reward']:+.3f} ({results['pass_rate']:.0%} passed), mean of {args.seeds} seeds, "
        f"{results['seconds']:.0f} s; {results['times_random']['pass_rate']:.1f} × random's pass rate, "
        f"{results['times_random']['reward']:.1f} × its reward; curve and manifest in {args.into}"
    )


if __name__ == "__main__":
    main()
