"""What every task family must keep, without a model and without a server, in a small company."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import orjson
import pytest

from fixtures.tasks.family import SPLITS, CheckQuestion, Family, InstanceDraw
from fixtures.tasks.registry import UnknownTask, families, family
from services.kernel import catalog
from services.kernel.app import create_api
from services.kernel.changes import NetChange, net
from services.kernel.episodes import Worlds
from services.kernel.forks import Forks
from services.kernel.world import World
from tests.company import WORLD, small_company

# Those of the IDE are tried where sandboxes are: tests/ide.
FAMILIES = sorted(name for name, found in families().items() if "ide" not in found.products)
SEEDS = range(6)


Templates = dict[str, Forks]
ForkedWorlds = dict[str, World]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Templates]:
    folder = small_company(tmp_path_factory) / "worlds"
    worlds = {name: Worlds(catalog.product(name), folder) for name in ("crm", "desk", "billing")}
    yield {name: one.forks_of(WORLD) for name, one in worlds.items()}
    for one in worlds.values():
        one.close()


def plant(templates: Templates, found: Family[Any], seed: int, split: Any = None) -> tuple[ForkedWorlds, Any, Any]:
    forked = {name: World(templates[name].take(), seed) for name in found.products}
    instance, trouble = found.instance(forked, found.draw(seed, split or found.splits[0]))
    return forked, instance, trouble


def planted_changes(forked: ForkedWorlds) -> list[NetChange]:
    return [change for world in forked.values() for change in net(world.changes())]


@pytest.mark.parametrize("family_id", FAMILIES)
def test_untouched_every_goal_is_unmet_and_every_constraint_kept(templates: Templates, family_id: str) -> None:
    for seed in SEEDS:
        forked, instance, _ = plant(templates, family(family_id), seed)

        for goal in instance.goals:
            assert (
                not isinstance(goal.question, CheckQuestion)
                or goal.question.parse().run(forked[goal.question.product]).score == 0
            )
        for constraint in instance.constraints:
            assert constraint.question.parse().run(forked[constraint.question.product]).score == 1


@pytest.mark.parametrize("family_id", FAMILIES)
def test_the_same_seed_plants_the_same_rows(templates: Templates, family_id: str) -> None:
    first, again, other = (plant(templates, family(family_id), seed) for seed in (5, 5, 6))

    assert planted_changes(first[0]) == planted_changes(again[0]) != planted_changes(other[0])
    assert first[1] == again[1] != other[1]


@pytest.mark.parametrize("family_id", FAMILIES)
def test_splits_share_neither_planted_entities_nor_words(templates: Templates, family_id: str) -> None:
    found = family(family_id)
    entities: dict[str, set[str]] = {}
    words: dict[str, set[str]] = {}
    for split in found.splits:
        forked = [plant(templates, found, seed, split)[0] for seed in SEEDS]
        entities[split] = {entity for one in forked for entity in _entities(one)}
        words[split] = {found.draw(seed, split).pick_phrasing(found.phrasings) for seed in range(60)}

    for one, other in combinations(found.splits, 2):
        assert not entities[one] & entities[other]
        assert not words[one] & words[other]


def _entities(forked: ForkedWorlds) -> Iterator[str]:
    """A record of the company by its id; one that was made for the task by all that it says; a ticket by who asks."""
    for change in planted_changes(forked):
        if change.table == "objects":
            made = None if change.after is None else orjson.dumps(change.after["properties"]).decode()
            yield str(change.row_id) if change.before is not None else str(made)
        elif change.table == "tickets" and change.after is not None:
            requester = forked["desk"].get(catalog.product("desk").table("users"), change.after["body"]["requester_id"])
            if requester is not None and requester["body"]["role"] == "end-user":
                yield str(requester["body"]["email"])


def test_no_words_of_one_family_are_used_by_another() -> None:
    phrasings = [phrasing for found in families().values() for phrasing in found.phrasings]

    assert len(phrasings) == len(set(phrasings))


@pytest.mark.parametrize("family_id", FAMILIES)
def test_no_brief_names_what_is_to_be_found_out(templates: Templates, family_id: str) -> None:
    """Ids are what an agent looks for; a brief that gave them away would be half the work."""
    found = family(family_id)
    for split in found.splits:
        for seed in SEEDS:
            _, instance, _ = plant(templates, found, seed, split)
            # A ticket's number is how a desk speaks of it.
            looked_for = [one for one in instance.allowed if one.table != "tickets"]
            ids = [permission.row for permission in looked_for if getattr(permission, "row", None) is not None]

            assert not [row for row in ids if str(row) in instance.brief]


@pytest.mark.parametrize("family_id", FAMILIES)
def test_oracle_and_menu_use_public_operations_alone(templates: Templates, family_id: str) -> None:
    found = family(family_id)
    _, _, trouble = plant(templates, found, 3)
    public = {
        operation["operationId"]
        for product in found.products
        for path in create_api(catalog.product(product)).openapi()["paths"].values()
        for operation in path.values()
    }

    assert {call.operation for call in found.menu(trouble)} <= public | {"wait", "submit"}
    assert _first_call(found.oracle(trouble)).operation in public


def _first_call(oracle: Any) -> Any:
    first = next(oracle)
    return first[0] if isinstance(first, tuple) else first


def test_instances_differ_while_the_candidates_last() -> None:
    candidates = list(range(500))

    for split, share in (("train", 300), ("validation", 100), ("test", 100)):
        drawn = {InstanceDraw("crm/some", split, number).pick(candidates) for number in range(share)}
        assert len(drawn) == share


def test_every_family_belongs_to_known_splits() -> None:
    assert all(found.splits and set(found.splits) <= set(SPLITS) for found in families().values())


def test_whole_families_are_held_out_for_the_test() -> None:
    """Skills that no training episode asks for, beside seeds that none has shown."""
    assert len([found for found in families().values() if found.splits == ("test",)]) >= 2


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(UnknownTask, match="crm/nothing"):
        family("crm/nothing")


def test_every_family_file_is_found() -> None:
    folder = Path(__file__).resolve().parents[2] / "fixtures" / "tasks"
    files = [path for path in folder.glob("*/*.py") if path.stem != "__init__"]

    assert len(files) == len(families()) > 0
