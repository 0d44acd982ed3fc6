"""Which tools an MCP client is given, and that they speak of work alone."""

import json
from collections.abc import Callable, Iterator

import httpx
import pytest
from dayshift.connection import Address, Connection
from dayshift.episode import Episode

from tests.control.stack import PLAYGROUND, TASK, Stack
from tests.mcp.agents import Endpoint, call, connect, office, product, tool_names
from tests.office.test_what_a_model_reads import find_giveaways, texts_of
from tests.scripted_provider.tool_rules import find_refused

pytestmark = pytest.mark.anyio
CLOSING = ["come_back_later", "finish_work"]


@pytest.fixture
def episode(connection: Connection) -> Iterator[Episode]:
    with Episode.open(TASK, seed=7, connection=connection) as opened:
        yield opened


@pytest.fixture
def free(connection: Connection) -> Iterator[Episode]:
    with Episode.open(None, connection=connection) as opened:
        yield opened


@pytest.mark.parametrize("surface", ["core", "search", "full", "only(crm.contacts.*)"])
async def test_a_client_gets_the_surface_of_its_url(free: Episode, surface: str) -> None:
    async with connect(office(free).choose(surface=surface)) as client:
        names = await tool_names(client)

    assert names == [tool.tool_name for tool in free.operations.surface(surface).tools]


async def test_without_a_choice_it_is_core(episode: Episode) -> None:
    async with connect(product(episode)) as client:
        listed = (await client.list_tools()).tools

    expected = [tool["function"] for tool in episode.operations.surface("core").openai_tools()]
    assert [(tool.name, tool.description, tool.input_schema) for tool in listed] == [
        (tool["name"], tool["description"], tool["parameters"]) for tool in expected
    ]


async def test_the_assisted_surface_has_what_solutions_use(address: Address, connection: Connection) -> None:
    with Episode.open(TASK, seed=7, connection=connection, surface="task(3)") as episode:
        async with connect(office(episode).choose(surface="task(3)")) as client:
            names = await tool_names(client)
        assert names == [tool.tool_name for tool in episode.surface.tools]


@pytest.mark.parametrize("find_endpoint", [office, product])
def test_no_agent_can_choose_to_be_assisted(episode: Episode, find_endpoint: Callable[[Episode], Endpoint]) -> None:
    endpoint = find_endpoint(episode).choose(surface="task(0)")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    assert httpx.post(endpoint.url, json=message, headers=endpoint.headers).status_code == 400


async def test_the_playground_has_nothing_to_finish(stack: Stack) -> None:
    for url in (f"http://127.0.0.1:{stack.base + 6}/mcp", f"http://127.0.0.1:{stack.base + 1}/mcp"):
        for surface in ("core", "search"):
            async with connect(Endpoint(url, PLAYGROUND).choose(surface=surface)) as client:
                names = await tool_names(client)
                answer = await call(client, "crm.contacts.list", limit=1)
                refused = await call(client, "finish_work")

            assert not set(names) & set(CLOSING)
            assert not answer[0]
            assert refused[0]


@pytest.mark.parametrize("surface", ["core", "search", "full"])
async def test_nothing_that_an_agent_reads_is_ours(free: Episode, surface: str) -> None:
    async with connect(office(free).choose(surface=surface)) as client:
        listed = (await client.list_tools()).tools
        texts = [*texts_of([tool.model_dump() for tool in listed]), str(client.server_info)]
        for tool, arguments in [
            ("no_such_tool", {}),
            ("finish_work", {"what": 1}),
            ("come_back_later", {"hours": "many"}),
            ("come_back_later", {"hours": 9e9}),
            ("call_operation", {}),
            ("find_operations", {"words": "episode reward task score"}),
            ("crm.contacts.get", {}),
            ("crm.contacts.get", {"contactId": "0"}),
            ("finish_work", {}),
            ("crm.contacts.get", {"contactId": "0"}),
        ]:
            texts.append((await call(client, tool, **arguments))[1])

    assert not [giveaway for text in texts for giveaway in find_giveaways(text, "crm", "billing")]


async def test_every_provider_takes_the_tools(free: Episode) -> None:
    async with connect(office(free).choose(surface="full")) as client:
        tools = (await client.list_tools()).tools

    assert len({tool.name for tool in tools}) == len(tools)
    refused = [
        reason for tool in tools for reason in find_refused(tool.name, tool.description or "", tool.input_schema)
    ]
    assert refused == []
    assert "$ref" not in json.dumps([tool.input_schema for tool in tools if "$defs" not in tool.input_schema])
