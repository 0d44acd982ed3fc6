"""What a folder of recordings adds up to."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean
from typing import ClassVar

from dayshift.trajectory import Ending, Trajectory
from dayshift.verdict import components, failure_class

# Past this share of episodes that the house broke, the numbers say more about the house than about the policy.
FAILURE_LINE = 0.05
_BINS = 20
# Of the normal distribution, for 95 %.
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts between evenly spaced edges."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One policy on one task family."""

    policy: str
    task: str
    episodes: int
    endings: dict[Ending, int]
    mean_reward: float | None
    mean_steps: float
    mean_tokens: float


@dataclass(frozen=True, slots=True)
class Standing:
    """One policy on everything that it was judged on; what is unscored says nothing about it and is left out."""

    policy: str
    families: int
    judged: int
    passed: int
    # Where the share that passes lies, with 95 % certainty, if the episodes were drawn by chance.
    likely: tuple[float, float]
    # Every family weighs the same, however many episodes it had.
    mean_reward: float

    HEAD: ClassVar = ("policy", "families", "judged", "passed", "share", "95 % interval", "reward by family")

    def cells(self) -> tuple[str, ...]:
        low, high = self.likely
        share = f"{self.passed / self.judged:.1%}"
        counted = (str(self.families), str(self.judged), str(self.passed))
        return (self.policy, *counted, share, f"{low:.1%} – {high:.1%}", f"{self.mean_reward:+.3f}")


@dataclass(frozen=True, slots=True)
class Summary:
    """All that a report shows."""

    episodes: int
    endings: dict[Ending, int]
    standings: list[Standing]
    rows: list[Row]
    rewards: Histogram
    steps: Histogram
    components: dict[str, tuple[float, int]]
    failures: dict[str, int]
    flags: dict[str, int]
    harness_failures: int
    mean_reward: float | None
    calls: int
    answer_bytes: int
    wall_seconds: float
    versions: list[str] = field(default_factory=list)

    @property
    def failure_rate(self) -> float:
        return self.harness_failures / self.episodes if self.episodes else 0.0

    @property
    def trustworthy(self) -> bool:
        return self.failure_rate <= FAILURE_LINE


def summarise(trajectories: Iterable[Trajectory]) -> Summary:
    found = list(trajectories)
    scored = [one for one in found if one.reward is not None]
    rewards = [one.reward for one in scored if one.reward is not None]
    failures = Counter(failure_class(one) for one in found)
    return Summary(
        episodes=len(found),
        endings=_endings(found),
        standings=_standings(scored),
        rows=_rows(found),
        rewards=histogram(rewards, -1.0, 1.0),
        steps=histogram(
            [float(len(one.steps)) for one in found], 0.0, max((len(one.steps) for one in found), default=1)
        ),
        components=_components(scored),
        failures=dict(failures.most_common()),
        flags=dict(Counter(flag.tag for one in scored if one.verdict for flag in one.verdict.flags).most_common()),
        harness_failures=sum(number for name, number in failures.items() if name.startswith("harness: ")),
        mean_reward=fmean(rewards) if rewards else None,
        calls=sum(one.cost.calls for one in found),
        answer_bytes=sum(one.cost.answer_bytes for one in found),
        wall_seconds=sum(one.cost.wall_seconds for one in found),
        versions=sorted({one.policy_version for one in found if one.policy_version}),
    )


def histogram(values: Sequence[float], low: float, high: float) -> Histogram:
    high = high if high > low else low + 1
    width = (high - low) / _BINS
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, max(0, int((value - low) / width)))] += 1
    return Histogram(tuple(low + width * place for place in range(_BINS + 1)), tuple(counts))


def _endings(found: Iterable[Trajectory]) -> dict[Ending, int]:
    counted: dict[Ending, int] = {"passed": 0, "failed": 0, "quarantined": 0}
    for trajectory in found:
        counted[trajectory.ending] += 1
    return counted


def likely_share(passed: int, judged: int) -> tuple[float, float]:
    """Wilson's interval: it stays between 0 and 1, and is honest about few episodes."""
    share, spread = passed / judged, _Z**2 / judged
    middle = (share + spread / 2) / (1 + spread)
    reach = _Z * sqrt(share * (1 - share) / judged + spread / (4 * judged)) / (1 + spread)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _standings(scored: Iterable[Trajectory]) -> list[Standing]:
    by_policy: dict[str, dict[str, list[Trajectory]]] = defaultdict(lambda: defaultdict(list))
    for one in scored:
        by_policy[one.policy or "–"][one.manifest.open.task or "free play"].append(one)
    return [_standing(policy, families) for policy, families in sorted(by_policy.items())]


def _standing(policy: str, families: Mapping[str, Sequence[Trajectory]]) -> Standing:
    judged = sum(map(len, families.values()))
    passed = sum(one.ending == "passed" for group in families.values() for one in group)
    means = [fmean(one.reward for one in group if one.reward is not None) for group in families.values()]
    return Standing(policy, len(families), judged, passed, likely_share(passed, judged), fmean(means))


def _rows(found: Iterable[Trajectory]) -> list[Row]:
    grouped: dict[tuple[str, str], list[Trajectory]] = defaultdict(list)
    for one in found:
        grouped[one.policy or "–", one.manifest.open.task or "free play"].append(one)
    return [_row(policy, task, group) for (policy, task), group in sorted(grouped.items())]


def _row(policy: str, task: str, group: list[Trajectory]) -> Row:
    rewards = [one.reward for one in group if one.reward is not None]
    return Row(
        policy=policy,
        task=task,
        episodes=len(group),
        endings=_endings(group),
        mean_reward=fmean(rewards) if rewards else None,
        mean_steps=fmean(len(one.steps) for one in group),
        mean_tokens=fmean(one.cost.tokens_estimated for one in group),
    )


def _components(scored: Iterable[Trajectory]) -> dict[str, tuple[float, int]]:
    """Mean score of every check, and how often it was asked."""
    scores: dict[str, list[float]] = defaultdict(list)
    for one in scored:
        if one.verdict is not None:
            for name, (score, _) in components(one.verdict).items():
                scores[name].append(score)
    return {name: (fmean(values), len(values)) for name, values in sorted(scores.items())}
