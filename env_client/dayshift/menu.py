"""Menu: offers k concrete calls with numeric features at each step, so that a small policy can choose."""

from collections.abc import Sequence
from typing import Any, SupportsFloat, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from dayshift.calls import Call
from dayshift.env import DayshiftEnv
from dayshift.errors import NoMenu
from dayshift.menu_state import DEFAULT_ROWS, MenuObservation, MenuState, menu_space


class Menu(gymnasium.Wrapper[MenuObservation, int, Any, Any], RecordConstructorArgs):
    """`Discrete(k)` over candidate calls of the task: good, useless and harmful ones, and `finish_work`.

    The order is random at every step, so that the index of a call tells nothing.
    The client computes the features from what the agent can read; control adds no hint.
    An episode with a verdict is terminated, also by its budget; truncated is only one that has no reward.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], k: int = DEFAULT_ROWS) -> None:
        RecordConstructorArgs.__init__(self, k=k)
        gymnasium.Wrapper.__init__(self, env)
        self.k = k
        self._base: DayshiftEnv = _unwrap(env)
        self._base.request_menus()
        self._state: MenuState | None = None
        self.action_space = cast(gymnasium.Space[int], spaces.Discrete(k))
        self.observation_space = cast(gymnasium.Space[MenuObservation], menu_space(k))

    @property
    def calls(self) -> Sequence[Call]:
        """The candidate calls of this step; the action is an index into them."""
        return self._require_state().offered

    def action_masks(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which actions hold a call, for MaskablePPO and its like."""
        return self._require_state().mask()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[MenuObservation, dict[str, Any]]:
        _, info = self.env.reset(seed=seed, options=options)
        assert self._base.episode is not None, "reset opens an episode"
        self._state = MenuState(self._base.episode, self.k)
        return self._state.shuffle(self._base.np_random), info

    def step(self, action: int) -> tuple[MenuObservation, SupportsFloat, bool, bool, dict[str, Any]]:
        state = self._require_state()
        _, reward, terminated, truncated, info = cast(gymnasium.Env[Any, Any], self.env).step(state.call(int(action)))
        # Nothing follows a verdict, also where the budget ended the episode, so there is no value to bootstrap from.
        judged = "verdict" in info
        return state.shuffle(self._base.np_random), reward, judged or terminated, truncated and not judged, info

    def _require_state(self) -> MenuState:
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        return self._state


def make_menu(k: int = DEFAULT_ROWS, **options: Any) -> Menu:
    """`gymnasium.make("dayshift/Menu-v0", task=…, k=12)`; the other options are those of `DayshiftEnv`."""
    return Menu(DayshiftEnv(**options), k)


def _unwrap(env: gymnasium.Env[Any, Any]) -> DayshiftEnv:
    if not isinstance(env.unwrapped, DayshiftEnv):
        raise NoMenu(f"{env} is not a Dayshift environment")
    return env.unwrapped
