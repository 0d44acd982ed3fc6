"""Tianshou: menus with an info that its batches can hold, and a buffer that leaves out episodes without a reward.

envs = DummyVectorEnv([lambda: make_menu(task="crm/correct-contact", max_steps=12)] * 8)
collector = Collector(algorithm, envs, LearnableBuffer(4096, 8))
"""

from typing import Any, SupportsFloat

import gymnasium
import numpy as np

from dayshift.errors import MissingExtra
from dayshift.metrics import is_learnable

try:
    from tianshou.data import VectorReplayBuffer
except ImportError as error:
    raise MissingExtra("tianshou", "tianshou") from error

Indices = np.ndarray[Any, np.dtype[np.int64]]


def make_menu(**options: Any) -> gymnasium.Env[Any, Any]:
    """Makes a menu whose observation is one vector; the options are those of `dayshift/Menu-v0`."""
    env = gymnasium.make("dayshift/Menu-v0", **{"on_fault": "quarantine", **options})
    return PlainInfo(gymnasium.wrappers.FlattenObservation(env))


class PlainInfo(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Reduces `info` to three booleans, because a batch of Tianshou takes neither lists nor keys that come and go.

    An episode that is not learnable is truncated, so that a buffer can tell.
    """

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, _reduce(info)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        over, learnable = terminated or truncated, is_learnable(info)
        return observation, reward, over and learnable, over and not learnable, _reduce(info)


def _reduce(info: dict[str, Any]) -> dict[str, Any]:
    passed = "verdict" in info and info["verdict"]["outcome"] == "passed"
    return {"scored": "verdict" in info, "passed": passed, "learnable": is_learnable(info)}


class LearnableBuffer(VectorReplayBuffer):  # type: ignore[misc]  # its types are not installed where this is checked
    """A `VectorReplayBuffer` whose samples hold no row of an unscored episode, whatever the algorithm.

    It reads `truncated`, which `make_menu` sets on what must not be learned from, and on nothing else.
    """

    def sample_indices(self, batch_size: int | None) -> Indices:
        learnable = self._learnable_indices()
        if not batch_size:
            return learnable
        return np.asarray(np.random.choice(learnable, batch_size))  # noqa: NPY002 - as Tianshou draws

    def _learnable_indices(self) -> Indices:
        learnable = [
            self._drop_unscored(np.asarray(buffer.sample_indices(0)) + offset)
            for offset, buffer in zip(self._offset, self.buffers, strict=True)
        ]
        return np.concatenate(learnable) if learnable else np.array([], np.int64)

    def _drop_unscored(self, indices: Indices) -> Indices:
        """Drops whole episodes from the rows of one environment, which are in the order of time."""
        ends = np.flatnonzero(self.done[indices]) + 1
        episodes = np.split(indices, ends)
        scored = [rows for rows in episodes if len(rows) and not self.truncated[rows[-1]]]
        return np.concatenate(scored) if scored else indices[:0]
