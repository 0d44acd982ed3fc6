"""Agents of the tests: MCP clients at one endpoint, in either revision of the protocol."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import httpx2
from dayshift.episode import Episode
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

Revision = Literal["2026-07-28", "2025-11-25"]
REVISIONS: tuple[Revision, ...] = ("2026-07-28", "2025-11-25")
# How the client of the `mcp` package is told to speak a revision.
_MODES: dict[Revision, Any] = {"2026-07-28": "2026-07-28", "2025-11-25": "legacy"}


@dataclass(frozen=True)
class Endpoint:
    """Where an agent finds its tools, and with which credential."""

    url: str
    credential: str

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.credential}"}

    def choose(self, **options: object) -> "Endpoint":
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return Endpoint(f"{self.url}?{query}", self.credential)


def office(episode: Episode) -> Endpoint:
    access = episode.mcp
    assert access is not None, "the stack serves MCP"
    return Endpoint(access.url, access.credential)


def product(episode: Episode, name: str = "crm") -> Endpoint:
    access = episode.products[name]
    return Endpoint(f"{access.base_url}/mcp", access.credential)


@asynccontextmanager
async def connect(endpoint: Endpoint, revision: Revision = "2026-07-28") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=endpoint.headers, timeout=120) as http,
        Client(streamable_http_client(endpoint.url, http_client=http), mode=_MODES[revision]) as client,
    ):
        assert client.protocol_version == revision
        yield client


async def tool_names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


async def call(client: Client, tool: str, /, **arguments: Any) -> tuple[bool, str]:
    """Whether it is an error, and the text."""
    result = await client.call_tool(tool, arguments)
    (block,) = result.content
    return bool(result.is_error), block.text
