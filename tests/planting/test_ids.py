"""Planted rows cannot be memorised: their ids differ in every seed and split, and so do those of new rows."""

from itertools import combinations

import pytest

from fixtures.tasks import registry
from fixtures.tasks.family import SPLITS, InstanceDraw, Split
from fixtures.tasks.instance_counts import read_counts
from fixtures.tasks.people import draw_private_address
from services.crm.object_types import BY_NAME
from services.crm.operations.history import read_history
from services.crm.tables import objects
from services.ide.operations.sandboxes import make_uuid
from services.kernel.chance import Chance
from services.kernel.changes import PLANTED
from services.validate.attempt import Attempt, TrialContext, attempt
from tests.planting.episodes import Setups

_SEEDS = (1, 2)
# A coupon's id is the code that the brief or a price list names, a file's its path, a kit's the digest of its content.
_NAMED = {("billing", "coupons"), ("ide", "files"), ("ide", "home_kits")}
# One that refunds, one that pays, one that merges, one that sells.
_REPLAYED = ("desk/double-charge", "desk/missing-charge", "desk/merge-duplicates", "crm/advance-deal")


@pytest.mark.parametrize("name", sorted(registry.families()))
def test_no_two_seeds_or_splits_share_the_id_of_a_planted_row(setups: Setups, name: str) -> None:
    family = registry.family(name)
    splits: tuple[Split, ...] = family.splits[:1] + family.splits[-1:]
    # Where a split has fewer instances than that, both seeds stand for one, with the same rows.
    counts = read_counts()[name]
    draws = {(counts[split].number(seed), split): (seed, split) for split in splits for seed in _SEEDS}.values()
    planted = [
        {
            (product, change.table, change.row_id)
            for product, changes in setups.plant(family, seed, split).items()
            for change in changes
            if change.before is None and (product, change.table) not in _NAMED
        }
        for seed, split in draws
    ]

    assert [sorted(map(str, one & other)) for one, other in combinations(planted, 2) if one & other] == []


def test_rollouts_of_one_instance_have_the_same_rows(setups: Setups) -> None:
    family = registry.family("office/outage-shift")

    assert setups.plant(family, 3, "train") == setups.plant(family, 3, "train")


def test_new_rows_get_other_ids_in_another_seed(setups: Setups) -> None:
    taken = []
    for seed in range(20):
        with setups.forks(("desk",), seed) as worlds:
            ids = worlds["desk"].ids
            taken.append((ids.next("tickets"), ids.next("events"), ids.digest("job", 1)))

    assert len({ticket for ticket, _, _ in taken}) > 15
    assert len({event for _, event, _ in taken}) == len({digest for _, _, digest in taken}) == 20


def test_a_sandbox_has_another_id_in_another_seed(setups: Setups) -> None:
    made = []
    for seed in range(20):
        with setups.forks(("ide",), seed) as worlds:
            made.append(make_uuid(worlds["ide"].ids, "sandbox"))

    assert len(set(made)) == 20


@pytest.mark.parametrize("name", ["crm/correct-contact", "crm/reassign-book", "crm/merge-duplicates"])
def test_the_history_of_a_planted_value_shows_neither_the_mistake_nor_its_time(setups: Setups, name: str) -> None:
    changes = setups.plant(registry.family(name), 5, "train")["crm"]
    with setups.forks(("crm",), 5) as worlds:
        crm = worlds["crm"]
        for change in changes:
            if change.table == "objects" and change.after is not None:
                crm.save(objects, change.after, PLANTED)
        for change in changes:
            if change.table == "objects" and change.after is not None:
                row = crm.get(objects, change.after["id"])
                assert row is not None
                versions = read_history(crm, BY_NAME[row["kind"]], row, list(row["properties"]))

                assert {len(listed) for listed in versions.values()} == {1}
                assert all(listed[0]["value"] == row["properties"][name] for name, listed in versions.items())
                assert crm.start_ms not in {row["created_at"], row["updated_at"]}


@pytest.mark.parametrize("name", _REPLAYED)
def test_another_seeds_winning_calls_earn_nothing(context: TrialContext, name: str) -> None:
    family = registry.family(name)
    rewards = []
    for seed in (1, 2, 3):
        with attempt(context, family, seed) as winner:
            winner.submit(winner.follow(winner.oracle))
        with attempt(context, family, seed + 10) as imitator:
            rewards.append(_replay(imitator, winner))

    assert sum(rewards) / len(rewards) <= 0


def _replay(imitator: Attempt, winner: Attempt) -> float:
    for call in winner.calls:
        imitator.try_(call)
    verdict = imitator.submit(None)
    return 0.0 if verdict.reward is None else float(verdict.reward)


def test_addresses_name_no_split_and_no_seed() -> None:
    addresses = {
        draw_private_address(Chance(seed, "somebody"), "Paula Wieczorek", lambda _: False) for seed in range(60)
    }

    assert len(addresses) > 30
    assert not [address for address in addresses if any(word in address for word in ("test", "train", "valid"))]


@pytest.mark.parametrize("count", [3, 7, 8, 9, 10, 13, 40])
def test_every_split_finds_candidates_of_its_own(count: int) -> None:
    candidates = list(range(count))
    found = [
        {InstanceDraw("desk/some", split, number).pick(candidates) for number in range(2 * count)} for split in SPLITS
    ]

    assert all(found)
    assert not any(one & other for one, other in combinations(found, 2))
