"""What a product holds outside its rows is settled before anybody looks, and let go when the episode ends."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from services.kernel.checks import Check, Finding, named
from services.kernel.control_door import House
from services.kernel.door_messages import AskedCheck, OpenMessage, VerifyMessage
from services.kernel.episodes import Episode, Episodes, Worlds
from services.kernel.telemetry import Telemetry
from services.kernel.world import World
from tests.kernel.pantry import product, tags

pytestmark = pytest.mark.anyio


class Patient(Check):
    """Answers after a while, with a suspicion."""

    async def ask(self, world: World) -> Finding:
        return replace(self.held("it took a while"), flags=(("slow", "it waited"),))


class Stumbling(Check):
    """Cannot answer."""

    async def ask(self, world: World) -> Finding:
        raise ZeroDivisionError("no answer")


async def settle(world: World) -> None:
    if world.beside.get("trips"):
        raise OSError("nothing can be read")
    world.save(tags, {"id": "outside", "colour": "green"}, "settled")


def closed(world: World) -> None:
    world.beside["let go"].append(world.revision)


@pytest.fixture
def house(path: Path) -> Iterator[House]:
    declared = replace(product, settle=settle, closed=closed, checks=named(Patient, Stumbling))
    worlds = Worlds(declared, path.parent)
    yield House(declared, Episodes(declared, worlds, lease_seconds=60), Telemetry("hooks"))
    worlds.close()


async def opened(house: House) -> Episode:
    await house.open(OpenMessage(episode_id="one", credential="pk_one_secret", seed=1, world="small"))
    episode = house.episodes.by_id("one")
    episode.world.beside["let go"] = []
    return episode


async def test_what_is_settled_is_the_agents_doing_and_part_of_the_diff(house: House) -> None:
    told = await house.diff(await opened(house))

    assert [(one["table"], one["id"], one["actor"]) for one in told["changes"]["history"]] == [
        ("tags", "outside", "agent")
    ]


async def test_what_cannot_be_settled_voids_the_episode(house: House) -> None:
    episode = await opened(house)
    episode.world.beside["trips"] = True
    told = await house.diff(episode)

    assert told["broken"] == "OSError while its diff was taken: nothing can be read"


async def test_a_check_may_take_its_time_and_raise_a_suspicion(house: House) -> None:
    told = await house.verify(await opened(house), VerifyMessage(checks=[AskedCheck(name="Patient")]))

    assert told["findings"][0]["held"]
    assert told["findings"][0]["flags"] == [{"tag": "slow", "evidence": "it waited"}]
    assert told["broken"] is None


async def test_a_check_that_cannot_answer_voids_the_episode_and_scores_nothing(house: House) -> None:
    told = await house.verify(await opened(house), VerifyMessage(checks=[AskedCheck(name="Stumbling")]))

    assert told["findings"][0]["score"] == "0"
    assert told["broken"] == "ZeroDivisionError in Stumbling: no answer"


async def test_what_was_held_is_let_go_once_when_the_episode_ends(house: House) -> None:
    episode = await opened(house)
    await house.close(episode)
    house.episodes.close(episode)

    assert episode.world.beside["let go"] == [1]
