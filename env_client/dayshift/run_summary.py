"""The results of a run by family (pass rates with intervals, pass@k, pass^k, tokens, cost), and two runs compared."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import comb, sqrt
from statistics import fmean, variance

from dayshift.report import FAILURE_RATE_LIMIT, wilson_interval
from dayshift.report_text import render_columns
from dayshift.trajectory import CLIENT_BUG, Quarantine, Trajectory

_ALL = "all"
_Z = 1.959964
_LONGEST_CAUSE = 200


def latest_attempts(trajectories: Iterable[Trajectory]) -> list[Trajectory]:
    """Every scored episode, and of each attempt without one the last: a resume plays unscored attempts again.

    Scored episodes under one number are of several calls of `rollouts`, which all count from 0.
    """
    scored: list[Trajectory] = []
    unscored: dict[tuple[str | None, int | None, str], Trajectory] = {}
    played = set()
    for trajectory in trajectories:
        unnumbered = trajectory.manifest.episode_id if trajectory.group is None else ""
        key = (trajectory.group, trajectory.attempt, unnumbered)
        if trajectory.scored:
            scored.append(trajectory)
            played.add(key)
        else:
            unscored[key] = trajectory
    return [*scored, *(trajectory for key, trajectory in unscored.items() if key not in played)]


@dataclass(frozen=True, slots=True)
class FamilyResult:
    """The results of one family, or of all."""

    family: str
    episodes: int
    scored: int
    passed: int
    # Of the pass rate, with 95 %.
    interval: tuple[float, float] | None
    # k is the number of attempts at each instance; None where no instance has as many scored attempts.
    pass_at_k: float | None
    pass_power_k: float | None
    mean_reward: float | None
    mean_steps: float
    mean_tokens: float
    # Dollars for an episode, and for all of them; None where no prices were given.
    mean_cost: float | None
    cost: float | None

    @property
    def rate(self) -> float | None:
        return self.passed / self.scored if self.scored else None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The results of a run."""

    k: int
    families: list[FamilyResult]
    total: FamilyResult
    environment_failures: int
    provider_failures: int
    policy_failures: int
    # Attempts that asked for what the stack does not have.
    refused: int
    # Bugs of this package, which count as environment failures, too.
    client_bugs: int
    # Why the first of them was unscored, by whoever is to blame and for bugs of this package by their kind.
    causes: dict[str, str]
    flagged: int

    @property
    def environment_failure_rate(self) -> float:
        return self.environment_failures / self.total.episodes if self.total.episodes else 0.0


def summarise_run(trajectories: Iterable[Trajectory]) -> RunSummary:
    episodes = latest_attempts(trajectories)
    by_family: dict[str, list[Trajectory]] = defaultdict(list)
    groups: dict[str, int] = defaultdict(int)
    for episode in episodes:
        by_family[episode.manifest.open.task or "free play"].append(episode)
        groups[episode.group or episode.manifest.episode_id] += 1
    k = max(groups.values(), default=1)
    quarantines = [episode.quarantine for episode in episodes if episode.quarantine is not None]
    blames = [CLIENT_BUG if quarantine.kind == CLIENT_BUG else quarantine.blame for quarantine in quarantines]
    causes: dict[str, str] = {}
    for blame, quarantine in zip(blames, quarantines, strict=True):
        causes.setdefault(blame, _describe_cause(quarantine))
    return RunSummary(
        k=k,
        families=[_summarise(family, by_family[family], k) for family in sorted(by_family)],
        total=_summarise(_ALL, episodes, k),
        environment_failures=blames.count("harness") + blames.count(CLIENT_BUG),
        provider_failures=blames.count("provider"),
        policy_failures=blames.count("policy"),
        refused=blames.count("caller"),
        client_bugs=blames.count(CLIENT_BUG),
        causes=causes,
        flagged=sum(episode.flagged for episode in episodes),
    )


def _describe_cause(quarantine: Quarantine) -> str:
    """The kind and the first line of the reason; a bug of this package says its kind itself."""
    because = quarantine.because.strip().partition("\n")[0][:_LONGEST_CAUSE]
    return because if quarantine.kind == CLIENT_BUG else f"{quarantine.kind}: {because}"


