"""A stratified sample of episodes for review: few of everything rather than many of the most frequent."""

import hashlib
from collections.abc import Iterable
from typing import TypedDict

from dayshift.viewer.model import Outcome


class Candidate(TypedDict):
    """An episode that may be reviewed, and the strata that it belongs to; an `EpisodeSummary` is one."""

    key: str
    family: str
    outcome: Outcome
    flags: list[str]


def sample(candidates: Iterable[Candidate], size: int, seed: int = 0) -> list[str]:
    """Picks keys: in turn one of each outcome, flagged apart, and within an outcome in turn one of each family.

    The same candidates and seed give the same sample, in whatever order they come.
    """
    outcomes: dict[tuple[str, bool], dict[str, list[str]]] = {}
    for candidate in candidates:
        families = outcomes.setdefault((candidate["outcome"], bool(candidate["flags"])), {})
        families.setdefault(candidate["family"], []).append(candidate["key"])
    queues = [_interleave(outcomes[outcome], seed) for outcome in sorted(outcomes)]
    return _take_in_turn(queues)[:size]


def _interleave(families: dict[str, list[str]], seed: int) -> list[str]:
    by_chance = sorted(families, key=lambda family: _rank(seed, family))
    return _take_in_turn([sorted(families[family], key=lambda key: _rank(seed, key)) for family in by_chance])


def _take_in_turn(queues: list[list[str]]) -> list[str]:
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]


def _rank(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()
