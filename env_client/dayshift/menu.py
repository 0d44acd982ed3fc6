"""Menu: each step offers k concrete calls with numeric features, so that a small policy can choose."""

from collections.abc import Sequence
from typing import Any, SupportsFloat, cast

import gymnasium
import numpy as np
from gymnasium import spaces

from dayshift.calls import SUBMIT, Call
from dayshift.env import DayshiftEnv
from dayshift.episode import Episode
from dayshift.errors import NoMenu
from dayshift.features import FEATURES, Features

Choices = dict[str, Any]


class Menu(gymnasium.Wrapper[Choices, int, Any, Any]):
    """`Discrete(k)` over candidate calls of the task: good, useless and harmful ones, and `submit`.

    The order is drawn anew at every step, so that a place on the menu says nothing.
    Features are computed here from what the agent can read; control adds no hint.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], k: int = 12) -> None:
        super().__init__(env)
        self.k = k
        self._base: DayshiftEnv = _base(env)
        self._base.ask_for_menus()
        self._offered: list[Call] = []
        self._features: Features | None = None
        self.action_space = cast(gymnasium.Space[int], spaces.Discrete(k))
        self.observation_space = spaces.Dict(
            {
                "features": spaces.Box(-1.0, 1.0, (k, len(FEATURES)), np.float32),
                "offered": spaces.MultiBinary(k),
            }
        )

    @property
    def calls(self) -> Sequence[Call]:
        """The candidates of this step, by action."""
        return self._offered

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Choices, dict[str, Any]]:
        _, info = self.env.reset(seed=seed, options=options)
        self._features = Features(self._episode())
        return self._draw(), info

    def step(self, action: int) -> tuple[Choices, SupportsFloat, bool, bool, dict[str, Any]]:
        chosen = self._offered[int(action)] if int(action) < len(self._offered) else Call("nothing")
        _, reward, terminated, truncated, info = cast(gymnasium.Env[Any, Any], self.env).step(chosen)
        return self._draw(), reward, terminated, truncated, info

    def _episode(self) -> Episode:
        if self._base.episode is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        return self._base.episode

    def _draw(self) -> Choices:
        candidates = self._candidates()
        chance = self._base.np_random
        kept = chance.permutation(len(candidates))[: self.k - 1]
        offered = [*(candidates[place] for place in kept), Call(SUBMIT)]
        self._offered = [offered[place] for place in chance.permutation(len(offered))]
        return self._described()

    def _candidates(self) -> list[Call]:
        menu = self._episode().dialogue.opened.menu
        if not menu:
            raise NoMenu(f"{self._episode().dialogue.request.task} offers no candidate calls")
        return [Call(item.operation, item.arguments) for item in menu if item.operation != SUBMIT]

    def _described(self) -> Choices:
        assert self._features is not None, "reset prepares the features"
        features = np.zeros((self.k, len(FEATURES)), np.float32)
        for place, candidate in enumerate(self._offered):
            features[place] = self._features.of(candidate)
        mask = np.zeros(self.k, np.int8)
        mask[: len(self._offered)] = 1
        return {"features": features, "offered": mask}


def _base(env: gymnasium.Env[Any, Any]) -> DayshiftEnv:
    if not isinstance(env.unwrapped, DayshiftEnv):
        raise NoMenu(f"{env} is not a Dayshift environment")
    return env.unwrapped
