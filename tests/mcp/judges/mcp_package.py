"""The `mcp` package 1.x."""

import asyncio
from typing import Any

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from work import HEADERS, URL, do_work


async def main() -> None:
    async with (
        httpx.AsyncClient(headers=HEADERS, timeout=120) as http,
        streamable_http_client(URL, http_client=http) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        tools = (await session.list_tools()).tools

        async def call(tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
            result = await session.call_tool(tool, arguments)
            return bool(result.isError), result.content[0].text  # type: ignore[union-attr]

        await do_work([tool.name for tool in tools], call)


asyncio.run(main())
