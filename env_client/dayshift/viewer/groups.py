"""Groups: all attempts at one instance, with pass@k, pass^k and the spread of their rewards."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from dayshift.run_summary import pass_at, pass_power
from dayshift.viewer.model import EpisodeSummary, GroupRow


def build_groups(rows: Iterable[EpisodeSummary]) -> list[GroupRow]:
    """One row for each instance, in the order of the first attempt; k is the number of attempts with a reward."""
    attempts: dict[str, list[EpisodeSummary]] = {}
    for row in rows:
        attempts.setdefault(row["group"] or row["key"], []).append(row)
    return [_build_group(group, members) for group, members in attempts.items()]


def _build_group(group: str, members: Sequence[EpisodeSummary]) -> GroupRow:
    ordered = sorted(members, key=lambda member: (member["run"], member["policy"], member["attempt"]))
    rewards = [member["reward"] for member in members if member["reward"] is not None]
    passed = sum(member["outcome"] == "passed" for member in members)
    first, k = ordered[0], len(rewards)
    # One attempt has no spread: zero would say that another one cannot do otherwise.
    spread = max(rewards) - min(rewards) if k > 1 else None
    return GroupRow(
        group=group,
        family=first["family"],
        seed=first["seed"],
        split=first["split"],
        attempts=len(members),
        scored=k,
        passed=passed,
        pass_at_k=pass_at(k, passed, k) if k else None,
        pass_power_k=pass_power(k, passed, k) if k else None,
        k=k,
        mean_reward=fmean(rewards) if rewards else None,
        spread=spread,
        zero_spread=spread == 0,
        keys=[member["key"] for member in ordered],
        rewards=[member["reward"] for member in ordered],
    )
