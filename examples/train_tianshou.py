"""Train PPO of Tianshou on menus of calls.

    pip install './env_client[tianshou]'
    python examples/train_tianshou.py --epochs 10

The buffer draws no row of an unscored episode: an environment fault teaches nothing.
Tianshou's network reads the whole menu as one vector, and the order of its rows is random, so it learns more slowly
than `train_sb3.py`, whose network scores every row by itself.
"""

import argparse
from typing import Any

import gymnasium
import torch
from dayshift.integrations.tianshou import LearnableBuffer, make_menu
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

ROWS = 12


def build_algorithm(space: gymnasium.Space[Any]) -> Any:
    body = Net(state_shape=space.shape, hidden_sizes=(128, 128))
    policy = DiscreteActorPolicy(
        actor=DiscreteActor(preprocess_net=body, action_shape=ROWS, softmax_output=False),
        dist_fn=lambda logits: torch.distributions.Categorical(logits=logits),
        action_space=gymnasium.spaces.Discrete(ROWS),
        observation_space=space,
    )
    return PPO(policy=policy, critic=DiscreteCritic(preprocess_net=body), optim=AdamOptimizerFactory(lr=1e-3))


def main() -> None:
    parser = argparse.ArgumentParser(description="Train Tianshou's PPO on menus of calls.")
    parser.add_argument("--task", default="crm/correct-contact")
    parser.add_argument("--world", default="standard")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=1024, help="of an epoch")
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--max-steps", type=int, default=12, help="of an episode")
    args = parser.parse_args()
    torch.manual_seed(0)
    options = {"task": args.task, "world": args.world, "max_steps": args.max_steps, "k": ROWS}
    # Its vectors show the spaces of the innermost environment, so the space is read from a menu.
    menu = make_menu(**options)
    algorithm = build_algorithm(menu.observation_space)
    menu.close()
    envs = DummyVectorEnv([lambda: make_menu(**options)] * args.envs)
    collector = Collector(algorithm, envs, LearnableBuffer(args.envs * args.steps, args.envs))
    collector.reset()
    trained = algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=collector,
            max_epochs=args.epochs,
            epoch_num_steps=args.steps,
            collection_step_num_env_steps=min(args.steps, 512),
            update_step_num_repetitions=4,
            batch_size=64,
            test_in_training=False,
        )
    )
    collector.reset()
    played = collector.collect(n_episode=16)
    print(
        f"{trained.train_step} steps, {trained.train_episode} episodes; reward {played.returns.mean():+.3f} afterwards"
    )
    envs.close()


if __name__ == "__main__":
    main()
