"""Trains MaskablePPO on a vector of menus, and prints what it would learn from."""

import json
import sys

import numpy as np
from dayshift import EpisodeMetrics
from dayshift.integrations.sb3 import EpisodeCallback, LearnableMaskableBuffer, MenuPolicy, MenuVecEnv
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import is_masking_supported

options = json.loads(sys.argv[1])
env = MenuVecEnv(2, **options)
assert is_masking_supported(env)
model = MaskablePPO(
    MenuPolicy, env, rollout_buffer_class=LearnableMaskableBuffer, n_steps=64, batch_size=32, seed=1, device="cpu"
)
before = [parameter.clone() for parameter in model.policy.parameters()]
logged = {}


class Tracker:
    def log(self, values, step):
        logged.update(values)


callback = EpisodeCallback(EpisodeMetrics(Tracker(), every=0))
model.learn(128, callback=callback)
buffer = model.rollout_buffer
rows = sum(len(batch.actions) for batch in buffer.get(32))
offered = buffer.observations["offered"].reshape(-1, env.menus.k)
chosen = buffer.actions.reshape(-1).astype(int)
print(
    json.dumps(
        {
            "rows": rows,
            "left_out": int((~buffer.learnable).sum()),
            "chose_offered": bool(np.all(offered[np.arange(len(chosen)), chosen] == 1)),
            "changed": any(not old.equal(new) for old, new in zip(before, model.policy.parameters(), strict=True)),
            "best": model.predict(env.reset(), action_masks=np.stack(env.action_masks()), deterministic=True)[
                0
            ].tolist(),
            **logged,
        },
        default=str,
    )
)
env.close()
