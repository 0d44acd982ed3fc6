"""Seeds are different problems, as many as the listing says, and nobody can foretell them who lacks the salt."""

from collections.abc import Iterator

import pytest

from fixtures.tasks.family import SPLITS, InstanceDraw, Split
from fixtures.tasks.instance_counts import MOST_INSTANCES, InstanceCount, read_counts, read_reasons
from fixtures.tasks.registry import families, family
from services.instances import WORLD, InstanceCounter
from services.kernel.config import Settings
from services.kernel.salt import Salt
from tests.company import build_company

# One with many candidates, one that runs out of them, one with few, one over several products.
MEASURED = ("crm/log-call", "crm/correct-contact", "desk/double-charge", "office/double-charge")
SALT = Salt("not the salt of any evaluation")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The counts are those of the standard world."""
    return Settings(var=build_company(tmp_path_factory, WORLD))


@pytest.fixture(scope="module")
def counter(settings: Settings) -> Iterator[InstanceCounter]:
    counting = InstanceCounter(settings)
    yield counting
    counting.close()


@pytest.mark.parametrize("family_id", MEASURED)
def test_all_seeds_below_the_number_of_instances_are_different_problems(
    counter: InstanceCounter, family_id: str
) -> None:
    found = family(family_id)
    count = found.count_instances("test")

    identities = {counter.identify_seed(found, "test", seed) for seed in range(count)}

    assert len(identities) == count


def test_the_numbers_of_the_ide_are_exact(counter: InstanceCounter) -> None:
    """Its bugs and functions are few, so that all of them can be counted here: candidates take turns."""
    ours = [found for found in families().values() if found.products == ("ide",)]
    exact = {
        (found.id, split): counter.count(found, split, 4 * found.count_instances(split) + 10)
        for found in ours
        for split in found.splits
        if found.count_instances(split) < 100
    }

    assert exact
    assert exact == {(name, split): read_counts()[name][split] for name, split in exact}


@pytest.mark.parametrize("family_id", sorted(families()))
def test_a_sample_of_seeds_are_different_problems(counter: InstanceCounter, family_id: str) -> None:
    """`python -m services instances` compares all of them; this finds a count that is far too high."""
    found = family(family_id)
    for split in found.splits:
        count = found.count_instances(split)
        seeds = sorted({seed * count // 40 for seed in range(40)})

        assert len({counter.identify_seed(found, split, seed) for seed in seeds}) == len(seeds)


def test_every_family_and_split_was_measured() -> None:
    listed = {name: set(found.splits) for name, found in families().items()}

    assert {name: set(counts) for name, counts in read_counts().items()} == listed
    assert all(1 <= count.count <= MOST_INSTANCES for counts in read_counts().values() for count in counts.values())


def test_every_family_with_fewer_instances_says_why() -> None:
    fewer = {
        name for name, counts in read_counts().items() if min(count.count for count in counts.values()) < MOST_INSTANCES
    }

    assert set(read_reasons()) == fewer
    assert all(len(reason.split()) >= 10 for reason in read_reasons().values())


def test_larger_seeds_begin_again() -> None:
    for found in families().values():
        for split in found.splits:
            count = found.count_instances(split)
            assert found.draw(count + 3 % count, split) == found.draw(3 % count, split)
            assert len({found.draw(seed, split).number for seed in range(count)}) == count


def test_repeats_are_left_out_and_kept_as_one_number() -> None:
    counted = InstanceCount.of(["a", "b", "a", "c", "b", "b"])

    assert (counted.count, counted.repeats) == (3, frozenset({2}))
    assert [counted.number(seed) for seed in range(5)] == [0, 1, 3, 0, 1]
    assert counted.to_json() == {"count": 3, "repeats": "4"}


def test_counting_ends_when_candidates_have_taken_their_turns_often_enough() -> None:
    def turns() -> Iterator[str]:
        yield from (str(number % 100) for number in range(499))
        raise AssertionError("three rounds without a new instance are enough")

    assert InstanceCount.of(turns()) == InstanceCount(100)


def test_an_instance_that_turns_up_late_counts() -> None:
    late = [*("a" for _ in range(200)), "b"]

    assert InstanceCount.of(late).count == 2


def test_with_a_salt_the_same_seed_is_another_problem(settings: Settings, counter: InstanceCounter) -> None:
    salted = InstanceCounter(Settings(var=settings.var, salt=SALT))
    again = InstanceCounter(Settings(var=settings.var, salt=SALT))
    try:
        for name in ("crm/log-call", "desk/failed-payment", "office/quote-to-cash"):
            found = family(name)
            with_salt = [salted.identify_seed(found, "test", seed) for seed in range(30)]

            assert with_salt == [again.identify_seed(found, "test", seed) for seed in range(30)]
            assert not set(with_salt) & {counter.identify_seed(found, "test", seed) for seed in range(30)}
            assert len(set(with_salt)) == 30
    finally:
        salted.close()
        again.close()


def test_with_a_salt_splits_still_share_no_candidate() -> None:
    drawn: dict[Split, set[int]] = {
        split: {InstanceDraw("crm/some", split, number, SPLITS, SALT).pick(range(500)) for number in range(500)}
        for split in SPLITS
    }

    assert sum(len(numbers) for numbers in drawn.values()) == len(set().union(*drawn.values())) == 500


def test_with_a_salt_a_seed_does_not_tell_the_number() -> None:
    found = family("crm/discount-request")
    count = found.count_instances("test")
    numbers = [found.draw(seed, "test", SALT).number for seed in range(count)]

    assert sorted(numbers) == list(range(count))
    assert len({(seed - number) % 2 for seed, number in enumerate(numbers)}) == 2
    assert sum(seed == number for seed, number in enumerate(numbers)) < 10


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 65, 2000])
def test_a_salt_permutes_any_number_of_instances(count: int) -> None:
    assert sorted(SALT.permute(number, count, "crm/some/test") for number in range(count)) == list(range(count))
