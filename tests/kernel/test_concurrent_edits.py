"""Colleagues who edit the same rows while the agent works, and requests with unknown credentials."""

import httpx
import pytest

from services.kernel.harness_messages import OpenMessage
from services.kernel.product_host import ProductHost
from tests.kernel.pantry import Pantry, product

pytestmark = pytest.mark.anyio

EDIT = {"after_steps": 2, "table": "shelves", "key": 1, "values": {"contents.jam": 7, "label": "moved"}}


async def opened(
    pantry: Pantry, episode_id: str = "e1", credential: str = "pk_one_secret", edit: dict[str, object] = EDIT
) -> ProductHost:
    host = ProductHost(product, pantry.episodes, pantry.telemetry)
    message = {
        "episode_id": episode_id,
        "credential": credential,
        "seed": 3,
        "world": "small",
        "concurrent_edits": [edit],
    }
    await host.open(OpenMessage.model_validate(message))
    return host


async def test_a_colleague_writes_right_after_the_request_that_was_planned(pantry: Pantry) -> None:
    host = await opened(pantry)
    async with pantry.client() as agent:
        labels = [(await agent.get("/shelves/1")).json()["label"] for _ in range(3)]
    diff = await host.diff(pantry.episodes.by_id("e1"))

    assert labels == ["shelf 1", "shelf 1", "moved"]
    assert [change["actor"] for change in diff["changes"]["history"]] == ["colleague"]
    assert diff["changes"]["history"][0]["after"]["contents"]["jam"] == 7


async def test_an_edit_that_fails_breaks_the_episode_and_not_the_agents_request(pantry: Pantry) -> None:
    host = await opened(pantry, edit={**EDIT, "after_steps": 1, "values": {"nowhere.deep": "x"}})
    async with pantry.client() as agent:
        answers = [await agent.get("/shelves/1") for _ in range(2)]
    state = host.state(pantry.episodes.by_id("e1"))

    assert [answer.status_code for answer in answers] == [200, 200]
    assert state["broken"] == "KeyError in a concurrent edit after step 1: 'nowhere'"
    assert state["revision"] == state["planted"]


async def test_a_wrong_credential_counts_for_the_one_episode_that_works_from_there(pantry: Pantry) -> None:
    host = await opened(pantry)
    async with pantry.client() as agent:
        await agent.get("/shelves/1")
        await _tries(agent, "pk_two_secret")
        await _tries(agent, "pk_six_secret")

    assert host.state(pantry.episodes.by_id("e1"))["unknown_credentials"] == 2


async def test_where_two_work_from_one_address_nobody_is_blamed(pantry: Pantry) -> None:
    host = await opened(pantry)
    await opened(pantry, "e2", "pk_two_secret")
    async with pantry.client() as agent:
        await agent.get("/shelves/1")
        await agent.get("/shelves/1", headers={"authorization": "Bearer pk_two_secret"})
        await _tries(agent, "pk_six_secret")

    assert [host.state(pantry.episodes.by_id(one))["unknown_credentials"] for one in ("e1", "e2")] == [0, 0]


async def test_the_credential_of_an_ended_episode_does_not_count(pantry: Pantry) -> None:
    host = await opened(pantry)
    await opened(pantry, "e2", "pk_two_secret")
    await host.close(pantry.episodes.by_id("e2"))
    async with pantry.client() as agent:
        await agent.get("/shelves/1")
        await _tries(agent, "pk_two_secret")

    assert host.state(pantry.episodes.by_id("e1"))["unknown_credentials"] == 0


async def _tries(agent: httpx.AsyncClient, credential: str) -> None:
    answer = await agent.get("/shelves/1", headers={"authorization": f"Bearer {credential}"})
    assert answer.status_code == 401
