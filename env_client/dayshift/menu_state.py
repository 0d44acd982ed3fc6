"""MenuState: the candidate calls of one episode, as rows of numbers, and which rows hold one."""

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from gymnasium import spaces

from dayshift.call_features import FEATURES, CallFeatures
from dayshift.calls import SUBMIT, Call
from dayshift.episode import AsyncEpisode, Episode
from dayshift.errors import NoMenu, UsageError

DEFAULT_ROWS = 12
# What a choice of an empty row calls: no operation, so that it is answered as malformed and costs a step.
_NOTHING = Call("nothing")


class MenuObservation(TypedDict):
    """The features of each candidate call, and which rows hold one."""

    features: np.ndarray[Any, np.dtype[np.float32]]
    offered: np.ndarray[Any, np.dtype[np.int8]]


def menu_space(k: int) -> spaces.Dict:
    if k < 2:
        raise UsageError(f"a menu of {k} rows offers no call beside {SUBMIT}: give k=2 or more")
    features = spaces.Box(-1.0, 1.0, (k, len(FEATURES)), np.float32)
    return spaces.Dict({"features": features, "offered": spaces.MultiBinary(k)})


class MenuState:
    """The menu of one episode: k rows, one of them `finish_work`, in a new random order at each step."""

    def __init__(self, episode: Episode | AsyncEpisode, k: int) -> None:
        self._k = k
        self._features = CallFeatures(episode)
        self._candidates = [self._features.prepare(call) for call in _list_candidates(episode)]
        self._finish = self._features.prepare(Call(SUBMIT))
        self.offered: Sequence[Call] = ()

    def shuffle(self, chance: np.random.Generator) -> MenuObservation:
        """Draws the rows of the next step and returns them as numbers."""
        selection = chance.permutation(len(self._candidates))[: self._k - 1]
        offered = [*(self._candidates[index] for index in selection), self._finish]
        rows = [offered[index] for index in chance.permutation(len(offered))]
        self.offered = [row.call for row in rows]
        features = np.zeros((self._k, len(FEATURES)), np.float32)
        features[: len(rows)] = self._features.compute(rows)
        return {"features": features, "offered": self.mask().astype(np.int8)}

    def mask(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.arange(self._k) < len(self.offered)

    def call(self, row: int) -> Call:
        return self.offered[row] if 0 <= row < len(self.offered) else _NOTHING


def _list_candidates(episode: Episode | AsyncEpisode) -> list[Call]:
    menu = episode.protocol.opened.menu
    if not menu:
        raise NoMenu(f"{episode.protocol.request.task} offers no candidate calls")
    candidates = [Call(item.operation, item.arguments) for item in menu]
    return [candidate for candidate in candidates if candidate.operation != SUBMIT]
