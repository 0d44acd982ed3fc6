"""Many agents at once, each in an episode of its own."""

import asyncio
import json

import pytest
from dayshift.connection import Address, AsyncConnection
from dayshift.episode import AsyncEpisode

from tests.control.stack import Stack
from tests.mcp.agents import REVISIONS, call, connect, office, product

pytestmark = pytest.mark.anyio
CLIENTS = 256
SEARCH = {
    "limit": 100,
    "properties": ["email"],
    "filterGroups": [
        {"filters": [{"propertyName": "email", "operator": "CONTAINS_TOKEN", "value": "*parallel.example"}]}
    ],
}


async def work(number: int, connection: AsyncConnection, all_connected: asyncio.Barrier) -> set[str]:
    """Creates contacts of its own while everybody is connected, and returns what a search for everybody's finds."""
    async with await AsyncEpisode.open(None, seed=number, connection=connection) as episode:
        endpoint = (office, product)[number % 2](episode)
        async with connect(endpoint, REVISIONS[number // 2 % 2]) as client:
            await all_connected.wait()
            for turn in range(2):
                email = f"agent-{number}-{turn}@parallel.example"
                failed, _ = await call(client, "crm_contacts_create", properties={"email": email})
                assert not failed
            _, found = await call(client, "crm_contacts_search", **SEARCH)
            return {contact["properties"]["email"] for contact in json.loads(found)["results"]}


async def test_256_agents_at_once_see_only_their_own_and_none_leaks(address: Address, stack: Stack) -> None:
    before = count_open(stack)
    all_connected = asyncio.Barrier(CLIENTS)

    async with AsyncConnection(address) as connection:
        seen = await asyncio.gather(*(work(number, connection, all_connected) for number in range(CLIENTS)))

    assert seen == [{f"agent-{number}-{turn}@parallel.example" for turn in range(2)} for number in range(CLIENTS)]
    assert count_open(stack) == before


def count_open(stack: Stack) -> int:
    """How many episodes control holds."""
    number: int = stack.control.get("/v1/report").json()["open"]
    return number
