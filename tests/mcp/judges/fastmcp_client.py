"""fastmcp's client, version 3 or 4."""

import asyncio
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from work import HEADERS, URL, do_work


async def main() -> None:
    async with Client(StreamableHttpTransport(URL, headers=HEADERS)) as client:
        tools = await client.list_tools()

        async def call(tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
            result = await client.call_tool(tool, arguments, raise_on_error=False)
            return bool(result.is_error), result.content[0].text

        await do_work([tool.name for tool in tools], call)


asyncio.run(main())
