"""Train PPO of RLlib on menus of calls, with several environments in each of its runners.

    pip install './env_client[rllib]'
    python examples/train_rllib.py --iterations 20

RLlib's network reads the whole menu as one vector, and the order of its rows is random, so it learns more slowly than
`train_sb3.py`, whose network scores every row by itself.
"""

import argparse
from typing import Any

import ray
from dayshift.integrations.rllib import MENU, EpisodeCallbacks
from ray.rllib.algorithms.ppo import PPOConfig


def build(args: argparse.Namespace) -> Any:
    options = {"task": args.task, "world": args.world, "max_steps": args.max_steps}
    return (
        PPOConfig()
        .environment(MENU, env_config=options)
        .env_runners(num_env_runners=args.runners, num_envs_per_env_runner=args.envs)
        .training(train_batch_size=args.batch, minibatch_size=64, num_epochs=4, lr=3e-4, entropy_coeff=0.02)
        .callbacks(EpisodeCallbacks)
        .debugging(seed=args.seed)
        .build_algo()
    )


def describe(iteration: int, metrics: dict[str, Any]) -> str:
    values = {name: float(metrics.get(f"dayshift_{name}", 0.0)) for name in ("reward", "pass_rate", "unscored_rate")}
    return (
        f"iteration {iteration}: {int(metrics['num_env_steps_sampled_lifetime'])} steps, "
        f"reward {values['reward']:+.3f}, passed {values['pass_rate']:.0%}, unscored {values['unscored_rate']:.0%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Train RLlib's PPO on menus of calls.")
    parser.add_argument("--task", default="crm/correct-contact")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--batch", type=int, default=1024, help="steps of an iteration")
    parser.add_argument("--runners", type=int, default=2)
    parser.add_argument("--envs", type=int, default=2, help="environments of each runner")
    parser.add_argument("--max-steps", type=int, default=12, help="of an episode")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    # A runner waits for the environments most of the time, so runners may share a core; a slow machine starts slowly.
    ray.init(
        num_cpus=args.runners + 1,
        include_dashboard=False,
        object_store_memory=200_000_000,
        _system_config={"raylet_start_wait_time_s": 120},
    )
    algorithm = build(args)
    print(f"{args.runners} runners with {args.envs} environments each")
    for iteration in range(1, args.iterations + 1):
        print(describe(iteration, algorithm.train()["env_runners"]), flush=True)
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
