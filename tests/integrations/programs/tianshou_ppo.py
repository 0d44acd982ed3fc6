"""Collects with Tianshou's PPO on menus in its own vector, and prints what it would learn from."""

import json
import sys

import gymnasium
import torch
from dayshift.integrations.tianshou import LearnableBuffer, make_menu
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector
from tianshou.env import DummyVectorEnv
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

options = json.loads(sys.argv[1])
envs = DummyVectorEnv([lambda: make_menu(**options)] * 2)
# Its vectors show the spaces of the innermost environment, so they are read from a menu.
menu = make_menu(**options)
space, actions = menu.observation_space, 12
menu.close()
body = Net(state_shape=space.shape, hidden_sizes=(32,))
actor = DiscreteActor(preprocess_net=body, action_shape=actions, softmax_output=False)
critic = DiscreteCritic(preprocess_net=body)
policy = DiscreteActorPolicy(
    actor=actor,
    dist_fn=lambda logits: torch.distributions.Categorical(logits=logits),
    action_space=gymnasium.spaces.Discrete(actions),
    observation_space=space,
)
algorithm = PPO(policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=1e-3))
buffer = LearnableBuffer(512, 2)
collector = Collector(algorithm, envs, buffer)
collector.reset()
collector.collect(n_step=128)
learnable, everything = buffer.sample_indices(0), len(buffer)
result = {
    "rows": len(learnable),
    "left_out": everything - len(learnable),
    "cut": int(buffer.truncated[learnable].sum()),
    "drawn_cut": int(buffer.truncated[buffer.sample_indices(256)].sum()),
}
print(json.dumps(result, default=str))
envs.close()
