"""Stable-Baselines3 and its contrib package: menus as a VecEnv, a policy for menus, and what keeps unscored out.

env = MenuVecEnv(16, task="crm/correct-contact", max_steps=12)
model = MaskablePPO(MenuPolicy, env, rollout_buffer_class=LearnableMaskableBuffer)
model.learn(20_000, callback=EpisodeCallback(metrics))
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode

from dayshift.errors import MissingExtra
from dayshift.menu_vector import MenuVectorEnv
from dayshift.metrics import EpisodeMetrics, is_learnable
from dayshift.vector import unpack_infos

try:
    import torch
    from sb3_contrib.common.maskable.buffers import MaskableDictRolloutBuffer
    from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
    from stable_baselines3.common.buffers import DictRolloutBuffer
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise MissingExtra("stable-baselines3 and sb3-contrib", "sb3") from error

Tensor: TypeAlias = torch.Tensor


class MenuVecEnv(VecEnv):  # type: ignore[misc]  # its types are not installed where this file is checked
    """Many menus on one event loop; the options are those of `MenuVectorEnv`.

    An environment fault ends an episode without a reward, and `info["quarantined"]` says why.
    """

    def __init__(self, num_envs: int, **options: Any) -> None:
        options = {"on_fault": "quarantine", **options}
        self.menus = MenuVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        self.render_mode = None
        super().__init__(num_envs, self.menus.single_observation_space, self.menus.single_action_space)

    def reset(self) -> Mapping[str, Any]:
        seeds = self._seeds if any(seed is not None for seed in self._seeds) else None
        observations, infos = self.menus.reset(seed=seeds, options=self._options[0] or None)
        self.reset_infos = unpack_infos(infos, self.num_envs)
        self._reset_seeds()
        self._reset_options()
        return dict(observations)

    def step_async(self, actions: Any) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        observations, rewards, terminated, truncated, packed = self.menus.step(self._actions)
        infos = unpack_infos(packed, self.num_envs)
        for info, cut in zip(infos, truncated, strict=True):
            if "final_info" in info:
                last, observation = info.pop("final_info"), info.pop("final_obs")
                info.clear()
                info.update(last, terminal_observation=observation, **{"TimeLimit.truncated": bool(cut)})
        return dict(observations), rewards.astype(np.float32), terminated | truncated, infos

    def close(self) -> None:
        self.menus.close()

    def action_masks(self) -> list[Any]:
        return list(self.menus.action_masks())

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self.menus, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.menus, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, _value: Any, indices: Any = None) -> None:
        raise AttributeError(f"{attr_name} cannot be set on {len(list(self._get_indices(indices)))} menus")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        results = list(getattr(self.menus, method_name)(*args, **kwargs))
        return [results[index] for index in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        return [isinstance(self.menus, wrapper_class)] * len(list(self._get_indices(indices)))


class _LearnableRows:
    """The part of a rollout buffer that leaves out the rows of episodes without a reward."""

    buffer_size: int
    n_envs: int
    pos: int

    def reset(self) -> None:
        super().reset()  # type: ignore[misc]  # the other base class has it
        self.learnable = np.ones((self.buffer_size, self.n_envs), np.bool_)

    def get(self, batch_size: int | None = None) -> Iterator[Any]:
        # The first batch of the base class prepares the arrays; the batches themselves are drawn here.
        next(super().get(1))  # type: ignore[misc]
        rows = np.random.permutation(np.flatnonzero(self.learnable.swapaxes(0, 1).ravel()))  # noqa: NPY002 - as SB3 draws
        if not len(rows):
            raise RuntimeError("every episode of this rollout is unscored: the environment failed (`dayshift doctor`)")
        size = batch_size or len(rows)
        for start in range(0, len(rows), size):
            yield self._get_samples(rows[start : start + size])  # type: ignore[attr-defined]


class LearnableBuffer(_LearnableRows, DictRolloutBuffer):  # type: ignore[misc]
    """For PPO and A2C: `PPO(…, rollout_buffer_class=LearnableBuffer)` beside an `EpisodeCallback`."""


class LearnableMaskableBuffer(_LearnableRows, MaskableDictRolloutBuffer):  # type: ignore[misc]
    """For MaskablePPO."""


class EpisodeCallback(BaseCallback):  # type: ignore[misc]
    """Logs the episodes, and marks the rows of those without a reward in a learnable buffer.

    The values go to SB3's own logger, and to the trackers of `metrics`.
    """

    def __init__(self, metrics: EpisodeMetrics | None = None) -> None:
        super().__init__()
        self.metrics = metrics or EpisodeMetrics(every=0)
        self._starts: list[int] = []

    def _on_rollout_start(self) -> None:
        self._starts = [0] * self.training_env.num_envs

    def _on_step(self) -> bool:
        buffer = self.model.rollout_buffer
        for index, (done, info) in enumerate(zip(self.locals["dones"], self.locals["infos"], strict=True)):
            if not done:
                continue
            self.metrics.add_info(info)
            if not is_learnable(info) and isinstance(buffer, _LearnableRows):
                buffer.learnable[self._starts[index] : buffer.pos + 1, index] = False
            self._starts[index] = buffer.pos + 1
        return True

    def _on_rollout_end(self) -> None:
        for name, value in self.metrics.log(self.num_timesteps).items():
            self.logger.record(name, value)


class MenuPolicy(MaskableMultiInputActorCriticPolicy):  # type: ignore[misc]
    """Scores every row of a menu with one network, because the order of the rows is random."""

    def __init__(self, *args: Any, width: int = 64, **kwargs: Any) -> None:
        self._width = width
        super().__init__(*args, **{"ortho_init": False, **kwargs})

    def _build_mlp_extractor(self) -> None:
        rows, features = self.observation_space["features"].shape
        self.mlp_extractor = MenuNetwork(rows, features, self._width)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        # The network's scores are the logits already.
        self.action_net = torch.nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


class MenuNetwork(torch.nn.Module):  # type: ignore[misc]
    """Rows of features to one score for each row, and to a summary from which the value is read."""

    def __init__(self, rows: int, features: int, width: int = 64) -> None:
        super().__init__()
        self._rows, self._features = rows, features
        self.latent_dim_pi, self.latent_dim_vf = rows, width
        self.encoder = _layers(features, width, width)
        self.scorer = torch.nn.Sequential(*_layers(3 * width, width), torch.nn.Linear(width, 1))
        self.critic = _layers(2 * width, width)

    def forward(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        rows, summary = self._encode(flat)
        repeated_summary = summary.unsqueeze(1).expand(-1, self._rows, -1)
        return self.scorer(torch.cat([rows, repeated_summary], -1)).squeeze(-1), self.critic(summary)

    def forward_actor(self, flat: Tensor) -> Tensor:
        return self(flat)[0]

    def forward_critic(self, flat: Tensor) -> Tensor:
        return self.critic(self._encode(flat)[1])

    def _encode(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        size = self._rows * self._features
        rows = self.encoder(flat[:, :size].reshape(-1, self._rows, self._features))
        offered = flat[:, size:].unsqueeze(-1)
        mean = (rows * offered).sum(1) / offered.sum(1).clamp(min=1)
        # Whether to finish depends on what single rows say, for instance that the right record is written; a mean over
        # the rows nearly hides that, so the largest values stand beside it. The encoder's values are above -1.
        largest = torch.where(offered > 0, rows, -1.0).amax(1)
        return rows, torch.cat([mean, largest], -1)


def _layers(*sizes: int) -> Any:
    pairs = pairwise(sizes)
    return torch.nn.Sequential(*(layer for pair in pairs for layer in (torch.nn.Linear(*pair), torch.nn.Tanh())))
