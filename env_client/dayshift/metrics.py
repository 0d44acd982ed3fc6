"""EpisodeMetrics: what a trainer plots of its episodes: reward, pass rate, unscored rate and flags."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol, Self

from dayshift.trajectory import Trajectory
from dayshift.wire import Verdict


class Tracker(Protocol):
    """Takes values by name; `dayshift.integrations.trackers` has those of TensorBoard, MLflow and Weights & Biases."""

    def log(self, values: Mapping[str, float], step: int) -> None: ...


def is_learnable(info: Mapping[str, Any]) -> bool:
    """False for the last info of an episode that has no reward, or in which somebody stepped in."""
    return "quarantined" not in info and not info.get("intervened", False)


class EpisodeMetrics:
    """Counts finished episodes, and logs their means to trackers every so many episodes.

    It is a recorder: `gymnasium.make(…, recorder=EpisodeMetrics(tracker))` and `rollouts(…, recorder=…)` feed it.
    Where environments run in other processes, `add_info` takes the last `info` of an episode instead.
    An unscored episode counts in `unscored_rate` alone, and never as a reward of 0.
    """

    def __init__(self, *trackers: Tracker, every: int = 20, prefix: str = "dayshift") -> None:
        self.episodes = 0
        # The fingerprint of the worlds, by task.
        self.fingerprints: dict[str, str] = {}
        self._trackers = trackers
        self._every = every
        self._prefix = prefix
        self._clear()

    def record(self, trajectory: Trajectory) -> None:
        manifest, verdict = trajectory.manifest, trajectory.verdict
        self._add(manifest.open.task or "", manifest.fingerprint, verdict if trajectory.scored else None)

    def add_info(self, info: Mapping[str, Any]) -> None:
        """Counts the episode of its last info; an info from the middle of an episode is left out."""
        if "verdict" in info:
            self._add(info["task"], info["fingerprint"], Verdict.model_validate({"reward": None, **info["verdict"]}))
        elif "quarantined" in info:
            self._add(info["task"], info["fingerprint"], None)

    def values(self) -> dict[str, float]:
        """Returns the values since the last `log`; without a scored episode there is no mean reward."""
        if not self._count:
            return {}
        values = {"unscored_rate": 1 - len(self._rewards) / self._count, "episodes": float(self.episodes)}
        if self._rewards:
            scored = len(self._rewards)
            values["reward"] = sum(self._rewards) / scored
            values["pass_rate"] = self._passed / scored
            values["flagged_rate"] = self._flagged / scored
        values.update({f"flags/{tag}": float(count) for tag, count in sorted(self._flags.items())})
        return {f"{self._prefix}/{name}": value for name, value in values.items()}

    def log(self, step: int | None = None) -> dict[str, float]:
        """Hands the values to the trackers and begins anew; the step is the number of episodes, unless one is given."""
        values = self.values()
        if values:
            for tracker in self._trackers:
                tracker.log(values, self.episodes if step is None else step)
        self._clear()
        return values

    def close(self) -> None:
        self.log()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _add(self, task: str, fingerprint: str, verdict: Verdict | None) -> None:
        self.episodes += 1
        self._count += 1
        self.fingerprints[task] = fingerprint
        if verdict is not None and verdict.reward is not None:
            self._rewards.append(verdict.reward)
            self._passed += verdict.outcome == "passed"
            self._flagged += bool(verdict.flags)
            self._flags.update(flag.tag for flag in verdict.flags)
        if self._every and self._count >= self._every:
            self.log()

    def _clear(self) -> None:
        self._count = 0
        self._passed = 0
        self._flagged = 0
        self._rewards: list[float] = []
        self._flags: Counter[str] = Counter()
