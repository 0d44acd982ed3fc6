"""Report: summarises a folder of recordings."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean
from typing import ClassVar, NamedTuple

from dayshift.trajectory import Ending, Trajectory
from dayshift.verdict_analysis import classify_failure

# Above this share of environment failures, the numbers describe the environment more than the policy.
FAILURE_RATE_LIMIT = 0.05
_BINS = 20
# The quantile of the normal distribution for a 95 % interval.
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts between evenly spaced edges."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TaskRow:
    """The results of one policy on one task family."""

    policy: str
    task: str
    episodes: int
    endings: dict[Ending, int]
    mean_reward: float | None
    mean_steps: float
    mean_tokens: float


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """The results of one policy on all its scored episodes."""

    policy: str
    families: int
    judged: int
    passed: int
    # The 95 % confidence interval of the share that passes, if the episodes are a random sample.
    interval: tuple[float, float]
    # The mean over families of the mean reward in each, so that every family has the same weight.
    mean_reward: float

    HEAD: ClassVar = ("policy", "families", "judged", "passed", "share", "95 % interval", "reward by family")

    def cells(self) -> tuple[str, ...]:
        low, high = self.interval
        share = f"{self.passed / self.judged:.1%}"
        counts = (str(self.families), str(self.judged), str(self.passed))
        return (self.policy, *counts, share, f"{low:.1%} – {high:.1%}", f"{self.mean_reward:+.3f}")


class CheckScore(NamedTuple):
    """The mean score of a check, and the number of findings that it is the mean of."""

    mean: float
    findings: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The content of a report.

    Nothing but counts of episodes is added up over policies: a mean reward of a scripted solution and a random policy
    describes neither.
    """

    trajectories: list[Trajectory]
    endings: dict[Ending, int]
    # Best first.
    policies: list[PolicySummary]
    tasks: list[TaskRow]
    # By policy.
    rewards: dict[str, Histogram]
    steps: dict[str, Histogram]
    # By name, then by policy.
    checks: dict[str, dict[str, CheckScore]]
    failure_classes: dict[str, dict[str, int]]
    flags: dict[str, dict[str, int]]
    harness_failures: int
    calls: int
    answer_bytes: int
    versions: list[str] = field(default_factory=list)

    @property
    def episodes(self) -> int:
        return len(self.trajectories)

    @property
    def policy_names(self) -> list[str]:
        """Those with a scored episode, best first, then the others."""
        scored = [policy.policy for policy in self.policies]
        return [*scored, *sorted({name_policy(episode) for episode in self.trajectories} - set(scored))]

    @property
    def failure_rate(self) -> float:
        return self.harness_failures / self.episodes if self.episodes else 0.0

    @property
    def trustworthy(self) -> bool:
        return self.failure_rate <= FAILURE_RATE_LIMIT


def name_policy(trajectory: Trajectory) -> str:
    return trajectory.policy or "–"


def summarise(trajectories: Iterable[Trajectory]) -> Summary:
    episodes = list(trajectories)
    scored = [episode for episode in episodes if episode.scored]
    failures = [(classify_failure(episode), name_policy(episode)) for episode in episodes]
    longest = max((len(episode.steps) for episode in episodes), default=1)
    return Summary(
        trajectories=episodes,
        endings=_count_endings(episodes),
        policies=_summarise_policies(scored),
        tasks=_summarise_tasks(episodes),
        rewards={
            policy: build_histogram([episode.reward for episode in group if episode.reward is not None], -1.0, 1.0)
            for policy, group in _group_by_policy(scored).items()
        },
        steps={
            policy: build_histogram([float(len(episode.steps)) for episode in group], 0.0, longest)
            for policy, group in _group_by_policy(episodes).items()
        },
        checks=_summarise_checks(scored),
        failure_classes=_count_by_policy(failures),
        flags=_count_by_policy(
            (flag.tag, name_policy(episode)) for episode in scored if episode.verdict for flag in episode.verdict.flags
        ),
        harness_failures=sum(name.startswith("harness: ") for name, _ in failures),
        calls=sum(episode.cost.calls for episode in episodes),
        answer_bytes=sum(episode.cost.answer_bytes for episode in episodes),
        versions=sorted({episode.policy_version for episode in episodes if episode.policy_version}),
    )


