"""Trains RLlib's PPO with two environments in its local runner, and prints what its learner was given."""

import json
import sys

import ray
from dayshift.integrations.rllib import MENU, EpisodeCallbacks
from ray.rllib.algorithms.ppo import PPOConfig

options = json.loads(sys.argv[1])
given = []


class Watching(EpisodeCallbacks):
    """Notes, in the local runner, which episodes came in and which are left for the learner."""

    def on_sample_end(self, *, samples, **rest):
        came = list(samples)
        super().on_sample_end(samples=samples, **rest)
        given.append(
            {
                "rows": sum(map(len, samples)),
                "left_out": sum(map(len, came)) - sum(map(len, samples)),
                "unscored": sum("quarantined" in each.get_infos(-1) for each in samples),
            }
        )


ray.init(
    num_cpus=2,
    include_dashboard=False,
    log_to_driver=False,
    object_store_memory=200_000_000,
    _system_config={"raylet_start_wait_time_s": 120},
)
config = (
    PPOConfig()
    .environment(MENU, env_config=options)
    .env_runners(num_env_runners=0, num_envs_per_env_runner=2, rollout_fragment_length=32)
    .training(train_batch_size=64, minibatch_size=32, num_epochs=1)
    .callbacks(Watching)
)
algorithm = config.build_algo()
algorithm.train()
algorithm.stop()
ray.shutdown()
print(json.dumps({"given": given}))
