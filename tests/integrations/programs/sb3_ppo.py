"""Trains Stable-Baselines3's own PPO on menus in its own vector, and prints what it would learn from."""

import json
import sys

import gymnasium
from dayshift import EpisodeMetrics
from dayshift.integrations.sb3 import EpisodeCallback, LearnableBuffer
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

options = json.loads(sys.argv[1])
env = make_vec_env(lambda: gymnasium.make("dayshift/Menu-v0", on_fault="quarantine", **options), n_envs=2, seed=1)
model = PPO("MultiInputPolicy", env, rollout_buffer_class=LearnableBuffer, n_steps=64, batch_size=32, device="cpu")
logged = {}


class Tracker:
    def log(self, values, step):
        logged.update(values)


callback = EpisodeCallback(EpisodeMetrics(Tracker(), every=0))
model.learn(128, callback=callback)
buffer = model.rollout_buffer
rows = sum(len(batch.actions) for batch in buffer.get(32))
print(json.dumps({"rows": rows, "left_out": int((~buffer.learnable).sum()), **logged}, default=str))
env.close()