def build_histogram(values: Sequence[float], low: float, high: float) -> Histogram:
    high = high if high > low else low + 1
    width = (high - low) / _BINS
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, max(0, int((value - low) / width)))] += 1
    return Histogram(tuple(low + width * index for index in range(_BINS + 1)), tuple(counts))


def wilson_interval(passed: float, judged: float) -> tuple[float, float]:
    """Computes Wilson's 95 % interval of a share, which stays between 0 and 1 and holds for few episodes."""
    share, spread = passed / judged, _Z**2 / judged
    middle = (share + spread / 2) / (1 + spread)
    reach = _Z * sqrt(share * (1 - share) / judged + spread / (4 * judged)) / (1 + spread)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _count_endings(episodes: Iterable[Trajectory]) -> dict[Ending, int]:
    counts: dict[Ending, int] = {"passed": 0, "failed": 0, "quarantined": 0}
    for episode in episodes:
        counts[episode.ending] += 1
    return counts


def _group(episodes: Iterable[Trajectory]) -> dict[tuple[str, str], list[Trajectory]]:
    """Groups episodes by policy and task family, in the order of their names."""
    groups: dict[tuple[str, str], list[Trajectory]] = defaultdict(list)
    for episode in episodes:
        groups[name_policy(episode), name_task(episode)].append(episode)
    return dict(sorted(groups.items()))


def name_task(trajectory: Trajectory) -> str:
    return trajectory.manifest.open.task or "free play"


def _group_by_policy(episodes: Iterable[Trajectory]) -> dict[str, list[Trajectory]]:
    groups: dict[str, list[Trajectory]] = defaultdict(list)
    for episode in episodes:
        groups[name_policy(episode)].append(episode)
    return groups


def _count_by_policy(named: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Counts (name, policy); the name that occurs most often comes first."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name, policy in named:
        counts[name][policy] += 1
    return {name: dict(counts[name]) for name in sorted(counts, key=lambda name: (-counts[name].total(), name))}


def _summarise_policies(scored: Iterable[Trajectory]) -> list[PolicySummary]:
    families: dict[str, list[list[Trajectory]]] = defaultdict(list)
    for (policy, _), group in _group(scored).items():
        families[policy].append(group)
    summaries = [_summarise_policy(policy, groups) for policy, groups in families.items()]
    return sorted(summaries, key=lambda policy: (-policy.mean_reward, policy.policy))


def _summarise_policy(policy: str, families: Sequence[Sequence[Trajectory]]) -> PolicySummary:
    judged = sum(map(len, families))
    passed = sum(episode.ending == "passed" for family in families for episode in family)
    means = [fmean(episode.reward for episode in family if episode.reward is not None) for family in families]
    return PolicySummary(policy, len(families), judged, passed, wilson_interval(passed, judged), fmean(means))


def _summarise_tasks(episodes: Iterable[Trajectory]) -> list[TaskRow]:
    return [_summarise_task(policy, task, group) for (policy, task), group in _group(episodes).items()]


def _summarise_task(policy: str, task: str, episodes: list[Trajectory]) -> TaskRow:
    rewards = [episode.reward for episode in episodes if episode.reward is not None]
    return TaskRow(
        policy=policy,
        task=task,
        episodes=len(episodes),
        endings=_count_endings(episodes),
        mean_reward=fmean(rewards) if rewards else None,
        mean_steps=fmean(len(episode.steps) for episode in episodes),
        mean_tokens=fmean(episode.cost.tokens_estimated for episode in episodes),
    )


def _summarise_checks(scored: Iterable[Trajectory]) -> dict[str, dict[str, CheckScore]]:
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for episode in scored:
        for finding in episode.verdict.findings if episode.verdict else ():
            scores[finding.check][name_policy(episode)].append(finding.score)
    return {
        check: {policy: CheckScore(fmean(values), len(values)) for policy, values in by_policy.items()}
        for check, by_policy in sorted(scores.items())
    }
