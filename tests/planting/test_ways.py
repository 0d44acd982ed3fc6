"""Every family shows three other right ways and three tempting wrong ones; `make validate` plays all of them."""

from collections.abc import Iterator

import pytest

from fixtures.tasks import registry
from fixtures.tasks.family import Split
from services.validate.summary import LEAST_WAYS
from tests.planting.episodes import Setups

# An instance may leave room for fewer: ways are counted over some seeds of each split, as `make validate` counts them.
_SEEDS = 2


def draws(splits: tuple[Split, ...]) -> Iterator[tuple[int, Split]]:
    yield from ((seed, split) for seed in range(_SEEDS) for split in splits)


@pytest.mark.parametrize("name", sorted(registry.families()))
def test_every_family_shows_three_other_right_ways_and_three_wrong_ones(setups: Setups, name: str) -> None:
    family = registry.family(name)
    right: set[str] = set()
    wrong: set[str] = set()
    for seed, split in draws(family.splits):
        with setups.forks(family.products, seed) as worlds:
            _, trouble = family.instance(worlds, family.draw(seed, split))
            right |= family.alternatives(trouble).keys()
            wrong |= family.mistakes(trouble).keys()
        if min(len(right), len(wrong)) >= LEAST_WAYS:
            break

    assert len(right) >= LEAST_WAYS, right
    assert len(wrong) >= LEAST_WAYS, wrong
