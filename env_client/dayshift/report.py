"""What a folder of recordings adds up to."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from dayshift.trajectory import Ending, Trajectory
from dayshift.verdict import components, failure_class

# Past this share of episodes that the house broke, the numbers say more about the house than about the policy.
FAILURE_LINE = 0.05
_BINS = 20


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
class Summary:
    """All that a report shows."""

    episodes: int
    endings: dict[Ending, int]
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
