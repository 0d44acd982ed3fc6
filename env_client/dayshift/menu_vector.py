"""MenuVectorEnv: many menus behind Gymnasium's vector API, on one event loop."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from dayshift.calls import Call
from dayshift.episode import AsyncEpisode
from dayshift.menu_state import DEFAULT_ROWS, MenuObservation, MenuState, menu_space
from dayshift.step import Step
from dayshift.vector import DayshiftVectorEnv, Slot, StepResult


class MenuVectorEnv(DayshiftVectorEnv):
    """`gymnasium.make_vec("dayshift/Menu-v0", num_envs=16, task=…, k=12)`; each slot equals a `Menu`."""

    def __init__(self, num_envs: int = 1, *, k: int = DEFAULT_ROWS, **options: Any) -> None:
        self.k = k
        self._states: dict[Slot, MenuState] = {}
        super().__init__(num_envs, **options)
        self._defaults = self._defaults.model_copy(update={"menu": True})

    @property
    def calls(self) -> tuple[Sequence[Call], ...]:
        """The candidate calls of each slot; an action is an index into those of its slot."""
        return tuple(self._states[slot].offered for slot in self._require_slots())

    def action_masks(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which actions of each slot hold a call, for MaskablePPO and its like."""
        return np.stack([self._states[slot].mask() for slot in self._require_slots()])

    def _require_slots(self) -> Sequence[Slot]:
        if len(self._states) < self.num_envs:
            raise gymnasium.error.ResetNeeded("call reset before step")
        return self._slots

    def _build_action_space(self) -> gymnasium.Space[Any]:
        return spaces.Discrete(self.k)

    def _build_observation_space(self) -> gymnasium.Space[Any]:
        return menu_space(self.k)

    def _decode(self, slot: Slot, action: Any) -> object:
        return self._states[slot].call(int(action))

    async def _act(self, slot: Slot, episode: AsyncEpisode, action: object) -> StepResult:
        observation, reward, terminated, truncated, info = await super()._act(slot, episode, action)
        judged = "verdict" in info  # as in `Menu`
        return observation, reward, judged or terminated, truncated and not judged, info

    def _observe(self, slot: Slot, episode: AsyncEpisode, step: Step | None) -> MenuObservation:
        # Without a step the episode is new, or its last step failed; both begin with what the agent has read so far.
        if step is None:
            self._states[slot] = MenuState(episode, self.k)
        return self._states[slot].shuffle(slot.chance)
