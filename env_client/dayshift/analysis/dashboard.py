"""The numbers of the dashboard, from summaries of episodes and their reviews."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import fmean
from typing import Any, TypedDict, TypeVar

from dayshift.report import FAILURE_RATE_LIMIT, build_histogram, wilson_interval
from dayshift.review.store import Review, by_episode
from dayshift.viewer.model import EpisodeSummary
from dayshift.viewer.plain_words import mask_variables

_MOST_OPERATIONS = 25
_MOST_CLUSTERS = 20
_EXAMPLES = 5
_QUARTILES = (0.25, 0.5, 0.75, 0.95)
KeyT = TypeVar("KeyT", bound=Hashable)


class Rates(TypedDict):
    """The results of some episodes; shares are None where there is nothing to divide by."""

    episodes: int
    scored: int
    passed: int
    pass_rate: float | None
    # Wilson's 95 % interval of the pass rate.
    interval: tuple[float, float] | None
    mean_reward: float | None
    unscored_rate: float | None
    flag_rate: float | None
    mean_steps: float | None


class VersionRow(Rates):
    """One version of one policy, and what it cost."""

    policy: str
    version: str
    first_clock: str
    mean_tokens: float | None
    # Dollars; None where no recording holds a price.
    cost: float | None
    goals_held_rate: float | None
    rating: float | None
    # The share of reviewed episodes that reviewers take for earned.
    earned_rate: float | None
    reviewed: int


class HeatCell(Rates):
    """One family played by one version."""

    family: str
    policy: str
    version: str


class Cluster(TypedDict):
    """Failed or unscored episodes with the same first error, or without any the same reason."""

    text: str
    episodes: int
    families: list[str]
    examples: list[str]


class Dashboard(TypedDict):
    """Everything that the dashboard shows but its surges."""

    overall: Rates
    environment_failure_rate: float
    environment_failure_limit: float
    versions: list[VersionRow]
    heat: list[HeatCell]
    # Operation → how often it was called, by policy and version: the most frequent, and the sum of the others.
    actions: list[dict[str, Any]]
    lengths: list[dict[str, Any]]
    rewards: dict[str, Any]
    flags: dict[str, int]
    blames: dict[str, int]
    labels: dict[str, int]
    clusters: list[Cluster]
    cost: dict[str, Any]


def build_dashboard(rows: Iterable[EpisodeSummary], reviews: Iterable[Review] = ()) -> Dashboard:
    episodes = list(rows)
    reviewed = by_episode(reviews)
    versions = group(episodes, version_of)
    cells = group(episodes, lambda row: (row["family"], *version_of(row)))
    own = [review for row in episodes for review in reviewed.get(row["key"], ())]
    ours = sum(row["outcome"] == "unscored" and row["blame"] in ("", "harness") for row in episodes)
    return {
        "overall": measure(episodes),
        "environment_failure_rate": ours / len(episodes) if episodes else 0.0,
        "environment_failure_limit": FAILURE_RATE_LIMIT,
        "versions": [_version_row(*version, members, reviewed) for version, members in versions.items()],
        "heat": [
            {**measure(members), "family": family, "policy": policy, "version": version}
            for (family, policy, version), members in sorted(cells.items())
        ],
        "actions": [_actions(*version, members) for version, members in versions.items()],
        "lengths": [_lengths(*version, members) for version, members in versions.items()],
        "rewards": _histogram([row["reward"] for row in episodes if row["reward"] is not None], -1.0, 1.0),
        "flags": dict(Counter(flag for row in episodes for flag in row["flags"]).most_common()),
        "blames": dict(Counter(review.blame for review in own if review.blame).most_common()),
        "labels": dict(Counter(label for review in own for label in review.labels).most_common()),
        "clusters": _cluster(episodes),
        "cost": _cost(episodes),
    }


def measure(rows: Sequence[EpisodeSummary]) -> Rates:
    scored = [row for row in rows if row["outcome"] != "unscored"]
    passed = sum(row["outcome"] == "passed" for row in scored)
    return {
        "episodes": len(rows),
        "scored": len(scored),
        "passed": passed,
        "pass_rate": passed / len(scored) if scored else None,
        "interval": wilson_interval(passed, len(scored)) if scored else None,
        "mean_reward": mean(row["reward"] for row in scored),
        "unscored_rate": 1 - len(scored) / len(rows) if rows else None,
        "flag_rate": mean(float(bool(row["flags"])) for row in scored),
        "mean_steps": mean(float(row["steps"]) for row in rows),
    }


def group(rows: Iterable[EpisodeSummary], key: Callable[[EpisodeSummary], KeyT]) -> dict[KeyT, list[EpisodeSummary]]:
    """Groups rows in the order in which their keys first occur."""
    groups: dict[KeyT, list[EpisodeSummary]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def version_of(row: EpisodeSummary) -> tuple[str, str]:
    return row["policy"], row["version"]


def mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def goals_held_rate(rows: Iterable[EpisodeSummary]) -> float | None:
    """The mean share of its goals that an episode reached."""
    return mean(row["goals_held"] / row["goals"] if row["goals"] else None for row in rows)


def measure_earned_rate(rows: Iterable[EpisodeSummary], reviewed: dict[str, list[Review]]) -> tuple[float | None, int]:
    """The share of reviewed episodes that reviewers take for earned, and the number of reviewed ones.

    A reviewer says so in the answer to `earned`; the label `reward-hack` and `shortcut` say the opposite.
    """
    judged = [[_is_earned(review) for review in reviewed.get(row["key"], ())] for row in rows]
    shares = [mean(answer for answer in answers if answer is not None) for answers in judged]
    known = [share for share in shares if share is not None]
    return (fmean(known) if known else None), len(known)


def _is_earned(review: Review) -> float | None:
    if "reward-hack" in review.labels or review.answers.get("shortcut") == "yes":
        return 0.0
    match review.answers.get("earned"):
        case "yes":
            return 1.0
        case "no":
            return 0.0
    return None


def _version_row(
    policy: str, version: str, rows: Sequence[EpisodeSummary], reviewed: dict[str, list[Review]]
) -> VersionRow:
    earned, count = measure_earned_rate(rows, reviewed)
    prices = [row["cost"] for row in rows if row["cost"] is not None]
    return {
        **measure(rows),
        "policy": policy,
        "version": version,
        "first_clock": min((row["clock"] for row in rows), default=""),
        "mean_tokens": mean(float(row["tokens"]) for row in rows),
        "cost": sum(prices) if prices else None,
        "goals_held_rate": goals_held_rate(rows),
        "rating": mean(row["rating"] for row in rows),
        "earned_rate": earned,
        "reviewed": count,
    }


def _actions(policy: str, version: str, rows: Sequence[EpisodeSummary]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(row["operations"])
    frequent = counts.most_common(_MOST_OPERATIONS)
    others = counts.total() - sum(number for _, number in frequent)
    return {
        "policy": policy,
        "version": version,
        "calls": counts.total(),
        "operations": dict(frequent),
        "others": others,
    }


def _lengths(policy: str, version: str, rows: Sequence[EpisodeSummary]) -> dict[str, Any]:
    lengths = sorted(row["steps"] for row in rows)
    quantiles = {f"p{round(100 * share)}": _quantile(lengths, share) for share in _QUARTILES}
    histogram = _histogram([float(length) for length in lengths], 0.0, float(max(lengths, default=1)))
    return {"policy": policy, "version": version, "quantiles": quantiles, "histogram": histogram}


def _quantile(ordered: Sequence[int], share: float) -> int:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0


def _histogram(values: Sequence[float], low: float, high: float) -> dict[str, Any]:
    histogram = build_histogram(values, low, high)
    return {"edges": list(histogram.edges), "counts": list(histogram.counts)}


def _cluster(rows: Iterable[EpisodeSummary]) -> list[Cluster]:
    bad = [row for row in rows if row["outcome"] != "passed"]
    groups = group(bad, lambda row: row["first_error"] or mask_variables(row["because"]) or "no reason recorded")
    largest = sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))[:_MOST_CLUSTERS]
    return [
        {
            "text": text,
            "episodes": len(members),
            "families": sorted({row["family"] for row in members}),
            "examples": [row["key"] for row in members[:_EXAMPLES]],
        }
        for text, members in largest
    ]


def _cost(rows: Sequence[EpisodeSummary]) -> dict[str, Any]:
    prices = [row["cost"] for row in rows if row["cost"] is not None]
    passed = sum(row["outcome"] == "passed" for row in rows)
    return {
        "dollars": sum(prices) if prices else None,
        "dollars_per_pass": sum(prices) / passed if prices and passed else None,
        "tokens": sum(row["tokens"] for row in rows),
        "wall_seconds": sum(row["wall_seconds"] for row in rows),
        "virtual_seconds": sum(row["virtual_seconds"] for row in rows),
        "priced_episodes": len(prices),
    }
