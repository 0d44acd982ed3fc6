"""Who else is there: colleagues who edit the same rows, and strangers at the agent's door."""

import httpx
import pytest

from services.kernel.control_door import House
from services.kernel.door_messages import OpenMessage
from tests.kernel.pantry import Pantry, product

pytestmark = pytest.mark.anyio

EDIT = {"after_steps": 2, "table": "shelves", "key": 1, "values": {"contents.jam": 7, "label": "moved"}}


async def opened(pantry: Pantry, episode_id: str = "e1", credential: str = "pk_one_secret") -> House:
    house = House(product, pantry.episodes, pantry.telemetry)
    message = {"episode_id": episode_id, "credential": credential, "seed": 3, "world": "small", "meanwhile": [EDIT]}
    await house.open(OpenMessage.model_validate(message))
    return house


async def test_a_colleague_writes_right_after_the_request_that_was_planned(pantry: Pantry) -> None:
    house = await opened(pantry)
    async with pantry.client() as agent:
        labels = [(await agent.get("/shelves/1")).json()["label"] for _ in range(3)]
    diff = await house.diff(pantry.episodes.by_id("e1"))

    assert labels == ["shelf 1", "shelf 1", "moved"]
    assert [change["actor"] for change in diff["changes"]["history"]] == ["colleague"]
    assert diff["changes"]["history"][0]["after"]["contents"]["jam"] == 7


async def test_a_wrong_credential_counts_for_the_one_episode_that_works_from_there(pantry: Pantry) -> None:
    house = await opened(pantry)
    async with pantry.client() as agent:
        await agent.get("/shelves/1")
        await _tries(agent, "pk_two_secret")
        await _tries(agent, "pk_six_secret")

    assert house.state(pantry.episodes.by_id("e1"))["strangers"] == 2


async def test_where_two_work_from_one_address_nobody_is_blamed(pantry: Pantry) -> None:
    house = await opened(pantry)
    await opened(pantry, "e2", "pk_two_secret")
    async with pantry.client() as agent:
        await agent.get("/shelves/1")
        await agent.get("/shelves/1", headers={"authorization": "Bearer pk_two_secret"})
        await _tries(agent, "pk_six_secret")

    assert [house.state(pantry.episodes.by_id(one))["strangers"] for one in ("e1", "e2")] == [0, 0]


async def test_a_straggler_of_an_ended_episode_is_no_stranger(pantry: Pantry) -> None:
    house = await opened(pantry)
    await opened(pantry, "e2", "pk_two_secret")
    await house.close(pantry.episodes.by_id("e2"))
    async with pantry.client() as agent:
        await agent.get("/shelves/1")
        await _tries(agent, "pk_two_secret")

    assert house.state(pantry.episodes.by_id("e1"))["strangers"] == 0


async def _tries(agent: httpx.AsyncClient, credential: str) -> None:
    answer = await agent.get("/shelves/1", headers={"authorization": f"Bearer {credential}"})
    assert answer.status_code == 401