def _summarise(family: str, episodes: Sequence[Trajectory], k: int) -> FamilyResult:
    scored = [episode for episode in episodes if episode.scored]
    rewards = [episode.reward for episode in scored if episode.reward is not None]
    groups = _group_attempts(scored)
    complete = [attempts for attempts in groups if len(attempts) >= k]
    costs = [episode.model.cost for episode in episodes if episode.model and episode.model.cost is not None]
    return FamilyResult(
        family=family,
        episodes=len(episodes),
        scored=len(scored),
        passed=sum(map(sum, groups)),
        interval=rate_interval(groups) if groups else None,
        pass_at_k=fmean(pass_at(len(attempts), sum(attempts), k) for attempts in complete) if complete else None,
        pass_power_k=fmean(pass_power(len(attempts), sum(attempts), k) for attempts in complete) if complete else None,
        mean_reward=fmean(rewards) if rewards else None,
        mean_steps=fmean(len(episode.steps) for episode in episodes) if episodes else 0.0,
        mean_tokens=fmean(count_tokens(episode) for episode in episodes) if episodes else 0.0,
        mean_cost=fmean(costs) if costs else None,
        cost=sum(costs) if costs else None,
    )


def count_tokens(trajectory: Trajectory) -> int:
    """Tokens as the provider counted them, or estimated from the calls where no provider did."""
    if trajectory.model is not None and (tokens := trajectory.model.input_tokens + trajectory.model.output_tokens):
        return tokens
    return trajectory.cost.tokens_estimated


def _group_attempts(scored: Iterable[Trajectory]) -> list[list[bool]]:
    """Returns for each instance which of the attempts at it passed."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for episode in scored:
        groups[episode.group or episode.manifest.episode_id].append(episode.ending == "passed")
    return list(groups.values())


def count_independent(groups: Sequence[Sequence[bool]]) -> float:
    """Returns how many independent attempts would say as much as these, which are grouped by instance.

    Attempts at one instance are alike: the less its attempts differ among themselves, the fewer count. The number is
    at least that of the instances and at most that of the attempts.
    """
    attempts, passed = sum(map(len, groups)), sum(map(sum, groups))
    rate = passed / attempts
    if len(groups) == 1 or rate in (0.0, 1.0):
        return len(groups)
    squares = sum((sum(group) - rate * len(group)) ** 2 for group in groups)
    variance_of_rate = len(groups) / (len(groups) - 1) * squares / attempts**2
    if not variance_of_rate:
        return attempts
    return min(attempts, max(len(groups), rate * (1 - rate) / variance_of_rate))


def rate_interval(groups: Sequence[Sequence[bool]]) -> tuple[float, float]:
    """Returns Wilson's 95 % interval of the pass rate of attempts that are grouped by instance."""
    number = count_independent(groups)
    return wilson_interval(number * sum(map(sum, groups)) / sum(map(len, groups)), number)


def pass_at(attempts: int, passed: int, k: int) -> float:
    """The chance that at least one of k attempts passes, drawn from these attempts without putting back."""
    return 1 - comb(attempts - passed, k) / comb(attempts, k)


def pass_power(attempts: int, passed: int, k: int) -> float:
    """The chance that all of k attempts pass, drawn from these attempts without putting back."""
    return comb(passed, k) / comb(attempts, k)


def render_run(summary: RunSummary) -> str:
    k = summary.k
    head = (
        "task",
        "episodes",
        "passed",
        "rate",
        "95 % interval",
        f"pass@{k}",
        f"pass^{k}",
        "reward",
        "steps",
        "tokens",
    )
    with_cost = summary.total.cost is not None
    rows = [_cells(result, with_cost=with_cost) for result in (*summary.families, summary.total)]
    limit = f"{FAILURE_RATE_LIMIT:.0%}"
    relation = "below" if summary.environment_failure_rate <= FAILURE_RATE_LIMIT else "ABOVE"
    failures = f"environment failures {summary.environment_failures} of {summary.total.episodes}"
    lines = [
        render_columns((*head, "$ each") if with_cost else head, rows),
        "",
        f"{failures} ({summary.environment_failure_rate:.2%}), {relation} the {limit} line",
    ]
    unscored = (
        ("because the environment failed", "harness", summary.environment_failures - summary.client_bugs),
        ("because the provider failed", "provider", summary.provider_failures),
        ("because of a bug in the agent", "policy", summary.policy_failures),
        ("because the stack refused to open them", "caller", summary.refused),
        ("because of a bug in dayshift", CLIENT_BUG, summary.client_bugs),
    )
    for why, blame, count in unscored:
        if count:
            lines.append(f"unscored {why}: {count}, the first by {summary.causes[blame]}")
    if any(count for _, _, count in unscored):
        lines.append("--resume plays unscored attempts again")
    if summary.total.cost is not None:
        lines.append(f"cost of all episodes: ${summary.total.cost:.4f}")
    if summary.flagged:
        lines.append(f"flagged: {summary.flagged}")
    return "\n".join(lines)


