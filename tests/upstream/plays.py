"""Plays a family's task that is about a given fix."""

from collections.abc import Callable
from typing import Any

from dayshift.wire import Verdict

from fixtures.tasks.family import Family, Oracle, Split
from fixtures.tasks.ide.shared.fixes import FixFamily
from fixtures.tasks.registry import family
from fixtures.upstream.catalogue import Fix, load_catalogue
from fixtures.upstream.selection import of_split, split_of
from services.validate.attempt import Attempt, Stuck, TrialContext, attempt
from services.validate.in_process_stack import InProcessStack

Way = Callable[[Family[Any], Any], Oracle]


def oracle(found: Family[Any], trouble: Any) -> Oracle:
    return found.oracle(trouble)


def alternative(name: str) -> Way:
    return lambda found, trouble: found.alternatives(trouble)[name]


def mistake(name: str) -> Way:
    return lambda found, trouble: found.mistakes(trouble)[name]


def find_seed(found: FixFamily, fix: Fix, split: Split) -> int:
    """The seed whose task is about this fix."""
    candidates = of_split(found.candidates(), split)
    seeds = (seed for seed in range(len(candidates)) if found.draw(seed, split).pick_own(candidates).id == fix.id)
    return next(seeds)


def play(stack: InProcessStack, family_id: str, fix_id: str, way: Way) -> Verdict:
    found, fix = family(family_id), load_catalogue().fixes[fix_id]
    assert isinstance(found, FixFamily)
    split = split_of(fix)
    with attempt(TrialContext(stack, "small", split), found, find_seed(found, fix, split)) as made:
        return follow(made, way(found, made.trouble))


def follow(made: Attempt, way: Oracle) -> Verdict:
    """A way that is refused half-way is judged as it stands."""
    try:
        answer = made.follow(way)
    except Stuck:
        answer = None
    return made.episode.submit(answer)
