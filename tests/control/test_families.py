"""What every task family must keep, without a model and without a server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.tasks.family import SPLITS, Asked, Family, Lot
from fixtures.tasks.registry import UnknownTask, families, family
from services.kernel import catalog
from services.kernel.app import create_api
from services.kernel.changes import net
from services.kernel.episodes import Worlds
from services.kernel.forks import Forks
from services.kernel.world import World
from tests.control.worlds import build_crm

FAMILIES = sorted(families())


@pytest.fixture(scope="module")
def soil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    folder = tmp_path_factory.mktemp("worlds")
    build_crm(folder)
    worlds = Worlds(catalog.product("crm"), folder)
    yield worlds.named("standard")
    worlds.close()


def planted(soil: Forks, found: Family[Any], seed: int, split: Any = "train") -> tuple[World, Any, Any]:
    fork = soil.take()
    world = World(fork, seed)
    instance, trouble = found.instance({"crm": world}, seed, split)
    return world, instance, trouble


@pytest.mark.parametrize("family_id", FAMILIES)
def test_untouched_every_goal_is_unmet_and_every_constraint_kept(soil: Forks, family_id: str) -> None:
    for seed in range(20):
        world, instance, _ = planted(soil, family(family_id), seed)

        for goal in instance.goals:
            assert not isinstance(goal.asks, Asked) or goal.asks.parsed().ask(world).score == 0
        for constraint in instance.constraints:
            assert constraint.asks.parsed().ask(world).score == 1


@pytest.mark.parametrize("family_id", FAMILIES)
def test_the_same_seed_plants_the_same_rows(soil: Forks, family_id: str) -> None:
    first, again, other = (planted(soil, family(family_id), seed) for seed in (5, 5, 6))

    assert net(first[0].changes()) == net(again[0].changes()) != net(other[0].changes())
    assert first[1] == again[1] != other[1]


@pytest.mark.parametrize("family_id", FAMILIES)
def test_splits_share_neither_rows_nor_words(soil: Forks, family_id: str) -> None:
    found = family(family_id)
    rows: dict[str, set[Any]] = {}
    words: dict[str, set[str]] = {}
    for split in SPLITS:
        worlds = [planted(soil, found, seed, split) for seed in range(30)]
        rows[split] = {(change.table, change.row_id) for world, _, _ in worlds for change in net(world.changes())}
        words[split] = {found.lot(seed, split).phrased(found.phrasings) for seed in range(30)}

    for one, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert not rows[one] & rows[other]
        assert not words[one] & words[other]


def _first(oracle: Any) -> Any:
    first = next(oracle)
    return first[0] if isinstance(first, tuple) else first


@pytest.mark.parametrize("family_id", FAMILIES)
def test_oracle_and_menu_use_public_operations_alone(soil: Forks, family_id: str) -> None:
    found = family(family_id)
    _, _, trouble = planted(soil, found, 3)
    public = {
        operation["operationId"]
        for product in found.products
        for path in create_api(catalog.product(product)).openapi()["paths"].values()
        for operation in path.values()
    }

    assert {call.operation for call in found.menu(trouble)} <= public
    assert _first(found.oracle(trouble)).operation in public


def test_instances_differ_while_the_candidates_last() -> None:
    candidates = list(range(500))

    for split, share in (("train", 300), ("validation", 100), ("test", 100)):
        drawn = {Lot("crm/some", split, number).own(candidates) for number in range(share)}
        assert len(drawn) == share


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(UnknownTask, match="crm/nothing"):
        family("crm/nothing")


def test_every_family_file_is_found() -> None:
    folder = Path(__file__).resolve().parents[2] / "fixtures" / "tasks"
    files = [path for path in folder.glob("*/*.py") if path.stem != "__init__"]

    assert len(files) == len(FAMILIES) > 0