def _cells(result: FamilyResult, *, with_cost: bool) -> tuple[str, ...]:
    return (
        result.family,
        str(result.episodes),
        str(result.passed),
        _percent(result.rate),
        "–" if result.interval is None else f"{result.interval[0]:.0%} – {result.interval[1]:.0%}",
        _percent(result.pass_at_k),
        _percent(result.pass_power_k),
        "–" if result.mean_reward is None else f"{result.mean_reward:+.3f}",
        f"{result.mean_steps:.1f}",
        f"{result.mean_tokens:,.0f}",
        *(("–" if result.mean_cost is None else f"{result.mean_cost:.4f}",) if with_cost else ()),
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two runs in one family: the second less the first, with 95 % intervals."""

    family: str
    first_rate: float
    second_rate: float
    interval: tuple[float, float]
    reward_difference: float
    reward_reach: float

    @property
    def is_clear(self) -> bool:
        low, high = self.interval
        return low > 0 or high < 0


def compare_runs(first: Iterable[Trajectory], second: Iterable[Trajectory]) -> list[Comparison]:
    """Compares the families that both runs hold; the last row is all of them together."""
    sides = [_group_scored_by_family(first), _group_scored_by_family(second)]
    common = sorted(sides[0].keys() & sides[1].keys())
    rows = [_compare(family, sides[0][family], sides[1][family]) for family in common]
    if len(common) > 1:
        together = [[episode for family in common for episode in side[family]] for side in sides]
        rows.append(_compare(_ALL, together[0], together[1]))
    return rows


def _group_scored_by_family(trajectories: Iterable[Trajectory]) -> dict[str, list[Trajectory]]:
    families: dict[str, list[Trajectory]] = defaultdict(list)
    for episode in latest_attempts(trajectories):
        if episode.scored:
            families[episode.manifest.open.task or "free play"].append(episode)
    return families


def _compare(family: str, first: Sequence[Trajectory], second: Sequence[Trajectory]) -> Comparison:
    groups = [_group_attempts(side) for side in (first, second)]
    rates = [sum(map(sum, side)) / sum(map(len, side)) for side in groups]
    numbers = [count_independent(side) for side in groups]
    rewards = [_group_rewards(side) for side in (first, second)]
    means = [fmean(chain.from_iterable(side)) for side in rewards]
    return Comparison(
        family=family,
        first_rate=rates[0],
        second_rate=rates[1],
        interval=difference_interval(rates[0] * numbers[0], numbers[0], rates[1] * numbers[1], numbers[1]),
        reward_difference=means[1] - means[0],
        reward_reach=_Z * sqrt(sum(map(variance_of_mean, rewards))),
    )


def _group_rewards(scored: Iterable[Trajectory]) -> list[list[float]]:
    groups: dict[str, list[float]] = defaultdict(list)
    for episode in scored:
        groups[episode.group or episode.manifest.episode_id].append(episode.reward or 0.0)
    return list(groups.values())


def variance_of_mean(groups: Sequence[Sequence[float]]) -> float:
    """By the spread between instances, and at least that of as many independent attempts."""
    values = list(chain.from_iterable(groups))
    independent = variance(values) / len(values) if len(values) > 1 else 0.0
    if len(groups) == 1:
        return independent
    mean = fmean(values)
    squares = sum((sum(group) - mean * len(group)) ** 2 for group in groups)
    return max(len(groups) / (len(groups) - 1) * squares / len(values) ** 2, independent)


def difference_interval(first: float, of_first: float, second: float, of_second: float) -> tuple[float, float]:
    """Newcombe's interval of the difference of two shares, which is made of the two Wilson intervals."""
    rates = first / of_first, second / of_second
    (low_1, high_1), (low_2, high_2) = wilson_interval(first, of_first), wilson_interval(second, of_second)
    difference = rates[1] - rates[0]
    return (
        difference - sqrt((rates[1] - low_2) ** 2 + (high_1 - rates[0]) ** 2),
        difference + sqrt((high_2 - rates[1]) ** 2 + (rates[0] - low_1) ** 2),
    )


def render_comparison(rows: Sequence[Comparison]) -> str:
    head = ("task", "first", "second", "difference", "95 % interval", "reward", "")
    cells = [
        (
            row.family,
            f"{row.first_rate:.1%}",
            f"{row.second_rate:.1%}",
            f"{row.second_rate - row.first_rate:+.1%}",
            f"{row.interval[0]:+.1%} – {row.interval[1]:+.1%}",
            f"{row.reward_difference:+.3f} ± {row.reward_reach:.3f}",
            "differs" if row.is_clear else "",
        )
        for row in rows
    ]
    return render_columns(head, cells)
