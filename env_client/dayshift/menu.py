"""Menu: offers k concrete calls with numeric features at each step, so that a small policy can choose."""

from collections.abc import Sequence
from typing import Any, SupportsFloat, TypedDict, cast

import gymnasium
import numpy as np
from gymnasium import spaces

from dayshift.call_features import FEATURES, CallFeatures
from dayshift.calls import SUBMIT, Call
from dayshift.env import DayshiftEnv
from dayshift.episode import Episode
from dayshift.errors import NoMenu


class MenuObservation(TypedDict):
    """The features of each candidate call, and which rows hold one."""

    features: np.ndarray[Any, np.dtype[np.float32]]
    offered: np.ndarray[Any, np.dtype[np.int8]]


class Menu(gymnasium.Wrapper[MenuObservation, int, Any, Any]):
    """`Discrete(k)` over candidate calls of the task: good, useless and harmful ones, and `finish_work`.

    The order is random at every step, so that the index of a call tells nothing.
    The client computes the features from what the agent can read; control adds no hint.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], k: int = 12) -> None:
        super().__init__(env)
        self.k = k
        self._base: DayshiftEnv = _unwrap(env)
        self._base.request_menus()
        self._offered: list[Call] = []
        self._features: CallFeatures | None = None
        self.action_space = cast(gymnasium.Space[int], spaces.Discrete(k))
        self.observation_space = cast(
            gymnasium.Space[MenuObservation],
            spaces.Dict(
                {
                    "features": spaces.Box(-1.0, 1.0, (k, len(FEATURES)), np.float32),
                    "offered": spaces.MultiBinary(k),
                }
            ),
        )

    @property
    def calls(self) -> Sequence[Call]:
        """The candidate calls of this step; the action is an index into them."""
        return self._offered

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[MenuObservation, dict[str, Any]]:
        _, info = self.env.reset(seed=seed, options=options)
        self._features = CallFeatures(self._require_episode())
        return self._sample_candidates(), info

    def step(self, action: int) -> tuple[MenuObservation, SupportsFloat, bool, bool, dict[str, Any]]:
        call = self._offered[int(action)] if int(action) < len(self._offered) else Call("nothing")
        _, reward, terminated, truncated, info = cast(gymnasium.Env[Any, Any], self.env).step(call)
        return self._sample_candidates(), reward, terminated, truncated, info

    def _require_episode(self) -> Episode:
        if self._base.episode is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        return self._base.episode

    def _sample_candidates(self) -> MenuObservation:
        candidates = self._list_candidates()
        chance = self._base.np_random
        selection = chance.permutation(len(candidates))[: self.k - 1]
        offered = [*(candidates[index] for index in selection), Call(SUBMIT)]
        self._offered = [offered[index] for index in chance.permutation(len(offered))]
        return self._build_observation()

    def _list_candidates(self) -> list[Call]:
        menu = self._require_episode().protocol.opened.menu
        if not menu:
            raise NoMenu(f"{self._require_episode().protocol.request.task} offers no candidate calls")
        candidates = [Call(item.operation, item.arguments) for item in menu]
        return [candidate for candidate in candidates if candidate.operation != SUBMIT]

    def _build_observation(self) -> MenuObservation:
        assert self._features is not None, "reset prepares the features"
        features = np.zeros((self.k, len(FEATURES)), np.float32)
        for index, candidate in enumerate(self._offered):
            features[index] = self._features.compute(candidate)
        mask = np.zeros(self.k, np.int8)
        mask[: len(self._offered)] = 1
        return {"features": features, "offered": mask}


def _unwrap(env: gymnasium.Env[Any, Any]) -> DayshiftEnv:
    if not isinstance(env.unwrapped, DayshiftEnv):
        raise NoMenu(f"{env} is not a Dayshift environment")
    return env.unwrapped
