"""Curriculum: samples families by how well the policy does in them."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from dayshift.errors import UsageError
from dayshift.open_request import open_request
from dayshift.trajectory import Trajectory
from dayshift.wire import OpenRequest, Split

# Above every seed that the environments draw for themselves is room; below it is what all of them can open.
_SEEDS = 2**31


class Curriculum:
    """Weights per family, by success: a family that is passed half of the time is drawn most.

    The weight of a family is `p * (1 - p)` of its estimated pass rate `p`, and at least `floor`, so that nothing is
    forgotten. The estimate covers the last `memory` scored episodes, and starts at one half.
    The same seed and the same outcomes in the same order give the same draws.

    It is a recorder, which learns from each finished episode; `then` is the recorder to hand the episode on to.
    """

    def __init__(
        self, families: Sequence[str], *, seed: int = 0, floor: float = 0.05, memory: int = 50, then: Any = None
    ) -> None:
        if not families or len(set(families)) != len(families):
            raise UsageError("a curriculum needs families, each of them once")
        if not 0 < floor <= 0.25 or memory < 1:
            raise UsageError("a curriculum needs a floor above 0 and up to 0.25, and a memory of 1 or more")
        self.families = tuple(families)
        self.seed = seed
        self.floor = floor
        self.memory = memory
        self.then = then
        self._chance = np.random.default_rng(seed)
        self._passed = {family: deque[bool](maxlen=memory) for family in families}
        self._episodes = dict.fromkeys(families, 0)

    def weights(self) -> dict[str, float]:
        """Returns the probability of each family."""
        raw = {family: max(self.floor, rate * (1 - rate)) for family, rate in self._pass_rates().items()}
        total = sum(raw.values())
        return {family: weight / total for family, weight in raw.items()}

    def sample(self) -> str:
        """Draws the family of the next episode."""
        weights = self.weights()
        return self.families[int(self._chance.choice(len(self.families), p=list(weights.values())))]

    def tasks(
        self, episodes: int, *, split: Split = "train", world: str = "standard", faults: str = "none"
    ) -> Iterator[OpenRequest]:
        """Yields requests for `rollouts`, each drawn when it is asked for, so that later ones know earlier outcomes."""
        for _ in range(episodes):
            family, seed = self.sample(), int(self._chance.integers(_SEEDS))
            yield open_request(task=family, seed=seed, split=split, world=world, faults=faults)

    def update(self, family: str, *, passed: bool) -> None:
        """Learns how an episode ended; call it for scored episodes only."""
        if family not in self._passed:
            raise UsageError(f"{family} is not among the families of this curriculum")
        self._passed[family].append(passed)
        self._episodes[family] += 1

    def record(self, trajectory: Trajectory) -> None:
        """Learns from a finished episode; one that is unscored, or that somebody stepped into, teaches nothing."""
        family = trajectory.manifest.open.task or ""
        if trajectory.scored and not trajectory.intervened and family in self._passed:
            self.update(family, passed=trajectory.ending == "passed")
        if self.then is not None:
            self.then.record(trajectory)

    def update_from_info(self, info: Mapping[str, Any]) -> None:
        """Learns from the last info of an episode, where environments run in other processes."""
        if "verdict" in info and not info.get("intervened", False):
            self.update(info["task"], passed=info["verdict"]["outcome"] == "passed")

    def state(self) -> dict[str, Any]:
        """Returns what a manifest keeps, and `from_state` continues with."""
        return {
            "families": list(self.families),
            "seed": self.seed,
            "floor": self.floor,
            "memory": self.memory,
            "episodes": dict(self._episodes),
            "passed": {family: list(outcomes) for family, outcomes in self._passed.items()},
            "weights": self.weights(),
            "generator": self._chance.bit_generator.state,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        curriculum = cls(state["families"], seed=state["seed"], floor=state["floor"], memory=state["memory"])
        for family, outcomes in state["passed"].items():
            curriculum._passed[family].extend(outcomes)
        curriculum._episodes.update(state["episodes"])
        curriculum._chance.bit_generator.state = state["generator"]
        return curriculum

    def _pass_rates(self) -> dict[str, float]:
        """The share of passed episodes, with one passed and one failed added, so that no family is given up early."""
        return {family: (sum(outcomes) + 1) / (len(outcomes) + 2) for family, outcomes in self._passed.items()}
