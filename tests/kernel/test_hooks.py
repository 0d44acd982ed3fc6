"""What a product holds outside its rows is settled before anybody looks, and let go when the episode ends."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from services.kernel.changes import PLANTED
from services.kernel.checks import Check, Finding, checks_by_name
from services.kernel.episodes import Episode, Episodes, Worlds
from services.kernel.harness_messages import CheckMessage, OpenMessage, VerifyMessage
from services.kernel.product_host import ProductHost
from services.kernel.telemetry import Telemetry
from services.kernel.world import World
from tests.kernel.pantry import product, tags

pytestmark = pytest.mark.anyio


class Patient(Check):
    """Answers after a while, with a suspicion."""

    async def run(self, world: World) -> Finding:
        return replace(self.holds("it took a while"), flags=(("slow", "it waited"),))


class Stumbling(Check):
    """Cannot answer."""

    async def run(self, world: World) -> Finding:
        raise ZeroDivisionError("no answer")


async def settle(world: World) -> None:
    if world.attachments.get("trips"):
        raise OSError("nothing can be read")
    world.save(tags, {"id": "outside", "colour": "green"}, "settled")


def closed(world: World) -> None:
    world.attachments["let go"].append(world.revision)


@pytest.fixture
def host(path: Path) -> Iterator[ProductHost]:
    declared = replace(product, settle=settle, on_close=closed, checks=checks_by_name(Patient, Stumbling))
    worlds = Worlds(declared, path.parent)
    yield ProductHost(declared, Episodes(declared, worlds, lease_seconds=60), Telemetry("hooks"))
    worlds.close()


def stock(world: World) -> None:
    world.save(tags, {"id": "always there", "colour": "green"}, PLANTED)


async def opened(host: ProductHost) -> Episode:
    await host.open(OpenMessage(episode_id="one", credential="pk_one_secret", seed=1, world="small"))
    episode = host.episodes.by_id("one")
    episode.world.attachments["let go"] = []
    return episode


async def test_what_every_episode_begins_with_is_there_and_is_nobodys_change(path: Path) -> None:
    declared = replace(product, on_open=stock)
    worlds = Worlds(declared, path.parent)
    host = ProductHost(declared, Episodes(declared, worlds, lease_seconds=60), Telemetry("hooks"))
    episode = await opened(host)

    assert episode.world.get(tags, "always there") is not None
    assert (await host.diff(episode))["changes"]["net"] == []
    worlds.close()


async def test_what_is_settled_is_the_agents_doing_and_part_of_the_diff(host: ProductHost) -> None:
    told = await host.diff(await opened(host))

    assert [(one["table"], one["id"], one["actor"]) for one in told["changes"]["history"]] == [
        ("tags", "outside", "agent")
    ]


async def test_what_cannot_be_settled_voids_the_episode(host: ProductHost) -> None:
    episode = await opened(host)
    episode.world.attachments["trips"] = True
    told = await host.diff(episode)

    assert told["broken"] == "OSError while its diff was taken: nothing can be read"
    assert not told["broken_by_agent"]


async def test_what_cannot_be_settled_after_the_agent_worked_is_its_doing(host: ProductHost) -> None:
    episode = await opened(host)
    episode.world.attachments["trips"] = True
    episode.steps = 1

    assert (await host.diff(episode))["broken_by_agent"]


async def test_a_check_may_take_its_time_and_raise_a_suspicion(host: ProductHost) -> None:
    told = await host.verify(await opened(host), VerifyMessage(checks=[CheckMessage(name="Patient")]))

    assert told["findings"][0]["held"]
    assert told["findings"][0]["flags"] == [{"tag": "slow", "evidence": "it waited"}]
    assert told["broken"] is None


async def test_a_check_that_cannot_answer_voids_the_episode_and_scores_nothing(host: ProductHost) -> None:
    told = await host.verify(await opened(host), VerifyMessage(checks=[CheckMessage(name="Stumbling")]))

    assert told["findings"][0]["score"] == "0"
    assert told["findings"][0]["unanswered"]
    assert told["broken"] == "ZeroDivisionError in Stumbling: no answer"
    # What was settled before is the agent's writing.
    assert told["broken_by_agent"]


async def test_a_check_that_cannot_answer_on_an_untouched_world_is_not_the_agents_doing(
    host: ProductHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "product", replace(host.product, settle=product.settle))
    told = await host.verify(await opened(host), VerifyMessage(checks=[CheckMessage(name="Stumbling")]))

    assert told["broken"] == "ZeroDivisionError in Stumbling: no answer"
    assert not told["broken_by_agent"]


async def test_what_was_held_is_let_go_once_when_the_episode_ends(host: ProductHost) -> None:
    episode = await opened(host)
    await host.close(episode)
    host.episodes.close(episode)

    assert episode.world.attachments["let go"] == [1]
